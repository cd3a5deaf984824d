"""A source of type ``api``: any service that speaks the contract, asked where it is.

It is not trusted: where its address leads is judged when a connection is made (see `runtime.guarded_http`), its answer is read up to
a size and a moment, and checked as strictly as a caller of ours may check us. Redirects are refused, and so are
proxies, because they would carry key and question to somebody else. No message shows the key, the question, or
anything that the service says.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from ipaddress import IPv6Address
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

import httpcore2

from wenyuan.core.contract import failure, read_fragments, read_object
from wenyuan.core.errors import ConfigError, EngineTimeout, EngineUnavailable, msg
from wenyuan.core.fragment_metadata import NO_FACETS
from wenyuan.core.model import MAX_RESULTS, Facet, Fragment, Source
from wenyuan.core.ports import Deadline, OutsideHit, until
from wenyuan.core.validity_dates import parse_date
from wenyuan.engines.external.question_path import VIA, passed_here, refused_path, refused_way, via_header
from wenyuan.engines.external.source_settings import SourceSettings
from wenyuan.runtime.bounded_calls import CallTimedOut
from wenyuan.runtime.guarded_http import GuardedBackend
from wenyuan.runtime.responses import CORE_FAILURES, TooLarge, no_answer, read_whole
from wenyuan.runtime.surplus_replies import refuse_surplus
from wenyuan.settings import ENV_ALLOWED, VariableName, declared, secret

PATH = "/v1/retrieve_fragments"
MOST_BYTES = 4 << 20
KEPT_SECONDS = 5.0
_JSON = re.compile(r"application/(?:[a-z0-9.\-]+\+)?json(?: *; *charset=\"?utf-8\"?)?", re.IGNORECASE)
_HOST = re.compile(r"[a-z0-9_.\-]+")
_LOST = (httpcore2.ReadError, httpcore2.WriteError, httpcore2.RemoteProtocolError)
"""What asking again may mend: a connection that was kept, and that the other side has closed."""
_HINTS: Mapping[int, str] = {
    401: "check the key of this source",
    403: "check the key of this source",
    404: "check the URL of this source",
    405: "check the URL of this source",
}
_DAYS = ("effective_from", "effective_until")
_OURS = NO_FACETS | {"headings", "facets"}  # as other services say them


class RemoteSettings(SourceSettings):
    """Settings of a source of type ``api``.

    Attributes:
        url: Of the service; without a path, ``/v1/retrieve_fragments`` is asked.
        key_env: The environment variable that holds the key; without it none is sent.
        allow_private: Whether it may live on this machine or in a private network.
    """

    url: str
    key_env: VariableName | None = None
    allow_private: bool = False


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """The endpoint: URL, ``Host`` header, and host:port for messages."""

    url: httpcore2.URL
    host: str
    name: str


def open_remote(
    source: Source,
    *,
    library_id: str = "",
    passed: Callable[[], str] = passed_here,
    traced: Callable[[], Mapping[str, str]] = dict,
    env_allowed: Sequence[str] = ENV_ALLOWED,
    allow_private: bool = True,
    transport: httpcore2.NetworkBackend | None = None,
) -> RemoteService:
    """Open a service as a source. It is not connected to before the first question.

    Args:
        source: Its registry entry.
        library_id: Our own id, sent along to find questions that go round in circles; ``""`` to send none.
        passed: The `VIA` header of the question being answered now (called in the thread that asks); ``""`` for none.
        traced: Headers that continue our trace in the service (called in the requesting thread).
        env_allowed: Patterns of the names that `RemoteSettings.key_env` may have.
        allow_private: Whether `RemoteSettings.allow_private` counts; False: no source may lead to a private address.
        transport: What connects, instead of the network and its guard.

    Raises:
        ConfigError: a setting is wrong, or the key's environment variable is not set.
    """
    settings = declared(RemoteSettings, source)
    component = f"source {source.source_id}"
    if settings.allow_private and not allow_private:
        raise ConfigError(
            "its settings have allow_private, which the setting sources.allow_private forbids",
            component=component,
            hint="take it out of the source's settings, or set sources.allow_private = true",
        )
    endpoint = _endpoint(settings.url, component)
    headers = {
        "Host": endpoint.host,
        "User-Agent": "wenyuan",
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
    }
    if settings.key_env:
        headers["Authorization"] = f"Bearer {_printable(secret(settings.key_env, component, env_allowed), component)}"
    component = f"{component} at {endpoint.name}"
    return RemoteService(
        source.source_id,
        component,
        endpoint,
        headers,
        timeout=settings.timeout,
        library_id=library_id,
        passed=passed,
        traced=traced,
        backend=transport or GuardedBackend(component, allow_private=settings.allow_private),
    )


class RemoteService:
    """A service that speaks the contract; made by `open_remote`. Thread-safe."""

    needs_vector = False

    def __init__(  # noqa: PLR0913  (made by open_remote alone)
        self,
        source_id: str,
        component: str,
        endpoint: _Endpoint,
        headers: Mapping[str, str],
        *,
        timeout: float,
        library_id: str,
        passed: Callable[[], str],
        traced: Callable[[], Mapping[str, str]],
        backend: httpcore2.NetworkBackend,
    ) -> None:
        self.source_id, self.component = source_id, component
        self._url, self._headers, self._timeout = endpoint.url, headers, timeout
        self._library_id, self._passed, self._traced = library_id, passed, traced
        self._closed = False
        refuse_surplus()
        self._pool = httpcore2.ConnectionPool(
            ssl_context=httpcore2.default_ssl_context() if endpoint.url.scheme == b"https" else None,
            max_connections=32,
            max_keepalive_connections=8,
            keepalive_expiry=KEPT_SECONDS,
            network_backend=backend,
        )

    def ask(
        self, query: str, *, vector: Any = None, limit: int, as_of: date, deadline: Deadline
    ) -> Sequence[OutsideHit]:
        """The best passages for a query, best first, without duplicates.

        Raises:
            EngineTimeout: no whole answer before the deadline, or within the source's own timeout.
            EngineUnavailable: it cannot be reached, or may not be; it refused, said FAILED, or broke the contract.
        """
        deadline.check(self.component)
        if self._closed:
            raise EngineUnavailable("is closed", component=self.component)
        limit = min(limit, MAX_RESULTS)
        body = json.dumps({"query": query, "max_results": limit, "context": {"as_of": as_of.isoformat()}}).encode()
        headers = {**self._headers, **self._traced()}
        if self._library_id:
            headers[VIA] = via_header(self._library_id, self._passed())
        content = self._content(body, headers, deadline)
        try:
            answer = read_object(content)
            if failure(answer):
                raise EngineUnavailable("answered FAILED", component=self.component, hint="its own log says why")
            fragments = read_fragments(answer, max_results=limit)
        except (ValueError, RecursionError) as error:
            raise EngineUnavailable(
                msg("the answer breaks the contract: {error}", error=error), component=self.component
            ) from error
        hits: dict[str, OutsideHit] = {}
        for hit in map(hit_of, fragments):
            hits.setdefault(hit.key, hit)
        return tuple(hits.values())

    def close(self) -> None:
        """Close the connections. Later queries fail."""
        self._closed = True
        self._pool.close()

    def _content(self, body: bytes, headers: Mapping[str, str], deadline: Deadline) -> bytes:
        """The body of a response with status 200; one retry if the connection was lost."""
        own = deadline.within(self._timeout)
        with until(own):
            try:
                try:
                    return self._exchange(body, headers, own)
                except _LOST:
                    return self._exchange(body, headers, own)
            except TooLarge as error:
                raise EngineUnavailable(
                    msg("the answer is larger than {most_bytes} bytes", most_bytes=MOST_BYTES),
                    component=self.component,
                ) from error
            except CallTimedOut as error:
                raise EngineTimeout("no answer in time", component=self.component) from error
            except CORE_FAILURES as error:
                raise no_answer(error, self.component, EngineUnavailable, EngineTimeout, "service") from error

    def _exchange(self, body: bytes, headers: Mapping[str, str], deadline: Deadline) -> bytes:
        left = deadline.remaining()
        limits = {"connect": left, "read": left, "write": left, "pool": left}
        with self._pool.stream(
            "POST", self._url, headers=list(headers.items()), content=body, extensions={"timeout": limits}
        ) as answer:
            self._check_way(headers.get(VIA, ""), answer)
            self._check_head(answer)
            return read_whole(answer.iter_stream(), MOST_BYTES)

    def _check_way(self, sent: str, answer: httpcore2.Response) -> None:
        """Raise the error of a refused path, instead of an error about the response's status."""
        way = refused_way(sent, _header(answer, VIA.lower().encode())) if sent else ""
        if way:
            error = refused_path(way)
            raise EngineUnavailable(error.message, component=self.component, hint=error.hint)

    def _check_head(self, answer: httpcore2.Response) -> None:
        status = answer.status
        if 300 <= status < 400:
            raise EngineUnavailable(
                msg("answered with a redirect (HTTP {status}), which is refused", status=status),
                component=self.component,
                hint="put the final address of the service in the source's settings",
            )
        if status != 200:
            raise EngineUnavailable(
                msg("answered HTTP {status}", status=status), component=self.component, hint=_HINTS.get(status, "")
            )
        if not _JSON.fullmatch(_header(answer, b"content-type")):
            raise EngineUnavailable("the answer is not JSON by its own account", component=self.component)
        if _header(answer, b"content-encoding").lower() not in ("", "identity"):
            raise EngineUnavailable("the answer is compressed, which was not asked for", component=self.component)


