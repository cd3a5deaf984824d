"""What all routes share: reading a request, working on it in a thread, and saying FAILED when that fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.errors import InvalidRequest, KnowledgeError, NotPermitted
from wenyuan.engines.via import JOURNEY, VIA, Journey, arrived, told
from wenyuan.server.body import Body, require_json
from wenyuan.server.pool import Pool
from wenyuan.server.problem import Problem
from wenyuan.server.seams import FaultSwitch, ServerSettings
from wenyuan.wire import shapes, strict_json

__all__ = [
    "DEGRADED_HEADER",
    "FAULT_HEADER",
    "STATUS_HEADER",
    "Desk",
    "Question",
    "Told",
    "json_response",
    "missing",
]

STATUS_HEADER = "X-Retrieval-Status"
DEGRADED_HEADER = "X-Retrieval-Degraded"
"""Names of the legs that failed though they were allowed to; there only when one did."""

FAULT_HEADER = "X-Wenyuan-Fault"
_log = logging.getLogger("wenyuan.server")
Q = TypeVar("Q")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Question(Generic[Q]):
    """A kind of request that has an answer of its own for failure.

    Attributes:
        parse: The request that a JSON value is; raises InvalidRequest.
        answer: The body of its answer, in which ``status`` is said.
        failed: The body that says FAILED, with the reason.
    """

    parse: Callable[[object], Q]
    answer: Callable[[Q], Mapping[str, Any]]
    failed: Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Told:
    """An answer in a protocol that says failures by HTTP status: its body, and the legs that failed nevertheless."""

    body: Mapping[str, Any]
    degraded: tuple[str, ...] = ()


def json_response(
    payload: Mapping[str, object], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON body."""
    return Response(shapes.encode(payload), status, headers, media_type="application/json")


def missing(kind: str) -> Problem:
    """404: there is no such thing, or none that this caller may know of; the two are told alike."""
    return Problem(404, "not_found", f"there is no such {kind}")


class Desk:
    """Takes requests in and hands them to threads.

    Args:
        library_id: What the library behind it is called where libraries ask one another; see `engines.via`.
    """

    def __init__(self, settings: ServerSettings, fault: FaultSwitch | None, library_id: str = "") -> None:
        self.settings = settings
        self._library_id = library_id
        self._fault = fault
        self.pool = Pool(settings.threads, settings.queue_limit)

    async def content(self, request: Request) -> bytes:
        """The JSON body, not read yet."""
        require_json(request.headers)
        reader: Body = request.state.body
        return await reader.read()

    async def work(self, request: Request, call: Callable[[object], T]) -> T:
        """What a call makes of the body, in a thread."""
        content = await self.content(request)
        return await self.pool.run(lambda: call(strict_json.loads(content)))

    async def ask(self, request: Request, question: Question[Q]) -> Response:
        """The answer to a question; whatever goes wrong after a valid request is an answer that says FAILED."""
        content = await self.content(request)
        fault = self._fault_for(request.headers)
        journey = arrived(self._library_id, ",".join(request.headers.getlist(VIA)))
        request_id: str = request.state.request_id

        def answer() -> Response:
            JOURNEY.set(journey)  # in this call's own copy of the context, and those of its legs
            response = self._answer(content, question, fault, request_id, journey)
            if journey.refused and response.headers[STATUS_HEADER] == "FAILED":
                response.headers[VIA] = journey.refused
            return response

        return await self.pool.run(answer)

    async def tell(self, request: Request, answer: Callable[[object], Told]) -> Response:
        """The answer of a protocol that has no word for FAILED: what goes wrong is raised, with a status of its own.

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
                _log.exception("retrieval failed: request_id=%s", request_id)
                raise Problem(500, "internal_error", "internal error", headers={STATUS_HEADER: "FAILED"}) from error

        return await self.pool.run(work)

    @staticmethod
    def told(body: Mapping[str, Any], status: str, degraded: tuple[str, ...] = ()) -> Response:
        """A body with the header that says how the retrieval went."""
        named = {DEGRADED_HEADER: ", ".join(name.encode("ascii", "replace").decode() for name in degraded)}
        return json_response(body, 200, {STATUS_HEADER: status, **(named if degraded else {})})

    def _fault_for(self, headers: Mapping[str, str]) -> AbstractContextManager[object]:
        name = headers.get(FAULT_HEADER.lower())
        return self._fault(name) if self._fault and name else nullcontext()

    def _answer(
        self,
        content: bytes,
        question: Question[Q],
        fault: AbstractContextManager[object],
        request_id: str,
        journey: Journey,
    ) -> Response:
        asked = question.parse(strict_json.loads(content))
        try:
            if journey.refused:
                raise told(journey.refused)
            with fault:
                body = question.answer(asked)
            payload = shapes.encode(body)
        except (InvalidRequest, NotPermitted, Problem):
            raise
        except Exception as error:
            if isinstance(error, KnowledgeError):  # the service has logged why
                _log.info("answered FAILED: request_id=%s", request_id)
            else:
                _log.exception("retrieval failed: request_id=%s", request_id)
            reason = str(error) if isinstance(error, KnowledgeError) else "internal error"
            body = question.failed(f"{reason} (request {request_id})")
            payload = shapes.encode(body)
        status = 200 if body["status"] == "SUCCESS" else self.settings.failed_http_status
        return Response(payload, status, {STATUS_HEADER: body["status"]}, media_type="application/json")
