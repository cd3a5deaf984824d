"""Records of the audit whose content was erased: what stands in their place, and what proves that it was meant to.

The hash of an erased record stays, and with it the chain: the next record is hashed over it. Its content is replaced by a
tombstone, its hash goes into a table of its own, and a later record of the chain names it, by a hash over what is left of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from wenyuan.catalog.audit.chain import AuditRow, Head, canonical, row_hash
from wenyuan.core.records import erasure_of

ERASED = "erase records"
"""The action of the record that names erased ones."""


def tombstone(erasure_id: str) -> str:
    """What stands in the place of a record's content."""
    return canonical({"erased": erasure_id})


def is_tombstone(row: AuditRow) -> bool:
    """Whether a row has the form of an erased one; whether it may have it, only the chain can say."""
    if not isinstance(row.record, str) or not row.record.startswith('{"erased":'):
        return False
    try:
        record = json.loads(row.record)
    except ValueError:
        return False
    return isinstance(record, dict) and bool(erasure_of(record)) and row.record == tombstone(str(record["erased"]))


def remains_hash(row: AuditRow) -> str:
    """A hash over what is left of an erased row: by it a later record names the row."""
    return row_hash(row.hash, *row[:6])


class Tombstones:
    """The erased rows of a chain that is being checked, until a later record has named them."""

    def __init__(self, start: Head) -> None:
        self._start = start
        self._unnamed: dict[int, str] = {}
        self.found: dict[int, str] = {}

    def meet(self, row: AuditRow) -> None:
        """Note an erased row."""
        self._unnamed[row.seq] = remains_hash(row)
        self.found[row.seq] = row.hash

    def named(self, said: Mapping[str, object]) -> int | None:
        """Take note of a record that names erased ones; returns the first one that it names and that is not erased so."""
        records = said.get("records")
        for pair in records if isinstance(records, list) else ():
            seq, digest = pair if isinstance(pair, list) and len(pair) == 2 else (0, "")
            if self._unnamed.get(seq) == digest:
                del self._unnamed[seq]
            elif isinstance(seq, int) and seq > self._start.seq:  # others retention has removed
                return seq
        return None

    @property
    def unnamed(self) -> int | None:
        """The first erased row that no record names."""
        return min(self._unnamed, default=None)
