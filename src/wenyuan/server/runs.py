"""What this server is taking in right now, and how it last ended: for whoever watches a refresh."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import KnowledgeError
from wenyuan.server.problem import Problem

if TYPE_CHECKING:
    from wenyuan.service.ingest import Progress

__all__ = ["Run", "Runs"]


class Run:
    """One run of one source; written by the thread that works on it.

    Attributes:
        at: How far it is; None before the first document is read.
        ended: How it ended, as the API tells it; None while it runs.
    """

    def __init__(self, begun: float) -> None:
        self.begun = begun
        self.at: Progress | None = None
        self.ended: Mapping[str, Any] | None = None

    def tell(self, at: Progress) -> None:
        """To be given to an ingest as its ``progress``."""
        self.at = at


class Runs:
    """By source, its run in this process, or the last one. Safe to share between threads."""

    def __init__(self, ticks: Callable[[], float] = time.monotonic) -> None:
        self._ticks = ticks
        self._lock = threading.Lock()
        self._known: dict[str, Run] = {}

    @contextmanager
    def of(self, source_id: str) -> Iterator[Run]:
        """A run of a source, for as long as the context lasts.

        Where one is under way, that stays the one that is told of: the second will be refused.
        """
        run = Run(self._ticks())
        with self._lock:
            known = self._known.get(source_id)
            if known is None or known.ended is not None:
                self._known[source_id] = run
        try:
            yield run
        except BaseException as error:
            told = str(error) if isinstance(error, (KnowledgeError, Problem)) else "internal error"
            run.ended = {"status": "FAILED", "report": None, "error_message": told}
            raise

    def forget(self, source_id: str) -> None:
        """The source is gone."""
        with self._lock:
            self._known.pop(source_id, None)

    def told(self, source_id: str) -> dict[str, Any]:
        """What there is to tell: ``running``, for how many seconds, how far, and how the last run ended."""
        with self._lock:
            run = self._known.get(source_id)
        at = None if run is None else run.at
        running = run is not None and run.ended is None
        names = ("files", "files_total", "passages", "embedded", "name")
        return {
            "source_id": source_id,
            "running": running,
            "seconds": round(self._ticks() - run.begun, 3) if run is not None and running else None,
            "progress": {name: getattr(at, name) for name in names} if at is not None and running else None,
            "last": None if run is None else run.ended,
        }
