"""Cache of search results.

The key holds everything that a result depends on, so a change of content, registry or rights is a miss. Failures and
degraded results are never cached.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class CachedValue(Generic[V]):
    """A value and its age in the cache in milliseconds; 0 if it was just computed."""

    value: V
    hit: bool
    age_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheCounts:
    """Cache statistics: requests and current contents.

    Attributes:
        hits: Values that were kept.
        misses: Values that had to be computed.
        joined: Values that another thread was computing at the time.
    """

    hits: int = 0
    misses: int = 0
    joined: int = 0
    values: int = 0
    bytes: int = 0


class CacheStore(Protocol[V]):
    """A store of cached values. A store that fails behaves as empty: the cache is an optimisation, never required."""

    def get(self, key: Hashable) -> tuple[V, float] | None:
        """A value and its age in seconds, or None."""
        ...

    def put(self, key: Hashable, value: V) -> None: ...

    def held(self) -> tuple[int, int]:
        """Number of values and their total bytes; zeros if unknown."""
        ...

    def clear(self) -> None:
        """Forget all values; KnowledgeError where that cannot be done."""
        ...


class OwnMemory(Generic[V]):
    """An in-process store with LRU eviction by total size, which holds nothing that can no longer be asked for.

    Args:
        seconds: How long a value is kept, on a monotonic clock.
        max_bytes: Of all values together, by `size`.
        size: The bytes that a value takes, about.
        state: Of a key, the number of the state of the library that its value was found in. Values of one state alone
            are kept, the latest: nobody asks for those before, and a library that is written to would fill the memory with them.
    """

    def __init__(
        self,
        *,
        seconds: float,
        max_bytes: int,
        size: Callable[[V], int],
        state: Callable[[Any], int] = lambda _key: 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._state, self._latest = state, 0
        self._seconds = seconds
        self._max_bytes = max_bytes
        self._size = size
        self._clock = clock
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[float, int, V]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable) -> tuple[V, float] | None:
        with self._lock:
            kept = self._values.get(key)
            if kept is None:
                return None
            age = self._clock() - kept[0]
            if age < self._seconds:
                self._values.move_to_end(key)
                return kept[2], age
            self._drop(key)
            return None

    def put(self, key: Hashable, value: V) -> None:
        size = self._size(value)
        if size > self._max_bytes:
            return
        state, now = self._state(key), self._clock()
        with self._lock:
            if state < self._latest:
                return
            if state > self._latest:
                self._latest, self._bytes = state, 0
                self._values.clear()
            if key in self._values:
                self._drop(key)
            self._values[key] = (now, size, value)
            self._bytes += size
            while self._bytes > self._max_bytes or self._oldest() <= now - self._seconds:
                self._drop(next(iter(self._values)))

    def held(self) -> tuple[int, int]:
        with self._lock:
            return len(self._values), self._bytes

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self._bytes = 0

    def _oldest(self) -> float:
        """When the value was put that was not asked for the longest."""
        return next(iter(self._values.values()))[0]

    def _drop(self, key: Hashable) -> None:
        _, size, _ = self._values.pop(key)
        self._bytes -= size


class AnswerCache(Generic[V]):
    """Read-through cache with single flight: concurrent requests for the same key compute the value once.

    Args:
        store: Where values are kept; None keeps nothing.
        keep: Whether a value may be kept under a key at all.
    """

    def __init__(self, store: CacheStore[V] | None, keep: Callable[[Hashable, V], bool]) -> None:
        self._store = store
        self._keep = keep
        self._lock = threading.Lock()
        self._under_way: dict[Hashable, Future[CachedValue[V]]] = {}
        self._counts = CacheCounts()

    def clear(self) -> None:
        """Forget all values, in this process or wherever they are kept."""
        if self._store is not None:
            self._store.clear()

    def counts(self) -> CacheCounts:
        """Statistics since creation, and the store's current contents."""
        values, size = self._store.held() if self._store is not None else (0, 0)
        with self._lock:
            return replace(self._counts, values=values, bytes=size)

    def _count(self, name: str) -> None:
        with self._lock:
            self._counts = replace(self._counts, **{name: getattr(self._counts, name) + 1})

    def get(self, key: Hashable, compute: Callable[[], V]) -> CachedValue[V]:
        """The cached value of `key`, or else `compute()`; an exception of `compute` is raised to all waiting callers."""
        if self._store is None:
            return CachedValue(compute(), False, 0.0)
        with self._lock:
            running = self._under_way.get(key)
            if running is None:
                mine: Future[CachedValue[V]] = Future()
                self._under_way[key] = mine
        if running is None:
            return self._lead(self._store, key, mine, compute)
        kept = running.result()
        self._count("hits" if kept.hit else "joined")
        return kept

    def _lead(
        self, store: CacheStore[V], key: Hashable, mine: Future[CachedValue[V]], compute: Callable[[], V]
    ) -> CachedValue[V]:
        """Look up the key and compute the value if it is missing, on behalf of all waiting callers."""
        try:
            kept = self._looked_up(store, key, compute)
        except BaseException as error:
            self._end(key)
            mine.set_exception(error)
            mine.exception()  # marked as seen: there may be no caller waiting
            raise
        self._end(key)
        mine.set_result(kept)
        return kept

    def _looked_up(self, store: CacheStore[V], key: Hashable, compute: Callable[[], V]) -> CachedValue[V]:
        found = store.get(key)
        if found is not None:
            self._count("hits")
            return CachedValue(found[0], True, found[1] * 1e3)
        self._count("misses")
        value = compute()
        if self._keep(key, value):
            store.put(key, value)
        return CachedValue(value, False, 0.0)

    def _end(self, key: Hashable) -> None:
        with self._lock:
            del self._under_way[key]
