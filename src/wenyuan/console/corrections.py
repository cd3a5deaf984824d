"""Corrections of documents, made and undone from their pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from wenyuan.console.forms import MAX_UPLOAD, Form, read_form
from wenyuan.console.visit import Page, Visit

# Pages for corrections: forms beside each passage, the list, and undoing.

LISTED = 50
_MOST_PLACES = 60  # at which a passage is offered to be split
_MOST_LOOKED = 20  # pages of 200 passages in which the corrected one is looked for
_SENTENCE = re.compile(r"[。！？；!?;]+[”’」』）)\"']*\s*|\.\s+|\n+")
_BEGINNING = 40  # characters


async def listed_corrections(visit: Visit) -> Response:
    """Corrections, newest first, including undone ones and those whose text is gone."""
    form = Form(visit.request.query_params.multi_items())
    asked = {"limit": LISTED, **form.given("document_id", "source", "before")}
    found = await visit.get("v1", "corrections", **asked)
    await visit.learn_names(*(one[name] for one in found["corrections"] for name in ("actor", "undone_by")))
    return visit.page("corrections.html", form=form, **found)


def splits_of(text: str) -> list[tuple[int, str]]:
    """Positions at which a passage can be split, after sentences: the offset, and the start of the second part."""
    places = [at.end() for at in _SENTENCE.finditer(text) if text[at.end() :].strip()]
    return [(at, text[at : at + _BEGINNING].strip()) for at in places[:_MOST_PLACES]]


async def made(visit: Visit) -> Response:
    """Make a correction; then shows the passage at its present place."""
    form = await read_form(visit.request, most=MAX_UPLOAD)
    body: dict[str, Any] = {"action": form["action"], "reason": form["reason"]}
    if form["ref"]:
        body["ref"] = form["ref"]
    else:
        body["document_id"] = form.number("document_id")
    match form["action"]:
        case "text":
            body["text"] = form["text"].replace("\r\n", "\n")
        case "heading":
            body |= {"text": form["text"], "heading": form["heading"]}
        case "questions":
            body["questions"] = [one.strip() for one in form["questions"].splitlines() if one.strip()]
        case "split":
            body["at"] = form.number("at")
        case "join":
            body["with"] = form["with"]
    told = await visit.post("v1", "corrections", body=body)
    return await _where_it_stands(visit, told, form)


async def undone(visit: Visit) -> Response:
    """Undo a correction; then shows the passage as it was before."""
    form = await read_form(visit.request)
    told = (await visit.call("DELETE", "v1", "corrections", visit.request.path_params["correction_id"])).value
    return await _where_it_stands(visit, told, form)


async def _where_it_stands(visit: Visit, told: Mapping[str, Any], form: Form) -> Response:
    number = told["document_id"]
    if number is None or form["back"] == "list":
        return visit.see("/console/corrections")
    path, start = f"/console/documents/{number}", form.number("start")
    made_at = start if isinstance(start, int) else 0
    found, itself = await _passage_at(visit, number, told["correction_id"], made_at)
    if found is None:
        return visit.see(visit.address(path, corrected=told["correction_id"]) + "#corrections")
    if itself or told["state"] == "undone":
        return visit.see(visit.address(f"/console/passages/{found}", corrected=told["correction_id"]))
    after = (await visit.get("v1", "passages", str(found)))["after"]
    return visit.see(visit.address(path, after=after or "", corrected=told["correction_id"]) + "#corrected")


async def _passage_at(visit: Visit, document: int, correction: int, start: int) -> tuple[int | None, bool]:
    """The id of the passage that a correction changed (True), else of the first passage from an offset on (False)."""
    after, near = 0, None
    for _ in range(_MOST_LOOKED):
        page = await visit.get("v1", "documents", str(document), "passages", after=after or "", limit=200)
        for passage in page["passages"]:
            if correction in passage.get("corrections", ()):
                return int(passage["passage_id"]), True
            if near is None and passage["start"] >= start:
                near = int(passage["passage_id"])
        if page["next"] is None:
            break
        after = page["next"]
    return near, False


CORRECTION_PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "corrections"): listed_corrections,
    ("POST", "corrections"): made,
    ("POST", "corrections/{correction_id}/undo"): undone,
}
