"""Pages of sources, agents, tasks, keys and synonyms."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import Form, read_form
from wenyuan.console.visit import Page, Visit

# The sources: what is held, how fresh it is, and adding, editing, refreshing and removing it.


TYPES = ("static_doc", "api", "vector_index")
SENSITIVITIES = ("public", "internal", "confidential", "restricted")
STATUSES = ("in_force", "draft", "retired")
_TEXTS = (
    "title", "domain", "collection", "language", "copyright", "owner", "sensitivity", "status", "refresh_cycle",
    "effective_from", "effective_until",
)  # fmt: skip
_LISTS = ("tags", "supersedes")
_CHOICES: Mapping[str, Any] = {"types": TYPES, "sensitivities": SENSITIVITIES, "statuses": STATUSES}
_RUNS_LONG = 1.0  # seconds after which the page goes on and follows


async def listed(visit: Visit) -> Response:
    """All sources, those needing attention first."""
    sources = (await visit.get("v1", "sources"))["sources"]
    for source in sources:
        source["fresh"] = freshness(source, source["type"])
    quoted = [s for s in sources if s["type"] == "static_doc" and not s.get("path") and not s.get("documents")]
    sources = [source for source in sources if source not in quoted]
    worst = ("failed", "overdue", "busy")
    sources.sort(key=lambda s: (worst.index(s["fresh"]) if s["fresh"] in worst else len(worst), s["source_id"]))
    return visit.page("sources.html", sources=sources, quoted=quoted)


def freshness(state: Mapping[str, Any], kind: str) -> str:
    """A source's state in one word: busy, failed, overdue, outside, never, fresh."""
    if state.get("refreshing"):
        return "busy"
    if state.get("failures_in_a_row"):
        return "failed"
    if state.get("stale_since"):
        return "overdue"
    if kind != "static_doc":
        return "outside"
    return "fresh" if state.get("next_refresh") else "never"


async def shown(visit: Visit) -> Response:
    """One source, with its current or last refresh."""
    return await _source_page(visit)


async def _source_page(visit: Visit, status: int = 200, refused: Refused | None = None) -> Response:
    name = visit.request.path_params["source_id"]
    source = await visit.get("v1", "sources", name)
    run = await visit.glance("v1", "sources", name, "refresh")
    state = source.get("state", {})
    fresh = "busy" if run and run["running"] else freshness(state, source["type"])
    return visit.page(
        "source.html", status, source=source, run=run, state=state, fresh=fresh, pace=pace(run), refused=refused
    )


def pace(run: Mapping[str, Any] | None) -> Mapping[str, float]:
    """Files per second, or where that is less than one per minute, and remaining seconds; empty before they can be estimated."""
    at = (run or {}).get("progress")
    if not run or not at or not at["files"] or not run["seconds"]:
        return {}
    rate = at["files"] / run["seconds"]
    left = round((at["files_total"] - at["files"]) / rate)
    return (
        {"rate": round(rate, 1), "left": left}
        if rate >= 1
        else {"minute": max(0.1, round(60 * rate, 1)), "left": left}
    )


async def added(visit: Visit) -> Response:
    """The form for a new source, and its result."""
    if visit.request.method == "GET":
        return visit.page("source_form.html", source=None, form=Form([]), refused=None, **_CHOICES)
    form = await read_form(visit.request)
    try:
        name = form["source_id"] or await _free_id(visit)
        body = {"source_id": name, "type": form["type"], **_fields(form), **_settings(form)}
        if form["path"]:
            body["path"] = form["path"]
        await visit.begin(visit.call("POST", "v1", "sources", body=body), _RUNS_LONG)
    except (Refused, NoJson) as error:
        return _again(visit, form, error)
    return visit.see(f"/console/sources/{name}")


async def _free_id(visit: Visit) -> str:
    """An id that no source has: people give titles, and ids are in letters that not everybody writes."""
    taken = {one["source_id"] for one in (await visit.get("v1", "sources"))["sources"]}
    return next(name for name in map("source-{}".format, count(len(taken) + 1)) if name not in taken)


