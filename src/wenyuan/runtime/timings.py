"""Counters and durations, in memory, of this process."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
