"""Lists as files: the audit, gaps, the questions of an evaluation, documents and their passages, as CSV or JSON Lines.

Rows are asked of the API page by page, with the key of the session, and sent as they come: a file holds what its reader
may see, and no more. Where something fails on the way the connection is broken off, so that no part passes for the whole.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from starlette.responses import Response, StreamingResponse

from wenyuan.console.api import ApiReply, Refused
from wenyuan.console.audit import AUDIT_FILTERS, asked_records
from wenyuan.console.documents_at_hand import DOCUMENT_FILTERS, asked_documents
from wenyuan.console.forms import Form
from wenyuan.console.visit import HEADERS, Page, Visit
from wenyuan.core.errors import Fault, did_you_mean, listed, msg
from wenyuan.server.problems import problem_body
from wenyuan.wire.strict_json import safe_key

_AT_ONCE, _FEW = 500, 200  # rows of one page of the API
_KINDS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
_FORMULA = "=+-@\t\r\n＝＋－＠"

Rows = AsyncIterator[Mapping[str, Any]]


async def _audit(visit: Visit, form: Form) -> Rows:
    asked = asked_records(visit, form)
    before: str | None = form["before"]
    while before is not None:
        page = await visit.get("v1", "audit", **{**asked, "before": before, "limit": _AT_ONCE})
        for one in page["records"]:
            yield {
                "audit_id": one["audit_id"], "at": one["at"],
                "time": datetime.fromtimestamp(one["at"], visit.zone).astimezone(visit.zone).isoformat(timespec="seconds"), "kind": one["kind"], "principal": one["principal"],
                "agent": one["record"].get("agent") or "", "preview": one["record"].get("preview", ""),
                "status": one["record"].get("status", ""), "record": one["record"], "hash": one["hash"],
            }  # fmt: skip
        before = page["next"]


async def _documents(visit: Visit, form: Form) -> Rows:
    asked, after = asked_documents(visit, form), form["after"]
    while True:
        page = await visit.get("v1", "documents", **{**asked, "after": after, "limit": _FEW})
        for one in page["documents"]:
            yield one
        after = page["next"]
        if not after:
            return


async def _passages(visit: Visit, form: Form) -> Rows:
    """The passages of the documents that pass the filters of their list."""
    async for document in _documents(visit, form):
        after: int | None = 0
        while document["document_id"] and after is not None:
            try:
                page = await visit.get(
                    "v1", "documents", str(document["document_id"]), "passages", after=after, limit=_FEW
                )
            except Refused as refused:
                if refused.status != 404:
                    raise
                break  # it was removed, or read again, since it was listed
            for one in page["passages"]:
                yield {
                    "ref": one["ref"], "source_id": document["source_id"], "document_id": document["document_id"],
                    "title": document["title"], "headings": one["headings"], "text": one["text"],
                    "withheld": one["withheld"], "uri": one["uri"], "questions": one.get("questions", []),
                }  # fmt: skip
            after = page["next"]


async def _gaps(visit: Visit, form: Form) -> Rows:
    found = await visit.get("v1", "gaps", **form.given("days", "agent", "state"))
    for one in found["gaps"]:
        yield one


async def _evaluation(visit: Visit, form: Form) -> Rows:
    """The questions of one evaluation, each with what became of it."""
    found = await visit.get("v1", "evaluations", form["evaluation"])
    for one in found["asked"]:
        yield one


_NAMES: Mapping[str, Sequence[str]] = {
    "audit": (*AUDIT_FILTERS, "before"),
    "documents": (*DOCUMENT_FILTERS, "after"),
    "passages": (*DOCUMENT_FILTERS, "after"),
    "gaps": ("days", "agent", "state"),
    "evaluation": ("evaluation",),
}
"""What each list can be narrowed by."""
LISTS: Mapping[str, Callable[[Visit, Form], Rows]] = {
    "audit": _audit, "documents": _documents, "passages": _passages, "gaps": _gaps, "evaluation": _evaluation,
}  # fmt: skip


async def exported(visit: Visit) -> Response:
    """One list as a file."""
    name, _, kind = visit.request.path_params["file"].partition(".")
    if name not in LISTS or kind not in _KINDS:
        return visit.page("problem.html", 404, why="no_page")
    unknown = [one for one in visit.request.query_params if one not in _NAMES[name]]
    if unknown:
        refused = _unknown(unknown, _NAMES[name])
        return visit.page("problem.html", refused.status, why="", refused=refused)
    rows = LISTS[name](visit, Form(visit.request.query_params.multi_items()))
    try:
        first = await anext(rows, None)  # what is refused is refused before anything is sent
    except Refused as refused:
        if refused.status == 401:
            raise
        return visit.page("problem.html", refused.status, why="", refused=refused)
    write = _csv if kind == "csv" else _json_lines
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return StreamingResponse(write(first, rows), headers=headers, media_type=_KINDS[kind])


def _unknown(given: Sequence[str], known: Sequence[str]) -> Refused:
    """The refusal of parameters that a list does not have, as the API has it."""
    faults = [Fault(safe_key(one), msg("is unknown{near}", near=did_you_mean(one, known))) for one in given]
    problem = problem_body(400, "invalid_request", listed(faults[:3]), "", tuple(faults))
    return Refused(ApiReply(400, body=json.dumps(problem).encode()))


async def _json_lines(first: Mapping[str, Any] | None, rows: Rows) -> AsyncIterator[bytes]:
    if first is not None:
        yield _line(first)
    async for row in rows:
        yield _line(row)


def _line(row: Mapping[str, Any]) -> bytes:
    return (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "replace")


async def _csv(first: Mapping[str, Any] | None, rows: Rows) -> AsyncIterator[bytes]:
    if first is None:
        return
    names = list(first)
    yield b"\xef\xbb\xbf" + _record(names)  # by the mark spreadsheets know the encoding
    yield _record([first[name] for name in names])
    async for row in rows:
        yield _record([row.get(name) for name in names])


def _record(values: list[Any]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerow([_cell(value) for value in values])
    return written.getvalue().encode("utf-8", "replace")


def _cell(value: Any) -> str:
    """A value as a cell that no spreadsheet takes for a formula."""
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return str(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(tuple(_FORMULA)) else text


PAGES: Mapping[tuple[str, str], Page] = {("GET", "exports/{file}"): exported}
