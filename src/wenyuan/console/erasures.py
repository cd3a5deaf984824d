"""The page of erasures: what was erased, a plan of what would be, and the erasure that follows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import Form, read_form, whole_number
from wenyuan.console.visit import Page, Visit
from wenyuan.core.erasure import KINDS


async def listed(visit: Visit) -> Response:
    """The erasures and the holds, and a form for a plan."""
    return await _page(visit)


async def _page(visit: Visit, status: int = 200, **shown: Any) -> Response:
    found = await visit.get("v1", "erasures")
    holds = await visit.get("v1", "holds")
    held = [] if shown.get("plan") is None else shown["plan"]["holds"]
    await visit.learn_names(*(one["actor"] for one in (*found["erasures"], *holds["holds"], *held)))
    told = {
        "kinds": KINDS,
        "form": Form([]),
        "plan": None,
        "refused": None,
        "done": None,
        "checks": None,
        "checked": "",
        **shown,
    }
    return visit.page("erasures.html", status, erasures=found["erasures"], holds=holds["holds"], **told)


async def asked(visit: Visit) -> Response:
    """Show a plan; or, where that is confirmed, erase; or hold what the form names."""
    form = await read_form(visit.request)
    try:
        target = _target(form)
        if form["do"] == "hold":
            await visit.post("v1", "holds", body={**target, "reason": form["reference"]})
            return visit.see("/console/erasures")
        if form["do"] == "erase" and form["sure"] == "yes":
            body = {**target, "reference": form["reference"], "common": form["common"] == "yes", "confirm": True}
            done = await visit.post("v1", "erasures", body=body)
            return await _page(visit, done=done)
        plan = await visit.post("v1", "erasures", "plan", body=target)
    except Refused as error:
        if error.status not in (400, 404, 503):
            raise
        return await _page(visit, error.status, refused=error, form=form)
    return await _page(visit, plan=plan, form=form)


async def decided(visit: Visit) -> Response:
    """Check a certificate, or go on with what was cut off."""
    form = await read_form(visit.request)
    name = visit.request.path_params["erasure_id"]
    if form["do"] == "resume":
        try:
            await visit.post("v1", "erasures", "resume", body={})
        except Refused as error:
            return await _page(visit, error.status, refused=error)
        return visit.see("/console/erasures")
    checks = await visit.post("v1", "erasures", name, "verify", body={"values": _lines(form["values"])})
    return await _page(visit, checks=checks, checked=name)


async def lifted(visit: Visit) -> Response:
    """Lift a hold, then show the rest."""
    await read_form(visit.request)
    await visit.post("v1", "holds", visit.request.path_params["hold_id"], "lift", body={})
    return visit.see("/console/erasures")


def _target(form: Form) -> dict[str, Any]:
    kind = form["kind"] if form["kind"] in KINDS else "person"
    if kind == "person":
        stays, whole = _lines(form["stays"]), form["documents"] == "yes"
        return {"kind": kind, "values": _lines(form["values"]), "except": stays, "documents": whole}
    if kind == "source":
        return {"kind": kind, "source_id": form["source_id"]}
    if form["document"].isdecimal():
        return {"kind": kind, "document_id": whole_number(form["document"])}
    return {"kind": kind, "source_id": form["source_id"], "uri": form["document"]}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "erasures"): listed,
    ("POST", "erasures"): asked,
    ("POST", "erasures/{erasure_id}"): decided,
    ("POST", "holds/{hold_id}"): lifted,
}
