"""Limits on all calls of a model: concurrency, a circuit breaker, and a token budget."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from wenyuan.core.errors import LlmTimeout, LlmUnavailable, msg
from wenyuan.core.ports import Deadline, TokenBudget

# Limits on all calls of a model: concurrency, a circuit breaker, and a token budget.

STEP = 0.25
"""Seconds after which somebody who is gone is noticed."""
_FAULTS = 5  # in a row, after which the model is left alone
_PAUSE = 15.0  # seconds


@dataclass(slots=True)
class Spent:
    """The tokens used by a call so far."""

    tokens: int = 0


class Guard:
    """Bounds the calls of one model. Safe to use from several threads.

    Args:
        section: Of the settings, for hints.
        concurrency: Calls that may be under way at once.
    """

    def __init__(self, section: str, component: str, budget: TokenBudget, concurrency: int) -> None:
        self._section, self._component, self._budget = section, component, budget
        self._free = threading.BoundedSemaphore(concurrency)
        self._breaker = CircuitBreaker()

    @contextmanager
    def call(self, expected: int, most: int, deadline: Deadline) -> Iterator[Spent]:
        """Context for one call; exceptions in it tell the breaker whether the model works.

        Args:
            expected: Tokens of what is sent.
            most: Tokens of the answer, at most.

        Raises:
            LlmTimeout, LlmUnavailable, LlmBudgetSpent: it may not be made now.
        """
        with self._place(deadline):
            self._breaker.check(self._component)
            reserved = expected + most
            day = self._budget.reserve(reserved)
            spent = Spent()
            try:
                yield spent
            except LlmTimeout:
                spent.tokens = expected  # it was read, and perhaps answered
                if not deadline.cancelled:  # a disconnected caller says nothing about the model
                    self._breaker.failed()
                raise
            except LlmUnavailable:
                self._breaker.failed()
                raise
            finally:
                self._budget.settle(day, reserved, spent.tokens)
        self._breaker.worked()

    @contextmanager
    def _place(self, deadline: Deadline) -> Iterator[None]:
        """Hold one of the limited number of concurrent calls."""
        while not self._free.acquire(timeout=min(STEP, max(deadline.remaining(), 1e-3))):
            if deadline.remaining() <= 0:
                raise LlmTimeout(
                    "all calls that may be made at once are taken", component=self._component,
                    hint=msg("raise {section}.concurrency, or {section}.timeout", section=self._section),
                )  # fmt: skip
        try:
            yield
        finally:
            self._free.release()


class CircuitBreaker:
    """Circuit breaker: after several failures in a row calls are refused for a while; then one trial call decides."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._failures, self._until = 0, 0.0

    def check(self, component: str) -> None:
        """Raise LlmUnavailable while the breaker is open."""
        with self._lock:
            left = self._until - self._clock()
            if self._failures < _FAULTS:
                return
            if left <= 0:
                self._until = self._clock() + _PAUSE  # concurrent callers wait for the result of this call
                return
        raise LlmUnavailable(
            msg("not asked: it failed {count} times in a row; asked again in {seconds} s", count=self._failures, seconds=f"{left:.0f}"),
            component=component,
        )  # fmt: skip

    def failed(self) -> None:
        """Record a failed call."""
        with self._lock:
            self._failures += 1
            if self._failures >= _FAULTS:
                self._until = self._clock() + _PAUSE

    def worked(self) -> None:
        """Record a successful call."""
        with self._lock:
            self._failures = 0
