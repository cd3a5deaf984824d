"""Where the legs of a request run: in threads other than its own, so that one that hangs cannot hold the request."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotDone
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol

from wenyuan.core.errors import EngineTimeout, EngineUnavailable, KnowledgeError, msg
from wenyuan.core.ports import Deadline
from wenyuan.runtime.timings import Names, Timing, Timings
from wenyuan.service.search.traces import T, Traces


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
            result = leg.result(timeout=0.0 if leg.done() else deadline.remaining())
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
