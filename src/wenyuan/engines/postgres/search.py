"""Keyword search with exact BM25 over packed postings, and vector search, on PostgreSQL."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import numpy as np
from psycopg import Connection
from psycopg.sql import SQL, Composed

from wenyuan.core.errors import IndexCorrupt
from wenyuan.core.scoring import K1, KNEE, LENGTHS, B, quantised_length, squash, term_weights
from wenyuan.core.scoring.common_words import worth
from wenyuan.engines.postgres.sessions import Condition, unpacked_terms

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


# Keyword search: the postings of the query's terms, exact BM25 here, with numpy, then the scope's say.
#
# The scope is asked in the order of the scores, until enough passages fit. Terms that very many passages hold are left for
# last: who holds none of the others cannot score above what they are worth at most; once the ranking's last row reaches
# that, they only order what can still be in it.


FIRST_ENTRIES = 400_000
"""Postings looked at in the first round, unless the rarest term alone has more; each round takes four times as many."""
MOST_ENTRIES = 4_000_000
"""A term that more passages hold only orders what rarer terms have found, if there are any."""
MOST_RESCORED = 2_000
"""Passages that are scored by all of their terms, once frequent terms cannot bring in others."""
FIRST_LOOK = 4
"""The scope is asked about so many times the limit at first; if too few fit, about ten times as many; then about all."""
NARROW = 4_000
"""When so few passages of all seem to be within the scope after the first look, it is asked for all of them instead."""
MOST_WORTH = 1.6
"""What a term is worth at most, in units of its idf: three occurrences in a passage of average length. The formula's
own limit is k1 + 1 = 2.2; it counts only where frequent terms were left for last."""

_TERMS = """
SELECT s.passages, s.length, v.term, v.id, v.passages
FROM state s LEFT JOIN vocabulary v ON v.term = ANY(%(terms)s::text[]) AND v.passages > 0
"""
_POSTINGS = "SELECT term, packed FROM postings WHERE term = ANY(%(ids)s::int[])"
_FIT = "SELECT p.slot, p.passage_id FROM passages p WHERE p.slot = ANY(%(slots)s::int[]) AND {}"
_ALL_THAT_FIT = "SELECT p.slot, p.passage_id FROM passages p WHERE {} LIMIT %(most)s"
_GIVEN = """
SELECT w.passage_id, w.length, w.packed FROM words w
WHERE w.passage_id = ANY(%(passages)s::bigint[])
"""


@dataclass(frozen=True, slots=True)
class Query:
    """A query's terms as the index knows them.

    Attributes:
        weights: Idf of every term that asks for something.
        worth: What each of them adds where a passage has it; see `core.scoring.common_words`.
        ids: Of the terms that some passage holds, by rising number of those passages.
        held: By term, the number of passages that hold it.
        passages: How many there are.
        mean: Of all passages, the number of terms.
    """

    weights: Mapping[str, float]
    worth: Mapping[str, float]
    ids: Mapping[str, int]
    held: Mapping[str, int]
    passages: int
    mean: float

    @classmethod
    def of(cls, connection: Connection[Any], terms: Sequence[str]) -> Query:
        rows = connection.execute(_TERMS, {"terms": list(terms)}).fetchall()
        passages, length = rows[0][:2]
        found = sorted((count, term, number) for _, _, term, number, count in rows if term is not None)
        known = {term: count for count, term, _ in found}
        weights = term_weights(passages, {term: known.get(term, 0) for term in terms}) if passages else {}
        return cls(
            weights=weights,
            worth=worth(weights, passages),
            ids={term: number for _, term, number in found},
            held=known,
            passages=passages,
            mean=length / passages if passages else 0.0,
        )

    @property
    def total(self) -> float:
        """The query's information."""
        return math.fsum(self.weights.values())

    def scores(self, rows: Sequence[tuple[int, int, bytes]]) -> dict[int, float]:
        """The share of the query's information that each row covers, by passage; rows without any term are absent."""
        if not rows or not self.ids:
            return {}
        passages, lengths, packed = zip(*rows, strict=True)
        numbers, counts, sizes = unpacked_terms(packed)
        distinct, which = np.unique(lengths, return_inverse=True)
        norms = K1 * (1.0 - B + B * np.array([quantised_length(n) for n in distinct.tolist()])[which] / self.mean)
        asked = sorted((number, self.worth[term]) for term, number in self.ids.items())
        sought = np.array([number for number, _ in asked])
        worth = np.array([weight for _, weight in asked])
        at = np.flatnonzero(np.isin(numbers, sought, kind="sort"))  # by itself numpy makes a table of all ids
        often, owner = counts[at].astype(np.float64), np.searchsorted(np.cumsum(sizes), at, side="right")
        parts = worth[np.searchsorted(sought, numbers[at])] * (K1 + 1.0) * often / (often + norms[owner])
        shares = (np.bincount(owner, weights=parts, minlength=len(rows)) / self.total).tolist()
        pairs = zip(passages, shares, strict=True)
        return {i: squash(share) if share > KNEE else share for i, share in pairs if share > 0}


