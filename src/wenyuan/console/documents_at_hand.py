"""One list of the documents of all sources: searched, filtered, sorted; many are chosen and acted on at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import Form, read_form, whole_number
from wenyuan.console.visit import Page, Visit
from wenyuan.core.document_choice import SORTS
from wenyuan.core.model import DOCUMENT_STATES
from wenyuan.runtime.local_time import day_begins

_PAGE = 50
DOCUMENT_FILTERS = ("q", "source", "owner", "state", "trust", "kind", "fidelity", "since", "until", "sort")
ACTIONS = ("disable", "enable", "refresh", "move", "delete")
_WAIT = 2.0  # seconds in which a refresh that cannot begin says so


@dataclass
class _Done:
    """What became of an action: how many documents it was done to, and why not to others, by title."""

    action: str
    count: int = 0
    refused: list[tuple[str, Refused]] = field(default_factory=list)


async def listed(visit: Visit) -> Response:
    """The documents that pass the filters."""
    return await _list_page(visit, Form(visit.request.query_params.multi_items()))


async def _list_page(visit: Visit, form: Form, done: _Done | None = None) -> Response:
    sources = (await visit.glance("v1", "sources") or {"sources": []})["sources"]
    shown: dict[str, Any] = {
        "form": form, "states": DOCUMENT_STATES, "sorts": SORTS, "actions": ACTIONS, "filters": DOCUMENT_FILTERS, "done": done,
        "sources": sources, "targets": [one["source_id"] for one in sources if takes_uploads(one)], "titles": {one["source_id"]: one["title"] or one["source_id"] for one in sources},
        "owners": sorted({one["owner"] for one in sources if one.get("owner")}),
    }  # fmt: skip
    try:
        found = await visit.get("v1", "documents", limit=_PAGE, after=form["after"], **asked_documents(visit, form))
    except Refused as refused:
        if refused.status not in (400, 404):
            raise
        return visit.page("documents_at_hand.html", refused.status, refused=refused, documents=[], next=None, **shown)
    return visit.page("documents_at_hand.html", refused=None, **found, **shown)


def asked_documents(visit: Visit, form: Form) -> dict[str, object]:
    """The query of the API for the filters of a form, without a page."""
    asked: dict[str, object] = {**form.given("q", "source", "owner", "state", "trust", "kind", "sort")}
    if form["fidelity"]:
        asked["fidelity_below"] = form["fidelity"]
    for name, told, later in (("since", "read_since", 0), ("until", "read_until", 1)):
        if form[name]:
            try:
                asked[told] = day_begins(date.fromisoformat(form[name]) + timedelta(days=later), visit.zone)
            except (ValueError, OverflowError):
                asked[told] = form[name]  # for the API to refuse
    return asked


def takes_uploads(source: Mapping[str, Any]) -> bool:
    """Whether documents can be uploaded, and moved, to a source of the list."""
    return source["type"] == "static_doc" and not source["path"]


async def acted(visit: Visit) -> Response:
    """Do one thing to all documents that were chosen, and say what became of it."""
    form = await read_form(visit.request)
    action = form["action"]
    done = _Done(action)
    if action in ACTIONS and (action != "delete" or form["sure"] == "yes") and (action != "move" or form["to"]):
        for number in dict.fromkeys(form.all("document")):
            try:
                if action == "move":
                    await visit.post("v1", "documents", number, "move", body={"to": form["to"]})
                else:
                    await _ACTS[action](visit, number)
                done.count += 1
            except Refused as refused:
                if refused.status == 401:
                    raise
                done.refused.append((form[f"title-{number}"] or number, refused))
    return await _list_page(visit, form, done)


async def _disable(visit: Visit, number: str) -> None:
    await visit.post("v1", "corrections", body={"action": "exclude", "document_id": whole_number(number)})


async def _enable(visit: Visit, number: str) -> None:
    """Undo what excludes a whole document."""
    made = await visit.get("v1", "corrections", document_id=number, limit=200)
    for one in made["corrections"]:
        if one["action"] == "exclude" and one["state"] == "counts" and not one["original"]:
            await visit.call("DELETE", "v1", "corrections", str(one["correction_id"]))


async def _refresh(visit: Visit, number: str) -> None:
    """Read the source of a document again."""
    document = await visit.get("v1", "documents", number)
    asked = visit.call("POST", "v1", "sources", document["source_id"], "refresh", body={})
    try:
        await visit.begin(asked, _WAIT)
    except Refused as refused:
        if refused.status != 409:  # it is being read already
            raise


async def _delete(visit: Visit, number: str) -> None:
    await visit.call("DELETE", "v1", "documents", number)


_ACTS: Mapping[str, Callable[[Visit, str], Awaitable[None]]] = {
    "disable": _disable, "enable": _enable, "refresh": _refresh, "delete": _delete,
}  # fmt: skip

PAGES: Mapping[tuple[str, str], Page] = {("GET", "documents"): listed, ("POST", "documents"): acted}
