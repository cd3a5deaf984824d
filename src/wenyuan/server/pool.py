"""Threads for the work, and a bound on who may wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from wenyuan.server.problem import Problem

__all__ = ["Pool"]

T = TypeVar("T")


class Pool:
    """At most `threads` calls at a time, at most `queue_limit` waiting; the rest is refused at once.

    Refusing early keeps the answers that are given fast: a longer queue only makes all of them late.
    """

    def __init__(self, threads: int, queue_limit: int) -> None:
        self._threads = ThreadPoolExecutor(threads, "wenyuan-request")
        self._places = threads + queue_limit
        self._inside = 0

    async def run(self, call: Callable[[], T]) -> T:
        """The result of `call`, made in a thread, in a copy of the caller's context.

        Raises:
            Problem: 503, no place is left to wait in.
        """
        if self._inside >= self._places:
            raise Problem(503, "overloaded", "too many requests are waiting; try again", headers={"Retry-After": "1"})
        self._inside += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, call)
        finally:
            self._inside -= 1
