"""What the first question of a process needs: loaded once, before the time of any question begins."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from wenyuan.core.errors import KnowledgeError
from wenyuan.core.ports import Deadline
from wenyuan.runtime.deadlines import deadline_after

log = logging.getLogger(__name__)

TO_LOAD = 60.0
"""Seconds that loading may take; what is not there by then counts against the question."""


class FirstUse:
    """Loads what questions need, once. Who asks meanwhile waits for it. Safe to share between threads.

    Args:
        steps: What is loaded, one after the other. One that fails is not tried again: the question itself fails with it,
            and says so.
    """

    def __init__(self, steps: Sequence[Callable[[Deadline], object]]) -> None:
        self._steps = steps
        self._lock = threading.Lock()
        self._done = False

    def ready(self) -> None:
        """Return when all is loaded, or could not be."""
        if self._done:
            return
        with self._lock:
            if self._done:
                return
            deadline = deadline_after(TO_LOAD)
            for step in self._steps:
                try:
                    step(deadline)
                except KnowledgeError as error:
                    log.info("not loaded before the first question: %s", error)
            self._done = True
