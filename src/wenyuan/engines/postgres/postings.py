"""Packed postings of terms on PostgreSQL: added to, merged, swept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from psycopg import Connection

from wenyuan.core.scoring.formula import LENGTHS
from wenyuan.engines.postgres.packing import unpacked_terms

# Postings: by term, which passages hold it, how often, and how long each is, packed so that one row brings thousands.
#
# Passages are named by slots, which are numbered on and never used twice: an entry of a removed passage names nobody, until
# `sweep` takes it out. Each batch that is written is a segment with rows of its own; whenever eight segments are of one
# size, they become one. So an entry is written about three times, and a term has few rows however its passages came in.


ENTRY = 8  # bytes: the slot in four, how often in two, the code of the length in two; little-endian
_MOST_COUNT = 0xFFFF
_LENGTHS = np.array(LENGTHS, dtype=np.float64)
_TOGETHER = 8
_LARGEST = 5  # segments of 8^5 passages and more stay as they are
_AT_ONCE = 10_000  # removed passages that are swept together
_TERMS_AT_ONCE = 1_000

_NEW_SEGMENT = "INSERT INTO segments (passages, first, last) VALUES (%s, %s, %s) RETURNING segment"
_COPY = "COPY postings (term, segment, packed) FROM STDIN (FORMAT binary)"
_MERGE = """
INSERT INTO postings (term, segment, packed)
SELECT term, %(new)s, pg_catalog.string_agg(packed, ''::bytea) FROM postings WHERE segment = ANY(%(old)s) GROUP BY term
"""
_MERGED = """
WITH gone AS (DELETE FROM segments WHERE segment = ANY(%s) RETURNING passages, first, last)
INSERT INTO segments (passages, first, last) SELECT sum(passages), min(first), max(last) FROM gone RETURNING segment
"""
_REWRITE = """
UPDATE postings o SET packed = n.packed FROM unnest(%s::int[], %s::bytea[]) AS n (term, packed)
WHERE o.segment = %s AND o.term = n.term
"""


def add(connection: Connection[Any], first: int, lengths: Sequence[int], held: Sequence[Mapping[int, int]]) -> None:
    """Write the segment of some new passages, in the caller's transaction.

    Args:
        first: The slot of the first passage; the others follow.
        lengths: Their numbers of terms.
        held: Of each, how often it holds which term, by the term's id.
    """
    sizes = [len(counts) for counts in held]
    terms = np.fromiter((term for counts in held for term in counts), dtype=np.int64, count=sum(sizes))
    often = np.fromiter((n for counts in held for n in counts.values()), dtype=np.int64, count=sum(sizes))
    codes = np.repeat(np.searchsorted(_LENGTHS, lengths, side="right") - 1, sizes).astype(np.uint32)
    entries = np.empty((len(terms), 2), dtype="<u4")
    entries[:, 0] = np.repeat(np.arange(first, first + len(held), dtype=np.uint32), sizes)
    entries[:, 1] = np.minimum(often, _MOST_COUNT).astype(np.uint32) | codes << 16
    order = np.argsort(terms, kind="stable")
    distinct, begins, counts = np.unique(terms[order], return_index=True, return_counts=True)
    raw, ends = entries[order].tobytes(), (begins + counts).tolist()
    segment = _number(connection.execute(_NEW_SEGMENT, (len(held), first, first + len(held) - 1)).fetchone())
    with connection.cursor().copy(_COPY) as copy:
        copy.set_types(["int4", "int4", "bytea"])
        for term, begin, end in zip(distinct.tolist(), begins.tolist(), ends, strict=True):
            copy.write_row((term, segment, raw[begin * ENTRY : end * ENTRY]))
    _merge(connection)


def _number(row: Any) -> int:
    return int(row[0])


def _merge(connection: Connection[Any]) -> None:
    """Make one of the segments of one size, as soon as there are eight; the one may be the eighth of the next size."""
    while True:
        sizes: dict[int, list[int]] = {}
        for segment, passages in connection.execute("SELECT segment, passages FROM segments").fetchall():
            sizes.setdefault((int(passages).bit_length() - 1) // 3, []).append(segment)
        old = next((s for size, s in sorted(sizes.items()) if len(s) >= _TOGETHER and size < _LARGEST), None)
        if old is None:
            return
        new = _number(connection.execute(_MERGED, (old,)).fetchone())
        connection.execute(_MERGE, {"new": new, "old": old})
        connection.execute("DELETE FROM postings WHERE segment = ANY(%s)", (old,))


def sweep(connection: Connection[Any]) -> None:
    """Take the entries of removed passages out, in the caller's transaction; he holds the index's lock."""
    while gone := connection.execute("SELECT slot, packed FROM dead ORDER BY slot LIMIT %s", (_AT_ONCE,)).fetchall():
        slots = np.array([slot for slot, _ in gone])
        for segment, first, last in connection.execute("SELECT segment, first, last FROM segments").fetchall():
            begin, end = np.searchsorted(slots, [first, last + 1]).tolist()
            if begin < end:
                terms = np.unique(unpacked_terms([packed for _, packed in gone[begin:end]])[0]).tolist()
                for at in range(0, len(terms), _TERMS_AT_ONCE):
                    _take_out(connection, segment, terms[at : at + _TERMS_AT_ONCE], slots[begin:end])
        connection.execute("DELETE FROM dead WHERE slot = ANY(%s)", (slots.tolist(),))


def _take_out(connection: Connection[Any], segment: int, terms: Sequence[int], slots: Any) -> None:
    asked = "SELECT term, packed FROM postings WHERE segment = %s AND term = ANY(%s)"
    left, empty = dict[int, bytes](), list[int]()
    with connection.cursor(binary=True) as cursor:
        for term, packed in cursor.execute(asked, (segment, terms)):
            entries = np.frombuffer(packed, dtype="<u4").reshape(-1, 2)
            stays = entries[~np.isin(entries[:, 0], slots)]
            if not len(stays):
                empty.append(term)
            elif len(stays) < len(entries):
                left[term] = stays.tobytes()
    connection.execute("DELETE FROM postings WHERE segment = %s AND term = ANY(%s)", (segment, empty))
    connection.execute(_REWRITE, (list(left), list(left.values()), segment))


def unpacked_postings(packed: Sequence[bytes]) -> tuple[Any, Any, Any]:
    """Of all entries: the slots, how often, and the passages' quantised lengths; (n,) each."""
    entries = np.frombuffer(b"".join(packed), dtype="<u4").reshape(-1, 2)
    return (
        entries[:, 0].astype(np.int64),
        (entries[:, 1] & _MOST_COUNT).astype(np.float64),
        _LENGTHS[entries[:, 1] >> 16],
    )
