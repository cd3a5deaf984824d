"""How much one caller may ask for, and all together: a token bucket and a count of open requests for each.

It lives in the process: with several server processes each has its own share.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wenyuan.core.agents import Principal
from wenyuan.server.problem import Problem
from wenyuan.server.seams import Limits

__all__ = ["Bucket", "Limiter"]

_REMEMBERED = 10_000  # callers
_NO_KEY = Principal().key_id  # this machine's own callers, while no keys are needed
_BURST_SECONDS = 2.0  # what a quiet caller may save up


class Bucket:
    """Tokens, of which each request takes one; they come back with time.

    Args:
        rate: Tokens a second.
        most: How many may be saved up; by default those of two seconds.
    """

    def __init__(self, rate: float, now: float, most: float = 0.0) -> None:
        self.rate = rate
        self.most = most or max(1.0, rate * _BURST_SECONDS)
        self.tokens = self.most
        self.at = now
        self.open = 0

    def wait(self, now: float) -> float:
        """Seconds until a request may go on; takes its token when that is now."""
        self.tokens = min(self.most, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens >= 1.0:
            self.tokens -= 1.0
            return 0.0
        return (1.0 - self.tokens) / self.rate


class Limiter:
    """Used from the event loop alone, so it needs no lock."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._callers: OrderedDict[str, Bucket] = OrderedDict()
        self._all = Bucket(limits.rate_total, clock())

    @contextmanager
    def admitted(self, key_id: str) -> Iterator[None]:
        """While a request of this key is worked on.

        Raises:
            Problem: 429 with Retry-After.
        """
        now = self._clock()
        if self._limits.rate_total and (wait := self._all.wait(now)):
            raise _too_many("the service is asked too often", wait)
        if key_id == _NO_KEY:
            yield
            return
        caller = self._callers.get(key_id)
        if caller is None:
            caller = self._callers[key_id] = Bucket(self._limits.rate_per_key, now)
            while len(self._callers) > _REMEMBERED:
                self._callers.popitem(last=False)
        self._callers.move_to_end(key_id)
        if self._limits.concurrency_per_key and caller.open >= self._limits.concurrency_per_key:
            raise _too_many(f"{caller.open} requests of this key are open already", 1.0)
        if self._limits.rate_per_key and (wait := caller.wait(now)):
            raise _too_many("this key asks too often", wait)
        caller.open += 1
        try:
            yield
        finally:
            caller.open -= 1


def _too_many(detail: str, wait: float) -> Problem:
    return Problem(429, "too_many_requests", detail, headers={"Retry-After": str(max(1, math.ceil(wait)))})
