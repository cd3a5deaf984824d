"""What waits for a person's decision, and what an import would change before it does."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import MAX_UPLOAD, Form, read_form, whole_number
from wenyuan.console.rules import names_of
from wenyuan.console.visit import Page, Visit, checked_next
from wenyuan.packs.shipped import shipped

_REVIEW_PAGE = 25
_DECIDED = ("approve", "reject")


async def queue(visit: Visit) -> Response:
    """Statements waiting for review, and the result of the last bulk decision."""
    return await _queue(visit)


async def _queue(visit: Visit, status: int = 200, **shown: Any) -> Response:
    asked = Form(visit.request.query_params.multi_items())
    waiting = await visit.get("v1", "rules", "review", limit=_REVIEW_PAGE, after=asked["after"])
    about = await visit.get("v1", "rules")
    given = {
        "decided": asked["decided"] if asked["decided"] in _DECIDED else "",
        "changed": asked.number("changed"), "form": {}, "refused": None, **shown,
    }  # fmt: skip
    return visit.page(
        "review.html", status, waiting=waiting, names=names_of(about["schema"], visit),
        count=about["counts"]["statements"].get("proposed", 0), **given,
    )  # fmt: skip


async def decided(visit: Visit) -> Response:
    """Approve, reject or retire one or several statements; several are given as a list of numbers."""
    form = await read_form(visit.request)
    if "which" in form:
        return await _decided_many(visit, form)
    numbers = [whole_number(n) for n in form.all("statement_id")]
    body = {"statement_ids": numbers, "action": form["action"], "reason": form["reason"]}
    if form["seen"]:
        body["seen"] = form["seen"]
    await visit.post("v1", "rules", "review", body=body)
    return visit.see(checked_next(form["next"] or "/console/review"))


async def _decided_many(visit: Visit, form: Form) -> Response:
    body = {"statement_ids": form["which"], "action": form["action"], "reason": form["reason"]}
    try:
        told = await visit.post("v1", "rules", "review", body=body)
    except Refused as refused:
        if refused.status not in (400, 404):
            raise
        return await _queue(visit, refused.status, refused=refused, form=form.given("which", "reason"))
    return visit.see(f"/console/review?decided={told['action']}&changed={told['changed']}")


async def importing(visit: Visit) -> Response:
    """The import form, and the available packs."""
    return await _importing(visit)


async def _importing(visit: Visit, status: int = 200, **shown: Any) -> Response:
    about = await visit.get("v1", "rules")
    given = {"report": None, "refused": None, "form": {}, **shown}
    return visit.page("rules_import.html", status, packs=about["packs"], shipped=shipped(), **given)


async def imported(visit: Visit) -> Response:
    """Show what an import would change (dry run); after confirmation, import."""
    form = await read_form(visit.request, most=MAX_UPLOAD)
    given = form.given("path", "pack", "default_source", "status")
    body: dict[str, Any] = {**given, "dry_run": form["sure"] != "yes"}
    fields = dict(given)
    if (file := _file(form)) is not None:
        body["file"] = file
        fields |= {"file_name": file["name"], "file_base64": file["base64"]}
    try:
        report = await visit.post("v1", "rules", "import", body=body)
    except Refused as refused:
        if refused.status not in (400, 403, 413):
            raise
        return await _importing(visit, refused.status, refused=refused, form=fields)
    return await _importing(visit, report=report, form=fields)


def _file(form: Form) -> dict[str, str] | None:
    """The chosen file, or that of the dry run now being confirmed."""
    if (chosen := form.file("file")) is not None:
        return {"name": chosen[0], "base64": b64encode(chosen[1]).decode()}
    return {"name": form["file_name"], "base64": form["file_base64"]} if form["file_name"] else None


async def removed(visit: Visit) -> Response:
    """Remove everything a pack has brought, after confirmation."""
    form = await read_form(visit.request)
    if form["sure"] == "yes":
        await visit.call("DELETE", "v1", "rules", "packs", *form["pack"].split("/"))
    return visit.see("/console/rules")


REVIEW_PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "review"): queue,
    ("POST", "review"): decided,
    ("GET", "rules/import"): importing,
    ("POST", "rules/import"): imported,
    ("POST", "rules/remove"): removed,
}
