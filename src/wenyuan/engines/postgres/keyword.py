"""Keyword search: candidates by the query's rarest terms (GIN), then exact BM25 here, with numpy.

Terms are taken in by rising frequency. Whoever holds none of those taken cannot score above what the others are
worth at most; once the ranking's last row reaches that, it stands. Terms that so many passages hold that
`MOST_CANDIDATES` would be exceeded only order what rarer terms have found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from psycopg import Connection
from psycopg.sql import SQL, Composed

from wenyuan.core.score import K1, KNEE, B, quantised_length, squash, term_weights
from wenyuan.engines.postgres.conditions import Condition
from wenyuan.engines.postgres.packed import unpacked_terms

__all__ = ["Query", "best", "given"]

FIRST_CANDIDATES = 2_000
"""Passages looked at in the first round, unless the rarest term alone has more; each round takes four times as many."""
MOST_CANDIDATES = 32_000
"""Passages looked at in one round at most, about 10 µs each; of a term that has more, the shortest."""
NARROW = 4_000
"""When so few passages of all are within the scope, as far as the first round tells, all of them are looked at."""
MOST_WORTH = 1.6
"""What a term is worth at most, in units of its idf: three occurrences in a passage of average length. The formula's
own limit is k1 + 1 = 2.2; on 100,000 passages of Chinese law both give the same hundred best (bench/engines.py)."""

_TERMS = """
SELECT s.passages, s.length, v.term, v.id, v.passages
FROM state s LEFT JOIN vocabulary v ON v.term = ANY(%(terms)s::text[]) AND v.passages > 0
"""
# OFFSET 0 keeps the planner from turning a join around: it knows too little of what an array or a facet holds.
_BY_TERMS = """
SELECT w.passage_id, w.length, w.packed FROM (
    SELECT * FROM words WHERE terms && %(ids)s::int[] {unseen} OFFSET 0
) AS w JOIN passages p USING (passage_id) WHERE {condition} {shortest}
"""
# Neither is free, and neither is needed mostly: that a passage was not seen before, and only the shortest of very many.
_UNSEEN = SQL("AND NOT terms && %(seen)s::int[]")
_SHORTEST = SQL("ORDER BY w.length, w.passage_id LIMIT %(most)s")
_BY_SCOPE = """
SELECT w.passage_id, w.length, w.packed FROM (SELECT p.passage_id FROM passages p WHERE {} OFFSET 0) AS s
JOIN words w USING (passage_id) WHERE w.terms && %(ids)s::int[] {}
"""
_GIVEN = """
SELECT w.passage_id, w.length, w.packed FROM words w
WHERE w.passage_id = ANY(%(passages)s::bigint[])
"""


@dataclass(frozen=True, slots=True)
class Query:
    """A query's terms as the index knows them.

    Attributes:
        weights: Idf of every term that asks for something.
        ids: Of the terms that some passage holds, by rising number of those passages.
        held: By term, the number of passages that hold it.
        passages: How many there are.
        mean: Of all passages, the number of terms.
    """

    weights: Mapping[str, float]
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
        return cls(
            weights=term_weights(passages, {term: known.get(term, 0) for term in terms}) if passages else {},
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
        asked = sorted((number, self.weights[term]) for term, number in self.ids.items())
        sought = np.array([number for number, _ in asked])
        worth = np.array([weight for _, weight in asked])
        at = np.flatnonzero(np.isin(numbers, sought, kind="sort"))  # by itself numpy makes a table of all ids
        often, owner = counts[at].astype(np.float64), np.searchsorted(np.cumsum(sizes), at, side="right")
        parts = worth[np.searchsorted(sought, numbers[at])] * (K1 + 1.0) * often / (often + norms[owner])
        shares = (np.bincount(owner, weights=parts, minlength=len(rows)) / self.total).tolist()
        pairs = zip(passages, shares, strict=True)
        return {i: squash(share) if share > KNEE else share for i, share in pairs if share > 0}


def given(connection: Connection[Any], terms: Sequence[str], passage_ids: Sequence[int]) -> dict[int, float]:
    """The scores of given passages."""
    query = Query.of(connection, terms)
    return query.scores(_fetched(connection, SQL(_GIVEN), {"passages": list(passage_ids)}))


def best(
    connection: Connection[Any], terms: Sequence[str], condition: Condition, limit: int
) -> list[tuple[int, float]]:
    """(passage, score) of the best `limit` passages within a condition, ties by id."""
    query = Query.of(connection, terms)
    left, seen, scores = list(query.ids), list[int](), dict[int, float]()
    room, looked_at = FIRST_CANDIDATES, 0
    while left:
        names, narrow = left[: _rarest(query, left, room)], False
        if looked_at and len(scores) * query.passages <= NARROW * looked_at:
            names, narrow = left, True
        left = left[len(names) :]
        ids = [query.ids[name] for name in names]
        values = {**condition.values, "ids": ids, "seen": seen, "most": MOST_CANDIDATES}
        many = sum(query.held[name] for name in names) > MOST_CANDIDATES
        statement = _statement(condition, narrow=narrow, again=bool(seen), many=many)
        scores.update(query.scores(_fetched(connection, statement, values)))
        seen, looked_at, room = [*seen, *ids], looked_at + sum(query.held[name] for name in names), room * 4
        if room > 4 * MOST_CANDIDATES or _settled(query, left, scores, limit):
            break
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]


def _statement(condition: Condition, *, narrow: bool, again: bool, many: bool) -> Composed:
    shortest = _SHORTEST if many else SQL("")
    if narrow:
        return SQL(_BY_SCOPE).format(condition.sql, shortest)
    return SQL(_BY_TERMS).format(unseen=_UNSEEN if again else SQL(""), condition=condition.sql, shortest=shortest)


def _rarest(query: Query, left: Sequence[str], room: int) -> int:
    """How many of the terms, at least one, hold so many passages together."""
    together = 0
    for taken, term in enumerate(left):
        together += query.held[term]
        if together > room and taken:
            return taken
    return len(left)


def _settled(query: Query, left: Sequence[str], scores: Mapping[int, float], limit: int) -> bool:
    """Whether no passage that holds only terms of `left` could enter the ranking."""
    if len(scores) < limit:
        return False
    most = MOST_WORTH * math.fsum(query.weights[term] for term in left) / query.total
    return sorted(scores.values(), reverse=True)[limit - 1] >= squash(most)


def _fetched(connection: Connection[Any], statement: SQL | Composed, values: Mapping[str, Any]) -> list[Any]:
    with connection.cursor(binary=True) as cursor:
        rows: list[Any] = cursor.execute(statement, values).fetchall()
    return rows
