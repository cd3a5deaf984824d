"""Pages of health, audit and evaluations, and their plots."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.visit import Page, Visit

# State of the service, from what it offers every monitor: ``/readyz`` and ``/metrics``.


_SAMPLE = re.compile(r"([a-z_]+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
_DOORS, _LEGS = "wenyuan_http_request_duration_seconds", "wenyuan_leg_duration_seconds"


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of the Prometheus exposition."""

    name: str
    labels: Mapping[str, str]
    value: float


def read_samples(text: str) -> tuple[Sample, ...]:
    """The samples of a Prometheus text exposition; other lines are skipped."""
    found = (_SAMPLE.fullmatch(line) for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(Sample(one[1], dict(_LABEL.findall(one[2] or "")), float(one[3])) for one in found if one)


def percentile(buckets: Iterable[tuple[float, float]], share: float) -> float | None:
    """Percentile estimate from histogram buckets, interpolated as Prometheus does.

    Args:
        buckets: Upper bound → how many were at most that; the last one is infinite.

    Returns:
        Interpolated within its bucket; the highest bound where it lies beyond; None when nothing was counted.
    """
    ordered = sorted(buckets)
    if not ordered or not ordered[-1][1]:
        return None
    wanted, low, below = share * ordered[-1][1], 0.0, 0.0
    for bound, count in ordered:
        if count >= wanted:
            inside = (wanted - below) / (count - below) if count > below else 1.0
            return low if bound == float("inf") else low + (bound - low) * inside
        low, below = bound, count
    return low


async def health(visit: Visit) -> Response:
    """The state of each part and, where the key allows, the metrics."""
    ready = (await visit.call("GET", "readyz")).value
    samples: tuple[Sample, ...] = ()
    hidden = ""
    try:
        samples = read_samples((await visit.call("GET", "metrics")).body.decode())
    except Refused as refused:
        if refused.status != 403:
            raise
        hidden = refused.detail
    numbers = {sample.name: sample.value for sample in samples if not sample.labels}
    return visit.page(
        "health.html",
        ready=ready,
        aside=await visit.glance("v1", "quarantine"),
        erasures=await visit.glance("v1", "erasures"),
        hidden=hidden,
        numbers=numbers,
        up=time.time() - numbers["process_start_time_seconds"] if "process_start_time_seconds" in numbers else None,
        cache={s.labels["result"]: s.value for s in samples if s.name == "wenyuan_cache_requests_total"},
        doors=_timings(samples, _DOORS, ("door",)),
        legs=_timings(samples, _LEGS, ("leg", "source", "state")),
        failed=[
            s
            for s in samples
            if s.name == "wenyuan_http_requests_total" and s.labels["outcome"] in ("failed", "error")
        ],
    )


def _timings(samples: Iterable[Sample], family: str, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Count, p50 and p95 in milliseconds of each histogram of a family."""
    buckets: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for sample in samples:
        if sample.name == f"{family}_bucket":
            key = tuple(sample.labels[name] for name in names)
            buckets.setdefault(key, []).append((float(sample.labels["le"]), sample.value))
    return [
        {
            **dict(zip(names, key, strict=True)),
            "count": int(max(count for _, count in of)),
            **{f"p{share}": 1_000 * (percentile(of, share / 100) or 0.0) for share in (50, 95)},
        }
        for key, of in sorted(buckets.items())
    ]


PAGES: Mapping[tuple[str, str], Page] = {("GET", "health"): health}
