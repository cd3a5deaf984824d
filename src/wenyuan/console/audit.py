"""The audit: what was asked and changed, one record whole, asking again, and whether the chain is sound."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import Form, read_form
from wenyuan.console.visit import Page, Visit
from wenyuan.core.audited import KINDS

__all__ = ["PAGES"]

_PAGE = 50


async def listed(visit: Visit) -> Response:
    """Records, newest first, as far as the filter lets them through."""
    return await _listed(visit)


async def _listed(visit: Visit, verified: Mapping[str, Any] | None = None) -> Response:
    form = Form(visit.request.query_params.multi_items())
    asked: dict[str, object] = {name: form[name] for name in ("kind", "principal", "agent", "before")}
    refused, found, status = None, None, 200
    try:
        asked |= {"since": _seconds(form["since"]), "until": _seconds(form["until"]), "limit": _PAGE}
        found = await visit.get("v1", "audit", **asked)
    except Refused as error:
        if error.status not in (400, 404):
            raise
        refused, status = error, error.status
    return visit.page("audit.html", status, form=form, kinds=KINDS, found=found, refused=refused, verified=verified)


def _seconds(day: str) -> float | str:
    """The beginning of a day in UTC; what is no day is passed on, for the API to refuse."""
    try:
        return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() if day else ""
    except ValueError:
        return day


async def verified(visit: Visit) -> Response:
    """Whether every record is there and as it was written."""
    form = await read_form(visit.request)
    body = {"head": form["head"]} if form["head"] else {}
    return await _listed(visit, await visit.post("v1", "audit", "verify", body=body))


async def shown(visit: Visit) -> Response:
    """One record, whole."""
    return await _shown(visit)


async def _shown(visit: Visit, replay: Mapping[str, Any] | None = None) -> Response:
    found = await visit.get("v1", "audit", visit.request.path_params["audit_id"])
    by_ref: dict[str, list[Any]] = {}
    for difference in (replay or {}).get("differences", ()):
        by_ref.setdefault(difference["ref"], []).append(difference)
    known = {fragment["ref"] for fragment in found["record"].get("fragments", ())}
    return visit.page(
        "audit_record.html",
        found=found,
        replay=replay,
        by_ref=by_ref,
        others=[one for ref, all_of in by_ref.items() if ref not in known for one in all_of],
        written=json.dumps(found, ensure_ascii=False, indent=2),
    )


async def replayed(visit: Visit) -> Response:
    """The record's question asked again: of the library as it is, or as it was."""
    form = await read_form(visit.request)
    name = visit.request.path_params["audit_id"]
    body = {"exact": form["exact"] == "yes"}
    return await _shown(visit, await visit.post("v1", "audit", name, "replay", body=body))


PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "audit"): listed,
    ("POST", "audit"): verified,
    ("GET", "audit/{audit_id}"): shown,
    ("POST", "audit/{audit_id}"): replayed,
}