def _header(answer: httpcore2.Response, name: bytes) -> str:
    """The value of a header; repeated headers are joined, so that they match no single value."""
    return ", ".join(value.decode("latin-1").strip() for key, value in answer.headers if key.lower() == name)


def hit_of(fragment: Fragment) -> OutsideHit:
    """A fragment of another library as a hit."""
    metadata = fragment.metadata
    title = metadata.get("title")
    begin, end, dated = _days(metadata)
    return OutsideHit(
        key=hashlib.sha256(f"{fragment.source}\0{fragment.content}".encode()).hexdigest()[:24],
        uri=fragment.source,
        content=fragment.content,
        score=fragment.retrieval_score,
        title=title if isinstance(title, str) else "",
        headings=_headings(metadata),
        facets=_facets(metadata),
        effective_from=begin,
        effective_until=end,
        dated=dated,
    )


def _days(metadata: Mapping[str, Any]) -> tuple[date | None, date | None, bool]:
    """The first and last day in force of a fragment, and whether its metadata could be parsed."""
    try:
        begin, end = (None if (given := metadata.get(name)) in (None, "") else parse_date(given) for name in _DAYS)
    except ValueError:
        return None, None, False
    return begin, end, True


def _headings(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Headings from a list, or from a path as this project writes it: ``Chapter 3 > 第十三条``."""
    path = metadata.get("headings", metadata.get("heading"))
    if isinstance(path, str):
        path = path.split(" > ")
    if not isinstance(path, list) or not all(isinstance(part, str) for part in path):
        return ()
    return tuple(part for part in path if part)


def _facets(metadata: Mapping[str, Any]) -> Mapping[str, Facet]:
    given = metadata.get("facets")
    if not isinstance(given, dict):
        given = {name: value for name, value in metadata.items() if name not in _OURS}
    return {name: value for name, value in given.items() if isinstance(value, (str, int, float, bool))}


def _endpoint(url: str, component: str) -> _Endpoint:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        path = quote(PATH if parts.path in ("", "/") else parts.path, safe="/%:@!$&'()*+,;=~")
        target = f"{path}?{quote(parts.query, safe='/%:@!$&()*+,;=~?')}" if parts.query else path
    except ValueError:  # its text quotes the URL
        raise ConfigError("url: is not a URL", component=component) from None
    if fault := _url_fault(url, parts):
        raise ConfigError(msg("url: {fault}", fault=fault), component=component)
    name = _ascii_host(host, component)
    usual = 443 if parts.scheme == "https" else 80
    port = port or usual
    shown = f"[{name}]" if ":" in name else name
    return _Endpoint(
        httpcore2.URL(scheme=parts.scheme.encode(), host=name.encode(), port=port, target=target.encode()),
        shown if port == usual else f"{shown}:{port}",
        f"{shown}:{port}",
    )


def _url_fault(url: str, parts: SplitResult) -> str:
    if any(char <= " " or char in "\\\x7f" for char in url):
        return "must hold no white space, control character or backslash"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "must begin with http:// or https:// and name a host"
    if "@" in parts.netloc:
        return "must hold no user name or password; name the key's environment variable in key_env"
    return "must hold no fragment" if "#" in url else ""


def _ascii_host(host: str, component: str) -> str:
    """A host in ASCII form: an IPv6 address, or a name in its IDNA form (``知识.例子``)."""
    try:
        if ":" in host:
            return str(IPv6Address(host))
        name = host.encode("idna").decode("ascii").lower()
    except ValueError:
        name = ""
    if not _HOST.fullmatch(name):
        raise ConfigError("url: its host is no name and no address", component=component) from None
    return name


def _printable(key: str, component: str) -> str:
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ConfigError("the key must be printable ASCII without white space", component=component)
    return key
