"""Places for those that compute: who asked first is served first."""

from __future__ import annotations

import threading
from collections import deque


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