def keyword_given(connection: Connection[Any], terms: Sequence[str], passage_ids: Sequence[int]) -> dict[int, float]:
    """The scores of given passages."""
    query = Query.of(connection, terms)
    return query.scores(_fetched(connection, _GIVEN, {"passages": list(passage_ids)}))


class _Tally:
    """What the terms that were looked at so far are worth together, by passage."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._slots: list[Any] = []
        self._parts: list[Any] = []
        self.slots = np.empty(0, dtype=np.int64)
        self.shares = np.empty(0)

    def add(self, rows: Sequence[tuple[int, bytes]], names: Sequence[str]) -> None:
        """Add the postings of some terms, by term id."""
        query, worth = self._query, {self._query.ids[name]: self._query.worth[name] for name in names}
        order = {number: at for at, number in enumerate(worth)}  # the order in which numbers are added counts
        rows = sorted(rows, key=lambda row: order[row[0]])
        slots, often, lengths = unpacked_postings([packed for _, packed in rows])
        if len(slots) < sum(query.held[name] for name in names):
            raise IndexCorrupt("has lost rows of table postings", component="engine postgres/keyword")
        weights = np.repeat([worth[number] for number, _ in rows], [len(packed) // ENTRY for _, packed in rows])
        norms = K1 * (1.0 - B + B * lengths / query.mean)
        self._slots.append(slots)
        self._parts.append(weights * (K1 + 1.0) * often / (often + norms))
        self._sum()

    def _sum(self) -> None:
        slots, parts = np.concatenate(self._slots), np.concatenate(self._parts)
        first = int(slots.min())
        if int(slots.max()) - first > 16 * len(slots):
            self.slots, which = np.unique(slots, return_inverse=True)
            together = np.bincount(which, weights=parts)
        else:
            spread = np.bincount(slots - first, weights=parts)
            at = np.flatnonzero(spread)
            self.slots, together = at + first, spread[at]
        self.shares = together / self._query.total

    def at_least(self, share: float, most: int) -> Any:
        """Positions of the rows with at least this share; if there are more than `most`, of the best `most` and their equals."""
        if np.count_nonzero(self.shares >= share) > most:
            share = np.partition(self.shares, len(self.shares) - most)[len(self.shares) - most]
        return np.flatnonzero(self.shares >= share)

    def shares_of(self, rows: Sequence[tuple[int, int]]) -> list[tuple[int, float]]:
        """(passage, share) of the rows among these, by (slot, passage)."""
        slots = np.array([slot for slot, _ in rows], dtype=np.int64)
        at = np.minimum(np.searchsorted(self.slots, slots), len(self.slots) - 1)
        shares, known = self.shares[at].tolist(), (self.slots[at] == slots).tolist()
        return [(rows[n][1], share) for n, share in enumerate(shares) if known[n]]


def best(
    connection: Connection[Any], terms: Sequence[str], condition: Condition, limit: int
) -> list[tuple[int, float]]:
    """(passage, score) of the best `limit` passages within a condition, ties by id."""
    query = Query.of(connection, terms)
    tally, left, room, found = _Tally(query), list(query.ids), FIRST_ENTRIES, list[tuple[int, float]]()
    while left:
        names = left[: _rarest(query, left, room)]
        left, room = left[len(names) :], room * 4
        tally.add(_fetched(connection, _POSTINGS, {"ids": [query.ids[name] for name in names]}), names)
        found = _ranked(connection, query, tally, condition, limit)
        if not left:
            break
        rest = MOST_WORTH * math.fsum(query.worth[name] for name in left) / query.total
        least = found[-1][1] if len(found) == limit else 0.0
        near, too_many = tally.at_least(least - rest, MOST_RESCORED + 1), query.held[left[0]] > MOST_ENTRIES
        if too_many or (least >= rest and len(near) <= MOST_RESCORED):
            fitting = _fitting(connection, tally, near, condition)
            scores = query.scores(_fetched(connection, _GIVEN, {"passages": [passage for passage, _ in fitting]}))
            return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]
    return [(passage, squash(share)) for passage, share in found]


def _ranked(
    connection: Connection[Any], query: Query, tally: _Tally, condition: Condition, limit: int
) -> list[tuple[int, float]]:
    """(passage, share) of the best within a condition."""
    fitting = list[tuple[int, float]]()
    for most in (FIRST_LOOK * limit, 10 * FIRST_LOOK * limit, len(tally.slots)):
        chosen = tally.at_least(0.0, most)
        fitting = _fitting(connection, tally, chosen, condition)
        if len(fitting) >= limit or len(chosen) == len(tally.slots):
            break
        if most == FIRST_LOOK * limit and len(fitting) * query.passages <= NARROW * len(chosen):
            values = {**condition.values, "most": 2 * NARROW}
            rows = _fetched(connection, SQL(_ALL_THAT_FIT).format(condition.sql), values)
            if len(rows) < 2 * NARROW:
                fitting = tally.shares_of(rows)
                break
    return sorted(fitting, key=lambda pair: (-pair[1], pair[0]))[:limit]


def _fitting(
    connection: Connection[Any], tally: _Tally, chosen: Any, condition: Condition
) -> list[tuple[int, float]]:
    """(passage, share) of those chosen that are within a condition, and still there."""
    values = {**condition.values, "slots": tally.slots[chosen].tolist()}
    return tally.shares_of(_fetched(connection, SQL(_FIT).format(condition.sql), values))


def _rarest(query: Query, left: Sequence[str], room: int) -> int:
    """How many of the terms, at least one, so many passages hold together."""
    together = 0
    for taken, term in enumerate(left):
        together += query.held[term]
        if together > room and taken:
            return taken
    return len(left)


def _fetched(
    connection: Connection[Any], statement: LiteralString | Composed, values: Mapping[str, Any]
) -> list[Any]:
    with connection.cursor(binary=True) as cursor:
        rows: list[Any] = cursor.execute(statement, values).fetchall()
    return rows


# Vector search: every matching row is compared, up to `EXACT_ROWS` of them; above, an HNSW graph is walked.
#
# The graph is walked on until enough rows match (pgvector's iterative scan), so a filter does not starve the result.
# If that ends too early, every row is compared after all: an answer is never short.


EXACT_ROWS = 50_000
"""Matching rows that are compared one by one; see bench/engines.py."""
GRAPH_DIMENSIONS = 2_000
"""The longest vectors of which pgvector makes a graph."""
WIDTH = 200
"""``hnsw.ef_search``: candidates of a scan; with 40, the default, recall falls below .95."""
MOST_VISITED = 200_000
"""``hnsw.max_scan_tuples``: rows that one walk may visit before every row is compared instead."""

MAKE_GRAPH = "CREATE INDEX CONCURRENTLY vectors_graph ON vectors USING hnsw (vector vector_ip_ops) WITH (m = 16, ef_construction = 100)"

_MATCHING = "SELECT count(*) FROM (SELECT FROM passages p WHERE {} LIMIT %(most)s) AS matching"
# The sign keeps the planner from using the graph: it knows the operator alone.
_EXACT = """
SELECT v.passage_id, -(v.vector <#> %(vector)s::vector) AS cosine FROM vectors v JOIN passages p USING (passage_id)
WHERE {} ORDER BY cosine DESC, v.passage_id LIMIT %(limit)s
"""
_WALK = """
SELECT v.passage_id, -(v.vector <#> %(vector)s::vector) FROM vectors v JOIN passages p USING (passage_id)
WHERE {} ORDER BY v.vector <#> %(vector)s::vector LIMIT %(limit)s
"""
_NEAREST_GIVEN = """
SELECT passage_id, -(vector <#> %(vector)s::vector) FROM vectors WHERE passage_id = ANY(%(passages)s::bigint[])
"""
_ALONG_THE_GRAPH = {
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.ef_search": str(WIDTH),
    "hnsw.max_scan_tuples": str(MOST_VISITED),
    "enable_seqscan": "off",
    "enable_sort": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}


def nearest(connection: Connection[Any], vector: str, condition: Condition, limit: int) -> list[tuple[int, float]]:
    """(passage, cosine) of the nearest rows within a condition, nearest first, ties by id.

    Args:
        vector: The unit vector as pgvector writes it.
    """
    values = {**condition.values, "vector": vector, "limit": limit, "most": EXACT_ROWS + 1}
    if _walks(connection, condition, values):
        for name, value in _ALONG_THE_GRAPH.items():
            connection.execute("SELECT pg_catalog.set_config(%s, %s, true)", (name, value))
        found = connection.execute(SQL(_WALK).format(condition.sql), values).fetchall()
        if len(found) == limit:
            return sorted(found, key=lambda pair: (-pair[1], pair[0]))
        for name in _ALONG_THE_GRAPH:
            connection.execute(SQL("RESET {}").format(SQL(name)))
    return connection.execute(SQL(_EXACT).format(condition.sql), values).fetchall()


def _walks(connection: Connection[Any], condition: Condition, values: dict[str, Any]) -> bool:
    graph = connection.execute("SELECT graph FROM state").fetchone()
    if graph is None or not graph[0]:
        return False
    matching = connection.execute(SQL(_MATCHING).format(condition.sql), values).fetchone()
    return matching is not None and matching[0] > EXACT_ROWS


def given(connection: Connection[Any], vector: str, passage_ids: Sequence[int]) -> dict[int, float]:
    """The cosines of given passages; one without a vector is absent."""
    return dict(connection.execute(_NEAREST_GIVEN, {"vector": vector, "passages": list(passage_ids)}).fetchall())
