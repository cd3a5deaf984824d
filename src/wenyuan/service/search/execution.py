"""What search runs on: threads for its legs, a fair semaphore for CPU-bound work, traces, and the cache of results."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotDone
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from wenyuan.core.errors import EngineTimeout, EngineUnavailable, KnowledgeError, msg
from wenyuan.core.ports import Deadline
from wenyuan.runtime import Names, Timing, Timings
from wenyuan.service import Answer, Query

# Traces of retrievals, where OpenTelemetry is switched on (`service.search.traces_otel`); elsewhere there are none.
#
# Without the setting nothing of OpenTelemetry is loaded.


T = TypeVar("T")

INCOMING: ContextVar[Mapping[str, str] | None] = ContextVar("wenyuan_trace", default=None)
"""``traceparent`` and ``tracestate`` of the request being answered, as a door received them (W3C Trace Context)."""


class LegTrace(Protocol):
    """The trace of a running leg."""

    def run(self, call: Callable[[], T]) -> T:
        """Call a function within this leg's span and return its result; outgoing requests belong to that span."""
        ...

    def end(self, state: str, result: object = None) -> None:
        """End the leg's span with its state (``ok``, ``failed``, ``timeout``) and what it found; the first call counts."""
        ...


class Traces(Protocol):
    """Creates a trace per retrieval, with a child span per leg."""

    def retrieval(self, query: Query) -> AbstractContextManager[Callable[[Answer], Answer]]:
        """A context for answering a `Query`. It yields a function that records the `Answer` and returns it; an
        exception marks the trace as failed.
        """
        ...

    def leg(self, leg: str, source: str) -> LegTrace | None:
        """The trace of a leg; None outside of a retrieval."""
        ...

    def after(self, leg: str) -> LegTrace:
        """The trace of a leg that follows the last retrieval of this thread, and belongs to it."""
        ...

    def carried(self) -> Mapping[str, str]:
        """HTTP headers that propagate the trace to another service."""
        ...


# Where the legs of a request run: in threads other than its own, so that one that hangs cannot hold the request.


class Leg(Future[T], Generic[T]):
    """The future of one leg.

    Args:
        leg, source: What it is counted and traced as, names of a closed set and of a source; ``""`` for what is neither.

    Attributes:
        trace: Its part of the request's trace; None where it is not traced.
        begun: When it was asked for, by `time.perf_counter`.
        seconds: How long it took since then; 0 until it is done.
    """

    def __init__(self, leg: str, source: str, traces: Traces | None) -> None:
        super().__init__()
        self.leg, self.source = leg, source
        self.trace = traces.leg(leg, source) if traces is not None and leg else None
        self.begun, self.seconds = time.perf_counter(), 0.0

    def run(self, call: Callable[[], T]) -> None:
        """Compute the result in this thread, unless its request has given up."""
        if not self.set_running_or_notify_cancel():
            return
        try:
            result = call() if self.trace is None else self.trace.run(call)
        except BaseException as error:
            self.seconds = time.perf_counter() - self.begun
            self.set_exception(error)
        else:
            self.seconds = time.perf_counter() - self.begun
            self.set_result(result)


class Legs(Protocol):
    """Runs legs: `LegExecutor` in one thread each, `SequentialLegs` one after the other in the calling thread."""

    def begin(self, call: Callable[[], T], leg: str = "", source: str = "") -> Leg[T]: ...

    def outcome(self, leg: Leg[T], name: str, deadline: Deadline) -> T: ...


class LegMeter(Timings):
    """Leg metrics by leg, source (``""`` for the own index) and state, with durations.

    States are ``ok``, ``failed`` and ``timeout``; the time of a leg that did not answer is how long it was waited
    for.
    """

    def of(self, sources: Sequence[str]) -> Mapping[Names, Timing]:
        """``(leg, source, state)`` → histogram; removed sources are dropped."""
        found, known = self.read(), {"", *sources}
        gone = [names for names in found if names[1] not in known]
        self.forget(gone)
        return {names: timing for names, timing in found.items() if names not in gone}


