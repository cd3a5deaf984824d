"""Metrics and health routes, with Prometheus text exposition."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.errors import KnowledgeError, NotPermitted
from wenyuan.core.ports import ModelUse
from wenyuan.runtime import BOUNDS, Timing
from wenyuan.server.access import route
from wenyuan.server.handling import json_response
from wenyuan.server.middleware import RequestMetrics
from wenyuan.server.openapi import content_of, got
from wenyuan.server.problems import Pool
from wenyuan.server.settings import Service
from wenyuan.service.operations import SourceHealth
from wenyuan.service.operations.health import LibraryStats
from wenyuan.service.operations.refresh import WorkerProgress
from wenyuan.service.search.cache import CacheCounts
from wenyuan.wire import ReadinessShape

Counted = Iterable[tuple[tuple[str, ...], float]]
"""Numbers, each with the values of its labels."""


class MetricFamilies(Collector):
    """Metric families for exposition; empty ones are left out."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return (family for family in self._families if family.samples)


def histogram(name: str, told: str, labels: tuple[str, ...], timings: Mapping[tuple[str, ...], Timing]) -> Metric:
    """Durations as a histogram: cumulative counts at `BOUNDS`, in seconds."""
    family = HistogramMetricFamily(name, told, labels=labels)
    bounds = (*(f"{bound:g}" for bound in BOUNDS), "+Inf")
    for values, timing in sorted(timings.items()):
        family.add_metric(values, list(zip(bounds, accumulate(timing.classes), strict=True)), timing.seconds)
    return family


def counter(name: str, told: str, labels: tuple[str, ...], counted: Counted) -> Metric:
    """Counters by the values of their labels."""
    family = CounterMetricFamily(name, told, labels=labels)
    for values, count in counted:
        family.add_metric(values, count)
    return family


def _gauge(name: str, told: str, value: float) -> Metric:
    return GaugeMetricFamily(name, told, value=value)


# Probes, and what describes the rest.


_log = logging.getLogger("wenyuan.server")
_LIVE = {"application/json": {"schema": {"type": "object", "properties": {"live": {"const": True}}}}}


class Probes:
    """Health and readiness probes. They have their own threads, so that load cannot make them fail.

    Args:
        document: The OpenAPI document of the server.
    """

    def __init__(self, service: Service, document: Mapping[str, Any]) -> None:
        self._service = service
        self._document = document
        self._pool = Pool(2, 16)

    @route("GET", "/livez", None, got("livez", "Whether the process runs", _LIVE, 500))
    async def livez(self, _request: Request) -> Response:
        return json_response({"live": True})

    @route(
        "GET",
        "/readyz",
        None,
        got("readyz", "Whether the service can answer", ReadinessShape, 500, 503, also=content_of(ReadinessShape)),
    )
    async def readyz(self, request: Request) -> Response:
        return await self._pool.run(partial(self._readiness, request.state.request_id))

    @route("GET", "/openapi.json", None, None)
    async def openapi(self, _request: Request) -> Response:
        return json_response(self._document)

    def _readiness(self, request_id: str) -> Response:
        try:
            state = self._service.readiness()
            ready, parts = state.ready, {name: _shown(part) for name, part in state.parts.items()}
        except Exception as error:
            _log.exception("readiness could not be told: request_id=%s", request_id)
            reason = str(error) if isinstance(error, KnowledgeError) else f"internal error (request {request_id})"
            ready, parts = False, {"service": {"state": "failed", "detail": reason}}
        return json_response({"ready": ready, "parts": parts}, 200 if ready else 503)


def _shown(part: Mapping[str, object]) -> dict[str, object]:
    """A part's state without its hints: a prober cannot act on the server."""
    return {name: value for name, value in part.items() if name != "hint"}


# ``/metrics``: how the server and its library are doing, for Prometheus.
#
# Labels come from closed sets (doors, outcomes, legs, states) and from the ids of the sources that are registered.


_STARTED = time.time()


@runtime_checkable
class _Measured(Protocol):
    def vitals(self) -> LibraryStats: ...


_NUMBERS = got(
    "metrics", "Numbers for Prometheus; needs the right audit", {"text/plain": {"schema": {"type": "string"}}},
    401, 403, 429, 500, 503,
)  # fmt: skip


