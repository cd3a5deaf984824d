"""The pages of the audit: what was asked and changed, one record whole, asking again, and whether the chain is sound."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, timedelta, tzinfo
from typing import Any

from starlette.responses import Response

from wenyuan.console.api import Refused
from wenyuan.console.forms import Form, read_form
from wenyuan.console.visit import Page, Visit
from wenyuan.core.question_outcomes import ANY, OUTCOMES
from wenyuan.core.records import KINDS
from wenyuan.runtime.local_time import day_begins

_PAGE = 25  # records: on a telephone, five screens
_FILTERS = ("kind", "principal", "agent", "outcome", "source")
AUDIT_FILTERS = (*_FILTERS, "since", "until")


async def listed(visit: Visit) -> Response:
    """Audit records, newest first, that pass the filter."""
    return await _record_list_page(visit)


async def _record_list_page(visit: Visit, verified: Mapping[str, Any] | None = None) -> Response:
    form = Form(visit.request.query_params.multi_items())
    refused, found, status = None, None, 200
    try:
        found = await visit.get("v1", "audit", **asked_records(visit, form), before=form["before"], limit=_PAGE)
        await visit.learn_names(
            *(who for one in found["records"] for who in (one["principal"], one["record"].get("object")))
        )
        await visit.learn_titles()
    except Refused as error:
        if error.status not in (400, 404):
            raise
        refused, status = error, error.status
    return visit.page(
        "audit.html", status, form=form, kinds=KINDS, outcomes=(ANY, *OUTCOMES), found=found, refused=refused,
        verified=verified, filters=AUDIT_FILTERS,
    )  # fmt: skip


def asked_records(visit: Visit, form: Form) -> dict[str, object]:
    """The query of the API for the filters of a form, without a page."""
    asked: dict[str, object] = {name: form[name] for name in _FILTERS}
    return asked | {
        "since": _seconds(form["since"], visit.zone),
        "until": _seconds(form["until"], visit.zone, end=True),
    }


def _seconds(day: str, zone: tzinfo | None, *, end: bool = False) -> float | str:
    """Start or end of a day of the reader's zone in seconds since the epoch; other text is returned unchanged, for the
    API to refuse.
    """
    try:
        return day_begins(date.fromisoformat(day) + timedelta(days=end), zone) if day else ""
    except (ValueError, OverflowError):
        return day


async def verified(visit: Visit) -> Response:
    """Verify the audit chain and show the result."""
    form = await read_form(visit.request)
    body = {"head": form["head"]} if form["head"] else {}
    return await _record_list_page(visit, await visit.post("v1", "audit", "verify", body=body))


async def shown(visit: Visit) -> Response:
    """One audit record in full."""
    return await _record_page(visit)


async def _record_page(visit: Visit, replay: Mapping[str, Any] | None = None) -> Response:
    found = await visit.get("v1", "audit", visit.request.path_params["audit_id"])
    await visit.learn_names(found["principal"], found["record"].get("object"))
    await visit.learn_titles()
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
        kept=visit.request.query_params.get("kept") == "golden",
        may_keep=not visit.token or bool(visit.rights & {"registry", "admin"}),
        written=json.dumps(found, ensure_ascii=False, indent=2),
    )


async def replayed(visit: Visit) -> Response:
    """Replay a record's question, on the present library or as of then."""
    form = await read_form(visit.request)
    name = visit.request.path_params["audit_id"]
    body = {"exact": form["exact"] == "yes"}
    return await _record_page(visit, await visit.post("v1", "audit", name, "replay", body=body))


AUDIT_PAGES: Mapping[tuple[str, str], Page] = {
    ("GET", "audit"): listed,
    ("POST", "audit"): verified,
    ("GET", "audit/{audit_id}"): shown,
    ("POST", "audit/{audit_id}"): replayed,
}
