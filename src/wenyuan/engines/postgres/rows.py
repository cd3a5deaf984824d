"""Passages as rows of the index on PostgreSQL."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from psycopg import Connection

from wenyuan.core.errors import VectorRejected, msg
from wenyuan.core.model import Facet, IndexRow
from wenyuan.core.ports import Change
from wenyuan.core.scoring.vector_sums import CHINESE, Sums
from wenyuan.core.text.analysis import passage_terms
from wenyuan.engines.postgres import postings
from wenyuan.engines.postgres.conditions import plain
from wenyuan.engines.postgres.packing import packed_terms, packed_vector, unpacked_terms, unpacked_vector

# The write path: changes of the catalog, applied in transactions that end at a change, with the mark of that change.
#
# A reader sees the index as of one change or another, never anything between.


_BATCH = 1_000
_BEYOND = 10**400  # an infinity, which JSON does not have: above every number that a filter can name

_INSERT = """
INSERT INTO passages SELECT * FROM unnest(
    %s::bigint[], %s::text[], %s::bigint[], %s::text[], %s::text[], %s::text[]::jsonb[], %s::int[], %s::int[],
    %s::int[])
"""
_COPY_WORDS = "COPY words (passage_id, length, packed) FROM STDIN (FORMAT binary)"
_COPY_VECTORS = "COPY vectors (passage_id, vector) FROM STDIN (FORMAT binary)"
_NEW_TERMS = "INSERT INTO vocabulary (term, passages) SELECT unnest(%s::text[]), 0 RETURNING term, id"
_COUNTED = """
UPDATE vocabulary v SET passages = v.passages + d.more
FROM unnest(%s::int[], %s::int[]) AS d (id, more) WHERE v.id = d.id
"""
_MARK = """
UPDATE state SET watermark = %(watermark)s, stamp = %(stamp)s, passages = passages + %(passages)s, length = length + %(length)s,
    vectors = %(vectors)s, chinese = %(chinese)s, total = %(total)s, slots = %(slots)s
