"""Answers that were given a moment ago. An answer is cached under everything it depends on, so a change of
content, registry or rights misses at once; what failed or is degraded is never kept.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["AnswerCache", "Kept"]

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Kept(Generic[V]):
    """A value, and whether it was kept: its age in milliseconds, 0 for a fresh one."""

    value: V
    hit: bool
    age_ms: float


class AnswerCache(Generic[V]):
    """Bounded in time and in bytes; of several who ask for the same at once, one computes (single flight).

    Args:
        seconds: How long a value is kept, on a monotonic clock; 0 keeps nothing.
        max_bytes: Of all values together, by `size`.
        size: The bytes that a value takes, about.
        keep: Whether a value may be kept at all.
    """

    def __init__(
        self,
        *,
        seconds: float,
        max_bytes: int,
        size: Callable[[V], int],
        keep: Callable[[V], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._max_bytes = max_bytes
        self._size = size
        self._keep = keep
        self._clock = clock
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[float, int, V]] = OrderedDict()
        self._bytes = 0
        self._under_way: dict[Hashable, Future[V]] = {}

    def get(self, key: Hashable, compute: Callable[[], V]) -> Kept[V]:
        """The value of `key`, computed when it is not kept; raises what `compute` raises, to all who wait."""
        if self._seconds <= 0:
            return Kept(compute(), False, 0.0)
        with self._lock:
            kept = self._values.get(key)
            if kept is not None:
                age = self._clock() - kept[0]
                if age < self._seconds:
                    self._values.move_to_end(key)
                    return Kept(kept[2], True, age * 1e3)
                self._drop(key)
            running = self._under_way.get(key)
            if running is None:
                mine: Future[V] = Future()
                self._under_way[key] = mine
        if running is not None:
            return Kept(running.result(), False, 0.0)
        return Kept(self._compute(key, mine, compute), False, 0.0)

    def _compute(self, key: Hashable, mine: Future[V], compute: Callable[[], V]) -> V:
        try:
            value = compute()
            size = self._size(value) if self._keep(value) else None
        except BaseException as error:
            with self._lock:
                del self._under_way[key]
            mine.set_exception(error)
            mine.exception()  # seen: nobody may be waiting for it
            raise
        with self._lock:
            del self._under_way[key]
            if size is not None and size <= self._max_bytes:
                self._store(key, size, value)
        mine.set_result(value)
        return value

    def _store(self, key: Hashable, size: int, value: V) -> None:
        self._values[key] = (self._clock(), size, value)
        self._bytes += size
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._values)))

    def _drop(self, key: Hashable) -> None:
        _, size, _ = self._values.pop(key)
        self._bytes -= size
