"""The HTTP client of the service, and a client bound to one agent id."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic, sleep
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar
from urllib.parse import quote, urlsplit

from wenyuan.client.context_replies import (
    Knowledge,
    Passages,
    read_answered,
    read_context,
    read_kept,
    read_passages,
    read_verdicts,
)
from wenyuan.client.documents import DocumentCalls
from wenyuan.client.replies import Fragments, Reply, may_have_begun, read_answer, read_file, read_reply, says_failed
from wenyuan.client.rules import RulesCalls
from wenyuan.core.arguments import checking_arguments, fits
from wenyuan.core.contract import required_query
from wenyuan.core.errors import ConfigError, Fault, InvalidRequest, RetrievalFailed, msg, refusing_once_closed
from wenyuan.core.model import RetrievalRequest
from wenyuan.core.ports import Deadline
from wenyuan.core.principals import parse_represented
from wenyuan.core.restrictions import check_applied, given_restrictions, refuse_options, restricted

if TYPE_CHECKING:
    import httpx2

__all__ = ["AgentClient", "Client"]


# `Client`: one call, its deadline and its retries.


T = TypeVar("T")
_log = logging.getLogger("wenyuan.client")

PATH = "/v1/retrieve_fragments"
WRITING = frozenset(
    ("POST", f"/v1/{path}") for path in ("feedback", "rules/import", "rules/propose", "rules/review", "corrections")
)
"""Calls that change what the service holds: done twice they would be told wrongly, or be done twice."""
BUSY = frozenset((429, 503))
MAX_REPLY_BYTES = 64 * 1024 * 1024
FIRST_WAIT = 0.1
LONGEST_WAIT = 5.0
LONGEST_CALL = 10_000_000
"""Seconds; the clock of a thread that waits can hold no more than some hundred years."""


MAYBE_DONE = "it may have been done all the same: look before you ask again"


class _Lost(RetrievalFailed):
    """The connection broke: the only transport failure that is retried."""


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: str
    body: bytes | None
    writes: bool = False
    kind: str = "application/json"
    timeout: float | None = None  # seconds; None: those of the client


@refusing_once_closed()
@checking_arguments()
class Client(RulesCalls, DocumentCalls):
    """Calls the service over HTTP. Can be shared between threads.

    Args:
        url: Of the service; without a path, ``/v1/retrieve_fragments`` is asked.
        key: Sent as ``Authorization: Bearer``.
        on_behalf_of: Whom is asked for, see `acting_for`.
        timeout: Seconds that one call may take with its retries. A reply that trickles in, head or body, is cut off
            too. How long the host's name is looked up is the system's affair.
        retries: How often to ask again after a broken connection, 429 or 503: never after FAILED, never after
            another 4xx, never after a time-out. What writes (rules, feedback, documents, corrections) is not asked again once
            it may have been begun, after 503 neither: its `RetrievalFailed` says that it may have been done.
        transport: What carries the requests instead of the network (an ``httpx2`` transport).

    Raises:
        ConfigError: no http or https URL, a key or a number that cannot be used.
    """

    _closed = False

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 30.0,
        retries: int = 2,
        on_behalf_of: str | Sequence[str] | None = None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        import httpx2  # 200 ms that only a caller pays

        from wenyuan.core.ports import until
        from wenyuan.runtime.bounded_calls import CallTimedOut
        from wenyuan.runtime.responses import TooLarge, read_whole
        from wenyuan.runtime.timed_stream import punctual

        self._url, self._component = _endpoint(url)
        if not fits(timeout, float) or not fits(retries, int) or not 0 < timeout <= LONGEST_CALL or retries < 0:
            raise ConfigError("timeout must be positive and finite, retries must not be negative")
        self._timeout = timeout
        self._represented = {} if on_behalf_of is None else _represented(on_behalf_of)
        self._retries = retries
        self._limits, self._until, self._read_whole, self._too_large = httpx2.Timeout, until, read_whole, TooLarge
        # Each public exception of httpx2 is under one of these; a test enumerates them.
        self._errors = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.CookieConflict, httpx2.StreamError, CallTimedOut)
        self._broken = (httpx2.NetworkError, httpx2.ConnectTimeout, httpx2.RemoteProtocolError)
        self._late = (httpx2.TimeoutException, CallTimedOut)
        self._unsent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if key is not None:
            headers["Authorization"] = f"Bearer {_printable(key)}"
        try:
            self._http = punctual(httpx2.Client(headers=headers, transport=transport, follow_redirects=False))
        except (OSError, ValueError) as error:  # a proxy or certificate file named in the environment
            raise ConfigError(msg("the HTTP client cannot be set up: {error}", error=error)) from error

    def acting_for(self, on_behalf_of: str | Sequence[str]) -> Client:
        """This client, asking on behalf of somebody: the answers hold what both the key and they may read. It shares the
        connections, so that who closes one closes both.

        Args:
            on_behalf_of: ``user:li``, or a list of that and of the groups that they are in, ``group:hr``. The key needs the
                right ``on_behalf_of``.

        Raises:
            InvalidRequest: these are no names of one person.
        """
        other = copy(self)
        other._represented = _represented(on_behalf_of)
        return other

    def retrieve_fragments(
        self,
        query: str,
        *,
        max_results: int = 10,
        context: Mapping[str, Any] | None = None,
        domain: str | None = None,
        filter: Mapping[str, Any] | None = None,
        min_trust: int | None = None,
    ) -> Fragments:
        """The most relevant fragments, best first; empty only when the service found nothing.

        Args:
            context: Background of the query. With ``"nearest": True``, `Fragments.nearest` is the nearest passage where an answer
                is too unlikely; ``"abstain"`` (off, lenient, normal, strict) says how likely there must be one.
            domain: Only sources of this knowledge domain.
            filter: Only passages that meet it: ``{"metadata.year": {"ge": 2024}}``, joined by AND; "and", "or", "not".
            min_trust: Only sources that are trusted so much, 1 to 5.

        Raises:
            InvalidRequest: the request is malformed, as found here or by the service.
            NotPermitted: the service refuses this caller.
            RetrievalFailed: there is no answer: the service said FAILED, cannot be reached, was too slow, or broke
                the contract; or it does not say that it applied a restriction. Logged as an error, without the query.
        """
        context = restricted(context, domain=domain, filter=filter, min_trust=min_trust)
        wanted = given_restrictions(domain=domain, filter=filter, min_trust=min_trust)
        body = _encode(RetrievalRequest(query=query, max_results=max_results, context=context))

        def read(reply: Reply) -> Fragments:
            found = read_reply(reply, max_results=max_results, component=self._component)
            shown = found if found.nearest is None else (found.nearest,)
            check_applied(shown, wanted, component=self._component)
            return found

        return self._ask(_Request("POST", self._url, body), (query,), read)

    def search(
        self,
        query: str,
        *,
        agent_id: str | None = None,
        knowledge_scope: Sequence[Mapping[str, Any]] | None = None,
        **members: Any,
    ) -> Passages:
        """Passages within a knowledge scope, best first, from ``/v1/search`` of the same service.

        Args:
            members: ``min_trust``, ``filters``, ``summary``, ``as_of``, ``source_document_uri``, ``task_id``,
                ``limit``, ``nearest``, ``abstain``, ``rewrite``, ``history``; the service refuses any other.

        Raises:
            InvalidRequest, NotPermitted, RetrievalFailed: as `retrieve_fragments`.
        """
        asked = {"query": query, "agent_id": agent_id, "knowledge_scope": knowledge_scope, **members}
        return self._call("POST", "/v1/search", read_passages, asked, (query,))

    def get_context(
        self,
        retrieval_query: str | None = None,
        *,
        query: str | None = None,
        agent_id: str | None = None,
        extra_queries: Sequence[str] = (),
        top_k: Mapping[str, Any] | None = None,
        **members: Any,
    ) -> Knowledge:
        """Snippets allowed in a prompt, from ``/v1/context`` of the same service.

        Args:
            query: The same as `retrieval_query`; one of them is required.
            members: ``allow_low_trust``, ``token_budget``, ``task_id``, ``source_document_uri``, ``rewrite``, ``history``.

        Raises:
            InvalidRequest, NotPermitted, RetrievalFailed: as `retrieve_fragments`; on a failure nothing is to be
                injected.
        """
        text = required_query("retrieval_query", retrieval_query, query)
        asked = {"retrieval_query": text, "agent_id": agent_id, "top_k": top_k, **members}
        asked["extra_queries"] = list(extra_queries)
        return self._call("POST", "/v1/context", read_context, asked, (text, *extra_queries))

    def verify(
        self,
        answer: str | None = None,
        *,
        claims: Sequence[Mapping[str, Any]] | None = None,
        citations: Mapping[str, str] | None = None,
        **members: Any,
    ) -> Mapping[str, Any]:
        """A verdict on every claim of an answer, from ``/v1/verify`` of the same service.

        Args:
            answer: A text with marks of its sources; or `claims`: ``{"text": …, "sources": […]}`` each.
            citations: What marks stand for: ``{"1": "policies#12"}``.
            members: ``min_trust``, ``as_of``.

        Returns:
            ``claims`` with ``verdict``, ``findings``, ``evidence``, ``changes``; ``counts`` by verdict.

        Raises:
            InvalidRequest, NotPermitted, RetrievalFailed: as `retrieve_fragments`; on a failure nothing was verified.
        """
        asked = {"answer": answer, "claims": claims, "citations": citations, **members}
        secrets = [answer or "", *(str(claim.get("text", "")) for claim in claims or ())]
        return self._call("POST", "/v1/verify", read_verdicts, asked, secrets)

    def answer(
        self,
        query: str,
        *,
        agent_id: str | None = None,
        knowledge_scope: Sequence[Mapping[str, Any]] | None = None,
        timeout: float | None = None,
        **members: Any,
    ) -> Mapping[str, Any]:
        """An answer by the service's language model, every claim quoted and checked, from ``/v1/answer``.

        Args:
            timeout: Seconds for this call: a model takes longer than a search. By default those of the client.
            members: ``min_trust``, ``filters``, ``as_of``, ``task_id``, ``limit``, ``on_failure``, ``rewrite``, ``history``.

        Returns:
            ``answer`` (None where there is none, with the ``reason``), ``claims`` with their citations, ``dropped`` with
            the reason of each, ``withheld``, ``fragments``, ``audit_id``.

        Raises:
            InvalidRequest, NotPermitted, RetrievalFailed: as `retrieve_fragments`; on a failure there is no answer.
        """
        asked = {"query": query, "agent_id": agent_id, "knowledge_scope": knowledge_scope, **members}
        return self._call("POST", "/v1/answer", read_answered, asked, (query,), timeout)

    def feedback(self, audit_id: str, *, good: Sequence[str] = (), bad: Sequence[str] = ()) -> Mapping[str, bool]:
        """Rate parts of an answer as right or wrong, at ``/v1/feedback`` of the same service.

        Args:
            audit_id: Of the answer: ``metadata["audit_id"]`` of its fragments.
            good, bad: Refs (``metadata["passage_id"]``) or addresses of fragments.

        Returns:
            What was kept: by ref, whether it is right.

        Raises:
            InvalidRequest, NotPermitted, RetrievalFailed: as `retrieve_fragments`; an answer that is another's is
                one that is not there.
        """
        said = {"audit_id": audit_id, "good": list(good), "bad": list(bad)}
        return self._call("POST", "/v1/feedback", read_kept, said)

    def _call(
        self,
        method: str,
        path: str,
        read: Callable[[Mapping[str, Any]], T],
        members: Mapping[str, Any] | None = None,
        secrets: Sequence[str] = (),
        timeout: float | None = None,
    ) -> T:
        if timeout is not None and not 0 < timeout <= LONGEST_CALL:
            why = msg("must be above 0 and at most {most} seconds", most=LONGEST_CALL)
            raise InvalidRequest(msg("{place} {fault}", place="timeout", fault=why), faults=(Fault("timeout", why),))
        body = None if members is None else _json(_given(members))
        writes = method == "DELETE" or (method, path) in WRITING
        request = _Request(method, _sibling(self._url, path), body, writes, timeout=timeout)
        return self._ask(request, secrets, lambda r: read_answer(r, read, component=self._component))

    def _send(self, method: str, path: str, body: bytes, kind: str, read: Callable[[Mapping[str, Any]], T]) -> T:
        request = _Request(method, _sibling(self._url, path), body, True, kind)
        return self._ask(request, (), lambda r: read_answer(r, read, component=self._component))

    def _fetch(self, path: str) -> bytes:
        request = _Request("GET", _sibling(self._url, path), None)
        return self._ask(request, (), lambda r: read_file(r, component=self._component))

    def _ask(self, request: _Request, secrets: Sequence[str], read: Callable[[Reply], T]) -> T:
        try:
            reply = self._reply(request, monotonic() + self._seconds(request))
            try:
                return read(reply)
            except RetrievalFailed as error:
                if not request.writes or not may_have_begun(reply) or says_failed(reply):
                    raise
                done = msg("{message}; {maybe_done}", message=error.message, maybe_done=MAYBE_DONE)
                raise RetrievalFailed(done, component=self._component) from error
        except RetrievalFailed as error:
            message = error.message
            for query in filter(None, secrets):
                message = message.replace(query, "…")
            _log.error("%s: %s", self._component, _one_line(message))
            raise

    def close(self) -> None:
        """Close the connections; may be called twice. Later calls raise `Closed`."""
        self._closed = True
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _reply(self, request: _Request, deadline: float) -> Reply:
        """The final reply, after as many retries as are allowed and fit the deadline."""
        for attempt in range(self._retries + 1):
            last = attempt == self._retries
            wait = _backoff(attempt)
            try:
                reply = self._exchange(request, deadline)
            except _Lost as error:
                if last or not _fits(wait, deadline):
                    raise RetrievalFailed(error.message, component=self._component) from error.__cause__
            else:
                begun = request.writes and may_have_begun(reply)
                if reply.status not in BUSY or begun or last or says_failed(reply):
                    return reply
                wait = _asked_to_wait(reply.retry_after, wait)
                if not _fits(wait, deadline):
                    return reply
            sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _exchange(self, request: _Request, deadline: float) -> Reply:
        """One request. The only place that uses httpx2 and translates its exceptions."""
        if self._http.is_closed:
            raise RetrievalFailed("the client is closed", component=self._component)
        limits = self._limits(max(deadline - monotonic(), 0.001))
        try:
            with (
                self._until(Deadline(deadline, monotonic)),
                self._http.stream(
                    request.method,
                    request.url,
                    content=request.body,
                    timeout=limits,
                    headers={"Content-Type": request.kind, **self._represented},
                ) as response,
            ):
                content = self._read_whole(response.iter_bytes(), MAX_REPLY_BYTES)
                return Reply(response.status_code, content, response.headers.get("Retry-After", ""))
        except self._too_large as error:
            raise RetrievalFailed(
                msg("the answer is larger than {max_reply_bytes} bytes", max_reply_bytes=MAX_REPLY_BYTES),
                component=self._component,
            ) from error
        except self._errors as error:
            raise self._translated(error, request) from error

    def _translated(self, error: Exception, request: _Request) -> RetrievalFailed:
        """The `RetrievalFailed` for an exception of httpx2; `_Lost` where a retry may help."""
        broken = isinstance(error, self._broken)
        message = self._too_late(request) if isinstance(error, self._late) and not broken else _no_answer(error)
        if request.writes and not isinstance(error, self._unsent):
            return RetrievalFailed(
                msg("{message}; {maybe_done}", message=message, maybe_done=MAYBE_DONE), component=self._component
            )
        return (_Lost if broken else RetrievalFailed)(message, component=self._component)

    def _seconds(self, request: _Request) -> float:
        """Seconds that a request may take with its retries."""
        return self._timeout if request.timeout is None else request.timeout

    def _too_late(self, request: _Request) -> str:
        return msg("no whole answer within {seconds} s", seconds=f"{self._seconds(request):g}")


def _endpoint(url: str) -> tuple[str, str]:
    """The URL to ask, and its host for messages."""
    if not isinstance(url, str):
        raise ConfigError(msg("not a URL: {error}", error=type(url).__name__))
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(msg("not a URL: {error}", error=error)) from error
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError("the URL must begin with http:// or https:// and name a host")
    if "@" in parts.netloc:
        raise ConfigError("the URL must not hold credentials", hint="give them as key")
    if parts.path in ("", "/"):
        parts = parts._replace(path=PATH)
    return parts.geturl(), f"knowledge service {host}{f':{port}' if port else ''}"


def _printable(key: str) -> str:
    if not isinstance(key, str) or not key or not all("!" <= char <= "~" for char in key):
        raise ConfigError("the key must be printable ASCII without spaces")
    return key


def _represented(on_behalf_of: str | Sequence[str]) -> dict[str, str]:
    """The header that says whom is asked for."""
    names = parse_represented(on_behalf_of)
    return {"X-Wenyuan-On-Behalf-Of": ",".join(quote(name, safe=":@") for name in sorted(names))}


def _encode(request: RetrievalRequest) -> bytes:
    members: dict[str, Any] = {"query": request.query, "max_results": request.max_results}
    if request.context is not None:
        members["context"] = dict(request.context)
    return _json(members, "context")


def _json(members: Mapping[str, Any], suspect: str = "$") -> bytes:
    try:
        return json.dumps(members, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        message = msg("the request cannot be written as JSON: {error}", error=type(error).__name__)
        raise InvalidRequest(message, faults=(Fault(suspect, message),)) from error


def _given(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _sibling(url: str, path: str) -> str:
    """Another endpoint of the service whose ``retrieve_fragments`` is asked; `path` may have a query."""
    parts = urlsplit(url)
    stem = parts.path.removesuffix("/retrieve_fragments").removesuffix("/v1").rstrip("/")
    path, _, query = path.partition("?")
    return parts._replace(path=stem + path, query=query).geturl()


def _backoff(attempt: int) -> float:
    """Seconds before a retry: 0.1, 0.2, 0.4 … at most 5, each reduced by a random factor of up to one half, so that
    callers do not retry at the same moment.
    """
    full: float = min(FIRST_WAIT * 2**attempt, LONGEST_WAIT)
    return full * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing


def _asked_to_wait(retry_after: str, otherwise: float) -> float:
    """Seconds that ``Retry-After`` asks for (a number or a date, RFC 9110 §10.2.3)."""
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after)
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(retry_after)
    except (ValueError, TypeError):
        return otherwise
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _fits(wait: float, deadline: float) -> bool:
    return monotonic() + wait < deadline


def _no_answer(error: Exception) -> str:
    return (
        msg("no answer: {kind}: {error}", kind=type(error).__name__, error=error)
        if str(error)
        else msg("no answer: {kind}", kind=type(error).__name__)
    )


def _one_line(text: str) -> str:
    """Text without line breaks, so that a service's message cannot fake a log entry."""
    return "".join(char if char.isprintable() else " " for char in text)


