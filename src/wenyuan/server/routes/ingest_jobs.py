"""The current and last ingest runs of this server, for clients that watch a refresh."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import KnowledgeError
from wenyuan.server.problems import Problem
from wenyuan.wire.contract import failed_body

if TYPE_CHECKING:
    from wenyuan.service.ingest.progress import Progress


class IngestJob:
    """One ingest run of a source; written by the thread that works on it.

    Attributes:
        at: How far it is; None before the first document is read.
        ended: How it ended, as the API tells it; None while it runs.
    """

    def __init__(self, begun: float) -> None:
        self.begun = begun
        self.at: Progress | None = None
        self.ended: Mapping[str, Any] | None = None

    def tell(self, at: Progress) -> None:
        """The ``progress`` callback of an ingest."""
        self.at = at


class IngestJobs:
    """The current or last ingest run of each source in this process. Safe to share between threads."""

    def __init__(self, ticks: Callable[[], float] = time.monotonic) -> None:
        self._ticks = ticks
        self._lock = threading.Lock()
        self._known: dict[str, IngestJob] = {}

    @contextmanager
    def of(self, source_id: str) -> Iterator[IngestJob]:
        """Context of a run of a source.

        If one is already running, it stays the reported one, since the second will be refused.
        """
        run = IngestJob(self._ticks())
        with self._lock:
            known = self._known.get(source_id)
            if known is None or known.ended is not None:
                self._known[source_id] = run
        try:
            yield run
        except BaseException as error:
            told = str(error) if isinstance(error, (KnowledgeError, Problem)) else "internal error"
            run.ended = failed_body(told, report=None)
            raise

    def forget(self, source_id: str) -> None:
        """Drop the runs of a removed source."""
        with self._lock:
            self._known.pop(source_id, None)

    def told(self, source_id: str) -> dict[str, Any]:
        """State of a source's run: ``running``, elapsed seconds, progress, and how the last run ended."""
        with self._lock:
            run = self._known.get(source_id)
        at = None if run is None else run.at
        running = run is not None and run.ended is None
        names = (
            "files",
            "files_total",
            "passages",
            "embedded",
            "name",
            "pages",
            "pages_total",
            "sentences",
            "sentences_total",
        )
        return {
            "source_id": source_id,
            "running": running,
            "seconds": round(self._ticks() - run.begun, 3) if run is not None and running else None,
            "progress": {name: getattr(at, name) for name in names} if at is not None and running else None,
            "last": None if run is None else run.ended,
        }
