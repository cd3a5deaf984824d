"""The page of what rests on a document, a passage or a rule, and of what the last changes touched."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import Form, read_form
from wenyuan.console.visit import Page, Visit

_DAYS = ("7", "30", "90", "365")


async def shown(visit: Visit) -> Response:
    """What the last changes touched, and the form to ask about something."""
    form = Form(visit.request.query_params.multi_items())
    if form["report"]:
        state = await visit.get("v1", "impact", form["report"], **form.given("after"))
        return _page(visit, form, state=state, report=state["report"])
    found = await visit.get("v1", "impact")
    return _page(visit, form, reports=found["reports"])


async def asked(visit: Visit) -> Response:
    """What rests on what was named."""
    form = await read_form(visit.request)
    days = float(form["days"] if form["days"] in _DAYS else "30")
    try:
        state = await visit.post("v1", "impact", body={"target": form["target"], "days": days})
    except Refused as error:
        if error.status not in (400, 404):
            raise
        return _page(visit, form, refused=error)
    return _page(visit, form, state=state, report=state["report"])


def _page(visit: Visit, form: Form, *, refused: Refused | None = None, **values: object) -> Response:
    days = form["days"] if form["days"] in _DAYS else "30"
    status = 200 if refused is None else refused.status
    return visit.page(
        "impact.html", status, target=form["target"], days=days, all_days=_DAYS, refused=refused, **values
    )


PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "impact"): shown,
    ("POST", "impact"): asked,
}
