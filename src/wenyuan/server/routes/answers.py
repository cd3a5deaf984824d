"""The route that answers with a language model, as one response or as server-sent events."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from wenyuan.core.access import Principal
from wenyuan.core.errors import InvalidRequest, KnowledgeError, NotPermitted, msg
from wenyuan.core.ports import caller_gone
from wenyuan.server.handling import GONE, RequestHandler, RequestKind
from wenyuan.server.openapi import question_operation
from wenyuan.server.problems import Problem
from wenyuan.server.route import route
from wenyuan.server.routes.ask import KnowledgeRoutes
from wenyuan.server.service_port import KnowledgeService
from wenyuan.service.generation.answering import Tell
from wenyuan.service.generation.answers import AnswerRequest
from wenyuan.wire import search_answers, search_requests, strict_json
from wenyuan.wire.answering import AnswerRequestShape, AnswerShape, answer_from_wire, failed_answer

_log = logging.getLogger("wenyuan.server")
_ANSWER = ("An answer whose every claim is quoted", AnswerRequestShape, AnswerShape, 404)

_Event = tuple[str, Mapping[str, Any]]


class Answers:
    """``/v1/answer``; all of it waits for a model."""

    def __init__(self, service: KnowledgeService, handler: RequestHandler) -> None:
        self._service, self._handler = service, handler
        self._check = KnowledgeRoutes(service, handler).check
        self._pool = handler.waiting

    @route("POST", "/v1/answer", "search", question_operation("answer", *_ANSWER, streams=True))
    async def answer(self, request: Request) -> Response:
        principal: Principal = request.state.principal
        content = await self._handler.content(request)
        wanted = await self._pool.run(lambda: answer_from_wire(strict_json.loads(content)))
        self._check(wanted.agent_id, search_requests.domains_of(wanted.knowledge_scope), principal)
        if wanted.stream:
            return StreamingResponse(self._events(wanted, principal, request), media_type="text/event-stream")
        question = RequestKind(
            lambda _body: wanted, lambda one: self._told(one, principal, _nothing, caller_gone()), failed_answer,
            waits=lambda _asked: True,
        )  # fmt: skip
        return await self._handler.ask(request, question, content=content)

    def _told(
        self, wanted: AnswerRequest, principal: Principal, tell: Tell, gone: Callable[[], bool]
    ) -> Mapping[str, Any]:
        answered = self._service.answer(wanted, principal, tell=tell, gone=gone)
        self._check_still_counts(principal)
        return {"status": "SUCCESS", **search_answers.answer_to_wire(answered)}

    def _check_still_counts(self, principal: Principal) -> None:
        """Refuse to answer a key that was revoked, ran out or got other eyes while a model was asked.

        Raises:
            NotPermitted: it does not count any more.
        """
        keys = self._service.catalog.keys()
        held = next((key for key in keys if key.key_id == principal.key_id), None)
        if held is None:
            return
        over = held.revoked_at is not None or (held.expires_at or float("inf")) <= time.time()
        if over or (held.user, held.groups) != (principal.user, principal.groups):
            raise NotPermitted("the key does not count any more as it did when this was asked")

    async def _events(self, wanted: AnswerRequest, principal: Principal, request: Request) -> AsyncIterator[str]:
        """Server-sent events: stages as they happen, claims once checked and recorded, finally the complete answer or
        FAILED.
        """
        loop, gone = asyncio.get_running_loop(), threading.Event()
        queue: asyncio.Queue[_Event] = asyncio.Queue()
        request_id: str = request.state.request_id
        request.state.said = GONE

        def put(name: str, told: Mapping[str, Any]) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, (name, told))

        def work() -> None:
            try:
                body = self._told(
                    wanted, principal, lambda stage, told: put("stage", {"stage": stage, **told}), gone.is_set
                )
                for claim in body["claims"]:
                    put("claim", claim)
                for dropped in body["dropped"]:
                    put("dropped", dropped)
            except Exception as error:
                body = _failed(error, request_id)
            put("answer", body)

        working = asyncio.create_task(self._pool.run(work))
        working.add_done_callback(lambda task: _ended(task, queue, request_id))
        try:
            name = ""
            while name != "answer":
                name, told = await queue.get()
                if name == "answer":
                    request.state.said = told["status"]
                yield f"event: {name}\ndata: {json.dumps(told, ensure_ascii=False, default=dict)}\n\n"
        finally:
            gone.set()


def _nothing(_stage: str, _told: Mapping[str, Any]) -> None:
    """Default callback: does nothing."""


def _failed(error: Exception, request_id: str) -> dict[str, Any]:
    """A failure as a stream event, since the HTTP status has already been sent."""
    if not isinstance(error, KnowledgeError | Problem):
        _log.error("answering failed: request_id=%s", request_id, exc_info=error)
    told = isinstance(error, KnowledgeError | InvalidRequest | NotPermitted | Problem)
    reason = str(error) if told else "internal error"
    return failed_answer(msg("{reason} (request {request_id})", reason=reason, request_id=request_id))


def _ended(task: asyncio.Task[None], queue: asyncio.Queue[_Event], request_id: str) -> None:
    """Report a task that failed before it began, e.g. on a full queue, as a failure in the stream."""
    if not task.cancelled() and (error := task.exception()) is not None:
        queue.put_nowait(("answer", _failed(error if isinstance(error, Exception) else Exception(), request_id)))
