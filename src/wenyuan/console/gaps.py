"""The page of what was asked and not answered well: each can be put off or called out of scope, and all asked again."""

from __future__ import annotations

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


async def _listed(visit: Visit, closed: object = None) -> Response:
    form = Form(visit.request.query_params.multi_items())
    state = form["state"] if form["state"] in STATES else "open"
    days = form["days"] if form["days"] in _DAYS else "30"
    try:
        found = await visit.get("v1", "gaps", days=days, agent=form["agent"], state=state)
    except Refused as error:
        if error.status not in (400, 404):
            raise
        return visit.page("gaps.html", error.status, refused=error, state=state, days=days, agent=form["agent"],
                          all_days=_DAYS, states=STATES)  # fmt: skip
    gaps = found["gaps"]
    return visit.page(
        "gaps.html", report=found, gaps=gaps[:_MOST], more=max(0, len(gaps) - _MOST), state=state, days=days,
        agent=form["agent"], all_days=_DAYS, states=STATES, closed=closed,
    )  # fmt: skip


async def decided(visit: Visit) -> Response:
    """Decide about one, then show the rest."""
    form = await read_form(visit.request)
    days = form["days"] if form["days"] in _DAYS else "30"
    body: dict[str, object] = {"state": form["decision"], "note": form["note"], "days": float(days)}
    with suppress(ValueError):
        body["decided_at"] = float(form["decided_at"])
    await visit.post("v1", "gaps", visit.request.path_params["gap_id"], body=body)
    return visit.see(visit.address("/console/gaps", days=days, agent=form["agent"]))


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
}
