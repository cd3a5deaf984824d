"""How many texts go to a server in one request, and how many requests at once: as many as it takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_FIRST_PAUSE = 0.5  # seconds after a refusal; doubled with each that follows
_LONGEST_PAUSE = 30.0
_GROWS_AFTER = 8  # requests in a row that were answered, before a smaller batch grows again


class RequestPace:
    """The size of batches and the number of requests at once to one server. Safe to share between threads.

    Who is refused (HTTP 429, 503, 413) or answered too late asks for half as many texts next, after a pause that all
    threads keep; after some answers in a row a batch grows by a quarter, up to what was set.

    Args:
        batch: Texts in one request at most.
        concurrency: Requests at once at most.
    """

    def __init__(self, batch: int, concurrency: int) -> None:
        self._most, self._size = batch, batch
        self._slots = threading.BoundedSemaphore(concurrency)
        self._lock = threading.Lock()
        self._answers, self._refusals = 0, 0
        self._open_at = 0.0

    @property
    def size(self) -> int:
        """Texts in the next request."""
        return self._size

    @contextmanager
    def request(self) -> Iterator[None]:
        """One request: waits until there are fewer than `concurrency` and the last pause is over."""
        with self._slots:
            time.sleep(max(0.0, self._open_at - time.monotonic()))
            yield

    def answered(self) -> None:
        """Note that a request was answered."""
        with self._lock:
            self._refusals = 0
            self._answers += 1
            if self._answers >= _GROWS_AFTER and self._size < self._most:
                self._size, self._answers = min(self._most, self._size + max(1, self._size // 4)), 0

    def refused(self, wait: float = 0.0) -> None:
        """Note that the server has too much to do.

        Args:
            wait: Seconds that it asked for.
        """
        with self._lock:
            pause = min(_LONGEST_PAUSE, max(wait, _FIRST_PAUSE * 2.0**self._refusals))
            self._refusals, self._answers = min(self._refusals + 1, 10), 0
            self._size = max(1, self._size // 2)
            self._open_at = max(self._open_at, time.monotonic() + pause)
