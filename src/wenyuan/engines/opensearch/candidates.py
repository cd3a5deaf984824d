"""Candidates of both legs, as the cluster proposes them within a scope; what they score is computed here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wenyuan.core.errors import EngineUnavailable, IndexCorrupt, msg
from wenyuan.core.filters import Scope
from wenyuan.core.scoring.formula import Array, bm25, squash
from wenyuan.core.slices import parts
from wenyuan.engines.opensearch.conditions import EMBEDDED, Condition, condition, there
from wenyuan.engines.opensearch.indices import IndexNames
from wenyuan.engines.opensearch.marks import ClusterMark
from wenyuan.engines.opensearch.sessions import MOST_AT_ONCE, MOST_HITS, ClusterSession, row_of
from wenyuan.engines.opensearch.term_numbers import unpacked, vector_of
from wenyuan.engines.term_statistics import QueryTerms

SPARE = 1.25
"""How many more rows are fetched than are asked for, at first; then four times as many in each round."""
EXACT_ROWS = 50_000
"""Up to so many matching rows, each is compared; above, the graphs are asked."""
_MOST_TERMS = 900
"""Of one question: clusters take 1,024 conditions."""
_FEATURE_ERROR = 1.0 + 2.0**-7
"""A cluster keeps eight bits of a feature's weight, and cuts off the rest."""
_WIDTH = 200
"""Rows that each graph proposes, at least."""
_BEYOND = 10  # more rows than asked for, whose order the last digits of the cluster's scores may have changed
_QUANTISED_BEYOND = 4  # times as many, where the cluster's own scores are rough
_ROUNDING = 1e-4
_FIELDS = ("passage_id", "length", "counts")


def best_by_terms(
    session: ClusterSession, names: IndexNames, query: QueryTerms, scope: Scope, limit: int, mark: ClusterMark
) -> list[tuple[int, float]]:
    """(passage, score) of the best `limit` rows within a scope, ties by id."""
    if not query.worth:
        return []
    by_worth = sorted(((n, w) for n, w in query.worth.items() if w > 0), key=lambda pair: (-pair[1], pair[0]))
    index, within = names.passages(mark), condition(scope, mark)
    fetched = min(MOST_HITS, math.ceil(SPARE * limit))
    while True:
        shares: dict[int, float] = {}
        unseen, whole = 0.0, True
        for some in parts(by_worth, _MOST_TERMS):  # a row that none proposes has, of each, its last score at most
            hits = _hits(session, index, _by_features(some, within), fetched, _FIELDS)
            shares |= {int(row["passage_id"]): _share(query, row) for row in hits}
            if len(hits) == fetched:
                unseen, whole = unseen + float(hits[-1]["_score"]) * _FEATURE_ERROR, False
        ranked = sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))
        complete = whole or (limit <= len(ranked) and ranked[limit - 1][1] >= query.drift * unseen / query.total)
        if complete or fetched == MOST_HITS:
            return [(passage, squash(share)) for passage, share in ranked[:limit] if share > 0]
        fetched = min(MOST_HITS, 4 * fetched)


def _by_features(terms: Sequence[tuple[int, float]], within: Condition) -> Condition:
    features = [
        {"rank_feature": {"field": f"words.{number}", "linear": {}, "boost": float(weight)}}
        for number, weight in terms
    ]
    return {"bool": {"should": features, "minimum_should_match": 1, "filter": [within]}}


def scores_by_terms(
    session: ClusterSession, names: IndexNames, query: QueryTerms, passage_ids: Sequence[int], mark: ClusterMark
) -> dict[int, float]:
    """The scores of given passages; those without any of the terms are absent."""
    shares: dict[int, float] = {}
    for some in parts(passage_ids, MOST_AT_ONCE):
        for row in session.rows(names.passages(mark), _these(some, mark), _FIELDS):
            shares[int(row["passage_id"])] = _share(query, row)
    return {passage: squash(share) for passage, share in shares.items() if share > 0}


def nearest(
    session: ClusterSession,
    names: IndexNames,
    asked: Array,
    scope: Scope,
    limit: int,
    mark: ClusterMark,
    *,
    quantised: bool,
) -> list[tuple[int, float]]:
    """(passage, cosine) of the nearest rows within a scope, ties by id.

    Raises:
        EngineUnavailable: fewer came than match.
    """
    index = names.passages(mark)
    where = condition(scope, mark, EMBEDDED)
    matching = session.count(index, where, EXACT_ROWS)
    if not matching:
        return []
    size = min(MOST_HITS, limit + _BEYOND)
    found: list[dict[str, Any]] = []
    if matching > EXACT_ROWS:
        size = min(MOST_HITS, limit * _QUANTISED_BEYOND + _BEYOND) if quantised else size
        graph = {"vector": asked.tolist(), "k": max(_WIDTH, size), "filter": where}
        found = _hits(session, index, {"knn": {"vector": graph}}, size, ("passage_id", "exact"))
    if len(found) < min(limit, matching):
        script = {
            "source": "knn_score", "lang": "knn",
            "params": {"field": "vector", "query_value": asked.tolist(), "space_type": "innerproduct"},
        }  # fmt: skip
        every = {"script_score": {"query": {"bool": {"filter": [where]}}, "script": script}}
        found = _hits(session, index, every, size, ("passage_id", "exact"))
    if len(found) < min(limit, matching):
        raise EngineUnavailable(
            msg(
                "gave {count} of {matching} matching rows: a part of it does not answer",
                count=len(found),
                matching=matching,
            ),
            component=session.component,
        )
    return sorted(_cosines(session, asked, found).items(), key=lambda pair: (-pair[1], pair[0]))[:limit]


def cosines_of(
    session: ClusterSession, names: IndexNames, asked: Array, passage_ids: Sequence[int], mark: ClusterMark
) -> dict[int, float]:
    """Cosines of given passages; those without a vector are absent."""
    found: dict[int, float] = {}
    for some in parts(passage_ids, MOST_AT_ONCE):
        where = _these(some, mark, EMBEDDED)
        found |= _cosines(session, asked, list(session.rows(names.passages(mark), where, ("passage_id", "exact"))))
    return found


def _these(passage_ids: Sequence[int], mark: ClusterMark, *more: Condition) -> Condition:
    return there(mark, {"terms": {"passage_id": list(passage_ids)}}, *more)


def _hits(
    session: ClusterSession, index: str, where: Condition, size: int, fields: Sequence[str]
) -> list[dict[str, Any]]:
    body = {
        "size": size, "query": where, "_source": False, "docvalue_fields": list(fields), "track_total_hits": False,
    }  # fmt: skip
    return [row_of(hit) for hit in session.search(index, body)["hits"]["hits"]]


def _cosines(session: ClusterSession, asked: Array, rows: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    found = {}
    for row in rows:
        vector = vector_of(row["exact"])
        cosine = float(vector @ asked) if len(vector) == len(asked) else math.nan
        if not -1.0 - _ROUNDING <= cosine <= 1.0 + _ROUNDING:  # false for NaN too
            raise IndexCorrupt("gives a vector that is none", component=session.component)
        found[int(row["passage_id"])] = cosine
    return found


def _share(query: QueryTerms, row: Mapping[str, Any]) -> float:
    numbers, counts = unpacked(row["counts"])
    asked = np.fromiter(query.worth, np.int64, len(query.worth))
    at = np.searchsorted(numbers, asked)
    held = {
        int(number): int(counts[place])
        for number, place in zip(asked, at, strict=True)
        if place < len(numbers) and numbers[place] == number
    }
    return bm25(held, int(row["length"]), query.mean, query.worth) / query.total if held else 0.0
