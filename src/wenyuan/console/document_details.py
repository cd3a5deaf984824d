"""The form by which the details of a document are set in place: what was not changed in it is not sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.documents import document_page
from wenyuan.console.forms import Form, read_form
from wenyuan.console.visit import Page, Visit

_DAYS = ("effective_from", "effective_until")


async def details_set(visit: Visit) -> Response:
    """Set what was changed; then shows the document under its present number."""
    number = visit.request.path_params["document_id"]
    form = await read_form(visit.request)
    document = await visit.get("v1", "documents", number)
    body = said_details(form, document)
    if not body:
        return visit.see(f"/console/documents/{number}")
    try:
        told = (await visit.call("PATCH", "v1", "documents", number, body={**body, "reason": form["reason"]})).value
    except Refused as refused:
        if refused.status not in (400, 409):
            raise
        return await document_page(visit, number, refused.status, refused=refused)
    return visit.see(f"/console/documents/{told['document_id']}")


def said_details(form: Form, document: Mapping[str, Any]) -> dict[str, Any]:
    """What a form says otherwise than the document has it, as the API takes it; empty where that is nothing."""
    as_read = [name for name in form.all("as_read") if name]
    body: dict[str, Any] = {"as_read": as_read} if as_read else {}
    if "title" not in as_read and " ".join(form["title"].split()) != document["title"]:
        body["title"] = form["title"]
    for name in _DAYS:
        if name not in as_read and form[name] != (document[name] or ""):
            body[name] = form[name] or "open"
    if "tags" not in as_read:
        said = _tags(form["tags"], document["tags"])
        changed = {
            name: said.get(name)
            for name in {*said, *document["tags"]}
            if said.get(name) != document["tags"].get(name)
        }
        if changed:
            body["tags"] = changed
    return body


def _tags(lines: str, held: Mapping[str, Any]) -> dict[str, Any]:
    """The tags of the lines of a form, ``name=value``. What reads as a tag that is there is that one, a number a number."""
    found: dict[str, Any] = {}
    for line in lines.splitlines():
        name, _, value = (part.strip() for part in line.partition("="))
        if name or value:
            found[name] = held[name] if name in held and str(held[name]) == value else _value(value)
    return found


def _value(text: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


PAGES: Mapping[tuple[str, str], Page] = {("POST", "documents/{document_id}/details"): details_set}
