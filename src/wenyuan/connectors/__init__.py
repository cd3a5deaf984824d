"""Connectors read the documents of a source from remote systems. They are selected by the scheme of the source's
address. Here is also what they share: settings, checks of addresses, and HTTP.

Other packages bring further ones under the entry point ``wenyuan.connectors``: its name is the scheme, its value a
`core.connectors.Factory`. Nothing is imported before an address of that scheme is read.
"""

from __future__ import annotations

import email.utils
import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, cast
from urllib.parse import quote, urlsplit

import httpcore2
from pydantic import BaseModel, ConfigDict, Field

from wenyuan.core.connectors import (
    LIBRARY_SETTINGS,
    Connector,
    Factory,
    Opening,
    Parse,
    ascii_host,
    connector_scheme,
    host_of,
)
from wenyuan.core.errors import (
    VERSION,
    ConfigError,
    DocumentRejected,
    EngineUnavailable,
    SourceError,
    did_you_mean,
    msg,
)
from wenyuan.core.model import Source
from wenyuan.runtime import CallTimedOut, deadline_after
from wenyuan.runtime.http import CORE_FAILURES, GuardedBackend, TooLarge, no_answer, read_whole, until
from wenyuan.settings import ENV_ALLOWED, secret

__all__ = ["GROUP", "open_connector", "schemes"]


GROUP = "wenyuan.connectors"
"""The entry points of other packages."""

_BUILT_IN = {
    "http": "wenyuan.connectors.web:open_site",
    "https": "wenyuan.connectors.web:open_site",
    **dict.fromkeys(("git+https", "git+http", "git+file"), "wenyuan.connectors.git:open_repository"),
    **dict.fromkeys(("imaps", "imap"), "wenyuan.connectors.mail:open_mail"),
    **dict.fromkeys(("feishu", "lark"), "wenyuan.connectors.feishu:open_feishu"),
    **dict.fromkeys(
        ("s3", "oss", "gs", "az", "sftp", "ftp", "smb", "webdav", "webdavs", "github", "zip", "tar", "memory"),
        "wenyuan.connectors.files:open_folder",
    ),
}


def schemes() -> tuple[str, ...]:
    """The schemes that have a connector, built-in ones first, whether or not their libraries are installed."""
    return tuple(dict.fromkeys((*_BUILT_IN, *sorted(entry_points(group=GROUP).names))))


def open_connector(
    source: Source,
    *,
    readable: Callable[[str], bool],
    parse: Parse,
    env_allowed: Sequence[str] = ENV_ALLOWED,
    allow_private: bool = True,
) -> Connector:
    """The connector for a source. It connects only when it is asked for a list.

    Args:
        source: Its registry entry; `path` is its address.
        readable: Whether a file of this name can be read at all.
        parse: Parses what the other side sent, in a process of its own.
        env_allowed: Patterns of the environment variables that its settings may name.
        allow_private: Whether the source's own ``allow_private`` counts.

    Raises:
        ConfigError: there is no such connector, something must be installed for it, or a setting is wrong.
    """
    component = f"source {source.source_id}"
    private = source.settings.get("allow_private", False)
    if private and not allow_private:
        raise ConfigError(
            "its settings have allow_private, which the setting sources.allow_private forbids",
            component=component,
            hint="take it out of the source's settings, or set sources.allow_private = true",
        )
    opening = Opening(
        source=source,
        settings={name: value for name, value in source.settings.items() if name not in LIBRARY_SETTINGS},
        secret=partial(secret, component=component, allowed=env_allowed),
        readable=readable,
        parse=parse,
        allow_private=private is True,
    )
    return _factory(connector_scheme(source.path), component)(opening)


def _factory(scheme: str, component: str) -> Factory:
    if scheme in _BUILT_IN:
        module, _, name = _BUILT_IN[scheme].partition(":")
        return cast("Factory", getattr(import_module(module), name))
    for found in entry_points(group=GROUP, name=scheme):
        return cast("Factory", found.load())
    raise ConfigError(
        msg("there is no connector for {scheme}://{near}", scheme=scheme, near=did_you_mean(scheme, schemes())),
        component=component,
        hint=msg("known are: {schemes}", schemes=", ".join(schemes())),
    )


# Settings common to all connectors, and checks of target addresses for libraries that open sockets themselves.


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


# HTTP for connectors: addresses checked at every connection, responses bounded, redirects returned and not followed.

AGENT = "wenyuan"
"""How robots.txt calls us."""

_LONGEST_WAIT = 60.0  # seconds that a server may ask us to wait
_TRIES = 4
_BUSY = (429, 503)


class Unanswered(SourceError):
    """No complete response: the server is unreachable, not allowed or too slow, or the connection broke."""


