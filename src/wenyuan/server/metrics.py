"""The metrics and health routes, and their text exposition for Prometheus."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.errors import NotPermitted
from wenyuan.server.access import Handler
from wenyuan.server.middleware import Traffic
from wenyuan.server.problems import Pool
from wenyuan.service.operations import SourceHealth
from wenyuan.service.operations.health import Vitals
from wenyuan.service.operations.refresh import WorkerProgress
from wenyuan.service.search.cache import CacheCounts
from wenyuan.service.search.traces import BOUNDS, Timing

# The Prometheus text format, version 0.0.4: what ``/metrics`` is written in.
#
# https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*", re.ASCII)
_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Sample:
    """One number.

    Attributes:
        suffix: What its name has beyond the family's: ``_bucket``, ``_sum``, ``_count`` of a histogram.
    """

    labels: Mapping[str, str]
    value: float
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """Numbers of one name.

    Raises:
        ValueError: a name or label that the format does not have.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: tuple[Sample, ...]

    def __post_init__(self) -> None:
        labels = {label for sample in self.samples for label in sample.labels}
        wrong = [name for name in (self.name,) if not _NAME.fullmatch(name)]
        wrong += [label for label in labels if not _LABEL.fullmatch(label)]
        if wrong:
            raise ValueError(f"no name of a metric or label: {', '.join(wrong)}")


def histogram(name: str, help_text: str, timings: Iterable[tuple[Mapping[str, str], Timing]]) -> Family:
    """Times as a histogram: cumulative counts at each of `BOUNDS`, in seconds."""
    return Family(name, "histogram", help_text, tuple(s for labels, t in timings for s in _classes(labels, t)))


def _classes(labels: Mapping[str, str], timing: Timing) -> Iterator[Sample]:
    below = 0
    for bound, count in zip((*BOUNDS, math.inf), timing.classes, strict=True):
        below += count
        yield Sample({**labels, "le": _number(bound)}, below, "_bucket")
    yield Sample(labels, timing.seconds, "_sum")
    yield Sample(labels, below, "_count")


def render(families: Iterable[Family]) -> str:
    """The text of families, each introduced by its help and its type; one without samples is left out."""
    lines = []
    for family in families:
        if family.samples:
            told = family.help.replace("\\", r"\\").replace("\n", r"\n")
            lines += [f"# HELP {family.name} {told}", f"# TYPE {family.name} {family.kind}"]
            lines += [f"{family.name}{s.suffix}{_labels(s.labels)} {_number(s.value)}" for s in family.samples]
    return "".join(f"{line}\n" for line in lines)


def _labels(labels: Mapping[str, str]) -> str:
    shown = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{shown}}}" if shown else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


# ``/metrics``: how the server and its library are doing, for Prometheus.
#
# Labels come from closed sets (doors, outcomes, legs, states) and from the ids of the sources that are registered.


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
