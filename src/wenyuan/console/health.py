"""Pages of health, audit and evaluations, and their plots."""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from typing import Any

from starlette.responses import Response

from wenyuan.console.forms import MAX_UPLOAD, Form, read_form
from wenyuan.console.visit import Page, Refused, Visit
from wenyuan.core.records import KINDS
from wenyuan.runtime.local_time import day_begins, local_day

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
        asked |= {
            "since": _seconds(form["since"], visit.zone), "until": _seconds(form["until"], visit.zone, end=True),
            "limit": _PAGE,
        }  # fmt: skip
        found = await visit.get("v1", "audit", **asked)
    except Refused as error:
        if error.status not in (400, 404):
            raise
        refused, status = error, error.status
    return visit.page("audit.html", status, form=form, kinds=KINDS, found=found, refused=refused, verified=verified)


def _seconds(day: str, zone: tzinfo | None, *, end: bool = False) -> float | str:
    """Start or end of a day of the reader's zone in seconds since the epoch; other text is returned unchanged, for the
    API to refuse.
    """
    try:
        return day_begins(date.fromisoformat(day) + timedelta(days=end), zone) if day else ""
    except (ValueError, OverflowError):
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


# Figures over time, and what scores mean, as drawings: reckoned here, drawn by the templates as SVG.


FIGURES = ("ndcg@10", "answered", "refused", "ece")
"""What is drawn over time; all of them lie in 0..1."""
_WIDTH, _HEIGHT, _EDGE, _FOOT = 960, 260, 40, 34
_SIDE, _MARGIN = 240, 30
_MOST_LABELS = 8


@dataclass(frozen=True, slots=True)
class Line:
    """One metric over time: an SVG path, and a dot per evaluation with title and number."""

    name: str
    path: str
    dots: tuple[tuple[float, float, str, int], ...]


@dataclass(frozen=True, slots=True)
class Trend:
    """Metrics over time, oldest at the left, in units of an SVG of ``width`` by ``height``."""

    width: int
    height: int
    left: int
    right: int
    grid: tuple[tuple[float, str], ...]
    days: tuple[tuple[float, str], ...]
    lines: tuple[Line, ...]