async def edited(visit: Visit) -> Response:
    """The form to edit a source, and its result."""
    name = visit.request.path_params["source_id"]
    reply = await visit.call("GET", "v1", "sources", name)
    source = reply.value
    if visit.request.method == "GET":
        form = _filled(source, reply.headers.get("etag", ""))
        return visit.page("source_form.html", source=source, form=form, refused=None, **_CHOICES)
    form = await read_form(visit.request)
    try:
        changes = {**_fields(form), **_settings(form, source.get("settings", {}))}
        await visit.begin(visit.call("PATCH", "v1", "sources", name, body=changes, seen=form["seen"]), _RUNS_LONG)
    except (Refused, NoJson) as error:
        return _again(visit, form, error, source)
    return visit.see(f"/console/sources/{name}")


async def refreshed(visit: Visit) -> Response:
    """Start a refresh; the source's page shows its progress."""
    await read_form(visit.request)
    name = visit.request.path_params["source_id"]
    try:
        await visit.begin(visit.call("POST", "v1", "sources", name, "refresh", body={}), _RUNS_LONG)
    except Refused as refused:
        return await _source_page(visit, refused.status, refused)
    return visit.see(f"/console/sources/{name}")


async def removed(visit: Visit) -> Response:
    """Remove a source, after confirmation."""
    form = await read_form(visit.request)
    name = visit.request.path_params["source_id"]
    if form["sure"] == "yes":
        await visit.call("DELETE", "v1", "sources", name)
        return visit.see("/console/sources")
    return visit.see(f"/console/sources/{name}")


class NoJson(Exception):
    """The settings field of a source is no JSON object."""


def _again(visit: Visit, form: Form, error: Refused | NoJson, source: Any = None) -> Response:
    faults = dict(error.faults) if isinstance(error, Refused) else {"settings": visit.text("not_json")}
    faults = {path.replace("trust", "trust_level") if path == "trust" else path: why for path, why in faults.items()}
    status = error.status if isinstance(error, Refused) else 400
    detail = error.detail if isinstance(error, Refused) else ""
    if status not in (400, 403, 409):
        raise error
    refused = {"detail": detail, "faults": faults}
    return visit.page("source_form.html", status, source=source, form=form, refused=refused, **_CHOICES)


def _fields(form: Form) -> dict[str, Any]:
    """The fields common to both forms: blank means none, lists are separated by commas."""
    fields: dict[str, Any] = {name: form[name] for name in _TEXTS}
    for name in ("domain", "status", "sensitivity", "refresh_cycle"):
        if not fields[name]:
            del fields[name]
    for name in _LISTS:
        fields[name] = [part.strip() for part in form[name].replace("，", ",").split(",") if part.strip()]
    trust = form.number("trust_level")
    return fields | ({} if trust is None else {"trust_level": trust})


def _settings(form: Form, shown: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The settings of a source where they differ from what the page showed, since hidden values must not be written
    back.

    Raises:
        NoJson: they are no JSON object.
    """
    if "settings" not in form or (shown is None and not form["settings"]):
        return {}
    try:
        value = json.loads(form["settings"] or "{}")
    except (ValueError, RecursionError) as error:
        raise NoJson from error
    if not isinstance(value, dict):
        raise NoJson
    return {} if value == shown else {"settings": value}


def _filled(source: Mapping[str, Any], version: str) -> Form:
    plain = [("seen", version), *((name, str(source.get(name) or "")) for name in (*_TEXTS, "trust_level"))]
    if source.get("settings"):
        plain.append(("settings", json.dumps(source["settings"], ensure_ascii=False, indent=2)))
    return Form([*plain, *((name, ", ".join(source.get(name) or ())) for name in _LISTS)])


PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "sources"): listed,
    ("GET", "sources/+new"): added,
    ("POST", "sources/+new"): added,
    ("GET", "sources/{source_id}"): shown,
    ("GET", "sources/{source_id}/edit"): edited,
    ("POST", "sources/{source_id}/edit"): edited,
    ("POST", "sources/{source_id}/refresh"): refreshed,
    ("POST", "sources/{source_id}/remove"): removed,
}
