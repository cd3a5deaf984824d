"""Freshness of sources: when each is due to be read again; and a thread that keeps the index up to date."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from wenyuan.core.errors import IndexCorrupt, InvalidRequest, KnowledgeError
from wenyuan.core.model import Source
from wenyuan.core.ports import ChangeFeed, Engine
from wenyuan.core.sources import Cycle, SourceState, parse_cycle
from wenyuan.runtime import Periodic, deadline_after

if TYPE_CHECKING:
    from wenyuan.catalog import Catalog

_NEVER = "never"
_AHEAD = 300.0
"""Seconds by which clocks of one library may differ; what lies further ahead was written down by a wrong one."""
_FRESH = 1.0
"""Seconds for which what the catalog said counts: the state of a source is no change of the library, so no request
can be told of it, and asking anew for each would cost more than it tells."""


class _Here(tzinfo):
    """This machine's time zone with daylight saving changes; `datetime.astimezone` gives a fixed offset only."""

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        return None if dt is None else dt.replace(tzinfo=None).astimezone().utcoffset()

    def dst(self, dt: datetime | None) -> None:
        """Unknown: returns None."""

    def tzname(self, dt: datetime | None) -> str | None:
        return None if dt is None else dt.replace(tzinfo=None).astimezone().tzname()

    def fromutc(self, dt: datetime) -> datetime:
        moment = dt.replace(tzinfo=UTC).astimezone()
        wall = moment.replace(tzinfo=self)
        return (
            wall if wall.utcoffset() == moment.utcoffset() else wall.replace(fold=1)
        )  # the second of two equal hours


_HERE = _Here()


def cycle_of(source: Source) -> Cycle:
    """The refresh cycle of a source; never for one that is retired or not in force.

    Raises:
        InvalidRequest: its refresh_cycle says nothing.
    """
    asleep = source.status == "retired" or (source.status == "draft" and source.type != "static_doc")
    return parse_cycle(_NEVER if asleep else source.refresh_cycle)


def due_at(state: SourceState | None, cycle: Cycle, now: float) -> float | None:
    """When a source is due, in seconds since the epoch: 0 for now, None for never."""
    if cycle.text == _NEVER:
        return None
    if state is None or (state.last_success is None and not state.failures):
        return 0.0
    if _ahead(state.last_failure if state.failures else state.last_success, now):
        return 0.0
    if state.failures or state.last_success is None:
        return state.next_refresh or 0.0
    planned = next_due(cycle, state.last_success)
    return min(planned or 0.0, state.next_refresh or planned or 0.0)


def stale_since(state: SourceState | None, cycle: Cycle, now: float) -> float | None:
    """Since when a source is overdue; None while it is fresh.

    Of a source that was never read and failed to be: since it failed last. Of one whose last success lies in the future,
    when it was read is not known: since now.
    """
    if state is None or cycle.text == _NEVER:
        return None
    if _ahead(state.last_success, now):
        return now
    if state.last_success is None:
        return state.last_failure
    due = next_due(cycle, state.last_success)
    return due if due is not None and due < now else None


def _ahead(at: float | None, now: float) -> bool:
    return at is not None and at > now + _AHEAD


def next_due(cycle: Cycle, at: float) -> float | None:
    """The first moment of a cycle after `at`, in this machine's time zone."""
    moment = cycle.next_after(datetime.fromtimestamp(at, _HERE))
    return None if moment is None else moment.timestamp()


def describe_state(state: SourceState | None, source: Source, now: float) -> dict[str, object]:
    """A source's refresh state as JSON values, times in ISO 8601, UTC."""
    reason = state.failure if state else ""
    try:
        cycle = cycle_of(source)
    except InvalidRequest as error:
        cycle, reason = parse_cycle(_NEVER), reason or error.message
    due = due_at(state, cycle, now)
    return {
        "last_success": _iso(state.last_success if state else None),
        "last_failure": _iso(state.last_failure if state else None),
        "reason": reason,
        "failures_in_a_row": state.failures if state else 0,
        "next_refresh": _iso(now if due == 0.0 else due),
        "stale_since": _iso(stale_since(state, cycle, now)),
        "refreshing": state.held_by(now) if state is not None else "",
    }


