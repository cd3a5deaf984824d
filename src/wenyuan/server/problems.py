"""Problem details (RFC 9457), errors in the formats of other protocols, and the worker pool."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from contextvars import Context, copy_context
from functools import partial
from http import HTTPStatus
from queue import SimpleQueue
from typing import Any, TypeVar

from starlette.datastructures import Headers
from starlette.responses import Response

from wenyuan.core.errors import Fault, InvalidRequest, KnowledgeError, NotPermitted, as_sent
from wenyuan.wire import encode
from wenyuan.wire.protocols import dify_error, store_error

# Problem details (RFC 9457): the one form of every answer that is not an answer of the contract.


PROBLEM_JSON = "application/problem+json"


def problem_body(
    status: int, code: str, detail: str, request_id: str, faults: tuple[Fault, ...] = ()
) -> dict[str, object]:
    """The members of a problem document; the title is the status' own phrase."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
        **as_sent(detail),
        "errors": [{"path": fault.path, "message": fault.message, **as_sent(fault.message)} for fault in faults],
        "request_id": request_id,
    }


class Problem(Exception):
    """An exception that becomes a problem document.

    Args:
        code: For programs, one word per reason.
        detail: For people, without anything from the request body.
        headers: Further response headers, such as Retry-After.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        faults: tuple[Fault, ...] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.faults = faults
        self.headers = dict(headers or {})

    @classmethod
    def of(cls, error: Exception) -> Problem:
        """The problem for an exception; an unexpected one is a 500 without details."""
        match error:
            case Problem():
                return error
            case InvalidRequest():
                return cls(400, error.code, str(error), faults=error.faults)
            case NotPermitted():
                return cls(403, error.code, str(error))
            case KnowledgeError():
                return cls(503, error.code, str(error))
        return cls(500, "internal_error", "an internal error; the server's log has it under this request id")

    @classmethod
    def unauthenticated(cls, detail: str) -> Problem:
        """401: credentials are missing or wrong."""
        return cls(401, "unauthenticated", detail, headers={"WWW-Authenticate": "Bearer"})

    def response(self, request_id: str) -> Response:
        """The HTTP response."""
        return Response(
            encode(problem_body(self.status, self.code, self.detail, request_id, self.faults)),
            status_code=self.status,
            headers=self.headers,
            media_type=PROBLEM_JSON,
        )


# How each protocol hears that there is no answer: by its path, so that refusals before any route speak it, too.


DIFY = "/retrieval"
_STORES = "/v1/vector_stores"


def refusal(problem: Problem, request_id: str, path: str, headers: Headers) -> Response:
    """A problem in the error format of the path's protocol; a problem document for our own routes."""
    if path == DIFY:
        return _dify(problem, request_id, headers)
    return _stores(problem) if path == _STORES or path.startswith(_STORES + "/") else problem.response(request_id)


def _dify(problem: Problem, request_id: str, headers: Headers) -> Response:
    """Error in Dify's format. When an endpoint is registered Dify accepts any status but 403, 404 and 502, so a wrong
    key must give 403, not 401.
    """
    status, why = _status(problem), problem.detail
    body = dify_error(problem.code, status, why, request_id)
    if problem.code == "unauthenticated":
        told = headers.get("authorization", "").lower().startswith("bearer ")
        status = 403
        body = dify_error("not_permitted", status, why, request_id) if told else {**body, "error_code": 1001}
    return _json(body, status, problem.headers)


def _stores(problem: Problem) -> Response:
    status = _status(problem)
    code = {"unauthenticated": "invalid_api_key"}.get(problem.code, problem.code)
    param = problem.faults[0].path if problem.faults else None
    return _json(store_error(code, status, problem.detail, param), status, problem.headers)


def _status(problem: Problem) -> int:
    """HTTP status in other protocols: a store that our routes name in the body is part of the path there, so 404 if
    unknown.
    """
    return 404 if problem.code == "unknown_domain" else problem.status


def _json(body: Mapping[str, object], status: int, headers: Mapping[str, str]) -> Response:
    return Response(encode(body), status, headers, media_type="application/json")


