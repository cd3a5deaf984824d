"""The page of the files that a scanner had set aside: each can be let in, or its copy deleted."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from wenyuan.console.forms import read_form
from wenyuan.console.visit import Page, Visit


async def listed(visit: Visit) -> Response:
    """What was set aside, the newest first."""
    return visit.page("quarantine.html", **await visit.get("v1", "quarantine"))


async def decided(visit: Visit) -> Response:
    """Release or discard one, then show the rest."""
    form = await read_form(visit.request)
    decision = "release" if form["decision"] == "release" else "discard"
    await visit.post("v1", "quarantine", visit.request.path_params["sha256"], decision, body={})
    return visit.see("/console/quarantine")


PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "quarantine"): listed,
    ("POST", "quarantine/{sha256}"): decided,
}
