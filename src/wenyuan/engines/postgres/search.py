"""Keyword search: the postings of the query's terms, exact BM25 here, with numpy, then the scope's say.

The scope is asked in the order of the scores, until enough passages fit. Terms that very many passages hold are left for
last: who holds none of the others cannot score above what they are worth at most; once the ranking's last row reaches
that, they only order what can still be in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

import numpy as np
from psycopg import Connection
from psycopg.sql import SQL, Composed

from wenyuan.core.errors import IndexCorrupt
from wenyuan.core.scoring.common_words import worth
from wenyuan.core.scoring.formula import K1, KNEE, B, quantised_length, squash, term_weights
from wenyuan.engines.hidden_tally import HiddenTally
from wenyuan.engines.postgres.conditions import SqlCondition
from wenyuan.engines.postgres.packing import unpacked_terms
from wenyuan.engines.postgres.postings import ENTRY, unpacked_postings

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
SELECT s.watermark, s.passages, s.length, v.term, v.id, v.passages
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
class PostgresQueryTerms:
    """A query's terms as the index knows them.

    Attributes:
        weights: Idf of every term that asks for something.
        worth: What each of them adds where a passage has it; see `core.scoring.common_words`.
        ids: Of the terms that some passage holds, by rising number of those passages.
        held: By term, the number of passages that hold it, hidden ones too: that is how many are looked at.
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
    def of(
        cls, connection: Connection[Any], terms: Sequence[str], tally: HiddenTally | None = None
    ) -> PostgresQueryTerms:
        """Read them.

        Args:
            tally: Of passages that are not counted.

        Raises:
            IndexMoved: the index holds another change than the tally is of.
        """
        rows = connection.execute(_TERMS, {"terms": list(terms)}).fetchall()
        watermark, passages, length = rows[0][:3]
        found = sorted((count, term, number) for *_, term, number, count in rows if term is not None)
        counted = {term: count for count, term, _ in found}
        if tally is not None:
            if tally.at != watermark:
                raise IndexMoved
            passages, length = passages - tally.passages, length - tally.length
            counted = {term: count - tally.held(number) for count, term, number in found}
            found = [one for one in found if counted[one[1]] > 0]
        known = {term: count for count, term, _ in found}
        weights = term_weights(passages, {term: counted.get(term, 0) for term in terms})
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


class IndexMoved(Exception):
    """The index was brought further since what is to be taken off its counts was counted; the search must be repeated."""


def keyword_given(
    connection: Connection[Any], terms: Sequence[str], passage_ids: Sequence[int], tally: HiddenTally | None = None
) -> dict[int, float]:
    """The scores of given passages."""
    query = PostgresQueryTerms.of(connection, terms, tally)
    return query.scores(_fetched(connection, _GIVEN, {"passages": list(passage_ids)}))


class _Tally:
    """What the terms that were looked at so far are worth together, by passage."""

    def __init__(self, query: PostgresQueryTerms) -> None:
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
    connection: Connection[Any],
    terms: Sequence[str],
    condition: SqlCondition,
    limit: int,
    hidden: HiddenTally | None = None,
) -> list[tuple[int, float]]:
    """(passage, score) of the best `limit` passages within a condition, ties by id.

    Args:
        hidden: Of passages that are not counted.
    """
    query = PostgresQueryTerms.of(connection, terms, hidden)
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
    connection: Connection[Any], query: PostgresQueryTerms, tally: _Tally, condition: SqlCondition, limit: int
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
    connection: Connection[Any], tally: _Tally, chosen: Any, condition: SqlCondition
) -> list[tuple[int, float]]:
    """(passage, share) of those chosen that are within a condition, and still there."""
    values = {**condition.values, "slots": tally.slots[chosen].tolist()}
    return tally.shares_of(_fetched(connection, SQL(_FIT).format(condition.sql), values))


def _rarest(query: PostgresQueryTerms, left: Sequence[str], room: int) -> int:
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
