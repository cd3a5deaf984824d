"""Deadlines, periodic background work, calls that can be abandoned, and the number of usable processor cores."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from typing import TypeVar

from wenyuan.core.ports import Deadline


def deadline_after(seconds: float) -> Deadline:
    """The moment `seconds` from now, on this process's monotonic clock."""
    return Deadline(time.monotonic() + seconds, time.monotonic)


# Work that a process does beside its own, again and again.


class Rounds:
    """A thread that does the same again and again until it is stopped.

    Args:
        work: One round; must not raise.
        name: Of the thread.
        every: Seconds between two rounds.
    """

    def __init__(self, work: Callable[[], None], *, name: str, every: float) -> None:
        self._work = work
        self._every = every
        self.stopping = threading.Event()
        """For rounds that can end before their time."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Wait until the round under way has ended; may be called twice."""
        self.stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self.stopping.is_set():
            self._work()
            self.stopping.wait(self._every)


# Calls that can be left behind: some libraries know no deadline, and a name server may not answer for a minute.


T = TypeVar("T")


class TooLate(Exception):
    """The call was not done in time; it may still be running."""


class Errands:
    """Runs calls in daemon threads, at most `most` at once, so that those that hang are found out and cannot pile up."""

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
            raise TooLate
        future: Future[T] = Future()
        threading.Thread(target=self._work, args=(future, call), name=self._name, daemon=True).start()
        try:
            return future.result(timeout=max(0.0, until - time.monotonic()))
        except NotDone:
            if future.done():  # the call itself raised a TimeoutError
                raise
            raise TooLate from None

    def _work(self, future: Future[T], call: Callable[[], T]) -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)
        finally:
            self._free.release()


# How much can be computed at once.


def usable_cores() -> int:
    """How many cores this process may use: its affinity where the system tells, else all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
