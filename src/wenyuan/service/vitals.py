"""How a library is doing, in numbers: what ``/metrics`` shows of it, and what is told of each source."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from wenyuan.core.audited import AuditProgress
from wenyuan.core.model import Source
from wenyuan.core.ports import ChangeFeed, Engine
from wenyuan.core.source_state import SourceState
from wenyuan.service.cache import CacheCounts
from wenyuan.service.freshness import SourceHealth, describe_state, healths
from wenyuan.service.hired import WorkerProgress
from wenyuan.service.meters import Timing

__all__ = ["IndexLag", "Vitals", "index_lag", "listed_sources", "source_counts"]

_NOTHING = {"documents": 0, "passages": 0, "vectors": 0, "failures": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLag:
    """How far the index is behind the catalog: changes, and seconds since the oldest that it has not seen."""

    engine: str
    watermark: int
    changes: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """The numbers of a library at a moment.

    Attributes:
        at: Seconds since the epoch.
        counts: Documents, passages, vectors and failures, by source.
        legs: Times by ``(leg, source, state)``.
        query_vectors: How the vectors of queries were come by; None without an encoder.
        audit: None when it is switched off.
        worker: None where no worker runs in this process.
    """

    at: float
    sources: tuple[SourceHealth, ...]
    counts: Mapping[str, Mapping[str, int]]
    legs: Mapping[tuple[str, ...], Timing]
    cache: CacheCounts
    query_vectors: CacheCounts | None
    audit: AuditProgress | None
    index: IndexLag
    worker: WorkerProgress | None = None


class Stock(Protocol):
    """What is asked of the catalog."""

    def sources(self) -> Sequence[Source]: ...

    def source_states(self) -> Mapping[str, SourceState]: ...

    def counts_by_source(self) -> Mapping[str, Mapping[str, int]]: ...


def source_counts(catalog: Stock) -> tuple[tuple[SourceHealth, ...], Mapping[str, Mapping[str, int]]]:
    """How all sources are doing now, and what is held of each."""
    counts = catalog.counts_by_source()
    found = healths(catalog, time.time())
    return found, {h.source.source_id: counts.get(h.source.source_id, _NOTHING) for h in found}


def index_lag(feed: ChangeFeed, engine: Engine) -> IndexLag:
    """How far an index is behind."""
    status = engine.status()
    return IndexLag(
        engine=status.name,
        watermark=status.watermark,
        changes=max(0, feed.seq() - status.watermark),
        seconds=feed.lag(status.watermark),
    )


def listed_sources(catalog: Stock) -> list[dict[str, object]]:
    """Each source, what the library holds of it, and how fresh that is."""
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
