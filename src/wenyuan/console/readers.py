"""Who may read a document, and what a source says of who may read its documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import Form, read_form
from wenyuan.console.people import names_in
from wenyuan.console.visit import Page, Visit
from wenyuan.core.source_readers import ORIGINS, READERS

_SEPARATED = " | "
_NO_FORM = Form([])


async def document_readers(visit: Visit) -> Response:
    """The lists that stand for a document, and a form for one of its own."""
    return await _document_page(visit)


async def _document_page(
    visit: Visit, status: int = 200, refused: Refused | None = None, form: Form = _NO_FORM
) -> Response:
    number = visit.request.path_params["document_id"]
    document = await visit.get("v1", "documents", number)
    found = await visit.get("v1", "documents", number, "readers")
    own = next((one for one in found["lists"] if one["origin"] == "set"), None)
    return visit.page(
        "document_readers.html", status, document=document, found=found, own=own, refused=refused, form=form
    )


async def document_readers_set(visit: Visit) -> Response:
    """Give a document a list, or take it back."""
    form = await read_form(visit.request)
    number = visit.request.path_params["document_id"]
    where = ("v1", "documents", number, "readers")
    readers = names_in(form["readers"])
    body = {"readers": readers or ([] if form["nobody"] == "yes" else None), "deny": names_in(form["deny"])}
    try:
        if form["clear"] == "yes":
            await visit.call("DELETE", *where)
        else:
            await visit.call("PUT", *where, body=body)
    except Refused as refused:
        if refused.status not in (400, 403):
            raise
        return await _document_page(visit, refused.status, refused, form)
    return visit.see(f"/console/documents/{number}/readers")


async def source_readers(visit: Visit) -> Response:
    """What a source says of readers, and how many of its documents nobody sees."""
    return await _source_page(visit)


async def _source_page(
    visit: Visit, status: int = 200, refused: Refused | None = None, form: Form = _NO_FORM
) -> Response:
    name = visit.request.path_params["source_id"]
    source = await visit.get("v1", "sources", name)
    told = await visit.get("v1", "readers")
    counts = next((one for one in told["sources"] if one["source_id"] == name), None)
    said = (source.get("settings") or {}).get(READERS) or {}
    return visit.page(
        "source_readers.html", status, source=source, counts=counts, rule=said, lines=_lines(said), origins=ORIGINS,
        refused=refused, form=form,
    )  # fmt: skip


async def source_readers_set(visit: Visit) -> Response:
    """Change what a source says of readers; its other settings stay."""
    form = await read_form(visit.request)
    name = visit.request.path_params["source_id"]
    await visit.get("v1", "readers")  # refused to whom the settings of a source are not shown whole
    source = await visit.get("v1", "sources", name)
    wanted: dict[str, Any] = {"documents": [_entry(line) for line in form["documents"].splitlines() if line.strip()]}
    wanted |= {"enforce": form["enforce"] == "yes", "from": form.all("from")}
    kept = {member: value for member, value in wanted.items() if value}
    settings = {**(source.get("settings") or {}), READERS: kept}
    if not kept:
        del settings[READERS]
    try:
        await visit.call("PATCH", "v1", "sources", name, body={"settings": settings})
    except Refused as refused:
        if refused.status not in (400, 403):
            raise
        return await _source_page(visit, refused.status, refused, form)
    return visit.see(visit.address(f"/console/sources/{name}/readers"))


def _lines(said: Mapping[str, Any]) -> str:
    """Patterns as lines: ``path | readers | deny``."""
    told = []
    for entry in said.get("documents") or ():
        readers = "-" if "readers" not in entry else ", ".join(entry["readers"]) or "nobody"
        denied = ", ".join(entry.get("deny") or ())
        told.append(_SEPARATED.join([str(entry["path"]), readers, *filter(None, [denied])]))
    return "\n".join(told)


def _entry(line: str) -> dict[str, Any]:
    """The inverse of `_lines`; what is no such line is left for the API to refuse."""
    path, *rest = [part.strip() for part in line.split("|")]
    entry: dict[str, Any] = {"path": path}
    if len(rest) > 2:
        return {**entry, "line": json.dumps(rest)}
    if rest and rest[0] != "-":
        entry["readers"] = [] if rest[0] == "nobody" else names_in(rest[0])
    if rest[1:]:
        entry["deny"] = names_in(rest[1])
    return entry


PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "documents/{document_id}/readers"): document_readers,
    ("POST", "documents/{document_id}/readers"): document_readers_set,
    ("GET", "sources/{source_id}/readers"): source_readers,
    ("POST", "sources/{source_id}/readers"): source_readers_set,
}