def trend(evaluations: Sequence[Mapping[str, Any]], zone: tzinfo | None = None) -> Trend:
    """Evaluations of one question set (newest first, as the API lists them) drawn at equal distances.

    Where a figure is missing its line is broken. Days are those of `zone`, or of this machine's.
    """
    ordered = list(reversed(evaluations))
    step = (_WIDTH - 2 * _EDGE) / max(1, len(ordered) - 1)
    xs = [_EDGE + i * step if len(ordered) > 1 else _WIDTH / 2 for i in range(len(ordered))]
    every = -(-len(ordered) // _MOST_LABELS)
    days = [
        (x, local_day(one["at"], zone)) for i, (x, one) in enumerate(zip(xs, ordered, strict=True)) if i % every == 0
    ]
    grid = [(_y(tenth / 10), f"{tenth / 10:.1f}") for tenth in range(0, 11, 2)]
    lines = tuple(_line(name, xs, ordered, zone) for name in FIGURES)
    return Trend(_WIDTH, _HEIGHT, _EDGE, _WIDTH - _EDGE, tuple(grid), tuple(days), lines)


def _line(name: str, xs: Sequence[float], ordered: Sequence[Mapping[str, Any]], zone: tzinfo | None) -> Line:
    path, dots, drawing = "", [], False
    for x, one in zip(xs, ordered, strict=True):
        value = one["figures"][name]
        if value is None:
            drawing = False
            continue
        y = _y(value)
        path += f"{'L' if drawing else 'M'}{x:.1f} {y:.1f}"
        drawing = True
        dots.append((x, y, f"{local_day(one['at'], zone)}: {value:.3f}", one["evaluation_id"]))
    return Line(name.partition("@")[0], path, tuple(dots))


def _y(value: float) -> float:
    return 10 + (1.0 - value) * (_HEIGHT - 10 - _FOOT)


@dataclass(frozen=True, slots=True)
class Circle:
    """Answers of one score bin in the reliability diagram: position, size and label."""

    x: float
    y: float
    radius: float
    score: float
    relevant: float
    count: int


@dataclass(frozen=True, slots=True)
class Reliability:
    """Reliability diagram: score on x, share of right answers on y, in a square SVG of ``side``."""

    side: int
    low: int
    high: int
    marks: tuple[tuple[float, float, str], ...]
    circles: tuple[Circle, ...]


def reliability(bins: Sequence[Mapping[str, Any]]) -> Reliability:
    """A circle per bin, with an area proportional to the number of answers."""
    total = sum(one["count"] for one in bins) or 1
    circles = tuple(
        Circle(
            x=_MARGIN + one["score"] * _SIDE,
            y=_MARGIN + (1.0 - one["relevant"]) * _SIDE,
            radius=3.0 + 16.0 * (one["count"] / total) ** 0.5,
            score=one["score"],
            relevant=one["relevant"],
            count=one["count"],
        )
        for one in bins
    )
    marks = tuple(
        (_MARGIN + tenth * _SIDE / 10, _MARGIN + _SIDE - tenth * _SIDE / 10, f"{tenth / 10:.1f}")
        for tenth in range(0, 11, 2)
    )
    return Reliability(_SIDE + 2 * _MARGIN, _MARGIN, _MARGIN + _SIDE, marks, circles)


# How well the library answers questions whose answers are known, and whether it is better or worse than before.


_LISTED = 200
_A_MONTH = 28 * 24 * 3600.0
_SOON = 1.0  # seconds after which the page goes on and follows
_QUESTIONS = 50  # of one evaluation that are listed


async def overview(visit: Visit) -> Response:
    """Metrics over time for one question set, with a verdict on the latest evaluation."""
    return await _overview(visit)


async def _overview(visit: Visit, status: int = 200, refused: Refused | None = None) -> Response:
    found = await visit.get("v1", "evaluations", limit=_LISTED)
    form = Form(visit.request.query_params.multi_items())
    sets = _sets(found["evaluations"])
    chosen = form["set"] if form["set"] in sets else next(iter(sets), "")
    runs = sets.get(chosen, [])
    against = _before(runs)
    change = None
    if against is not None:
        whole = await visit.get("v1", "evaluations", str(runs[0]["evaluation_id"]), against=against["evaluation_id"])
        change = whole["against"]["change"]
    return visit.page(
        "evaluation.html",
        status,
        refused=refused,
        running=found["running"],
        failed=found["failed"],
        stopped=found["stopped"],
        sets=sets,
        chosen=chosen,
        runs=runs,
        against=against,
        change=change,
        trend=trend(runs, visit.zone) if len(runs) > 1 else None,
        reliability=reliability(_first(runs[0])) if runs else None,
        most=MAX_UPLOAD,
    )


def _sets(evaluations: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Evaluations grouped by question set; the latest set comes first."""
    sets: dict[str, list[Mapping[str, Any]]] = {}
    for one in evaluations:
        sets.setdefault(one["set_id"], []).append(one)
    return sets


def _before(runs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The evaluation that the latest is compared with: of a month earlier, else the previous one."""
    older = [one for one in runs[1:] if runs[0]["at"] - one["at"] >= _A_MONTH]
    return next(iter(older or runs[1:2]), None)


async def begun(visit: Visit) -> Response:
    """Start an evaluation; the page shows its progress."""
    form = await read_form(visit.request, most=MAX_UPLOAD)
    body: dict[str, Any]
    if form["again"]:
        body = {"again": form.number("again")}
    else:
        name, content = form.file("file") or ("", b"")
        body = {"file": {"name": name, "base64": b64encode(content).decode()}}
    try:
        await visit.begin(visit.call("POST", "v1", "evaluations", body=body), _SOON)
    except Refused as refused:
        if refused.status not in (400, 403, 404, 409, 413, 503):
            raise
        return await _overview(visit, refused.status, refused)
    return visit.see("/console/evaluation")


async def stopped(visit: Visit) -> Response:
    """Stop the running evaluation; if it has just finished, the page shows its result."""
    await read_form(visit.request)
    try:
        await visit.call("DELETE", "v1", "evaluations", "running")
    except Refused as refused:
        if refused.status != 404:
            raise
    return visit.see("/console/evaluation")


async def shown_evaluation(visit: Visit) -> Response:
    """One evaluation: metrics, changes against another one, and its questions, worst first."""
    form = Form(visit.request.query_params.multi_items())
    number = visit.request.path_params["evaluation_id"]
    own = await visit.get("v1", "evaluations", number, against=form["against"])
    if own["against"] is not None:
        own["asked"].sort(key=lambda one: (one["ndcg"] - one["before"]["ndcg"], one["ndcg"]))
    else:
        own["asked"].sort(key=lambda one: one["ndcg"])
    listed = (await visit.get("v1", "evaluations", limit=_LISTED))["evaluations"]
    others = [o for o in listed if o["set_id"] == own["set_id"] and o["evaluation_id"] != own["evaluation_id"]]
    return visit.page(
        "evaluation_run.html",
        own=own,
        others=others,
        form=form,
        reliability=reliability(_first(own)),
        wrongly=_wrongly(own),
        listed=own["asked"][:_QUESTIONS],
    )


def _first(evaluation: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The bins of the first fragment; of the first ten in an evaluation of a former version."""
    found: Sequence[Mapping[str, Any]] = evaluation["places"].get("first", evaluation)["bins"]
    return found


def _wrongly(own: Mapping[str, Any]) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Both errors by question: refused though there is an answer; answered though there is none, the surest first."""
    answered = [one for one in own["in_vain"] if one["score"] is not None]
    return {
        "refused": [one for one in own["asked"] if one["known"] and one["score"] is None],
        "answered": sorted(answered, key=lambda one: -one["score"]),
    }


async def removed(visit: Visit) -> Response:
    """Delete an evaluation, after confirmation."""
    form = await read_form(visit.request)
    number = visit.request.path_params["evaluation_id"]
    if form["sure"] == "yes":
        await visit.call("DELETE", "v1", "evaluations", number)
        return visit.see("/console/evaluation")
    return visit.see(f"/console/evaluation/{number}")


EVALUATION_PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "evaluation"): overview,
    ("POST", "evaluation"): begun,
    ("POST", "evaluation/stop"): stopped,
    ("GET", "evaluation/{evaluation_id}"): shown_evaluation,
    ("POST", "evaluation/{evaluation_id}/remove"): removed,
}