# Threads for the work, and a bound on who may wait for one.


T = TypeVar("T")
_Jobs = SimpleQueue["Callable[[], None] | None"]


class _Post:
    """Returns results from threads to an event loop, all pending ones with one wake-up.

    To wake the loop for each of them, as `run_in_executor` does, takes a system call and a turn of the loop each.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._ready: deque[tuple[asyncio.Future[Any], Any, BaseException | None]] = deque()
        self._called = False

    def work(self, answer: asyncio.Future[Any], context: Context, call: Callable[[], Any]) -> None:
        """Run `call` in a thread and deliver its result."""
        result, error = None, None  # type: Any, BaseException | None
        try:
            result = context.run(call)
        except StopIteration as raised:  # which no future takes: who waits would wait for ever
            error = RuntimeError(f"StopIteration: {raised}")
        except BaseException as raised:
            error = raised
        self._ready.append((answer, result, error))
        if not self._called:  # who sees a call that is on its way has put the result there before it arrives
            self._called = True
            try:
                self.loop.call_soon_threadsafe(self._bring)
            except RuntimeError:  # the loop is closed, so no caller waits
                self._ready.clear()

    def _bring(self) -> None:
        self._called = False
        while self._ready:
            answer, result, error = self._ready.popleft()
            if answer.done():  # cancelled
                continue
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error)


_POOLS: weakref.WeakSet[Pool] = weakref.WeakSet()


def close_pools(seconds: float) -> None:
    """Close the pools of this process after its server has stopped: threads still computing at exit can crash it."""
    until = time.monotonic() + seconds
    for pool in list(_POOLS):
        pool.close(max(0.0, until - time.monotonic()))


class Pool:
    """Runs at most `threads` calls at a time with at most `queue_limit` waiting; further ones are refused at once.

    Refusing early keeps the answers that are given fast: a longer queue only makes all of them late.
    """

    def __init__(self, threads: int, queue_limit: int) -> None:
        self._size = threads
        self._jobs: _Jobs | None = None
        self._hired: list[threading.Thread] = []
        self._hiring = threading.Lock()
        self._places = threads + queue_limit
        self._inside = 0
        self._post: _Post | None = None
        _POOLS.add(self)

    async def run(self, call: Callable[[], T]) -> T:
        """The result of `call`, run in a thread with a copy of the caller's context.

        Raises:
            Problem: 503, no place is left to wait in.
        """
        if self._inside >= self._places:
            raise Problem(503, "overloaded", "too many requests are waiting; try again", headers={"Retry-After": "1"})
        loop, post = asyncio.get_running_loop(), self._post
        if post is None or post.loop is not loop:
            post = self._post = _Post(loop)
        answer: asyncio.Future[T] = loop.create_future()
        self._inside += 1
        try:
            self._queue().put(partial(post.work, answer, copy_context(), call))
            return await answer
        finally:
            self._inside -= 1

    def _queue(self) -> _Jobs:
        """The queue from which threads take calls; the threads are started by the first call."""
        if self._jobs is None:
            with self._hiring:
                if self._jobs is None:
                    jobs: _Jobs = SimpleQueue()
                    # Daemons: one that is stuck must not keep the process from ending.
                    self._hired = [
                        threading.Thread(target=_work, args=(jobs,), name=f"wenyuan-request_{number}", daemon=True)
                        for number in range(self._size)
                    ]
                    for thread in self._hired:
                        thread.start()
                    weakref.finalize(self, _dismiss, jobs, self._size)
                    self._jobs = jobs
        return self._jobs

    def close(self, seconds: float) -> None:
        """End the threads after the calls already accepted; waits at most `seconds`."""
        with self._hiring:
            jobs, hired = self._jobs, self._hired
            self._jobs, self._hired = None, []
        if jobs is not None:
            _dismiss(jobs, len(hired))
        until = time.monotonic() + seconds
        for thread in hired:
            thread.join(max(0.0, until - time.monotonic()))


def _work(jobs: _Jobs) -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # what was asked and answered does not stay until the next request


def _dismiss(jobs: _Jobs, size: int) -> None:
    for _ in range(size):
        jobs.put(None)
