"""Keyword search: candidates by the inner product of sparse vectors, then exact BM25.

No count is stored beside a weight (see `engines.term_statistics`): it tells how often the term occurs (`frequency`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from wenyuan.core.scoring.formula import K1, bm25, squash
from wenyuan.engines.milvus.collections import CollectionNames
from wenyuan.engines.milvus.sessions import MOST_HITS, Session
from wenyuan.engines.term_statistics import QueryTerms, norm

SPARE = 1.25
"""How many more rows are fetched than are asked for, at first; then four times as many in each round."""
_FIELDS = ("passage_id", "length", "mean", "words")


def frequency(weight: float, norm: float) -> int:
    """How often a term occurs, from its weight: exact for float32 while frequency · mean length is below 5 million."""
    return round(norm / ((K1 + 1.0) / weight - 1.0))


def best(
    session: Session, names: CollectionNames, query: QueryTerms, where: str, limit: int
) -> list[tuple[int, float]]:
    """(passage, score) of the best `limit` rows that meet a condition, ties by id."""
    if not query.worth:
        return []
    fetched = min(MOST_HITS, math.ceil(SPARE * limit))
    asked = {number: float(weight) for number, weight in query.worth.items()}
    while True:
        found = session.nearest(names.passages, "words", asked, where=where, limit=fetched, fields=_FIELDS, search={})
        shares = {int(row["passage_id"]): _share(query, row) for _, row in found}
        ranked = sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))
        if len(found) < fetched or fetched == MOST_HITS or _is_complete(query, ranked, limit, found[-1][0]):
            return [(passage, squash(share)) for passage, share in ranked[:limit] if share > 0]
        fetched = min(MOST_HITS, 4 * fetched)


def scores_of(
    session: Session, names: CollectionNames, query: QueryTerms, passage_ids: Sequence[int], where: str
) -> dict[int, float]:
    """The scores of given passages that meet a condition; those without any of the terms are absent."""
    rows = session.named(names.passages, "passage_id", passage_ids, _FIELDS, where=where)
    shares = {int(row["passage_id"]): _share(query, row) for row in rows}
    return {passage: squash(share) for passage, share in shares.items() if share > 0}


def _share(query: QueryTerms, row: Mapping[str, Any]) -> float:
    length, words = int(row["length"]), row["words"]
    old = norm(length, row["mean"])
    held = {number: frequency(words[number], old) for number in query.worth if number in words}
    return bm25(held, length, query.mean, query.worth) / query.total if held else 0.0


def _is_complete(query: QueryTerms, ranked: Sequence[tuple[int, float]], limit: int, last: float) -> bool:
    """Whether no row that the server ranks behind `last` could enter the ranking."""
    return ranked[limit - 1][1] >= query.drift * last / query.total
