"""How well the library answers questions whose answers are known, and whether it is better or worse than before."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import MAX_UPLOAD, Form, read_form
from wenyuan.console.plots import reliability, trend
from wenyuan.console.visit import Page, Visit

_LISTED = 200
_A_MONTH = 28 * 24 * 3600.0
_SOON = 1.0  # seconds after which the page goes on and follows
_QUESTIONS = 50  # of one evaluation that are listed


async def overview(visit: Visit) -> Response:
    """Metrics over time for one question set, with a verdict on the latest evaluation."""
    return await _overview(visit)


async def _overview(visit: Visit, status: int = 200, refused: Refused | None = None) -> Response:
    found = await visit.get("v1", "evaluations", limit=_LISTED)
    golden = (await visit.get("v1", "evaluations", "questions"))["questions"]
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
        golden=golden[-_QUESTIONS:][::-1],
        golden_count=len(golden),
        taken=form.number("taken"),
        unusable=form.number("unusable"),
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
    if form["kept"]:
        body = {"kept": True}
    elif form["again"]:
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