class AnswerTooLarge(DocumentRejected):
    """A response exceeds the size limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A server's response.

    Attributes:
        headers: By name in small letters; of one that is sent twice, the last.
        body: Empty for an answer whose body was not asked for.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Client:
    """An HTTP client for one run of a connector.

    No proxy is used and no redirect followed: either would send the request's data to another host.

    Args:
        headers: Sent with every request to the host of `home`, and to no other.
        home: An address of that host.
        timeout: Seconds for one whole exchange.
    """

    def __init__(
        self, opening: Opening, *, home: str = "", headers: Mapping[str, str] | None = None, timeout: float = 30.0
    ) -> None:
        self._component = opening.component
        self._home = _origin(home) if home else ""
        self._own = dict(headers or {})
        self._timeout = timeout
        self._pool = httpcore2.ConnectionPool(
            ssl_context=httpcore2.default_ssl_context(),
            max_connections=2,
            keepalive_expiry=5.0,
            network_backend=GuardedBackend(opening.component, allow_private=opening.allow_private),
        )

    def get(self, url: str, most: int, headers: Mapping[str, str] | None = None, *, cut: bool = False) -> Answer:
        """The response to a GET, whatever its status; retried where a busy server names a time.

        Args:
            cut: Of a larger body its first `most` bytes are given.

        Raises:
            Unanswered: there is no complete response.
            AnswerTooLarge: its body has more than `most` bytes, and is not cut.
        """
        return self._asked("GET", url, b"", most, headers or {}, cut=cut)

    def post(self, url: str, body: Any, most: int) -> Answer:
        """The response to a POST of JSON; see `get`."""
        return self._asked("POST", url, json.dumps(body).encode(), most, {"Content-Type": "application/json"})

    def close(self) -> None:
        self._pool.close()

    def _asked(
        self, method: str, url: str, body: bytes, most: int, headers: Mapping[str, str], *, cut: bool = False
    ) -> Answer:
        for tried in range(1, _TRIES + 1):
            answer = self._exchanged(method, url, body, most, headers, cut=cut)
            wait = wait_for(answer)
            if wait is None or wait > _LONGEST_WAIT or tried == _TRIES:
                break
            time.sleep(wait)
        return answer

    def _exchanged(
        self, method: str, url: str, body: bytes, most: int, headers: Mapping[str, str], *, cut: bool
    ) -> Answer:
        try:
            component, target = f"{self._component} at {host_of(urlsplit(url))}", _target(url)
        except ValueError as error:
            raise Unanswered("its host is no name and no address", component=self._component) from error
        sent = {
            "Host": host_of(urlsplit(url)),
            "User-Agent": f"{AGENT}/{VERSION}",
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            **(self._own if _origin(url) == self._home else {}),
            **headers,
        }
        deadline = deadline_after(self._timeout)
        limits = dict.fromkeys(("connect", "read", "write", "pool"), self._timeout)
        with until(deadline):
            try:
                with self._pool.stream(
                    method, target, headers=list(sent.items()), content=body, extensions={"timeout": limits}
                ) as answer:
                    return _read(answer, most, component, cut=cut)
            except TooLarge as error:
                raise AnswerTooLarge(
                    msg("it is larger than {most} bytes", most=f"{most:,}"), component=component
                ) from error
            except CallTimedOut as error:
                raise Unanswered("no answer in time", component=component) from error
            except EngineUnavailable as error:  # the guard of connections
                raise Unanswered(error.message, component=component, hint=error.hint) from error
            except CORE_FAILURES as error:
                raise no_answer(error, component, Unanswered, Unanswered, "server") from error


def _read(answer: httpcore2.Response, most: int, component: str, *, cut: bool) -> Answer:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1").strip() for name, value in answer.headers}
    if headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        raise DocumentRejected("the answer is compressed, which was not asked for", component=component)
    size = headers.get("content-length", "")
    if size.isdecimal() and int(size) > most and answer.status == 200 and not cut:
        raise TooLarge
    return Answer(status=answer.status, headers=headers, body=read_whole(answer.iter_stream(), most, cut=cut))


def wait_for(answer: Answer) -> float | None:
    """Seconds that a busy server asks to wait; None where it is not busy.

    ``Retry-After`` (RFC 9110, seconds or a date) and, of Feishu's gateway, ``x-ogw-ratelimit-reset``.
    """
    if answer.status not in _BUSY:
        return None
    told = answer.headers.get("retry-after") or answer.headers.get("x-ogw-ratelimit-reset") or "1"
    if told.isdecimal():
        return float(told)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(told).timestamp() - time.time())
    except ValueError:
        return 1.0


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{host_of(parts)}".lower()


def _target(url: str) -> httpcore2.URL:
    """The address as it is asked; ValueError where its host is none."""
    parts = urlsplit(url)
    host = ascii_host(parts.hostname or "")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~")
    target = f"{path}?{quote(parts.query, safe='/%:@!$&()*+,;=~?[]')}" if parts.query else path
    return httpcore2.URL(
        scheme=parts.scheme.encode(),
        host=host.encode(),
        port=parts.port or (443 if parts.scheme == "https" else 80),
        target=target.encode(),
    )
