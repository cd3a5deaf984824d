"""The list of a source, one document beside its original, and uploads."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.corrections import LISTED, splits_of
from wenyuan.console.forms import Form, check_ours, read_form
from wenyuan.console.visit import HEADERS, Page, Visit

_MOST_AT_ONCE = 200  # that the API lists
_PAGE_WIDTH = 1_200  # pixels
_STATES = ("live", "failed", "not_yet", "expired", "superseded")
_GIVEN_ON = ("content-type", "content-disposition", "content-security-policy")


async def listed(visit: Visit) -> Response:
    """The documents of a source, including unreadable ones, and the upload form."""
    return await _document_list_page(visit)


async def _document_list_page(visit: Visit, status: int = 200, refused: Refused | None = None) -> Response:
    name = visit.request.path_params["source_id"]
    form = Form(visit.request.query_params.multi_items())
    source = await visit.get("v1", "sources", name)
    asked = {"source": name, "limit": LISTED, **form.given("q", "state", "after")}
    found = await visit.get("v1", "documents", **asked)
    run = await visit.glance("v1", "sources", name, "refresh")
    told = (run or {}).get("last") or {}
    shown = {"source": source, "form": form, "states": _STATES, "uploads": takes_uploads(source), **found}
    files = told.get("files") if form["report"] else None
    return visit.page("documents.html", status, files=files, report=told.get("report"), refused=refused, **shown)


def takes_uploads(source: Mapping[str, Any] | None) -> bool:
    """Whether documents can be uploaded to a source: it holds documents and has no other origin."""
    return source is not None and source["type"] == "static_doc" and "path" in source and not source["path"]


async def uploaded(visit: Visit) -> Response:
    """Pass uploaded files on to the API as they arrive; the list shows the result of each."""
    check_ours(visit.request)
    name = visit.request.path_params["source_id"]
    try:
        await visit.call("POST", "v1", "sources", name, "documents", form=visit.request)
    except Refused as refused:
        if refused.status not in (400, 403, 408, 413, 415, 503):
            raise
        return await _document_list_page(visit, refused.status, refused)
    return visit.see(f"/console/sources/{name}/documents?report=1#report")


async def opened(visit: Visit) -> Response:
    """Redirect from a passage to its place in its document."""
    number = visit.request.path_params["passage_id"]
    place = await visit.get("v1", "passages", number)
    asked = Form(visit.request.query_params.multi_items()).given("q", "corrected")
    path = f"/console/documents/{place['document_id']}"
    return visit.see(visit.address(path, after=place["after"] or "", passage=number, **asked) + f"#passage-{number}")


async def shown(visit: Visit) -> Response:
    """A document: its passages in order, beside images of the pages. One that was read or changed since has another number."""
    number = visit.request.path_params["document_id"]
    try:
        return await document_page(visit, number)
    except Refused as refused:
        found = await visit.glance("v1", "documents", number, "history") if refused.status == 404 else None
        held = [one for one in found["versions"] if one["removed_at"] is None] if found else []
        if not held or str(held[0]["document_id"]) == number:
            raise
        return visit.see(f"/console/documents/{held[0]['document_id']}")


async def history(visit: Visit) -> Response:
    """The versions of a document, and what changed from one to the next."""
    number = visit.request.path_params["document_id"]
    found = await visit.get("v1", "documents", number, "history")
    source = await visit.glance("v1", "sources", found["source_id"])
    await visit.learn_names(*(one["by"] for one in found["versions"]))
    return visit.page("document_history.html", number=number, history=found, source=source)


async def document_page(visit: Visit, number: str, status: int = 200, **told: Any) -> Response:
    """The page of a document; `told` is shown above it."""
    form = Form(visit.request.query_params.multi_items())
    document = await visit.get("v1", "documents", number)
    found = await visit.get("v1", "documents", number, "passages", limit=LISTED, **form.given("after"))
    original = await visit.get("v1", "documents", number, "original", "state")
    source = await visit.glance("v1", "sources", document["source_id"])
    named = {one for passage in found["passages"] for one in passage.get("corrections", ())}
    corrections, older = await _corrections(visit, number, named)
    followed = [*found["passages"][1:], None]
    for passage, following in zip(found["passages"], followed, strict=False):
        passage["following"], passage["splits"] = following, splits_of(passage["text"])
        passage["chosen"] = str(passage["passage_id"]) == form["passage"]
        spans = visit.site.marks(passage["text"], form["q"]) if passage["chosen"] and form["q"] else ()
        passage["pieces"] = pieces_of(passage["text"], spans, passage.get("uncertain", ()))
    pages = pages_of(found["passages"]) if original["pages"] else []
    await visit.learn_names(
        *(passage.get("corrected_by") for passage in found["passages"]),
        *(one[name] for one in corrections or () for name in ("actor", "undone_by")),
        (document.get("details") or {}).get("actor"),
    )
    given: dict[str, Any] = {"refused": None, "failed": None, **told}
    return visit.page(
        "document.html", status, document=document, passages=found["passages"], next=found["next"],
        credit=found["document"].get("credit"), original=original, pages=pages, form=form, source=source,
        uploads=takes_uploads(source), corrections=corrections, older=older, **given,
    )  # fmt: skip


async def _corrections(visit: Visit, number: str, named: set[int]) -> tuple[list[Any] | None, int | None]:
    """The newest corrections of a document, down to the oldest of those that are named, and where older ones go on;
    None where the key may not see them.
    """
    page = await visit.glance("v1", "corrections", document_id=number, limit=LISTED)
    if page is None:
        return None, None
    found = [*page["corrections"]]
    while page["next"] is not None and any(one < page["next"] for one in named):
        page = await visit.get("v1", "corrections", document_id=number, limit=_MOST_AT_ONCE, before=page["next"])
        found += page["corrections"]
    return found, page["next"]


def pieces_of(text: str, marked: Any, uncertain: Any) -> list[tuple[str, bool, Mapping[str, Any] | None]]:
    """Split a text into pieces: each with whether it is highlighted, and its uncertainty where it was not recognised
    surely.
    """
    ends = {0, len(text)} | {at for span in marked for at in span}
    ends |= {at for doubt in uncertain for at in (doubt["start"], doubt["end"])}
    cuts = sorted(at for at in ends if 0 <= at <= len(text))
    made = []
    for start, end in pairwise(cuts):
        doubt = next((one for one in uncertain if one["start"] <= start and end <= one["end"]), None)
        made.append((text[start:end], any(a <= start and end <= b for a, b in marked), doubt))
    return made


def pages_of(passages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pages with passages, in order, each with the boxes of their lines: left, top, width and height."""
    found: dict[int, list[dict[str, Any]]] = {}
    for passage in passages:
        if not passage["boxes"]:
            found.setdefault(passage.get("page") or 1, [])
        for line in passage["boxes"]:
            left, top, right, bottom = line["box"]
            box = {"left": left, "top": top, "width": right - left, "height": bottom - top}
            found.setdefault(line["page"], []).append(
                {**box, "passage": passage["passage_id"], "chosen": passage["chosen"]}
            )
    return [{"page": page, "boxes": found[page]} for page in sorted(found)]


