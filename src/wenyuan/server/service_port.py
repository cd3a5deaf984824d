"""What the server is given: the service behind it, and who may call it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from wenyuan.core.access import Principal
from wenyuan.core.errors import NotPermitted
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
        from wenyuan.server.problems import Problem  # this must not load the web framework

        raise Problem.unauthenticated("this server knows no API keys: send none, or ask the server that gave the key")
    host = headers.get("host")
    if host and not names_loopback(host):
        raise NotPermitted("this server answers only to localhost and loopback addresses as host name")
    return Principal()


def open_to_all(_headers: Mapping[str, str]) -> Principal:
    """Authentication that admits every request, under any host name: for servers behind an authenticating proxy."""
    return Principal()
