"""How an engine on a server follows the catalog and reads one state: what does not depend on which server it is.

The index says how far it has come by its newest mark. One process writes at a time, in steps that each end with a mark;
whoever asks meanwhile waits, or is answered from the state before.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

import numpy as np

from wenyuan.core.errors import CatalogBusy, EngineError, EngineTimeout, IndexMismatch, msg
from wenyuan.core.ports import ChangeFeed, Deadline
from wenyuan.engines.hidden_tally import HiddenTallies
from wenyuan.engines.index_mark import Mark, check_same
from wenyuan.runtime.bounded_calls import BoundedCalls, CallTimedOut
from wenyuan.runtime.deadlines import deadline_after

MAX_LAG = 3_600.0
"""Seconds for which whoever else is writing may keep answers behind before that is an error."""
PATIENCE = 10.0
"""Seconds for what has no deadline of its own: status, information."""
TIME_TO_BUILD = 300.0
"""Seconds that a caller must be willing to wait to build the index himself."""
A_DAY = 86_400.0
_TO_WAIT = 60.0  # for the lock, by a caller who has time
_BRIEFLY = 0.1  # seconds to wait for a thread that brings the index up to date: mostly it is done by then
_WAITS = 0.5  # of a request's time, for the index; then it is answered from what is there

T = TypeVar("T")
M = TypeVar("M", bound=Mark)


class FollowingEngine(ABC, Generic[M]):
    """An engine whose index is on a server.

    Args:
        name: Of the engine.
        dimension: Of vectors; 0 for an index without.
        exclusive: Gives the lock of indexes on servers; only its holder writes.
        max_lag: See `MAX_LAG`.
    """

    works_here = False

    def __init__(
        self, name: str, dimension: int, *, exclusive: Callable[..., AbstractContextManager[None]], max_lag: float
    ) -> None:
        self.name = name
        self._component = f"engine {name}"
        self._dimension = dimension
        self._exclusive, self._max_lag = exclusive, max_lag
        self._writing = threading.Lock()
        self._builder = BoundedCalls(1, f"wenyuan-{name}-index")
        self._same = False
        self._tallies = HiddenTallies()
        self._empty = False  # whether the catalog was, when the index was asked last
        self._mark: M

    @abstractmethod
    def _run(self, work: Callable[[Any], T], deadline: Deadline) -> T:
        """What `work` gives, with a session of the server."""

    @abstractmethod
    def _newest(self, session: Any) -> M:
        """The newest mark."""

    @abstractmethod
    def _advance(self, session: Any, feed: ChangeFeed, target: int) -> M:
        """Apply some changes; the mark that then counts. The caller holds the lock."""

    @property
    @abstractmethod
    def _older(self) -> str:
        """What to do when the catalog was replaced by an older one."""

    @property
    @abstractmethod
    def _copied(self) -> str:
        """What to do when the catalog was restored or copied."""

    def sync(self, feed: ChangeFeed, *, deadline: Deadline) -> int:
        target = feed.seq()
        self._mark = mark = self._run(self._newest, deadline)
        if mark.settled(target):
            self._empty = target == 0
            return self._checked(feed, mark)
        if mark.watermark > max(target, feed.seq()):  # read again: another thread may have applied a later change
            raise IndexMismatch(
                msg(
                    "the index holds change {watermark}, the catalog ends at {target}",
                    watermark=mark.watermark,
                    target=target,
                ),
                component=self._component,
                hint=self._older,
            )
        if deadline.remaining() >= TIME_TO_BUILD:
            return self._follow(feed, target, wait=_TO_WAIT)
        if not self._caught_up(feed, target, mark, deadline):
            if self._may_lag(feed, mark):
                return mark.watermark  # another process updates it; its content is a consistent state of the catalog
            raise EngineTimeout(
                msg(
                    "behind the catalog ({watermark} of {target}), and somebody else is writing",
                    watermark=mark.watermark,
                    target=target,
                ),
                component=self._component,
            )
        return self._mark.watermark

    def _may_lag(self, feed: ChangeFeed, mark: Mark) -> bool:
        """Whether questions may be answered as of a mark; an index that is only being built holds nothing."""
        return (mark.watermark > 0 or self._empty) and feed.lag(mark.watermark) <= self._max_lag

    def _checked(self, feed: ChangeFeed, mark: Mark) -> int:
        if not self._same:  # once is enough: later changes are checked as they are applied
            check_same(feed, mark, self._copied, self._component)
            self._same = True
        return mark.watermark

    def _caught_up(self, feed: ChangeFeed, target: int, mark: Mark, deadline: Deadline) -> bool:
        """Apply changes, in a thread that goes on when the caller cannot wait; False while another process writes, or
        when an earlier state is preferred to waiting.
        """
        lagging = self._may_lag(feed, mark)
        patience = _BRIEFLY if lagging else deadline.remaining()
        if not self._writing.acquire(timeout=min(patience, deadline.remaining())):
            return False

        def work() -> None:
            try:
                self._follow(feed, target, wait=_BRIEFLY)
            finally:
                self._writing.release()

        try:
            self._builder.run(work, deadline.remaining() * (_WAITS if lagging else 1.0))
        except CatalogBusy:
            return False
        except CallTimedOut as error:
            if lagging:
                return False
            raise EngineTimeout("the index is still being brought up to date", component=self._component) from error
        return True

    def _follow(self, feed: ChangeFeed, target: int, *, wait: float) -> int:
        while True:
            with self._exclusive(wait=wait):
                self._mark = self._run(lambda session: self._advance(session, feed, target), deadline_after(A_DAY))
            if self._mark.watermark >= target:
                return self._checked(feed, self._mark)

    def removed_share(self) -> float:
        return 0.0

    def _validated(self, vector: Any) -> list[float]:
        if not self._dimension:
            raise EngineError("this index was built without an encoder", component=f"{self._component}/vector")
        if len(vector) != self._dimension:
            raise EngineError(
                msg(
                    "the query has {count} dimensions, the index {vectors}",
                    count=len(vector),
                    vectors=self._dimension,
                ),
                component=f"{self._component}/vector",
            )
        written: list[float] = np.asarray(vector, dtype=np.float32).tolist()
        return written