class LegExecutor:
    """A fixed pool of daemon threads: a thread that hangs in a library must not keep the process from ending, and a
    fixed number shows that threads hang instead of piling them up.

    Args:
        meter: Counts the legs; that of another executor, where both are counted as one.
    """

    def __init__(self, size: int, traces: Traces | None = None, meter: LegMeter | None = None) -> None:
        self._traces = traces
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._size = size
        self.meter = meter or LegMeter()
        self._starting = threading.Lock()
        self._started = 0

    def _staff(self) -> None:
        """Start one more thread, until there are `size`: many a library that is opened is asked nothing."""
        with self._starting:
            number, self._started = self._started, min(self._size, self._started + 1)
        if number < self._size:
            threading.Thread(target=self._work, name=f"wenyuan-leg-{number}", daemon=True).start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # what was asked and found does not stay until the next one

    def begin(self, call: Callable[[], T], leg: str = "", source: str = "") -> Leg[T]:
        """Start `call` in a thread, in a copy of the caller's `contextvars` context; for `leg` and `source` see `Leg`."""
        future: Leg[T] = Leg(leg, source, self._traces)
        if self._started < self._size:
            self._staff()
        self._jobs.put(partial(contextvars.copy_context().run, future.run, call))
        return future

    def outcome(self, leg: Leg[T], name: str, deadline: Deadline) -> T:
        """The result of a leg, which is counted in metrics.

        Args:
            name: What messages call it.

        Raises:
            EngineTimeout: it did not answer in time (it is cancelled if it had not begun).
            KnowledgeError: what the leg raised; anything else it raised becomes `EngineUnavailable`.
        """
        state, result = "failed", None
        try:
            result = leg.result(timeout=deadline.remaining())
            state = "ok"
            return result
        except EngineTimeout:
            state = "timeout"
            raise
        except KnowledgeError:
            raise
        except Exception as error:
            if isinstance(error, NotDone) and not leg.done():  # the leg itself may have raised a TimeoutError
                state = "timeout"
                leg.cancel()
                raise EngineTimeout("no answer before the deadline", component=name) from error
            raise EngineUnavailable(
                msg("{kind}: {error}", kind=type(error).__name__, error=error), component=name
            ) from error
        finally:
            self._count(leg, state, result)

    def together(self, call: Callable[[SequentialLegs], T], deadline: Deadline) -> T:
        """Run a call that starts legs in one thread of this pool, its legs in sequence.

        For legs that compute and wait for nothing: each change of threads would take longer than it saves.

        Raises:
            KnowledgeError: as `outcome`; where nothing came before the deadline, the leg that was under way is named.
        """
        legs = SequentialLegs(self.outcome, self._traces)
        whole = self.begin(lambda: call(legs))
        try:
            return self.outcome(whole, "search", deadline)
        except EngineTimeout as error:
            if whole.done() and not whole.cancelled():
                raise  # reported by the leg itself, and counted
            legs.abandoned = True
            doing, name = legs.doing
            if doing is None:
                raise
            self._count(doing, "timeout")
            raise EngineTimeout(error.message, component=name) from error

    def _count(self, leg: Leg[Any], state: str, result: object = None) -> None:
        if leg.leg:
            self.meter.add((leg.leg, leg.source, state), leg.seconds or time.perf_counter() - leg.begun)
        if leg.trace is not None:
            leg.trace.end(state, result)

    def close(self) -> None:
        for _ in range(self._size):
            self._jobs.put(None)


@dataclass(slots=True)
class SequentialLegs:
    """Runs legs in the calling thread, each when it is begun.

    Attributes:
        outcome: That of the executor whose legs they are counted as.
        doing: The leg under way, and what messages call it.
        abandoned: No caller waits for them any more: they are neither continued nor counted.
    """

    outcome: Callable[[Leg[Any], str, Deadline], Any]
    traces: Traces | None
    doing: tuple[Leg[Any] | None, str] = (None, "")
    abandoned: bool = False

    def begin(self, call: Callable[[], T], leg: str = "", source: str = "") -> Leg[T]:
        future: Leg[T] = Leg(leg, source, self.traces)
        self.doing = future, f"{leg} leg"
        future.run(call)
        if self.abandoned:
            raise EngineTimeout("nobody waits for it any more", component=self.doing[1])
        return future


def abreast(calls: Sequence[Callable[[], T]]) -> Sequence[Callable[[], T]]:
    """Start I/O-bound calls concurrently, each in a thread of its own with the caller's context.

    For parts of one request: each must end by itself at that request's deadline.

    Returns:
        What gives the result of each, or raises what it raised, once it is there.
    """
    if len(calls) < 2:
        return calls
    threads = ThreadPoolExecutor(len(calls), "wenyuan-part")
    begun = [threads.submit(contextvars.copy_context().run, call) for call in calls]
    threads.shutdown(wait=False)
    return [part.result for part in begun]


# Places for those that compute: who asked first is served first.


class FairSemaphore:
    """A FIFO semaphore with `number` slots. Thread-safe.

    A `threading.Semaphore` lets a new thread pass before woken ones that have not run yet: under load some requests
    wait several times as long as others.
    """

    def __init__(self, number: int) -> None:
        self._free = number
        self._lock = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()

    def acquire(self, timeout: float) -> bool:
        """Acquire a slot, waiting at most `timeout` seconds; returns whether it was acquired."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            gate = threading.Lock()
            gate.acquire()
            self._waiting.append(gate)
        try:
            if gate.acquire(timeout=max(0.0, timeout)):
                return True
        except BaseException:  # an interrupt of the main thread
            if not self._left(gate):
                self.release()
            raise
        return not self._left(gate)

    def release(self) -> None:
        """Release the slot to the next waiter."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1

    def _left(self, gate: threading.Lock) -> bool:
        """Stop waiting; False if the slot was already handed over."""
        with self._lock:
            if gate not in self._waiting:
                return False
            self._waiting.remove(gate)
            return True


# Cache of search results. The key holds everything that a result depends on, so a change of content, registry or
# rights is a miss. Failures and degraded results are never cached.

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


class Store(Protocol[V]):
    """A store of cached values. A store that fails behaves as empty: the cache is an optimisation, never required."""

    def get(self, key: Hashable) -> tuple[V, float] | None:
        """A value and its age in seconds, or None."""
        ...

    def put(self, key: Hashable, value: V) -> None: ...

    def held(self) -> tuple[int, int]:
        """Number of values and their total bytes; zeros if unknown."""
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

    def __init__(self, store: Store[V] | None, keep: Callable[[Hashable, V], bool]) -> None:
        self._store = store
        self._keep = keep
        self._lock = threading.Lock()
        self._under_way: dict[Hashable, Future[CachedValue[V]]] = {}
        self._counts = CacheCounts()

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
        self, store: Store[V], key: Hashable, mine: Future[CachedValue[V]], compute: Callable[[], V]
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

    def _looked_up(self, store: Store[V], key: Hashable, compute: Callable[[], V]) -> CachedValue[V]:
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
