"""HTTP for connectors: addresses checked at every connection, responses bounded, redirects returned and not followed."""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import httpcore2

from wenyuan.core.connectors import Opening
from wenyuan.core.errors import DocumentRejected, EngineUnavailable, SourceError, msg
from wenyuan.core.ports import until
from wenyuan.core.remote_addresses import ascii_host, host_of
from wenyuan.core.version import VERSION
from wenyuan.runtime.bounded_calls import CallTimedOut
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.runtime.guarded_http import GuardedBackend
from wenyuan.runtime.responses import CORE_FAILURES, TooLarge, no_answer, read_whole
from wenyuan.runtime.surplus_replies import refuse_surplus

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
class HttpAnswer:
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


class HttpClient:
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
        refuse_surplus()
        self._pool = httpcore2.ConnectionPool(
            ssl_context=httpcore2.default_ssl_context(),
            max_connections=2,
            keepalive_expiry=5.0,
            network_backend=GuardedBackend(opening.component, allow_private=opening.allow_private),
        )

    def get(self, url: str, most: int, headers: Mapping[str, str] | None = None, *, cut: bool = False) -> HttpAnswer:
        """The response to a GET, whatever its status; retried where a busy server names a time.

        Args:
            cut: Of a larger body its first `most` bytes are given.

        Raises:
            Unanswered: there is no complete response.
            AnswerTooLarge: its body has more than `most` bytes, and is not cut.
        """
        return self._request("GET", url, b"", most, headers or {}, cut=cut)

    def post(self, url: str, body: Any, most: int) -> HttpAnswer:
        """The response to a POST of JSON; see `get`."""
        return self._request("POST", url, json.dumps(body).encode(), most, {"Content-Type": "application/json"})

    def close(self) -> None:
        self._pool.close()

    def _request(
        self, method: str, url: str, body: bytes, most: int, headers: Mapping[str, str], *, cut: bool = False
    ) -> HttpAnswer:
        for tried in range(1, _TRIES + 1):
            answer = self._exchanged(method, url, body, most, headers, cut=cut)
            wait = wait_for(answer)
            if wait is None or wait > _LONGEST_WAIT or tried == _TRIES:
                break
            time.sleep(wait)
        return answer

    def _exchanged(
        self, method: str, url: str, body: bytes, most: int, headers: Mapping[str, str], *, cut: bool
    ) -> HttpAnswer:
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


def _read(answer: httpcore2.Response, most: int, component: str, *, cut: bool) -> HttpAnswer:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1").strip() for name, value in answer.headers}
    if headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        raise DocumentRejected("the answer is compressed, which was not asked for", component=component)
    size = headers.get("content-length", "")
    if size.isdecimal() and int(size) > most and answer.status == 200 and not cut:
        raise TooLarge
    return HttpAnswer(status=answer.status, headers=headers, body=read_whole(answer.iter_stream(), most, cut=cut))


def wait_for(answer: HttpAnswer) -> float | None:
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
