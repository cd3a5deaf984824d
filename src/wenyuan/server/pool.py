"""Threads for the work, and a bound on who may wait for one."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from wenyuan.server.problems import Problem

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
