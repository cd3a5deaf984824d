"""Candidate selection: score cutoffs, reranking, lookups of the statutes and labels of candidates."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wenyuan.core.errors import EngineError, msg
from wenyuan.core.filters import Filter, Scope, matches
from wenyuan.core.model import FOREVER, IndexRow, Passage
from wenyuan.core.ports import Hit
from wenyuan.core.scoring.formula import rescale, trust_factor
from wenyuan.core.scoring.fusion import CONTEXT_BOUND, Candidates, Fusion
from wenyuan.core.scoring.probability import NEAR

# Which of the candidates count: floor, limit, and the guard that asks the record again.


Array = np.ndarray[Any, Any]
Ranked = list[tuple[Hit, Passage]]
"""Candidates with their passages."""

_SHARE = 0.4
"""Of the best score: what scores less is not given."""
_ROUNDING = 1e-9  # of a division, so that what stands exactly at the edge stays


def why_empty(best: float, floor: float) -> str:
    """The reason for an empty answer when a score floor is set and the best candidate has this score; see
    `SearchSettings.floor`.
    """
    if best == 0:
        return "no passage in scope shares a word or a meaning with the query"
    return msg(
        "the best passage scores {best}, below the floor {floor} that is set",
        best=f"{best:.3f}",
        floor=f"{floor:.3f}",
    )


def above(scores: Array, floor: float | None = None, named: Array | None = None) -> Array:
    """Mask of the candidates to keep: at least `_SHARE` of the best score, or at the floor; empty if no candidate
    reaches the floor.

    Args:
        named: Those that have the place which the query names: they count whatever they score.

    Returns:
        A mask, (n,) bool.
    """
    best = float(scores.max(initial=0.0))
    none = np.zeros(len(scores), bool)
    named = none if named is None else named
    if not best or (best < (floor or 0.0) and not named.any()):
        return none
    counts: Array = (scores > 0.0) & ((scores >= _least(best, floor)) | named)
    return counts


def _least(best: float, floor: float | None) -> float:
    """The lowest score that is kept beside a best score."""
    return _SHARE * best if floor is None else min(floor, _SHARE * best)


@dataclass(frozen=True, slots=True)
class Cutoff:
    """Which candidates can be in the answer.

    Attributes:
        floor: The least score that counts; None where none is set.
        limit: Passages of the answer, or for the reranker.
        reach: What trust and context could at most multiply the score of one candidate with, relative to another's.
    """

    floor: float | None
    limit: int
    reach: float

    @classmethod
    def of(cls, floor: float | None, limit: int, trusts: Collection[int], in_context: bool) -> Cutoff:
        """A cutoff for a request; `trusts` are those of the searched sources. If all are equal, trust changes no
        order.
        """
        reach = trust_factor(max(trusts, default=5)) / trust_factor(min(trusts, default=1))
        return cls(floor, limit, reach * (1.0 + CONTEXT_BOUND if in_context else 1.0))

    def liftable(self, found: Candidates) -> Candidates:
        """The first `limit` candidates, and all that trust and context could move among them."""
        if len(found.scores) <= self.limit:
            return found
        least = found.scores[self.limit - 1] / self.reach * (1.0 - _ROUNDING)
        return found.taken(found.scores >= least)

    def placed(self, found: Candidates, naming: Collection[int]) -> Candidates:
        """Where the query names a place: the candidates that name it, too, and what of the others could stand beside them.

        The others keep their order, whatever share of their scores they lose; they stay when they are among the first
        `limit` of all of them, `NEAR` at least: by them it is told whether there is a document that lacks the place.
        """
        names = np.isin(found.passage_ids, list(naming))
        others = replace(self, limit=max(self.limit, NEAR)).liftable(found.taken(~names))
        return found.taken(names | np.isin(found.passage_ids, others.passage_ids))


def contenders(
    keyword: Array, cosines: Array, ceiling: float, fusion: Fusion, cut: Cutoff, shares: Array | None = None
) -> Array:
    """The candidates that may be in the answer, while the keyword scores of some are not known yet.

    Another one is left out, whatever its keyword score turns out to be, for one of two reasons: enough candidates,
    for the answer and as rivals, certainly count and certainly stand before it; or it has less than `_SHARE` of the
    best score, and less than the floor.

    Args:
        keyword: Keyword scores, (n,); NaN as far as they are not known.
        cosines: (n,); NaN for one that has no vector.
        ceiling: The most that a keyword score which is not known can be.
        shares: What candidates keep of their scores, (n,); None: all of it.

    Returns:
        A mask, (n,) bool.
    """
    vectors = rescale(cosines, fusion.scale)
    kept = 1.0 if shares is None else shares
    low = fusion.scores(np.where(np.isnan(keyword), 0.0, keyword), vectors) * kept
    high = fusion.scores(np.where(np.isnan(keyword), ceiling, keyword), vectors) * kept
    if not low.any():
        return np.ones(len(keyword), bool)
    certain = np.sort(low[low >= _SHARE * high.max()])
    enough = max(cut.limit, NEAR)
    last = (certain[-enough] if len(certain) >= enough else 0.0) / cut.reach * (1.0 - _ROUNDING)
    counts: Array = (high >= last) & (high >= _least(low.max(), cut.floor))
    return counts


def guard(passages: Iterable[Passage], scope: Scope) -> None:
    """Check passages against the scope again. One outside it means that the engine is faulty: it is an error, never
    filtered silently.
    """
    plain = scope.filter is None and scope.hidden is None
    for passage in passages:
        undated = (
            passage.effective_from is None and passage.effective_until is None
        )  # most of them, told by their source alone
        if not (plain and undated and passage.source_id in scope.sources) and not allows(scope, passage):
            raise EngineError(
                msg("passage {ref} lies outside the scope of the request; nothing is answered", ref=passage.ref),
                component="guard",
            )


def allows(scope: Scope, passage: Passage) -> bool:
    """Whether a passage may be found within a scope."""
    within = scope.covers(passage.source_id, *_validity(passage)) and not scope.hides(passage.document_id)
    return within and (scope.filter is None or matches(scope.filter, _row(passage)))  # few requests have a filter


def meeting(found: list[tuple[Hit, Passage]], wanted: Filter | None) -> list[tuple[Hit, Passage]]:
    """Those external hits that meet the request's filter, where the external source did not apply it itself."""
    return found if wanted is None else [pair for pair in found if matches(wanted, _row(pair[1]))]


def _validity(passage: Passage) -> tuple[int, int]:
    begins, ends = passage.effective_from, passage.effective_until
    return (begins.toordinal() if begins else 0), (ends.toordinal() if ends else FOREVER)


def _row(passage: Passage) -> IndexRow:
    begins, ends = _validity(passage)
    return IndexRow(
        passage_id=passage.passage_id,
        source_id=passage.source_id,
        document_id=passage.document_id,
        heading_text="",
        text="",
        language=passage.language,
        collection=passage.collection,
        facets=passage.facets,
        valid_from=begins,
        valid_until=ends,
    )
