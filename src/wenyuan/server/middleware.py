"""Middleware: security headers, size limits, deadlines, and request metrics."""

from __future__ import annotations

import inspect
import logging
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wenyuan.runtime import Timing, Timings
from wenyuan.server.access import Limiter, Route
from wenyuan.server.handling import GONE, STATUS_HEADER, Body, ClientGone
from wenyuan.server.problems import Problem, refusal
from wenyuan.server.settings import Authenticate, ServerSettings, check_page
from wenyuan.service.search.traces import INCOMING

# What goes through the server: counted by names of closed sets, so that no caller can fill the memory.


def door_of(path: str) -> str:
    """The route group of a path: ``search`` for ``/v1/search``, ``sources`` for all below ``/v1/sources``."""
    return path.removeprefix("/v1").removeprefix("/").partition("/")[0]


def outcome_of(status: int, said: str) -> str:
    """``success``, ``failed`` (a FAILED body), ``refused`` (4xx), ``error`` (5xx), or ``gone``: the client hung up."""
    if said == "FAILED":
        return "failed"
    if not status or said == GONE:
        return "gone"
    return "success" if status < 400 else "refused" if status < 500 else "error"


class RequestMetrics:
    """Counts and durations of requests by route group, status and outcome, and open requests. Safe to share between
    threads.

    Args:
        routes: Whose doors there are; every other path is counted as ``other``.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._doors = frozenset(door_of(route.path) for route in routes)
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._open = 0
        self._limited = 0
        self._timings = Timings()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Context that counts a request as open."""
        with self._lock:
            self._open += 1
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1

    def answered(self, path: str, status: int, said: str, seconds: float) -> None:
        """Count a response.

        Args:
            status: HTTP status; 0 when the client hung up before it was sent.
            said: The status that the answer itself has, ``SUCCESS`` or ``FAILED``; ``""`` where it has none; `GONE` of a
                stream that was not read to its end.
        """
        door, outcome = door_of(path), outcome_of(status, said)
        door = door if door in self._doors else "other"
        with self._lock:
            self._requests[door, str(status), outcome] += 1
            self._limited += status == 429
        self._timings.add((door,), seconds)

    def requests(self) -> Mapping[tuple[str, str, str], int]:
        """Number of requests by route group, status and outcome."""
        with self._lock:
            return dict(self._requests)

    @property
    def limited(self) -> int:
        """Number of requests refused with 429."""
        with self._lock:
            return self._limited

    def timings(self) -> Mapping[tuple[str, ...], Timing]:
        """Durations by route group."""
        return self._timings.read()

    @property
    def open(self) -> int:
        with self._lock:
            return self._open


# The outermost layer: assigns request ids, checks origin and principal, and turns every error into a problem
# document.


_REQUEST_ID = re.compile(r"[A-Za-z0-9_\-]{1,64}")
_log = logging.getLogger("wenyuan.server")


class _Answer:
    """The `send` of one request: adds the headers common to all responses, after the request body has been read."""

    def __init__(self, send: Send, body: Body, request_id: str) -> None:
        self._send = send
        self._body = body
        self._request_id = request_id
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
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        authenticate: Authenticate,
        settings: ServerSettings,
        traffic: RequestMetrics,
        public: Collection[str],
    ) -> None:
        self._app = app
        self._public = public
        self._traffic = traffic
        self._authenticate = authenticate
        self._settings = settings
        self._limiter = Limiter(settings.limits)

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
        answer = _Answer(send, body, request_id)
        scope.setdefault("state", {}).update(request_id=request_id, body=body)
        INCOMING.set({name: headers[name] for name in ("traceparent", "tracestate") if name in headers})
        try:
            check_page(scope["method"], scope["path"], headers, self._settings.allowed_origins)
            if scope["path"] not in self._public:
                caller = self._authenticate(headers)
                principal = scope["state"]["principal"] = await caller if inspect.isawaitable(caller) else caller
                with self._limiter.admitted(principal.key_id):
                    await self._app(scope, body.receive, answer.send)
            else:
                await self._app(scope, body.receive, answer.send)
        except ClientGone:
            _log.info("the client hung up: request_id=%s", request_id)
        except anyio.get_cancelled_exc_class():
            # The server stops and this request exceeded its grace period: send that as the response.
            await self._refuse(Problem(503, "shutting_down", "the server stops"), scope, answer, request_id)
        except Exception as error:
            problem = Problem.of(error)
            if problem.status >= 500 and problem is not error:
                _log.exception("request failed: request_id=%s", request_id)
            await self._refuse(problem, scope, answer, request_id)
        seconds = time.perf_counter() - started
        self._traffic.answered(scope["path"], answer.status, answer.said or scope["state"].get("said", ""), seconds)
        self._record(scope, answer.status, request_id, seconds)

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


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
