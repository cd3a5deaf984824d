"""Check a chain of audit records, and name the first fault of each kind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from wenyuan.catalog.audit.chain import EXPIRED, GENESIS, AuditRow, Head, commitment, row_hash
from wenyuan.core.errors import msg
from wenyuan.core.records import AuditFault


def check(rows: Iterable[AuditRow], start: Head, heads: Mapping[str, Head]) -> tuple[Head, AuditFault | None]:
    """Verify a chain; returns the last valid record, and the first fault or None.

    Args:
        start: Where the chain begins: `GENESIS`, or the cut that retention made.
        heads: Heads stored outside the chain, by where they were stored.
    """
    at = start
    confirmed = start == GENESIS
    for row in rows:
        what = _fault(row, at) or _other_head(heads, Head(row.seq, row.hash))
        if what:
            return at, AuditFault(row.seq if row.seq <= at.seq + 1 else at.seq + 1, what)
        at = Head(row.seq, row.hash)
        confirmed = confirmed or (row.kind == "audit" and _names_cut(row, start))
    if not confirmed:
        return at, AuditFault(start.seq, "records were removed up to here, and no record says so")
    return at, _at_the_ends(heads, start, at)


def _fault(row: AuditRow, before: Head) -> str:
    if row.seq > before.seq + 1:
        return msg("missing: the records {seq} to {seq2} were removed", seq=before.seq + 1, seq2=row.seq - 1)
    if row.seq <= before.seq:
        return msg("inserted: it stands after record {seq}", seq=before.seq)
    if row.hash != _hash_of(row):
        return "edited or moved: its hash is not that of its content"
    if row.prev_hash != before.hash:
        return msg("inserted or rewritten: it does not follow record {seq}", seq=before.seq)
    if row.query is not None and _said(row).get("query_sha256") != commitment(row.salt or "", row.query):
        return "its kept query was edited"
    return ""


def _hash_of(row: AuditRow) -> str:
    try:
        return row_hash(row.prev_hash, *row[:6])
    except (AttributeError, TypeError, ValueError):  # a column is not even of its type
        return ""


def _said(row: AuditRow) -> Mapping[str, Any]:
    try:
        said = json.loads(row.record)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _other_head(heads: Mapping[str, Head], at: Head) -> str:
    for name, head in heads.items():
        if head.seq == at.seq and head.hash != at.hash:
            return msg("rewritten: {name} has another hash", name=name)
    return ""


def _names_cut(row: AuditRow, start: Head) -> bool:
    said = _said(row)
    return bool(said.get("action") == EXPIRED and said.get("cut") == str(start))


def _at_the_ends(heads: Mapping[str, Head], start: Head, end: Head) -> AuditFault | None:
    for name, head in heads.items():
        if head.seq > end.seq:
            return AuditFault(
                end.seq + 1, msg("truncated: {name} knows records up to {seq}", name=name, seq=head.seq)
            )
        if head.seq < start.seq:
            return AuditFault(
                head.seq, msg("expired: {name} is older than what retention left, and proves nothing", name=name)
            )
        if head.seq == start.seq and head.hash != start.hash:
            return AuditFault(head.seq, msg("rewritten: {name} has another hash", name=name))
    return None
