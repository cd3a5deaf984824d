"""Check a chain of audit records, and name the first fault of each kind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from wenyuan.catalog.audit.chain import EXPIRED, GENESIS, AuditRow, Head, commitment, row_hash
from wenyuan.catalog.audit.tombstones import ERASED, Tombstones, is_tombstone
from wenyuan.core.errors import msg
from wenyuan.core.records import AuditFault


def check(
    rows: Iterable[AuditRow], start: Head, heads: Mapping[str, Head], erased: Mapping[int, str] | None = None
) -> tuple[Head, AuditFault | None]:
    """Verify a chain; returns the last valid record, and the first fault or None.

    Args:
        start: Where the chain begins: `GENESIS`, or the cut that retention made.
        heads: Heads stored outside the chain, by where they were stored.
        erased: The hashes of erased records, as the table of them has these; None: there is no such table.
    """
    at = start
    tombstones = Tombstones(start)
    confirmed = start == GENESIS
    for row in rows:
        what = _fault(row, at) or _other_head(heads, Head(row.seq, row.hash))
        if what:
            return at, AuditFault(row.seq if row.seq <= at.seq + 1 else at.seq + 1, what)
        at = Head(row.seq, row.hash)
        if is_tombstone(row):
            tombstones.meet(row)
        elif row.kind == "audit":
            confirmed = confirmed or _names_cut(row, start)
            wrong = tombstones.named(_said(row)) if _said(row).get("action") == ERASED else None
            if wrong is not None:
                return at, AuditFault(wrong, "edited: it is not the erased record that a later one names")
    if not confirmed:
        return at, AuditFault(start.seq, "records were removed up to here, and no record says so")
    if tombstones.unnamed is not None:
        return at, AuditFault(tombstones.unnamed, "erased, and no later record says so")
    if erased is not None and (odd := _other_erased(erased, tombstones.found, start)) is not None:
        return at, AuditFault(odd, "the table of erased records says another thing of it")
    return at, _at_the_ends(heads, start, at)


def _fault(row: AuditRow, before: Head) -> str:
    if row.seq > before.seq + 1:
        return msg("missing: the records {seq} to {seq2} were removed", seq=before.seq + 1, seq2=row.seq - 1)
    if row.seq <= before.seq:
        return msg("inserted: it stands after record {seq}", seq=before.seq)
    if is_tombstone(row):
        return _tombstone_fault(row, before)
    if row.hash != _hash_of(row):
        return "edited or moved: its hash is not that of its content"
    if row.prev_hash != before.hash:
        return msg("inserted or rewritten: it does not follow record {seq}", seq=before.seq)
    if row.query is not None and _said(row).get("query_sha256") != commitment(row.salt or "", row.query):
        return "its kept query was edited"
    return ""


def _tombstone_fault(row: AuditRow, before: Head) -> str:
    """What is wrong with an erased record, as far as it can be told before a later one names it."""
    if row.prev_hash != before.hash:
        return msg("inserted or rewritten: it does not follow record {seq}", seq=before.seq)
    return "it is erased, and its query is there" if row.query is not None or row.salt is not None else ""


def _other_erased(table: Mapping[int, str], found: Mapping[int, str], start: Head) -> int | None:
    """The first record of which the table of erased ones says another thing than the chain."""
    known = {seq: digest for seq, digest in table.items() if seq > start.seq}
    return min((seq for seq, _ in {*known.items()} ^ {*found.items()}), default=None)


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