def _iso(at: float | None) -> str | None:
    return None if at is None else iso_time(at)


def iso_time(at: float) -> str:
    """Seconds since 1970 in ISO 8601, UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


# --- of all sources -------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class SourceHealth:
    """Refresh state of one source at a moment.

    Attributes:
        due: Whether it must be read now and no worker holds it.
        stale_since: Seconds since the epoch; None while it is as fresh as promised.
    """

    source: Source
    state: SourceState
    due: bool
    stale_since: float | None


def healths(catalog: Catalog, now: float) -> tuple[SourceHealth, ...]:
    """Refresh state of all sources at a moment (seconds since the epoch)."""
    states = catalog.source_states()
    return tuple(
        _health(source, states.get(source.source_id, SourceState(source_id=source.source_id)), now)
        for source in catalog.sources()
    )


def _health(source: Source, state: SourceState, now: float) -> SourceHealth:
    try:
        cycle = cycle_of(source)
        at = due_at(state, cycle, now)
    except InvalidRequest:  # a refresh would fail, and so say what is wrong with it
        cycle, at = parse_cycle(_NEVER), state.next_refresh or 0.0
    return SourceHealth(
        source=source,
        state=state,
        due=at is not None and at <= now and not state.held_by(now),
        stale_since=stale_since(state, cycle, now),
    )


_NOTHING = {"documents": 0, "passages": 0, "vectors": 0, "failures": 0}


def source_counts(catalog: Catalog) -> tuple[tuple[SourceHealth, ...], Mapping[str, Mapping[str, int]]]:
    """Refresh states of all sources, and counts of what each holds."""
    counts = catalog.counts_by_source()
    found = healths(catalog, time.time())
    return found, {h.source.source_id: counts.get(h.source.source_id, _NOTHING) for h in found}


def listed_sources(catalog: Catalog) -> list[dict[str, object]]:
    """Each source with counts of its content and its freshness."""
    found, counts = source_counts(catalog)
    now = time.time()
    return [
        {
            "source_id": source.source_id,
            "title": source.title,
            "type": source.type,
            "path": source.path,
            "domain": source.domain,
            "trust": source.trust,
            "language": source.language,
            "collection": source.collection,
            "copyright": source.copyright,
            **counts[source.source_id],
            **describe_state(health.state, source, now),
        }
        for health in found
        for source in (health.source,)
    ]


class Freshness:
    """Which sources are overdue. Cached for a second; safe to share between threads.

    Args:
        clock: Seconds since the epoch.
        ticks: Seconds that never go back.
    """

    def __init__(
        self,
        catalog: Catalog,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._catalog = catalog
        self._clock = clock
        self._ticks = ticks
        self._lock = threading.Lock()
        self._at = float("-inf")
        self._stale: Mapping[str, str] = {}

    def stale(self) -> Mapping[str, str]:
        """By source id, since when it is overdue, in ISO 8601, UTC.

        Raises:
            CatalogError: it cannot be read.
        """
        # One caller reads again; others use the cached state, and wait only for the first one.
        if self._ticks() - self._at >= _FRESH and self._lock.acquire(blocking=self._at == float("-inf")):
            try:
                self._ask()
            finally:
                self._lock.release()
        return self._stale

    def _ask(self) -> None:
        begun = self._ticks()
        if begun - self._at >= _FRESH:
            found = healths(self._catalog, self._clock())
            self._stale = {h.source.source_id: iso_time(h.stale_since) for h in found if h.stale_since is not None}
            self._at = begun


# An index that follows what others write, so that no question has to wait for it.


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
