"""An index that follows what others write, so that no question has to wait for it."""

from __future__ import annotations

import logging
import threading
import time

from wenyuan.core.errors import KnowledgeError
from wenyuan.core.ports import ChangeFeed, Deadline, Engine

__all__ = ["Follower"]

log = logging.getLogger(__name__)

EVERY = 0.3
"""Seconds between two looks."""
_NO_HURRY = 3_600.0


class Follower:
    """Brings an engine up to the catalog a moment after anybody's commit, in a thread of its own, until it is stopped.

    A failure is logged once and tried again: a question that needs the change meets it, too, and says so.
    """

    def __init__(self, feed: ChangeFeed, engine: Engine, *, every: float = EVERY) -> None:
        self._feed = feed
        self._engine = engine
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="wenyuan-follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Wait until it has ended; may be called twice."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        seen, trouble = -1, ""
        while not self._stop.is_set():
            try:
                if self._feed.seq() != seen:
                    seen = self._engine.sync(
                        self._feed, deadline=Deadline(time.monotonic() + _NO_HURRY, time.monotonic)
                    )
                trouble = ""
            except KnowledgeError as error:
                if str(error) != trouble:
                    log.warning("the index does not follow: %s", error)
                trouble = str(error)
            self._stop.wait(self._every)
