"""Tracing and timing of retrievals."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TypeVar

from wenyuan.service.query import Answer, Query

# Traces of retrievals, where OpenTelemetry is switched on (`traces_otel`); elsewhere there are none.
#
# The rooms below know this module only; without the setting nothing of OpenTelemetry is loaded.


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

    def carried(self) -> Mapping[str, str]:
        """HTTP headers that propagate the trace to another service."""
        ...


# Numbers that only grow: how often something happened, and how long it took. In memory, of this process.


BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the classes of times, in seconds; above the last there is one more."""

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timing:
    """A histogram of durations.

    Attributes:
        classes: How many there were of each class of `BOUNDS`, not summed up.
        seconds: All of them together.
    """

    classes: tuple[int, ...]
    seconds: float

    @property
    def count(self) -> int:
        return sum(self.classes)


class Timings:
    """Histograms by name. Names must come from a closed set, otherwise memory grows. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._classes: dict[Names, list[int]] = {}
        self._seconds: dict[Names, float] = {}

    def add(self, names: Names, seconds: float) -> None:
        """Add one observation."""
        with self._lock:
            classes = self._classes.setdefault(names, [0] * (len(BOUNDS) + 1))
            classes[bisect_left(BOUNDS, seconds)] += 1
            self._seconds[names] = self._seconds.get(names, 0.0) + seconds

    def read(self) -> Mapping[Names, Timing]:
        """A consistent snapshot of all histograms."""
        with self._lock:
            return {names: Timing(tuple(found), self._seconds[names]) for names, found in self._classes.items()}

    def forget(self, names: Sequence[Names]) -> None:
        """Drop the histograms of these names."""
        with self._lock:
            for name in names:
                self._classes.pop(name, None)
                self._seconds.pop(name, None)


class LegMeter(Timings):
    """Leg metrics by leg, source (``""`` for the own index) and state, with durations.

    States are ``ok``, ``failed`` and ``timeout``; the time of one that did not answer is what was waited for it.
    """

    def of(self, sources: Sequence[str]) -> Mapping[Names, Timing]:
        """``(leg, source, state)`` → histogram; removed sources are dropped."""
        found, known = self.read(), {"", *sources}
        gone = [names for names in found if names[1] not in known]
        self.forget(gone)
        return {names: timing for names, timing in found.items() if names not in gone}
