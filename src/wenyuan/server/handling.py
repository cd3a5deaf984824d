"""Request handling: authentication, body, work in a thread, response; and routing by path."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Message, Receive, Scope, Send

from wenyuan import wire
from wenyuan.core.errors import InvalidRequest, KnowledgeError, NotPermitted, msg
from wenyuan.core.ports import unless
from wenyuan.engines.external import JOURNEY, VIA, QuestionPath, arrived, told
from wenyuan.runtime.shortage import is_shortage, tell_shortage
from wenyuan.server import FaultSwitch, ServerSettings
from wenyuan.server.problems import Pool, Problem
from wenyuan.server.remote_callers import inward
from wenyuan.wire import strict_json

# Reading a request body: counted, timed, and of the one media type that is understood.


_DISCARD_BYTES = 8 * 1024 * 1024
_WAITING = 8  # threads of requests that wait for a language model
"""What is left of a refused body is read, up to this much, so that the client gets to read why."""


class ClientGone(Exception):
    """The client has closed the connection; no response can be sent."""


def _is_json(content_type: str) -> bool:
    media_type, *parameters = content_type.lower().split(";")
    pairs = [parameter.partition("=") for parameter in parameters]
    charsets = {value.strip().strip('"') for name, _, value in pairs if name.strip() == "charset"}
    return media_type.strip() == "application/json" and charsets <= {"utf-8", "utf8"}


def require_json(headers: Headers) -> None:
    """Refuse every body that does not declare itself as plain JSON in UTF-8.

    Raises:
        Problem: 415.
    """
    for coding in headers.getlist("content-encoding"):
        if coding.strip().lower() not in ("", "identity"):
            raise Problem(415, "unsupported_content_encoding", "the body must be sent without Content-Encoding")
    types = headers.getlist("content-type")
    if len(types) != 1 or not _is_json(types[0]):
        raise Problem(
            415, "unsupported_media_type", "Content-Type must be application/json, in UTF-8 if it names a charset"
        )


class Body:
    """The body of one request.

    Args:
        limit: Bytes that are accepted.
        timeout: Seconds, from the first reading on, in which the whole must have arrived.
    """

    def __init__(self, headers: Headers, receive: Receive, *, limit: int, timeout: float) -> None:
        self._receive = receive
        self._limit = limit
        self._timeout = timeout
        self._deadline: float | None = None
        length = headers.get("content-length", "")
        self._declared = int(length) if length.isascii() and length.isdecimal() else 0
        # With `Expect: 100-continue` the client sends nothing before it is asked to.
        self._waits = "expect" in headers
        self.finished = not self._declared and "transfer-encoding" not in headers

    async def receive(self) -> Message:
        """The ASGI `receive`, with limits on size and time."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._waits = False
            self.finished = not message.get("more_body", False)
        return message

    async def _chunk(self) -> bytes:
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk: bytes = message.get("body", b"")
        return chunk

    def _remaining(self) -> float:
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self._timeout
        return max(0.0, self._deadline - now)

    async def read(self) -> bytes:
        """The complete body.

        Raises:
            Problem: 413 if it is larger than the limit, 408 if it does not arrive in time.
            ClientGone: the client hung up.
        """
        if self._declared > self._limit:
            raise self._too_large()
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._remaining()):
                while not self.finished:
                    chunks.append(await self._chunk())
                    size += len(chunks[-1])
                    if size > self._limit:
                        raise self._too_large()
        except TimeoutError as error:
            late = msg("the body did not arrive within {seconds} seconds", seconds=f"{self._timeout:g}")
            raise Problem(408, "body_timeout", late) from error
        return b"".join(chunks)

    async def chunks(self, *, limit: int, pause: float) -> AsyncIterator[bytes]:
        """The body in chunks, for uploads too large to hold in memory.

        Args:
            limit: Bytes that are accepted, in the place of the usual ones.
            pause: Seconds for which nothing may come.

        Raises:
            Problem: 413 if it is larger than the limit, 408 if nothing comes any more.
            ClientGone: the client hung up.
        """
        self._limit = limit
        if self._declared > limit:
            raise self._too_large()
        size = 0
        while not self.finished:
            self._deadline = time.monotonic() + pause
            try:
                async with asyncio.timeout(pause):
                    chunk = await self._chunk()
            except TimeoutError as error:
                late = msg("nothing of the body arrived for {seconds} seconds", seconds=f"{pause:g}")
                raise Problem(408, "body_timeout", late) from error
            size += len(chunk)
            if size > limit:
                raise self._too_large()
            yield chunk

    def _too_large(self) -> Problem:
        return Problem(413, "body_too_large", msg("the body is larger than {limit} bytes", limit=self._limit))

    async def discard(self) -> bool:
        """Read the rest of the body, within limits; returns whether the connection can be reused.

        Raises:
            ClientGone: the client hung up.
        """
        bound = _DISCARD_BYTES
        if self._waits or self._declared > bound:
            return self.finished
        with suppress(TimeoutError):
            async with asyncio.timeout(self._remaining()):
                while not self.finished and bound > 0:
                    bound -= len(await self._chunk())
        return self.finished