async def pictured(visit: Visit) -> Response:
    """A page of the original as an image."""
    number, page = (visit.request.path_params[name] for name in ("document_id", "page"))
    reply = await visit.call("GET", "v1", "documents", number, "pages", page, query={"width": _PAGE_WIDTH})
    kept = {**HEADERS, "Cache-Control": "private, max-age=300"}
    return Response(reply.body, media_type="image/png", headers=kept)


async def downloaded(visit: Visit) -> Response:
    """The original file."""
    number = visit.request.path_params["document_id"]
    try:
        reply = await visit.call("GET", "v1", "documents", number, "original")
    except Refused as refused:
        if refused.status not in (403, 409):
            raise
        return await document_page(visit, number, refused.status, refused=refused)
    return Response(reply.body, headers={**HEADERS, **{n: reply.headers[n] for n in _GIVEN_ON if n in reply.headers}})


async def replaced(visit: Visit) -> Response:
    """Upload a new version of a document, then show it."""
    check_ours(visit.request)
    number = visit.request.path_params["document_id"]
    try:
        told = (await visit.call("PUT", "v1", "documents", number, form=visit.request)).value
    except Refused as refused:
        if refused.status not in (400, 403, 408, 413, 415, 503):
            raise
        return await document_page(visit, number, refused.status, refused=refused)
    [file] = told["files"]
    if file["state"] == "failed":
        return await document_page(visit, number, 400, failed=file)
    if not file["documents"]:
        return visit.see(f"/console/sources/{told['source_id']}/documents")
    return visit.see(f"/console/documents/{file['documents'][0]}?replaced=1")


async def restored(visit: Visit) -> Response:
    """Put an earlier version back, then show the history."""
    await read_form(visit.request)
    number = visit.request.path_params["document_id"]
    told = await visit.post("v1", "documents", number, "restore", body={})
    (file,) = told["files"]
    shown = file["documents"][0] if file["documents"] else number
    return visit.see(f"/console/documents/{shown}/history")


async def deleted(visit: Visit) -> Response:
    """Delete a document with its file, after confirmation."""
    form = await read_form(visit.request)
    number = visit.request.path_params["document_id"]
    if form["sure"] != "yes":
        return visit.see(f"/console/documents/{number}")
    told = (await visit.call("DELETE", "v1", "documents", number)).value
    return visit.see(f"/console/sources/{told['source_id']}/documents")


PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "sources/{source_id}/documents"): listed,
    ("POST", "sources/{source_id}/documents"): uploaded,
    ("GET", "passages/{passage_id}"): opened,
    ("GET", "documents/{document_id}"): shown,
    ("GET", "documents/{document_id}/history"): history,
    ("POST", "documents/{document_id}/restore"): restored,
    ("GET", "documents/{document_id}/pages/{page}"): pictured,
    ("GET", "documents/{document_id}/original"): downloaded,
    ("POST", "documents/{document_id}/replace"): replaced,
    ("POST", "documents/{document_id}/delete"): deleted,
}
