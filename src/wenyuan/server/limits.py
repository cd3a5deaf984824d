"""How much one caller may ask for, and all together: a token bucket and a count of open requests for each."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wenyuan.core.access import Principal
from wenyuan.core.errors import msg
from wenyuan.server.buckets import Buckets, OwnBuckets
from wenyuan.server.problems import Problem
from wenyuan.settings import ServerSettings

_NO_KEY = Principal().key_id  # this machine's own callers, while no keys are needed
_ALL = ""  # the name of the bucket of all together


class Limiter:
    """Rate and concurrency limits per key. Used only on the event loop, so it has no lock.

    Args:
        limits: Of them the rates and the concurrency count.
        buckets: Those that processes share which serve together; by default this one's own.
    """

    def __init__(
        self, limits: ServerSettings, clock: Callable[[], float] = time.monotonic, buckets: Buckets | None = None
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._buckets = OwnBuckets() if buckets is None else buckets

    @contextmanager
    def admitted(self, key_id: str) -> Iterator[None]:
        """Context for a request of this key, counted as running inside.

        Raises:
            Problem: 429 with Retry-After.
        """
        limits, now = self._limits, self._clock()
        if limits.rate_total:
            _, wait = self._buckets.begin(_ALL, rate=limits.rate_total, concurrency=0, now=now)
            if wait:
                raise _too_many("the service is asked too often", wait)
            self._buckets.end(_ALL)
        if key_id == _NO_KEY or not (limits.rate_per_key or limits.concurrency_per_key):
            yield
            return
        open_, wait = self._buckets.begin(
            key_id, rate=limits.rate_per_key, concurrency=limits.concurrency_per_key, now=now
        )
        if open_:
            raise _too_many(msg("{count} requests of this key are open already", count=open_), 1.0)
        if wait:
            raise _too_many("this key asks too often", wait)
        try:
            yield
        finally:
            self._buckets.end(key_id)


def _too_many(detail: str, wait: float) -> Problem:
    return Problem(429, "too_many_requests", detail, headers={"Retry-After": str(max(1, math.ceil(wait)))})