class Metrics:
    """``/metrics``. It has its own threads, so that metrics stay readable under load."""

    def __init__(self, service: object, traffic: RequestMetrics) -> None:
        self._service = service
        self._traffic = traffic
        self._pool = Pool(1, 8)

    @route("GET", "/metrics", "audit", _NUMBERS)
    async def show(self, request: Request) -> Response:
        if request.state.principal.agent_id is not None:
            raise NotPermitted("a key that is bound to an agent cannot see the numbers of the whole library")
        return await self._pool.run(self._show)

    def _show(self) -> Response:
        families = [*_of_traffic(self._traffic), *_of_process()]
        if isinstance(self._service, _Measured):
            families += _of_library(self._service.vitals())
        return Response(generate_latest(MetricFamilies(families)), media_type=CONTENT_TYPE_PLAIN_0_0_4)


def _of_traffic(traffic: RequestMetrics) -> Iterator[Metric]:
    by = ("door", "status", "outcome")
    answered = sorted(traffic.requests().items())
    yield counter("wenyuan_http_requests_total", "Requests that were answered.", by, answered)
    yield histogram(
        "wenyuan_http_request_duration_seconds", "Time until the answer was sent.", ("door",), traffic.timings()
    )
    yield _gauge("wenyuan_http_requests_in_flight", "Requests that are open, this one included.", traffic.open)
    refused = [((), traffic.limited)]
    yield counter("wenyuan_http_rate_limited_total", "Requests that were refused with 429.", (), refused)


def _of_process() -> Iterator[Metric]:
    yield _gauge("process_start_time_seconds", "When the server was loaded, in seconds since the epoch.", _STARTED)
    resident = _resident()
    if resident:
        yield _gauge("process_resident_memory_bytes", "Memory of this process.", resident)


def _resident() -> int:
    """Resident memory of this process in bytes; 0 where the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


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
    yield _gauge("wenyuan_index_lag_changes", "Changes of the catalog that the index has not seen.", lag.changes)
    yield _gauge("wenyuan_index_lag_seconds", "Age of the oldest of them.", lag.seconds)
    if vitals.worker is not None:
        yield from _of_worker(vitals.worker)
    used = [use for use in (vitals.llm, vitals.judge) if use is not None]
    if used:
        yield from _of_models(used)
    if vitals.audit is not None:
        audit = vitals.audit
        yield counter("wenyuan_audit_records_total", "Audit records ever written.", (), [((), audit.records)])
        yield _gauge("wenyuan_audit_waiting", "Audit records that are not durable yet.", audit.waiting)
        yield _gauge("wenyuan_audit_flush_lag_seconds", "Age of the oldest of them.", audit.lag)
        yield _gauge("wenyuan_audit_failing", "Whether the audit cannot be written.", audit.failing)


def _of_cache(name: str, what: str, counts: CacheCounts) -> Iterator[Metric]:
    asked = [(("hit",), counts.hits), (("miss",), counts.misses), (("joined",), counts.joined)]
    yield counter(f"wenyuan_{name}_requests_total", f"{what} asked of the cache.", ("result",), asked)
    yield _gauge(f"wenyuan_{name}_entries", f"{what} that are kept.", counts.values)
    yield _gauge(f"wenyuan_{name}_bytes", "What they take, about.", counts.bytes)


def _of_models(used: Sequence[ModelUse]) -> Iterator[Metric]:
    counts = sum((Counter(use.calls) for use in used), Counter[str]())
    calls = [((outcome,), float(count)) for outcome, count in sorted(counts.items())]
    yield counter("wenyuan_llm_calls_total", "Questions to the language model, by outcome.", ("outcome",), calls)
    tokens = [(("in",), sum(use.tokens_in for use in used)), (("out",), sum(use.tokens_out for use in used))]
    yield counter("wenyuan_llm_tokens_total", "Tokens of language model and judge.", ("direction",), tokens)
    cost = sum(use.cost for use in used)
    yield counter("wenyuan_llm_cost_total", "Cost of the language model, at the settings' prices.", (), [((), cost)])


def _of_worker(done: WorkerProgress) -> Iterator[Metric]:
    yield _gauge("wenyuan_worker_up", "Whether the worker of this process is at work or waits for it.", done.alive)
    yield _gauge("wenyuan_worker_in_trouble", "Whether its last round broke off.", bool(done.trouble))
    yield _gauge("wenyuan_worker_looked_seconds", "Time since it began to look for what is due.", done.looked)
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
    yield _gauge("wenyuan_refresh_queue", "Sources that are due and that no worker is at.", waiting)