# An agent's own client.
#
# >>> from wenyuan.client import AgentClient
# >>> agent = AgentClient("http://127.0.0.1:8765", "support")  # doctest: +SKIP
# >>> agent.get_context(retrieval_query="客户投诉多久响应").snippets  # doctest: +SKIP


class Asks(Protocol):
    """What `AgentClient` needs of a client; `Client` implements it."""

    def get_context(self, retrieval_query: str, **members: Any) -> Knowledge: ...

    def close(self) -> None: ...


@refusing_once_closed()
@checking_arguments()
class AgentClient:
    """A client for one agent. Closing it closes only connections that it opened itself.

    Args:
        url_or_client: Of the service, or a `Client` that is shared.
        agent_id: Who asks.
        options: For the `Client` that is made: ``key``, ``timeout``, ``retries``.
    """

    _closed = False

    def __init__(self, url_or_client: str | Asks, agent_id: str, **options: Any) -> None:
        self._own = isinstance(url_or_client, str)
        if not self._own and options:
            refuse_options(url_or_client, options)
        self._client: Asks = Client(url_or_client, **options) if isinstance(url_or_client, str) else url_or_client
        self.agent_id = agent_id

    def get_context(
        self,
        retrieval_query: str | None = None,
        *,
        query: str | None = None,
        extra_queries: Sequence[str] = (),
        top_k: Mapping[str, int | Literal["auto", "confidence"]] | None = None,
        **members: Any,
    ) -> Knowledge:
        """Snippets for the agent's prompt; see `Client.get_context` for `query` and the exceptions."""
        text = required_query("retrieval_query", retrieval_query, query)
        return self._client.get_context(
            text, agent_id=self.agent_id, extra_queries=extra_queries, top_k=top_k, **members
        )

    def close(self) -> None:
        """Close connections that this client opened. Later calls raise `Closed`."""
        self._closed = True
        if self._own:
            self._client.close()

    def __enter__(self) -> AgentClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
