"""Pages of health and audit."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from wenyuan.console.forms import Form, read_form
from wenyuan.console.visit import Page, Refused, Visit
from wenyuan.core.records import KINDS

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


# The audit: what was asked and changed, one record whole, asking again, and whether the chain is sound.


_PAGE = 50


async def listed(visit: Visit) -> Response:
    """Audit records, newest first, that pass the filter."""
    return await _listed(visit)


async def _listed(visit: Visit, verified: Mapping[str, Any] | None = None) -> Response:
    form = Form(visit.request.query_params.multi_items())
    asked: dict[str, object] = {name: form[name] for name in ("kind", "principal", "agent", "before")}
    refused, found, status = None, None, 200
    try:
        asked |= {"since": _seconds(form["since"]), "until": _seconds(form["until"]), "limit": _PAGE}
        found = await visit.get("v1", "audit", **asked)
    except Refused as error:
        if error.status not in (400, 404):
            raise
        refused, status = error, error.status
    return visit.page("audit.html", status, form=form, kinds=KINDS, found=found, refused=refused, verified=verified)


def _seconds(day: str) -> float | str:
    """Start of a day in UTC as seconds since the epoch; other text is returned unchanged, for the API to refuse."""
    try:
        return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() if day else ""
    except ValueError:
        return day


async def verified(visit: Visit) -> Response:
    """Verify the audit chain and show the result."""
    form = await read_form(visit.request)
    body = {"head": form["head"]} if form["head"] else {}
    return await _listed(visit, await visit.post("v1", "audit", "verify", body=body))


async def shown(visit: Visit) -> Response:
    """One audit record in full."""
    return await _shown(visit)


async def _shown(visit: Visit, replay: Mapping[str, Any] | None = None) -> Response:
    found = await visit.get("v1", "audit", visit.request.path_params["audit_id"])
    by_ref: dict[str, list[Any]] = {}
    for difference in (replay or {}).get("differences", ()):
        by_ref.setdefault(difference["ref"], []).append(difference)
    known = {fragment["ref"] for fragment in found["record"].get("fragments", ())}
    return visit.page(
        "audit_record.html",
        found=found,
        replay=replay,
        by_ref=by_ref,
        others=[one for ref, all_of in by_ref.items() if ref not in known for one in all_of],
        written=json.dumps(found, ensure_ascii=False, indent=2),
    )


async def replayed(visit: Visit) -> Response:
    """Replay a record's question, on the present library or as of then."""
    form = await read_form(visit.request)
    name = visit.request.path_params["audit_id"]
    body = {"exact": form["exact"] == "yes"}
    return await _shown(visit, await visit.post("v1", "audit", name, "replay", body=body))


AUDIT_PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "audit"): listed,
    ("POST", "audit"): verified,
    ("GET", "audit/{audit_id}"): shown,
    ("POST", "audit/{audit_id}"): replayed,
}
