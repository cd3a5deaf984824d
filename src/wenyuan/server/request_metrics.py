"""What goes through the server: counted by names of closed sets, so that no caller can fill the memory."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from wenyuan.runtime.timings import Timing, Timings
from wenyuan.server.handling import GONE
from wenyuan.server.route import Route


def door_of(path: str) -> str:
    """The route group of a path: ``search`` for ``/v1/search``, ``sources`` for all below ``/v1/sources``."""
    return path.removeprefix("/v1").removeprefix("/").partition("/")[0]


def outcome_of(status: int, said: str) -> str:
    """``success``, ``failed`` (a FAILED body), ``refused`` (4xx), ``error`` (5xx), or ``gone``: the client hung up."""
    if said == "FAILED":
        return "failed"
    if not status or said == GONE:
        return "gone"
    return "success" if status < 400 else "refused" if status < 500 else "error"


class RequestMetrics:
    """Counts and durations of requests by route group, status and outcome, and open requests. Safe to share between
    threads.

    Args:
        routes: Whose doors there are; every other path is counted as ``other``.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._doors = frozenset(door_of(route.path) for route in routes)
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._open = 0
        self._limited = 0
        self._timings = Timings()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Context that counts a request as open."""
        with self._lock:
            self._open += 1
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1

    def answered(self, path: str, status: int, said: str, seconds: float) -> None:
        """Count a response.

        Args:
            status: HTTP status; 0 when the client hung up before it was sent.
            said: The status that the answer itself has, ``SUCCESS`` or ``FAILED``; ``""`` where it has none; `GONE` of a
                stream that was not read to its end.
        """
        door, outcome = door_of(path), outcome_of(status, said)
        door = door if door in self._doors else "other"
        with self._lock:
            self._requests[door, str(status), outcome] += 1
            self._limited += status == 429
        self._timings.add((door,), seconds)

    def requests(self) -> Mapping[tuple[str, str, str], int]:
        """Number of requests by route group, status and outcome."""
        with self._lock:
            return dict(self._requests)

    @property
    def limited(self) -> int:
        """Number of requests refused with 429."""
        with self._lock:
            return self._limited

    def timings(self) -> Mapping[tuple[str, ...], Timing]:
        """Durations by route group."""
        return self._timings.read()

    @property
    def open(self) -> int:
        with self._lock:
            return self._open
