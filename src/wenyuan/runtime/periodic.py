"""Work that a process does beside its own, again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Periodic:
    """A thread that repeats a piece of work until it is stopped.

    Args:
        work: One round; must not raise.
        name: Of the thread.
        every: Seconds between two rounds.
    """

    def __init__(self, work: Callable[[], None], *, name: str, every: float) -> None:
        self._work = work
        self._every = every
        self.stopping = threading.Event()
        """For rounds that can end before their time."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current round and wait for it; may be called twice."""
        self.stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self.stopping.is_set():
            self._work()
            self.stopping.wait(self._every)
