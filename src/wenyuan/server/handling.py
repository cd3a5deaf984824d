"""What all routes share: reading a request, working on it in a thread, and saying FAILED when that fails."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.errors import InvalidRequest, KnowledgeError, NotPermitted, msg
from wenyuan.core.ports import unless
from wenyuan.engines.external.question_path import JOURNEY, VIA, QuestionPath, arrived, refused_path
from wenyuan.runtime.shortage import is_shortage, tell_shortage
from wenyuan.server.pool import Pool
from wenyuan.server.problems import Problem
from wenyuan.server.remote_callers import inward
from wenyuan.server.request_body import WAITING, Body, ClientGone, require_json
from wenyuan.server.service_port import FaultSwitch
from wenyuan.settings import ServerSettings
from wenyuan.wire import contract, strict_json

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
class RequestKind(Generic[Q]):
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
class ProtocolReply:
    """A response of a protocol that signals failure by HTTP status: its body, and the names of failed legs."""

    body: Mapping[str, Any]
    degraded: tuple[str, ...] = ()


def json_response(
    payload: Mapping[str, object], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON body."""
    return Response(contract.encode(payload), status, headers, media_type="application/json")


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
        self.pool = Pool(settings.threads, settings.queue)
        self.waiting = Pool(WAITING, settings.queue)

    async def content(self, request: Request) -> bytes:
        """The JSON body as bytes, not parsed."""
        require_json(request.headers)
        reader: Body = request.state.body
        return inward(request.state, await reader.read())

    async def work(self, request: Request, call: Callable[[object], T], *, waits: bool = False) -> T:
        """Parse the body and run `call` on it in a thread; returns its result.

        Args:
            waits: Whether it waits for a language model; see `RequestKind`.

        Raises:
            ClientGone: the client hung up while a language model was waited for.
        """
        content = await self.content(request)

        def work() -> T:
            return call(strict_json.loads(content))

        return await (self._waited(request, work) if waits else self.pool.run(work))

    async def ask(self, request: Request, question: RequestKind[Q], *, content: bytes | None = None) -> Response:
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

    async def tell(self, request: Request, answer: Callable[[object], ProtocolReply]) -> Response:
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
        question: RequestKind[Q],
        fault: AbstractContextManager[object],
        request_id: str,
        journey: QuestionPath,
    ) -> Response:
        try:
            if journey.refused:
                raise refused_path(journey.refused)
            with fault:
                body = question.answer(asked)
            payload = contract.encode(body)
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
            payload = contract.encode(body)
        status = 200 if body["status"] == "SUCCESS" else self.settings.failed_http_status
        return Response(payload, status, {STATUS_HEADER: body["status"]}, media_type="application/json")


async def _watch(request: Request, gone: threading.Event) -> None:
    """Wait until the client hangs up."""
    while (await request.state.body.receive())["type"] != "http.disconnect":
        pass
    gone.set()
