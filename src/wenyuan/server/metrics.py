"""``/metrics``: how the server and its library are doing, for Prometheus.

Labels come from closed sets (doors, outcomes, legs, states) and from the ids of the sources that are registered.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.errors import NotPermitted
from wenyuan.core.ports import ModelUse
from wenyuan.server.exposition import MetricFamilies, counter, gauge, histogram
from wenyuan.server.openapi import read_operation
from wenyuan.server.pool import Pool
from wenyuan.server.process_counts import Numbers, NumbersNow
from wenyuan.server.route import route
from wenyuan.service.operations.background_refresh import WorkerProgress
from wenyuan.service.operations.health import LibraryStats
from wenyuan.service.operations.source_health import SourceHealth
from wenyuan.service.search.answer_cache import CacheCounts

_STARTED = time.time()


@runtime_checkable
class _Measured(Protocol):
    def vitals(self) -> LibraryStats: ...


_NUMBERS = read_operation(
    "metrics", "Numbers for Prometheus; needs the right audit", {"text/plain": {"schema": {"type": "string"}}},
    401, 403, 429, 500, 503,
)  # fmt: skip


class Metrics:
    """``/metrics``. It has its own threads, so that metrics stay readable under load."""

    def __init__(self, service: object, numbers: NumbersNow) -> None:
        self._service = service
        self._numbers = numbers
        self._pool = Pool(1, 8)

    @route("GET", "/metrics", "audit", _NUMBERS)
    async def show(self, request: Request) -> Response:
        if request.state.principal.agent_id is not None:
            raise NotPermitted("a key that is bound to an agent cannot see the numbers of the whole library")
        return await self._pool.run(self._show)

    def _show(self) -> Response:
        numbers = self._numbers.all()
        families = [*_of_traffic(numbers), *_of_process(numbers.resident)]
        if (shared := self._numbers.shared) is not None:
            families += _of_processes(*shared.processes())
        if isinstance(self._service, _Measured):
            vitals = self._service.vitals()
            families += _of_library(vitals if numbers.work is None else vitals.beside(numbers.work))
        return Response(generate_latest(MetricFamilies(families)), media_type=CONTENT_TYPE_PLAIN_0_0_4)


def _of_traffic(traffic: Numbers) -> Iterator[Metric]:
    by = ("door", "status", "outcome")
    answered = sorted(traffic.requests.items())
    yield counter("wenyuan_http_requests_total", "Requests that were answered.", by, answered)
    yield histogram(
        "wenyuan_http_request_duration_seconds", "Time until the answer was sent.", ("door",), traffic.durations
    )
    yield gauge("wenyuan_http_requests_in_flight", "Requests that are open, this one included.", traffic.open)
    refused = [((), traffic.limited)]
    yield counter("wenyuan_http_rate_limited_total", "Requests that were refused with 429.", (), refused)


def _of_process(resident: int) -> Iterator[Metric]:
    yield gauge("process_start_time_seconds", "When the server was loaded, in seconds since the epoch.", _STARTED)
    if resident:
        yield gauge("process_resident_memory_bytes", "Memory of the serving processes.", resident)


def _of_processes(ready: int, restarts: int) -> Iterator[Metric]:
    yield gauge("wenyuan_processes", "Serving processes that take connections.", ready)
    yield counter("wenyuan_processes_restarted_total", "Processes started in place of others.", (), [((), restarts)])


def _of_library(vitals: LibraryStats) -> Iterator[Metric]:
    yield from _of_sources(vitals)
    yield histogram(
        "wenyuan_leg_duration_seconds",
        "Time of the legs of requests; source is empty for the library's own index.",
        ("leg", "source", "state"),
        vitals.legs,
    )
    yield from _of_cache("cache", "Answers", vitals.cache)
    if vitals.query_vectors is not None:
        yield from _of_cache("query_vector", "Vectors of queries", vitals.query_vectors)
    lag = vitals.index
    yield gauge("wenyuan_index_lag_changes", "Changes of the catalog that the index has not seen.", lag.changes)
    yield gauge("wenyuan_index_lag_seconds", "Age of the oldest of them.", lag.seconds)
    if vitals.worker is not None:
        yield from _of_worker(vitals.worker)
    used = [use for use in (vitals.llm, vitals.judge) if use is not None]
    if used:
        yield from _of_models(used)
    if vitals.audit is not None:
        audit = vitals.audit
        yield counter("wenyuan_audit_records_total", "Audit records ever written.", (), [((), audit.records)])
        yield gauge("wenyuan_audit_waiting", "Audit records that are not durable yet.", audit.waiting)
        yield gauge("wenyuan_audit_flush_lag_seconds", "Age of the oldest of them.", audit.lag)
        yield gauge("wenyuan_audit_failing", "Whether the audit cannot be written.", audit.failing)


def _of_cache(name: str, what: str, counts: CacheCounts) -> Iterator[Metric]:
    asked = [(("hit",), counts.hits), (("miss",), counts.misses), (("joined",), counts.joined)]
    yield counter(f"wenyuan_{name}_requests_total", f"{what} asked of the cache.", ("result",), asked)
    yield gauge(f"wenyuan_{name}_entries", f"{what} that are kept.", counts.values)
    yield gauge(f"wenyuan_{name}_bytes", "What they take, about.", counts.bytes)


def _of_models(used: Sequence[ModelUse]) -> Iterator[Metric]:
    counts = sum((Counter(use.calls) for use in used), Counter[str]())
    calls = [((outcome,), float(count)) for outcome, count in sorted(counts.items())]
    yield counter("wenyuan_llm_calls_total", "Questions to the language model, by outcome.", ("outcome",), calls)
    tokens = [(("in",), sum(use.tokens_in for use in used)), (("out",), sum(use.tokens_out for use in used))]
    yield counter("wenyuan_llm_tokens_total", "Tokens of language model and judge.", ("direction",), tokens)
    cost = sum(use.cost for use in used)
    yield counter("wenyuan_llm_cost_total", "Cost of the language model, at the settings' prices.", (), [((), cost)])


def _of_worker(done: WorkerProgress) -> Iterator[Metric]:
    yield gauge("wenyuan_worker_up", "Whether the worker of this process is at work or waits for it.", done.alive)
    yield gauge("wenyuan_worker_in_trouble", "Whether its last round broke off.", bool(done.trouble))
    yield gauge("wenyuan_worker_looked_seconds", "Time since it began to look for what is due.", done.looked)
    outcomes = [(("refreshed",), done.refreshed), (("failed",), done.failed)]
    yield counter(
        "wenyuan_worker_refreshes_total", "Refreshes by the worker of this process.", ("outcome",), outcomes
    )


def _of_sources(vitals: LibraryStats) -> Iterator[Metric]:
    def each(name: str, told: str, value: Callable[[SourceHealth], float | None]) -> Metric:
        family = GaugeMetricFamily(name, told, labels=("source",))
        for health in vitals.sources:
            if (found := value(health)) is not None:
                family.add_metric((health.source.source_id,), found)
        return family

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
    yield gauge("wenyuan_refresh_queue", "Sources that are due and that no worker is at.", waiting)
