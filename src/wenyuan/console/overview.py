"""The first page of an owner: whether all is well, what was asked and what became of it, what is open, what changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.day_bars import day_bars
from wenyuan.console.forms import Form
from wenyuan.console.visit import Page, Visit
from wenyuan.core.question_outcomes import OUTCOMES

_DAYS = ("7", "30", "90", "365")
_MOST = 10  # agents and sources that are shown; the rest is in the audit


async def home(visit: Visit) -> Response:
    """The first page: the overview for those who may see it, else the search."""
    try:
        await visit.get("v1", "overview", days=1)
    except Refused as refused:
        if refused.status == 401:
            raise
        return visit.see("/console/search")
    return visit.see("/console/overview")


async def overview(visit: Visit) -> Response:
    """What was asked in the last days, and what is open."""
    form = Form(visit.request.query_params.multi_items())
    days = form["days"] if form["days"] in _DAYS else "30"
    zone = getattr(visit.zone, "key", "")
    found = await visit.get("v1", "overview", days=days, zone=zone)
    await visit.learn_names(*(one[name] for one in found["changes"] for name in ("principal", "object")))
    ready = (await visit.call("GET", "readyz")).value
    sources = await visit.learn_titles()
    return visit.page(
        "overview.html", found=found, drawing=day_bars(found["days"]), days=days, all_days=_DAYS, outcomes=OUTCOMES,
        ready=ready, sources=sources, stale=_stale(sources), most=_MOST,
    )  # fmt: skip


def _stale(sources: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """The sources that are overdue, or could not be read the last time."""
    every = (sources or {"sources": ()})["sources"]
    return [one for one in every if one["stale_since"] or one["reason"]]


PAGES: Mapping[tuple[str, str], Page] = {("GET", ""): home, ("GET", "overview"): overview}
