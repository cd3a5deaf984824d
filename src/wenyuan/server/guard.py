"""The outermost layer: assigns request ids, checks origin and principal, and turns every error into a problem document."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import time
import uuid
from collections.abc import Collection, Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wenyuan.core.access import MissingRight
from wenyuan.core.errors import KnowledgeError
from wenyuan.runtime.shortage import is_shortage
from wenyuan.server.buckets import Buckets
from wenyuan.server.handling import STATUS_HEADER
from wenyuan.server.keys import KeyRing
from wenyuan.server.limits import Limiter
from wenyuan.server.on_behalf_of import represented
from wenyuan.server.problems import Problem
from wenyuan.server.refusals import refusal
from wenyuan.server.refused_connections import short_of_handles
from wenyuan.server.request_body import Body, ClientGone
from wenyuan.server.request_metrics import RequestMetrics
from wenyuan.server.request_origin import check_page, leave_to_read, preflight
from wenyuan.server.service_port import Authenticate
from wenyuan.service.search.traces import INCOMING
from wenyuan.settings import ServerSettings

_REQUEST_ID = re.compile(r"[A-Za-z0-9_\-]{1,64}")
_log = logging.getLogger("wenyuan.server")


class _Answer:
    """The `send` of one request: adds the headers common to all responses, after the request body has been read."""

    def __init__(self, send: Send, body: Body, request_id: str, leave: Mapping[str, str]) -> None:
        self._send = send
        self._body = body
        self._request_id = request_id
        self.leave = leave
        self.status = 0
        self.said = ""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            reusable = self._body.finished or await self._body.discard()
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            self.said = headers.get(STATUS_HEADER, "")
            headers["X-Request-Id"] = self._request_id
            headers["X-Content-Type-Options"] = "nosniff"
            headers["Cache-Control"] = "no-store"
            headers.update(self.leave)
            if not reusable:
                headers["Connection"] = "close"
        await self._send(message)


class GuardMiddleware:
    """The outermost ASGI middleware.

    It sets ``request.state.request_id`` (the client's own X-Request-Id if that is 1-64 of ``A-Z a-z 0-9 _ -``),
    ``principal`` and ``body``, and turns every exception into a problem document. Logged at INFO are the
    method, the path if a route has it, the status and the time: never a query, a body or a header.

    Args:
        public: Paths that need no principal: probes carry no keys.
        buckets: See `Limiter`.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        authenticate: Authenticate,
        settings: ServerSettings,
        traffic: RequestMetrics,
        public: Collection[str],
        buckets: Buckets | None = None,
    ) -> None:
        self._app = app
        self._public = public
        self._traffic = traffic
        self._authenticate = authenticate
        self._settings = settings
        self._limiter = Limiter(settings, buckets=buckets)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with self._traffic.entered():
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        headers = Headers(scope=scope)
        offered = headers.get("x-request-id", "")
        request_id = offered if _REQUEST_ID.fullmatch(offered) else uuid.uuid4().hex
        body = Body(headers, receive, limit=self._settings.max_body, timeout=self._settings.body_timeout)
        answer = _Answer(send, body, request_id, leave_to_read(headers, self._settings.allowed_origins))
        scope.setdefault("state", {}).update(request_id=request_id, body=body)
        INCOMING.set({name: headers[name] for name in ("traceparent", "tracestate") if name in headers})
        try:
            check_page(scope["method"], scope["path"], headers, self._settings.allowed_origins)
            await self._admitted(scope, headers, body, answer)
        except ClientGone:
            _log.info("the client hung up: request_id=%s", request_id)
        except asyncio.CancelledError:
            # The server stops and this request exceeded its grace period: send that as the response.
            await self._refuse(Problem(503, "shutting_down", "the server stops"), scope, answer, request_id)
        except Exception as error:
            await self._refuse(self._problem(error, request_id), scope, answer, request_id)
        seconds = time.perf_counter() - started
        self._traffic.answered(scope["path"], answer.status, answer.said or scope["state"].get("said", ""), seconds)
        self._record(scope, answer.status, request_id, seconds)

    async def _admitted(self, scope: Scope, headers: Headers, body: Body, answer: _Answer) -> None:
        """Answer whoever may ask, and a browser that asks whether a page may."""
        if (told := preflight(scope["method"], headers, answer.leave)) is not None:
            await Response(status_code=204, headers=told)(scope, body.receive, answer.send)
        elif scope["path"] not in self._public:
            caller = self._authenticate(headers)
            caller = await caller if inspect.isawaitable(caller) else caller
            principal = scope["state"]["principal"] = represented(caller, headers)
            with self._limiter.admitted(principal.key_id):
                await self._app(scope, body.receive, answer.send)
        else:
            await self._app(scope, body.receive, answer.send)

    def _problem(self, error: Exception, request_id: str) -> Problem:
        problem = _problem(error, request_id)
        if isinstance(error, MissingRight) and isinstance(self._authenticate, KeyRing):
            problem.headers |= self._authenticate.challenge(error)
        return problem

    @staticmethod
    async def _refuse(problem: Problem, scope: Scope, answer: _Answer, request_id: str) -> None:
        if answer.status:  # the head is out already: the server cuts the connection, which no one can misread
            return
        try:
            response = refusal(problem, request_id, scope["path"], Headers(scope=scope))
            await response(scope, _nothing, answer.send)
        except ClientGone:
            _log.info("the client hung up: request_id=%s", request_id)

    def _record(self, scope: Scope, status: int, request_id: str, seconds: float) -> None:
        if status and _log.isEnabledFor(logging.INFO):
            path = scope["path"] if "endpoint" in scope or scope["path"] in self._public else "-"
            _log.info(
                "%s %s %d %.1f ms request_id=%s", scope["method"][:16], path, status, seconds * 1000, request_id
            )


def _problem(error: Exception, request_id: str) -> Problem:
    """What is answered for an error; one that is no fault of the request is logged."""
    problem = short_of_handles() if is_shortage(error) else Problem.of(error)
    if problem.status >= 500 and problem is not error and problem.code != "out_of_handles":
        unknown = not isinstance(error, KnowledgeError)  # one that is known says what failed, and where
        _log.error("request failed: request_id=%s: %s", request_id, error, exc_info=unknown)
    return problem


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
