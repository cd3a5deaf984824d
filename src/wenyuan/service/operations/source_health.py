"""How each source of a library is doing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wenyuan.core.cycles import parse_cycle
from wenyuan.core.errors import InvalidRequest
from wenyuan.core.model import Source
from wenyuan.core.sources import SourceState
from wenyuan.service.operations.freshness import FRESH, NEVER, cycle_of, describe_state, due_at, iso_time, stale_since

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


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
        cycle, at = parse_cycle(NEVER), state.next_refresh or 0.0
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
            "owner": source.owner,
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
        if self._ticks() - self._at >= FRESH and self._lock.acquire(blocking=self._at == float("-inf")):
            try:
                self._ask()
            finally:
                self._lock.release()
        return self._stale

    def _ask(self) -> None:
        begun = self._ticks()
        if begun - self._at >= FRESH:
            found = healths(self._catalog, self._clock())
            self._stale = {h.source.source_id: iso_time(h.stale_since) for h in found if h.stale_since is not None}
            self._at = begun
