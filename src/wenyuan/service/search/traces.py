"""Traces and timings of retrievals."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TypeVar

from wenyuan.service.answer import Answer, Query

# Where traces of retrievals go: nowhere, unless OpenTelemetry is switched on (`traces_otel`).
#
# The rooms below know this module only; without the setting nothing of OpenTelemetry is loaded.


T = TypeVar("T")

INCOMING: ContextVar[Mapping[str, str] | None] = ContextVar("wenyuan_trace", default=None)
"""``traceparent`` and ``tracestate`` of the request being answered, as a door received them (W3C Trace Context)."""


class LegTrace(Protocol):
    """One leg under way."""

    def run(self, call: Callable[[], T]) -> T:
        """The call's result; what it asks elsewhere belongs to this leg."""
        ...

    def end(self, state: str, hits: int | None = None) -> None:
        """How it went: ``ok``, ``failed``, ``timeout``; of several words the first counts."""
        ...


class Traces(Protocol):
    """Makes a trace of each retrieval, with a part for each leg."""

    def retrieval(self, query: Query) -> AbstractContextManager[Callable[[Answer], Answer]]:
        """While a `Query` is answered; the function takes the `Answer`, and gives it back. What is raised inside is its failure."""
        ...

    def leg(self, leg: str, source: str) -> LegTrace: ...

    def carried(self) -> Mapping[str, str]:
        """Headers by which another service goes on with this trace."""
        ...


class _Nothing:
    """Nobody wants to know."""

    def retrieval(self, _query: Query) -> AbstractContextManager[Callable[[Answer], Answer]]:
        return _QUIET

    def leg(self, _leg: str, _source: str) -> LegTrace:
        return self

    def carried(self) -> Mapping[str, str]:
        return {}

    def run(self, call: Callable[[], T]) -> T:
        return call()

    def end(self, state: str, hits: int | None = None) -> None: ...


def _unheard(answer: Answer) -> Answer:
    return answer


_QUIET = nullcontext(_unheard)
NO_TRACES = _Nothing()


# Numbers that only grow: how often something happened, and how long it took. In memory, of this process.


BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the classes of times, in seconds; above the last there is one more."""

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of one thing.

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
    """Times by name. The names must come from a closed set, or they would fill the memory. Safe to share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._classes: dict[Names, list[int]] = {}
        self._seconds: dict[Names, float] = {}

    def add(self, names: Names, seconds: float) -> None:
        """Count one more."""
        with self._lock:
            classes = self._classes.setdefault(names, [0] * (len(BOUNDS) + 1))
            classes[bisect_left(BOUNDS, seconds)] += 1
            self._seconds[names] = self._seconds.get(names, 0.0) + seconds

    def read(self) -> Mapping[Names, Timing]:
        """All of them, at one moment."""
        with self._lock:
            return {names: Timing(tuple(found), self._seconds[names]) for names, found in self._classes.items()}

    def forget(self, names: Sequence[Names]) -> None:
        """Count these no more."""
        with self._lock:
            for name in names:
                self._classes.pop(name, None)
                self._seconds.pop(name, None)


class LegMeter:
    """How the legs of requests did: by leg, source (``""`` for our own index) and state, with their times.

    States are ``ok``, ``failed`` and ``timeout``; the time of one that did not answer is what was waited for it.
    """

    def __init__(self) -> None:
        self._timings = Timings()

    def add(self, leg: str, source: str, state: str, seconds: float) -> None:
        self._timings.add((leg, source, state), seconds)

    def read(self, sources: Sequence[str]) -> Mapping[Names, Timing]:
        """``(leg, source, state)`` → times; of sources that are no more, nothing is kept."""
        found, known = self._timings.read(), {"", *sources}
        gone = [names for names in found if names[1] not in known]
        self._timings.forget(gone)
        return {names: timing for names, timing in found.items() if names not in gone}
