"""The page of what was asked and not answered well: each can be answered, pointed out, put off or called out of scope, and all
asked again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import Form, read_form
from wenyuan.console.visit import Page, Visit
from wenyuan.core.gaps import STATES

_DAYS = ("7", "30", "90", "365")
_MOST = 50
"""Gaps of one page: those asked most often; the rest is counted."""


async def listed(visit: Visit) -> Response:
    """The gaps of some days in one state, asked most often first."""
    return await _listed(visit)


async def _listed(visit: Visit, closed: object = None, *, settled: object = None, refused: Refused | None = None,
                  given: Form | None = None) -> Response:  # fmt: skip
    form = given or Form(visit.request.query_params.multi_items())
    state = form["state"] if form["state"] in STATES else "open"
    days = form["days"] if form["days"] in _DAYS else "30"
    try:
        found = await visit.get("v1", "gaps", days=days, agent=form["agent"], state=state, limit=_MOST)
    except Refused as error:
        if error.status not in (400, 404):
            raise
        return visit.page("gaps.html", error.status, refused=error, state=state, days=days, agent=form["agent"],
                          all_days=_DAYS, states=STATES)  # fmt: skip
    gaps = found["gaps"]
    if visit.rights & {"audit", "admin"} or not visit.token:
        await visit.learn_names(*(one["decision"]["actor"] for one in gaps if one["decision"]))
    await visit.learn_titles()
    return visit.page(
        "gaps.html", 200 if refused is None else refused.status, report=found, gaps=gaps,
        more=found["total"] - len(gaps), state=state, days=days, agent=form["agent"], all_days=_DAYS, states=STATES,
        closed=closed, settled=settled, wrong=refused, given=form if refused else None,
        at=visit.request.path_params.get("gap_id"),
    )  # fmt: skip


async def decided(visit: Visit) -> Response:
    """Decide about one, then show the rest."""
    form = await read_form(visit.request)
    days = form["days"] if form["days"] in _DAYS else "30"
    body = {"state": form["decision"], "note": form["note"]} | _seen(form)
    if form["decision"] == "later" and form["until"]:
        body["until"] = form["until"]
    await visit.post("v1", "gaps", visit.request.path_params["gap_id"], body=body)
    return visit.see(visit.address("/console/gaps", days=days, agent=form["agent"], decided=form["decision"]))


def _seen(form: Form) -> dict[str, object]:
    """How far back the gap was looked for, and the decision that was seen."""
    seen: dict[str, object] = {"days": float(form["days"] if form["days"] in _DAYS else "30")}
    with suppress(ValueError):
        seen["decided_at"] = float(form["decided_at"])
    return seen


async def answered(visit: Visit) -> Response:
    """Write an answer, or say which passage or word has it, and show what came of that; what is refused keeps what was typed."""
    form = await read_form(visit.request)
    body = _seen(form)
    match form["way"]:
        case "passage":
            body["ref"] = form["ref"]
        case "synonym":
            body |= {"term": form["term"], "synonym": form["synonym"]}
        case _:
            body |= {"answer": form["answer"].replace("\r\n", "\n"), **form.given("author", "beside", "review_on")}
            body |= {name: number for name in ("trust",) if (number := form.number(name)) is not None}
            body |= {name: _names(form[name]) for name in ("readers", "deny") if form[name]}
    way = form["way"] if form["way"] in ("passage", "synonym") else "answer"
    try:
        told = await visit.post("v1", "gaps", visit.request.path_params["gap_id"], way, body=body)
    except Refused as error:
        if error.status not in (400, 404, 409):
            raise
        return await _listed(visit, refused=error, given=form)
    return await _listed(visit, settled=told, given=form)


def _names(written: str) -> list[str]:
    return [name.strip() for name in re.split(r"[,，、;\n]", written) if name.strip()]


async def asked(visit: Visit) -> Response:
    """Ask the open ones again, and show what is left."""
    form = await read_form(visit.request)
    days = form["days"] if form["days"] in _DAYS else "30"
    told = await visit.post("v1", "gaps", "ask", body={"days": float(days)})
    return await _listed(visit, told["closed"])


PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "gaps"): listed,
    ("POST", "gaps"): asked,
    ("POST", "gaps/{gap_id}"): decided,
    ("POST", "gaps/{gap_id}/settle"): answered,
}
