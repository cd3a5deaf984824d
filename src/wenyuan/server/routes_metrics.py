"""``/metrics``: how the server and its library are doing, for Prometheus.

Labels come from closed sets (doors, outcomes, legs, states) and from the ids of the sources that are registered.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.errors import NotPermitted
from wenyuan.server.access import Handler
from wenyuan.server.exposition import CONTENT_TYPE, Family, Sample, histogram, render
from wenyuan.server.pool import Pool
from wenyuan.server.traffic import Traffic
from wenyuan.service.cache import CacheCounts
from wenyuan.service.freshness import SourceHealth
from wenyuan.service.hired import WorkerProgress
from wenyuan.service.vitals import Vitals

__all__ = ["Metrics"]

_STARTED = time.time()


@runtime_checkable
class _Measured(Protocol):
    def vitals(self) -> Vitals: ...


class Metrics:
    """``/metrics``. It has threads of its own, so load cannot hide what load does."""

    def __init__(self, service: object, traffic: Traffic) -> None:
        self._service = service
        self._traffic = traffic
        self._pool = Pool(1, 8)
        self.handlers: Mapping[tuple[str, str], Handler] = {("GET", "/metrics"): self.show}

    async def show(self, request: Request) -> Response:
        if request.state.principal.agent_id is not None:
            raise NotPermitted("a key that is bound to an agent cannot see the numbers of the whole library")
        return await self._pool.run(self._show)

    def _show(self) -> Response:
        families = [*_of_traffic(self._traffic), *_of_process()]
        if isinstance(self._service, _Measured):
            families += _of_library(self._service.vitals())
        return Response(render(families), media_type=CONTENT_TYPE)


def _of_traffic(traffic: Traffic) -> Iterator[Family]:
    requests = tuple(
        Sample({"door": door, "status": status, "outcome": outcome}, count)
        for (door, status, outcome), count in sorted(traffic.requests().items())
    )
    yield Family("wenyuan_http_requests_total", "counter", "Requests that were answered.", requests)
    timings = [({"door": door}, timing) for (door,), timing in sorted(traffic.timings().items())]
    yield histogram("wenyuan_http_request_duration_seconds", "Time until the answer was sent.", timings)
    yield _gauge("wenyuan_http_requests_in_flight", "Requests that are open, this one included.", traffic.open)
    limited = (Sample({}, traffic.limited),)
    yield Family("wenyuan_http_rate_limited_total", "counter", "Requests that were refused with 429.", limited)


def _of_process() -> Iterator[Family]:
    yield _gauge("process_start_time_seconds", "When the server was loaded, in seconds since the epoch.", _STARTED)
    resident = _resident()
    if resident:
        yield _gauge("process_resident_memory_bytes", "Memory of this process.", resident)


def _resident() -> int:
    """Bytes of memory that this process has; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _of_library(vitals: Vitals) -> Iterator[Family]:
    yield from _of_sources(vitals)
    yield histogram(
        "wenyuan_leg_duration_seconds",
        "Time of the legs of requests; source is empty for the library's own index.",
        [
            ({"leg": leg, "source": source, "state": state}, timing)
            for (leg, source, state), timing in sorted(vitals.legs.items())
        ],
    )
    yield from _of_cache("cache", "Answers", vitals.cache)
    if vitals.query_vectors is not None:
        yield from _of_cache("query_vector", "Vectors of queries", vitals.query_vectors)
    lag = vitals.index
    yield _gauge("wenyuan_index_lag_changes", "Changes of the catalog that the index has not seen.", lag.changes)
    yield _gauge("wenyuan_index_lag_seconds", "Age of the oldest of them.", lag.seconds)
    if vitals.worker is not None:
        yield from _of_worker(vitals.worker)
    if vitals.audit is not None:
        audit = vitals.audit
        yield Family(
            "wenyuan_audit_records_total", "counter", "Audit records ever written.", (Sample({}, audit.records),)
        )
        yield _gauge("wenyuan_audit_waiting", "Audit records that are not durable yet.", audit.waiting)
        yield _gauge("wenyuan_audit_flush_lag_seconds", "Age of the oldest of them.", audit.lag)
        yield _gauge("wenyuan_audit_failing", "Whether the audit cannot be written.", audit.failing)


def _of_cache(name: str, what: str, counts: CacheCounts) -> Iterator[Family]:
    asked = (("hit", counts.hits), ("miss", counts.misses), ("joined", counts.joined))
    samples = tuple(Sample({"result": result}, count) for result, count in asked)
    yield Family(f"wenyuan_{name}_requests_total", "counter", f"{what} asked of the cache.", samples)
    yield _gauge(f"wenyuan_{name}_entries", f"{what} that are kept.", counts.values)
    yield _gauge(f"wenyuan_{name}_bytes", "What they take, about.", counts.bytes)


def _of_worker(done: WorkerProgress) -> Iterator[Family]:
    yield _gauge("wenyuan_worker_up", "Whether the worker of this process is at work or waits for it.", done.alive)
    yield _gauge("wenyuan_worker_in_trouble", "Whether its last round broke off.", bool(done.trouble))
    yield _gauge("wenyuan_worker_looked_seconds", "Time since it began to look for what is due.", done.looked)
    outcomes = (("refreshed", done.refreshed), ("failed", done.failed))
    samples = tuple(Sample({"outcome": name}, count) for name, count in outcomes)
    yield Family("wenyuan_worker_refreshes_total", "counter", "Refreshes by the worker of this process.", samples)


def _of_sources(vitals: Vitals) -> Iterator[Family]:
    def each(name: str, told: str, value: Callable[[SourceHealth], float | None]) -> Family:
        found = ((health.source.source_id, value(health)) for health in vitals.sources)
        return Family(name, "gauge", told, tuple(Sample({"source": s}, v) for s, v in found if v is not None))

    def since(at: float | None) -> float | None:
        return None if at is None else max(0.0, vitals.at - at)

    counts = vitals.counts
    for name in ("documents", "passages"):
        yield each(f"wenyuan_source_{name}", f"Live {name}.", lambda h, n=name: counts[h.source.source_id][n])  # type: ignore[misc]
    yield each("wenyuan_source_documents_failed", "Documents that cannot be read.",
               lambda h: counts[h.source.source_id]["failures"])  # fmt: skip
    yield each("wenyuan_source_last_success_age_seconds", "Time since the last refresh that succeeded.",
               lambda h: since(h.state.last_success))  # fmt: skip
    yield each("wenyuan_source_failures_in_a_row", "Refreshes that failed since one succeeded.",
               lambda h: h.state.failures)  # fmt: skip
    yield each("wenyuan_source_overdue", "Whether its refresh is overdue.", lambda h: h.stale_since is not None)
    yield each("wenyuan_source_overdue_seconds", "For how long its refresh is overdue.",
               lambda h: since(h.stale_since))  # fmt: skip
    waiting = sum(health.due for health in vitals.sources)
    yield _gauge("wenyuan_refresh_queue", "Sources that are due and that no worker is at.", waiting)


def _gauge(name: str, told: str, value: float) -> Family:
    return Family(name, "gauge", told, (Sample({}, value),))
