"""Refreshing sources in a background thread of a server, and how it gets on."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from wenyuan.core.errors import KnowledgeError
from wenyuan.runtime.periodic import Periodic
from wenyuan.service.operations.refresh import POLL, RefreshedLibrary, RefreshOutcome, Worker

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerProgress:
    """State of a worker since its start.

    Attributes:
        alive: Whether it is at work, or waits for something to be due.
        looked: Seconds since it began to look last for what is due.
        trouble: What kept it from its last round; ``""`` when nothing did.
    """

    name: str
    alive: bool
    refreshed: int = 0
    failed: int = 0
    looked: float = 0.0
    trouble: str = ""


class BackgroundRefresh:
    """A thread that refreshes what is due until it is stopped; after an error it tries again at the next check.

    Args:
        library: Open, and closed only after `stop`.
        poll: Seconds between two looks.
        clock: Seconds that never go back.
    """

    def __init__(
        self, library: RefreshedLibrary, *, poll: float = POLL, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._worker = Worker(library)
        self._clock = clock
        self._lock = threading.Lock()
        self._looked = clock()
        self._done = WorkerProgress(name=self._worker.name, alive=False)
        self._rounds = Periodic(self._look, name="wenyuan-worker", every=poll)
        self.start = self._rounds.start

    def stop(self) -> None:
        """Stop after the current document and wait for the end; the interrupted source stays due."""
        self._rounds.stop()

    def progress(self) -> WorkerProgress:
        with self._lock:
            return replace(self._done, alive=self._rounds.alive, looked=self._clock() - self._looked)

    def _look(self) -> None:
        trouble = ""
        with self._lock:
            self._looked = self._clock()
        try:
            self._worker.run_once(self._rounds.stopping, self._tell)
        except Exception as error:  # otherwise the error would stay unknown, and the sources would become stale
            log.error("a round of refreshes failed: %s", error, exc_info=not isinstance(error, KnowledgeError))
            trouble = str(error) or type(error).__name__
        with self._lock:
            self._done = replace(self._done, trouble=trouble)

    def _tell(self, outcome: RefreshOutcome) -> None:
        if outcome.report is not None:
            log.info("refreshed %s in %.1f s", outcome.source_id, outcome.seconds)
        name = "failed" if outcome.failure else "refreshed"
        with self._lock:
            self._done = replace(self._done, **{name: getattr(self._done, name) + 1})
