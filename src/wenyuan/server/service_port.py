"""What the server is given: the service behind it, and who may call it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from wenyuan.core.access import Principal
from wenyuan.core.errors import ConfigError, NotPermitted, msg
from wenyuan.core.model import RetrievalRequest, RetrievalResponse
from wenyuan.server.request_origin import names_loopback

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.service.context import Context, ContextRequest
    from wenyuan.service.generation.answering import Tell
    from wenyuan.service.generation.answers import Answered, AnswerRequest
    from wenyuan.service.search.searcher import SearchRequest, SearchResult
    from wenyuan.service.verification import Verification, VerifyRequest


class ReadinessPort(Protocol):
    """Whether the service can answer; ``parts[name]`` has ``state`` (ok, degraded, starting, failed) and ``detail``."""

    @property
    def ready(self) -> bool: ...

    @property
    def parts(self) -> Mapping[str, Mapping[str, object]]: ...


class Service(Protocol):
    """The service behind the server. It is called from several threads at once."""

    def retrieve_fragments(self, request: RetrievalRequest) -> RetrievalResponse:
        """Answer; a failure is a response with status FAILED.

        Raises:
            InvalidRequest, NotPermitted: the request cannot be served as it is.
        """
        ...

    def readiness(self) -> ReadinessPort: ...

    def list_sources(self) -> Sequence[Mapping[str, object]]: ...


@runtime_checkable
class KnowledgeService(Service, Protocol):
    """A service with agents, sources and keys; `service.library.Library` implements it."""

    @property
    def catalog(self) -> Catalog: ...

    def retrieve_fragments(self, request: RetrievalRequest, principal: Principal = ...) -> RetrievalResponse: ...

    def find(self, request: SearchRequest, principal: Principal) -> SearchResult: ...

    def get_context(self, request: ContextRequest, principal: Principal) -> Context: ...

    def verify(self, request: VerifyRequest, principal: Principal) -> Verification: ...

    def answer(
        self, request: AnswerRequest, principal: Principal, *, tell: Tell, gone: Callable[[], bool]
    ) -> Answered: ...


Authenticate = Callable[[Mapping[str, str]], Principal | Awaitable[Principal]]
"""``authenticate(headers) -> principal``, before anything else is looked at; it may be asynchronous.

Header names are lower-case. It runs on the event loop, so it must not block. To refuse it raises
`NotPermitted` (403) or `Problem.unauthenticated` (401). The principal goes to ``request.state.principal``;
what it may do is decided by the right that its route declares.
"""

FaultSwitch = Callable[[str], AbstractContextManager[object]]
"""``fault(name)``: while the context is entered, in the same thread, the named part really fails.

For an unknown name it raises `InvalidRequest`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """Requests per second and at the same time, per key and overall; 0 means no limit."""

    rate_per_key: float = 50.0
    rate_total: float = 0.0
    concurrency_per_key: int = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Limits and options of the server.

    Attributes:
        threads: Requests that are worked on at the same time.
        queue_limit: Requests that may wait for a thread; further ones get 503 with Retry-After.
        max_body: Bytes of a request body.
        body_timeout: Seconds in which a body must have arrived whole.
        grace: Seconds that open requests get to finish when the server stops.
        failed_http_status: HTTP status of a FAILED response: 200, or 5xx for clients that look only there.
        limits: Requests a second and at once, for each key and for all: beyond, 429 with Retry-After.
        dify_failure_record: Whether a failure is returned to Dify as one record with status 200: older versions take
            any error for an empty answer.
        allowed_origins: Web origins besides the server's own whose pages may do more than read, and speak MCP to it.
        ingest_roots: Folders below which paths given by clients must be; without any, none may.

    Raises:
        ConfigError: a value that makes no sense.
    """

    threads: int = 8
    queue_limit: int = 64
    max_body: int = 1024 * 1024
    body_timeout: float = 10.0
    grace: float = 30.0
    failed_http_status: int = 200
    dify_failure_record: bool = False
    allowed_origins: tuple[str, ...] = ()
    ingest_roots: tuple[Path, ...] = ()
    limits: RateLimits = field(default_factory=RateLimits)

    def __post_init__(self) -> None:
        if min(self.threads, self.max_body) < 1 or self.queue_limit < 0 or not self.body_timeout > 0:
            raise ConfigError(
                "threads, max_body and body_timeout must be positive, queue_limit not negative",
                component="server settings",
            )
        if self.failed_http_status != 200 and not 500 <= self.failed_http_status <= 599:
            raise ConfigError(
                msg(
                    "failed_http_status is {failed_http_status}; it must be 200 or 500 to 599",
                    failed_http_status=self.failed_http_status,
                ),
                component="server settings",
            )


def is_no_key(authorization: str) -> bool:
    """Whether an ``Authorization`` header has a bearer token that cannot be a key of any library."""
    scheme, _, token = authorization.partition(" ")
    return scheme.lower() == "bearer" and bool(token.strip()) and not token.strip().startswith("wy_")


def open_on_loopback(headers: Mapping[str, str]) -> Principal:
    """Authentication that admits every request on a loopback address, unless its Host header names another host.

    A web page can make its own host name resolve to 127.0.0.1 and so read the answers of local servers;
    its requests carry that name in ``Host``. HTTP/1.0 clients without ``Host`` are no browsers. A library key has no
    meaning here: a request with one is refused, rather than admitted as another principal. Another bearer token is
    what clients
    send that cannot do without: it means nothing, and is not looked at.

    Raises:
        NotPermitted: ``Host`` is not a loopback name.
        Problem: 401, a key was sent.
    """
    if "authorization" in headers and not is_no_key(headers["authorization"]):
        from wenyuan.server.problems import Problem  # the settings must not load the web framework

        raise Problem.unauthenticated("this server knows no API keys: send none, or ask the server that gave the key")
    host = headers.get("host")
    if host and not names_loopback(host):
        raise NotPermitted("this server answers only to localhost and loopback addresses as host name")
    return Principal()


def open_to_all(_headers: Mapping[str, str]) -> Principal:
    """Authentication that admits every request, under any host name: for servers behind an authenticating proxy."""
    return Principal()
