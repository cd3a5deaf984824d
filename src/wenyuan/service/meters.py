"""Numbers that only grow: how often something happened, and how long it took. In memory, of this process."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["BOUNDS", "LegMeter", "Timing", "Timings"]

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
