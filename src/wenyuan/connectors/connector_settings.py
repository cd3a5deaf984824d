"""Settings common to all connectors, and checks of target addresses for libraries that open sockets themselves."""

from __future__ import annotations

import socket

import httpcore2
from pydantic import BaseModel, ConfigDict, Field

from wenyuan.core.connectors import Opening
from wenyuan.core.errors import EngineUnavailable, SourceError, msg
from wenyuan.runtime.guarded_http import GuardedBackend


class ConnectorSettings(BaseModel):
    """Settings that every built-in connector has.

    Attributes:
        allow_private: Whether the source may be on this machine or in a private network.
        timeout: Seconds for one whole exchange with a server.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    allow_private: bool = False
    timeout: float = Field(default=30.0, gt=0, le=600)


def guarded_socket(opening: Opening, host: str, port: int, timeout: float) -> socket.socket:
    """Connect to a host, all of whose addresses must be allowed.

    Raises:
        SourceError: one may not, the name is not known, or nothing answers there.
    """
    component = f"{opening.component} at {host}:{port}"
    backend = GuardedBackend(component, allow_private=opening.allow_private)
    try:
        stream = backend.connect_tcp(host.strip("[]"), port, timeout)
    except EngineUnavailable as error:
        raise SourceError(error.message, component=component, hint=error.hint) from error
    except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
        raise SourceError("cannot be reached", component=component) from error
    found: socket.socket = stream.get_extra_info("socket")
    found.settimeout(timeout)
    return found


def check_host(opening: Opening, host: str, port: int, timeout: float) -> None:
    """Refuse a host with an address that is not allowed.

    For libraries that look names up themselves: it is judged now, and they look once more.

    Raises:
        SourceError: as `guarded_socket`.
    """
    if not host:
        raise SourceError(msg("{url} names no host", url=opening.url), component=opening.component)
    guarded_socket(opening, host, port, timeout).close()
