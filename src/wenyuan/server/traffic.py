"""What goes through the server: counted by names of closed sets, so that no caller can fill the memory."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from wenyuan.server.access import RIGHT_OF
from wenyuan.service.meters import Timing, Timings

__all__ = ["Traffic", "door_of"]

_DOORS = frozenset(path.removeprefix("/v1").split("/")[1] for _, path in RIGHT_OF)


def door_of(path: str) -> str:
    """The door that a path leads to: ``search`` for ``/v1/search``, ``sources`` for all of them; else ``other``."""
    door = path.removeprefix("/v1").removeprefix("/").partition("/")[0]
    return door if door in _DOORS else "other"


def outcome_of(status: int, said: str) -> str:
    """``success``, ``failed`` (an answer that says so), ``refused`` (4xx), ``error`` (5xx); ``gone``: nobody waits."""
    if said == "FAILED":
        return "failed"
    if not status:
        return "gone"
    return "success" if status < 400 else "refused" if status < 500 else "error"


class Traffic:
    """Requests by door, status and outcome, how long they took, and how many are open. Safe to share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, str]] = Counter()
        self._open = 0
        self._limited = 0
        self._timings = Timings()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """While a request is open."""
        with self._lock:
            self._open += 1
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1

    def answered(self, path: str, status: int, said: str, seconds: float) -> None:
        """Count an answer.

        Args:
            status: HTTP status; 0 when the client hung up before it was sent.
            said: The status that the answer itself has, ``SUCCESS`` or ``FAILED``; ``""`` where it has none.
        """
        door, outcome = door_of(path), outcome_of(status, said)
        with self._lock:
            self._requests[door, str(status), outcome] += 1
            self._limited += status == 429
        self._timings.add((door,), seconds)

    def requests(self) -> Mapping[tuple[str, str, str], int]:
        """How many, by door, status and outcome."""
        with self._lock:
            return dict(self._requests)

    @property
    def limited(self) -> int:
        """How many were asked to come later (429)."""
        with self._lock:
            return self._limited

    def timings(self) -> Mapping[tuple[str, ...], Timing]:
        """How long they took, by door."""
        return self._timings.read()

    @property
    def open(self) -> int:
        with self._lock:
            return self._open
