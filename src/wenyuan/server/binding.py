"""Listening at an address."""

from __future__ import annotations

import socket
from typing import TypeVar

from wenyuan.core.errors import ConfigError, msg

BACKLOG = 512

S = TypeVar("S", bound=socket.socket)


def listening(kind: type[S], host: str, port: int, *, shared: bool = False) -> S:
    """A socket that listens.

    Args:
        kind: What is made.
        shared: Others that are made so, by the same user, may listen at the address, too.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio switches Nagle's algorithm off on what it accepts; without, each answer
    # waits 40 ms for the client's delayed acknowledgement.
    listener = kind(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            msg("cannot listen on {host} port {port}: {reason}", host=host, port=port, reason=reason),
            component="server",
            hint="choose another port, or stop what uses this one",
        ) from error
    return listener