"""


class Applied:
    """One transaction of the write path. The caller holds the index's lock and commits.

    Args:
        connection: In a transaction that sees every row.
        dimension: Of the vectors; 0 for an index without.
        sums: Of all vectors so far; they are counted on.
    """

    def __init__(self, connection: Connection[Any], dimension: int, sums: Sums) -> None:
        self._connection = connection
        self._dimension = dimension
        self._sums = sums
        self._more: Counter[int] = Counter()  # by term id: passages gained or lost
        self._passages = self._length = 0
        self._ids: dict[str, int] = {}
        self._slots = int((connection.execute("SELECT slots FROM state").fetchone() or (0,))[0])

    def take(self, changes: Iterator[Change], watermark: int, stamp: str) -> None:
        """Apply changes and record the last change of the catalog that the index now holds."""
        while batch := tuple(itertools.islice(changes, _BATCH)):
            self._remove([change.passage_id for change in batch])  # also what is added: a row is never there twice
            self._add([change.row for change in batch if change.row is not None])
        gained = [(number, more) for number, more in self._more.items() if more]
        if gained:
            gained.sort()  # everybody locks terms in one order
            self._connection.execute(_COUNTED, [list(column) for column in zip(*gained, strict=True)])
        self._connection.execute(
            _MARK,
            {
                "watermark": watermark,
                "stamp": stamp,
                "passages": self._passages,
                "length": self._length,
                "vectors": int(self._sums.counts.sum()),
                "chinese": int(self._sums.counts[1]),
                "slots": self._slots,
                "total": self._sums.sums.astype("<f8").tobytes(),
            },
        )

    def _remove(self, passage_ids: Sequence[int]) -> None:
        ids, run = list(passage_ids), self._connection.execute
        removed = run("DELETE FROM passages WHERE passage_id = ANY(%s) RETURNING passage_id, slot, language", (ids,))
        of_each = {passage_id: (slot, language) for passage_id, slot, language in removed}
        slots = {passage_id: slot for passage_id, (slot, _) in of_each.items()}
        gone = run("DELETE FROM words WHERE passage_id = ANY(%s) RETURNING passage_id, length, packed", (ids,))
        dead = dict[int, bytes]()
        for passage_id, length, packed in gone:
            self._length -= length
            self._more.subtract(unpacked_terms([packed])[0].tolist())
            if passage_id in slots:
                dead[slots[passage_id]] = packed
        self._passages -= len(slots)
        run("INSERT INTO dead SELECT * FROM unnest(%s::int[], %s::bytea[])", (list(dead), list(dead.values())))
        if self._dimension:
            gone = run(
                "DELETE FROM vectors WHERE passage_id = ANY(%s) RETURNING passage_id, vector_send(vector)", (ids,)
            )
            for passage_id, vector in gone:
                chinese = passage_id in of_each and of_each[passage_id][1] == CHINESE
                self._sums.remove(unpacked_vector(vector), chinese=chinese)

    def _add(self, rows: Sequence[IndexRow]) -> None:
        if not rows:
            return
        columns = (
            [row.passage_id for row in rows],
            [row.source_id for row in rows],
            [row.document_id for row in rows],
            [plain(row.language) for row in rows],
            [plain(row.collection) for row in rows],
            [_facets(row) for row in rows],
            [row.valid_from for row in rows],
            [row.valid_until for row in rows],
            list(range(self._slots, self._slots + len(rows))),
        )
        self._connection.execute(_INSERT, columns)
        self._passages += len(rows)
        self._add_words(rows)
        if self._dimension:
            self._add_vectors(rows)

    def _add_words(self, rows: Sequence[IndexRow]) -> None:
        counted = [Counter(passage_terms(row.heading_text, row.text)) for row in rows]
        self._know({term for counts in counted for term in counts})
        held = [{self._ids[term]: count for term, count in counts.items()} for counts in counted]
        lengths = [counts.total() for counts in counted]
        with self._connection.cursor().copy(_COPY_WORDS) as copy:
            copy.set_types(["int8", "int4", "bytea"])
            for row, length, counts in zip(rows, lengths, held, strict=True):
                copy.write_row((row.passage_id, length, packed_terms(counts)))
                self._more.update(counts.keys())
        self._length += sum(lengths)
        postings.add(self._connection, self._slots, lengths, held)
        self._slots += len(rows)

    def _know(self, terms: set[str]) -> None:
        """Learn the ids of terms, giving one to those that are new."""
        unknown = sorted(terms - self._ids.keys())
        if not unknown:
            return
        self._ids.update(self._connection.execute("SELECT term, id FROM vocabulary WHERE term = ANY(%s)", (unknown,)))
        new = [term for term in unknown if term not in self._ids]
        if new:
            self._ids.update(self._connection.execute(_NEW_TERMS, (new,)))

    def _add_vectors(self, rows: Sequence[IndexRow]) -> None:
        with self._connection.cursor().copy(_COPY_VECTORS) as copy:
            copy.set_types(["int8", "bytea"])  # pgvector's own binary form
            for row in rows:
                if row.vector is None:
                    continue
                if len(row.vector) != self._dimension:
                    raise VectorRejected(
                        msg(
                            "the vector of passage {passage_id} has {count} dimensions, the index {dimension}",
                            passage_id=row.passage_id,
                            count=len(row.vector),
                            dimension=self._dimension,
                        ),
                        component="engine postgres",
                    )
                copy.write_row((row.passage_id, packed_vector(row.vector)))
                self._sums.add(row.vector, chinese=row.language == CHINESE)


def _facets(row: IndexRow) -> str:
    """As JSON; what is no number (NaN) is left out, since no filter can name it."""
    held = {plain(name): _value(value) for name, value in row.facets.items() if not _is_nan(value)}
    return json.dumps(held, ensure_ascii=False)


def _is_nan(value: Facet) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _value(value: Facet) -> Facet:
    if isinstance(value, str):
        return plain(value)
    return _BEYOND if value == math.inf else -_BEYOND if value == -math.inf else value
