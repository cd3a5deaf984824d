"""Calls that can be left behind: some libraries know no deadline, and a name server may not answer for a minute."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from typing import TypeVar

T = TypeVar("T")


class CallTimedOut(Exception):
    """The call did not finish in time; it may still be running."""


class BoundedCalls:
    """Runs calls in at most `most` daemon threads, with a time-out, so that hanging calls are detected and cannot
    pile up.
    """

    def __init__(self, most: int, name: str) -> None:
        self._free = threading.BoundedSemaphore(most)
        self._name = name

    def run(self, call: Callable[[], T], seconds: float) -> T:
        """The result of `call`, or what it raised.

        Raises:
            TooLate: it took longer than `seconds`, or that long all threads were taken.
        """
        until = time.monotonic() + seconds
        if not self._free.acquire(timeout=seconds):
            raise CallTimedOut
        future: Future[T] = Future()
        threading.Thread(target=self._work, args=(future, call), name=self._name, daemon=True).start()
        try:
            return future.result(timeout=max(0.0, until - time.monotonic()))
        except NotDone:
            if future.done():  # the call itself raised a TimeoutError
                raise
            raise CallTimedOut from None

    def _work(self, future: Future[T], call: Callable[[], T]) -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)
        finally:
            self._free.release()
