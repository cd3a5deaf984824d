"""An index that follows what others write, so that no question has to wait for it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from wenyuan.core.errors import IndexCorrupt, KnowledgeError
from wenyuan.core.ports import ChangeFeed, Engine
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.runtime.periodic import Periodic

log = logging.getLogger(__name__)

EVERY = 0.3
"""Seconds between two looks."""
_NO_HURRY = 3_600.0
_AS_FAR = 60.0  # seconds: less than a rebuilding takes, so whoever else writes is followed as far as they have come


class IndexFollower:
    """A thread that updates an engine's index after every commit, until it is stopped.

    An engine with files of its own is asked, too, to see that they are as it left them (``look``). A failure is logged once
    and tried again: a query that needs the change fails with it, too.
    """

    def __init__(self, feed: ChangeFeed, engine: Engine, *, every: float = EVERY) -> None:
        self._feed = feed
        self._engine = engine
        self._rounds = Periodic(self._follow, name="wenyuan-follower", every=every)
        self._look: Callable[[ChangeFeed], None] | None = getattr(engine, "look", None)
        self._seen, self._trouble = -1, ""
        self.start, self.stop = self._rounds.start, self._rounds.stop

    def _sync(self, seconds: float) -> int:
        return self._engine.sync(self._feed, deadline=deadline_after(seconds))

    def _follow(self) -> None:
        try:
            if self._feed.seq() != self._seen:
                try:
                    self._seen = self._sync(_AS_FAR)
                except IndexCorrupt:  # rebuilding takes time
                    self._seen = self._sync(_NO_HURRY)
            if self._look is not None:
                self._look(self._feed)
            self._trouble = ""
        except Exception as error:  # a thread that ended here would leave all that follows to the questions
            if repr(error) != self._trouble:
                log.warning("the index does not follow: %s", error, exc_info=not isinstance(error, KnowledgeError))
            self._trouble = repr(error)