# What all routes share: reading a request, working on it in a thread, and saying FAILED when that fails.


STATUS_HEADER = "X-Retrieval-Status"
DEGRADED_HEADER = "X-Retrieval-Degraded"
"""Names of the legs that failed though they were allowed to; there only when one did."""

GONE = "GONE"
"""Of a stream that nobody read to its end. How a stream ended is in ``request.state.said``: its header is out before."""

FAULT_HEADER = "X-Wenyuan-Fault"
_log = logging.getLogger("wenyuan.server")
Q = TypeVar("Q")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question(Generic[Q]):
    """How a request type is parsed, answered, and answered on failure.

    Attributes:
        parse: The request that a JSON value is; raises InvalidRequest.
        answer: The body of its answer, in which ``status`` is said.
        failed: The body that says FAILED, with the reason.
        waits: Whether a request waits for a language model, which must not keep the threads of others.
    """

    parse: Callable[[object], Q]
    answer: Callable[[Q], Mapping[str, Any]]
    failed: Callable[[str], Mapping[str, Any]]
    waits: Callable[[Q], bool] = lambda _asked: False


@dataclass(frozen=True, slots=True)
class Told:
    """A response of a protocol that signals failure by HTTP status: its body, and the names of failed legs."""

    body: Mapping[str, Any]
    degraded: tuple[str, ...] = ()


