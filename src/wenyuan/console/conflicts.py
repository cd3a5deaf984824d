"""The page of statements that contradict one another: both side by side, and which one holds."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import Form, read_form
from wenyuan.console.visit import Page, Visit
from wenyuan.core.conflicts.record import STATES

_MOST = 50
"""Conflicts of one page; the rest is counted."""


async def listed(visit: Visit) -> Response:
    """The conflicts in one state."""
    return await _listed(visit)


async def _listed(visit: Visit, compared: object = None) -> Response:
    form = Form(visit.request.query_params.multi_items())
    state = form["state"] if form["state"] in STATES else "open"
    source = form["source"].strip()
    try:
        found = await visit.get("v1", "conflicts", state=state, source=source)
    except Refused as error:
        if error.status not in (400, 404):
            raise
        return visit.page("conflicts.html", error.status, refused=error, state=state, source=source, states=STATES)
    every = found["conflicts"]
    await visit.learn_titles()
    return visit.page(
        "conflicts.html", behind=found["behind"], comparison=found["comparison"], conflicts=every[:_MOST], more=max(0, len(every) - _MOST), state=state,
        source=source, states=STATES, compared=compared,
    )  # fmt: skip


async def decided(visit: Visit) -> Response:
    """Decide about one, then show the rest."""
    form = await read_form(visit.request)
    body: dict[str, object] = {"state": form["decision"], "note": form["note"]}
    with suppress(ValueError):
        body["decided_at"] = float(form["decided_at"])
    await visit.post("v1", "conflicts", visit.request.path_params["conflict_id"], body=body)
    return visit.see(visit.address("/console/conflicts", source=form["source"], decided=form["decision"]))


async def found(visit: Visit) -> Response:
    """Compare what is new, and show what contradicts."""
    await read_form(visit.request)
    return await _listed(visit, await visit.post("v1", "conflicts", "find", body={}))


PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "conflicts"): listed,
    ("POST", "conflicts"): found,
    ("POST", "conflicts/{conflict_id}"): decided,
}