def json_response(
    payload: Mapping[str, object], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON body."""
    return Response(wire.encode(payload), status, headers, media_type="application/json")


def missing(kind: str) -> Problem:
    """404 for what does not exist or is not visible to the caller; the two look the same."""
    return Problem(404, "not_found", f"there is no such {kind}")


class RequestHandler:
    """Base of route handlers: authenticates, reads bodies, and runs work in threads.

    Args:
        library_id: What the library behind it is called where libraries ask one another; see `engines.external`.
    """

    def __init__(self, settings: ServerSettings, fault: FaultSwitch | None, library_id: str = "") -> None:
        self.settings = settings
        self._library_id = library_id
        self._fault = fault
        self.pool = Pool(settings.threads, settings.queue_limit)
        self.waiting = Pool(_WAITING, settings.queue_limit)

    async def content(self, request: Request) -> bytes:
        """The JSON body as bytes, not parsed."""
        require_json(request.headers)
        reader: Body = request.state.body
        return inward(request.state, await reader.read())

    async def work(self, request: Request, call: Callable[[object], T], *, waits: bool = False) -> T:
        """Parse the body and run `call` on it in a thread; returns its result.

        Args:
            waits: Whether it waits for a language model; see `Question`.

        Raises:
            ClientGone: the client hung up while a language model was waited for.
        """
        content = await self.content(request)

        def work() -> T:
            return call(strict_json.loads(content))

        return await (self._waited(request, work) if waits else self.pool.run(work))

    async def ask(self, request: Request, question: Question[Q], *, content: bytes | None = None) -> Response:
        """The response to a question. Every failure after validation becomes a body with status FAILED.

        Args:
            content: The body, where it was read already.

        Raises:
            ClientGone: the client hung up while a language model was waited for, which is then not waited for any more.
        """
        content = await self.content(request) if content is None else content
        fault = self._fault_for(request.headers)
        journey = arrived(self._library_id, ",".join(request.headers.getlist(VIA)))
        request_id: str = request.state.request_id

        def answer(asked: Q) -> Response:
            JOURNEY.set(journey)  # in this call's own copy of the context, and those of its legs
            response = self._answer(asked, question, fault, request_id, journey)
            if journey.refused and response.headers[STATUS_HEADER] == "FAILED":
                response.headers[VIA] = journey.refused
            return response

        def begin() -> Response | Callable[[], Response]:
            asked = question.parse(strict_json.loads(content))
            return partial(answer, asked) if question.waits(asked) else answer(asked)

        begun = await self.pool.run(begin)
        return begun if isinstance(begun, Response) else await self._waited(request, begun)

    async def _waited(self, request: Request, answer: Callable[[], T]) -> T:
        """The answer to a question that waits for a language model, as long as the client does."""
        gone = threading.Event()

        def work() -> T:
            with unless(gone.is_set):
                return answer()

        watching = asyncio.create_task(_watch(request, gone))
        try:
            response = await self.waiting.run(work)
        finally:
            watching.cancel()
        if gone.is_set():  # that no model answered is then no failure
            raise ClientGone
        return response

    async def tell(self, request: Request, answer: Callable[[object], Told]) -> Response:
        """The response of a protocol without a FAILED body: failures are raised and get an HTTP error status.

        Raises:
            InvalidRequest, NotPermitted: the request.
            Problem: 503 with the code of what failed; its header says FAILED.
        """
        content = await self.content(request)
        fault = self._fault_for(request.headers)
        request_id: str = request.state.request_id

        def work() -> Response:
            body = strict_json.loads(content)
            try:
                with fault:
                    found = answer(body)
                return self.told(found.body, "SUCCESS", found.degraded)
            except (InvalidRequest, NotPermitted, Problem):
                raise
            except KnowledgeError as error:  # the service has recorded why
                _log.error("retrieval failed: request_id=%s: %s", request_id, error)
                raise Problem(503, error.code, str(error), headers={STATUS_HEADER: "FAILED"}) from error
            except Exception as error:
                if is_shortage(error):
                    raise  # it is refused as every request is for which no handle is left
                _log.exception("retrieval failed: request_id=%s", request_id)
                raise Problem(500, "internal_error", "internal error", headers={STATUS_HEADER: "FAILED"}) from error

        return await self.pool.run(work)

    @staticmethod
    def told(body: Mapping[str, Any], status: str, degraded: tuple[str, ...] = ()) -> Response:
        """A response with the header that reports the retrieval status."""
        named = {DEGRADED_HEADER: ", ".join(name.encode("ascii", "replace").decode() for name in degraded)}
        return json_response(body, 200, {STATUS_HEADER: status, **(named if degraded else {})})

    def _fault_for(self, headers: Mapping[str, str]) -> AbstractContextManager[object]:
        name = headers.get(FAULT_HEADER.lower())
        return self._fault(name) if self._fault and name else nullcontext()

    def _answer(
        self,
        asked: Q,
        question: Question[Q],
        fault: AbstractContextManager[object],
        request_id: str,
        journey: QuestionPath,
    ) -> Response:
        try:
            if journey.refused:
                raise told(journey.refused)
            with fault:
                body = question.answer(asked)
            payload = wire.encode(body)
        except (InvalidRequest, NotPermitted, Problem):
            raise
        except Exception as error:
            if is_shortage(error):
                tell_shortage()
            elif isinstance(error, KnowledgeError):  # the service has logged why
                _log.info("answered FAILED: request_id=%s", request_id)
            else:
                _log.exception("retrieval failed: request_id=%s", request_id)
            reason = str(error) if isinstance(error, KnowledgeError) else "internal error"
            body = question.failed(msg("{reason} (request {request_id})", reason=reason, request_id=request_id))
            payload = wire.encode(body)
        status = 200 if body["status"] == "SUCCESS" else self.settings.failed_http_status
        return Response(payload, status, {STATUS_HEADER: body["status"]}, media_type="application/json")


async def _watch(request: Request, gone: threading.Event) -> None:
    """Wait until the client hangs up."""
    while (await request.state.body.receive())["type"] != "http.disconnect":
        pass
    gone.set()


# Routes that know all methods of their path: which there are is told for the path, not for the first that fits.


Answer = Callable[[Request], Awaitable[Response]]


class _Path(Route):
    """Route for a path with all its methods; also takes unsupported methods, so that no more general route answers
    them.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child = super().matches(scope)
        return (Match.FULL if match is Match.PARTIAL else match), child

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


def routes_of(
    handlers: Mapping[tuple[str, str], Answer], no_method: Callable[[Request, Mapping[str, str]], Awaitable[Response]]
) -> list[Route]:
    """One route per path, literal paths before those with parameters.

    ``HEAD`` is answered as ``GET``, and ``OPTIONS`` with the methods that there are.

    Args:
        handlers: By method and path.
        no_method: Answers what the path has no method for; it is given the header that names those it has.
    """
    by_path: dict[str, dict[str, Answer]] = {}
    for (method, path), handler in handlers.items():
        by_path.setdefault(path, {})[method] = handler
    written_out_first = sorted(by_path.items(), key=lambda entry: "{" in entry[0])
    return [_Path(path, _dispatch(methods, no_method), methods=list(methods)) for path, methods in written_out_first]


def _dispatch(methods: Mapping[str, Answer], no_method: Any) -> Answer:
    allow = {"Allow": allowed_on(methods)}

    async def answer(request: Request) -> Response:
        handler = methods.get("GET" if request.method == "HEAD" else request.method)
        if handler is not None:
            return await handler(request)
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=allow)
        refused: Response = await no_method(request, allow)
        return refused

    return answer


def allowed_on(methods: Iterable[str]) -> str:
    """The value of ``Allow`` on a path with these methods."""
    given = set(methods)
    return ", ".join(sorted(given | {"OPTIONS"} | ({"HEAD"} if "GET" in given else set())))
