"""Which of the candidates count: floor, limit, and the guard that asks the record again."""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from wenyuan.core.calibrate import NEAR, Curve, Field
from wenyuan.core.errors import EngineError
from wenyuan.core.filters import Filter, Scope, matches
from wenyuan.core.fuse import CONTEXT_BOUND, Fusion, column
from wenyuan.core.model import FOREVER, IndexRow, Passage
from wenyuan.core.ranking import Hit
from wenyuan.core.score import trust_factor

__all__ = ["Cut", "Floor", "above", "contenders", "guard", "likely", "meeting", "outstanding", "why_empty"]

Array = np.ndarray[Any, Any]
_ROUNDING = 1e-9  # of a division, so that what stands exactly at the edge stays


ABSTAIN = {"lenient": (0.5, 1.0), "normal": (1.0, 1.0), "strict": (1.0, 1.25)}
"""How much more than nonsense an answer must have: where between what most and what nearly all nonsense reaches the floor
lies (0..1), and what it is multiplied with. The trade-off of each is in docs/explanation/scoring.md."""

_WORDS = 0.7

_ACROSS = {"lenient": 0.0, "normal": 0.25, "strict": 1.0}


@dataclass(frozen=True, slots=True)
class Floor:
    """The least evidence of an answer.

    Attributes:
        score: For passages in the query's own language.
        lift: For those in another one.
        given: It is set, not measured: then it is the score that must reach it.
        more: How many times as much it takes for a passage that has few of the query's words; of a query that looks
            like nonsense.
        words: Keyword score of a passage that has what was asked for, however odd it looks.
    """

    score: float
    lift: float
    given: bool = False
    more: float = 1.0
    words: float = _WORDS

    @classmethod
    def of(
        cls, measured: Mapping[str, float], abstain: str, *, strange: bool = False, repeated: bool = False
    ) -> Floor:
        """From what nonsense reached: ``score`` and ``lift`` most of it, ``most`` nearly all of it.

        A library too small to be measured keeps to what most nonsense reaches.

        Args:
            strange: The query looks like nonsense, too: then it takes ``strange`` times as much; where scores are not
                centred, and what words such a query shares by chance counts in full, it takes the words.
            repeated: It is one Chinese character over and over: that a passage has it twice says nothing.
        """
        more = measured.get("strange", 1.0) if strange else 1.0
        words = math.inf if repeated and more > 1.0 else _WORDS
        low, lift = measured.get("score", 0.0), measured.get("lift", math.inf)
        if not measured.get("centre"):
            return cls(score=low, lift=lift * more, more=1.0 / low if more > 1.0 and low else more, words=words)
        share, factor = ABSTAIN[abstain]
        high = measured.get("most", low)
        # Where passages stand out from those in their own language, those in the other one need no floor of their own.
        lift = math.inf if measured.get("apart") else low + _ACROSS[abstain] * (high - low)
        return cls(score=factor * (low + share * (high - low)), lift=lift * more, more=more, words=words)

    def reached(self, hit: Hit) -> bool:
        """Whether a hit may be an answer: by its evidence, or because the query names the place."""
        if hit.parts.get("identifier", 0.0) > 0.0:
            return True
        least = self.score if hit.parts.get("keyword", 0.0) >= self.words else self.least
        return self.standing(hit) >= least

    def standing(self, hit: Hit) -> float:
        """What of a hit must reach the floor: for that it does not matter which law it is of."""
        score = hit.parts["fused"] if "law" in hit.parts else hit.score
        return score if self.given else hit.parts.get("evidence", score)

    def enough(self, scores: Array, evidence: Array, words: Array) -> Array:
        """Which of passages that have these may be answers; more words never make one none."""
        return (scores if self.given else evidence) >= np.where(words >= self.words, self.score, self.least)

    @property
    def least(self) -> float:
        """What a passage must reach that has few of the query's words."""
        return self.more * self.score

    def finite(self) -> Mapping[str, float]:
        """Those that there are, by name."""
        return {"score": self.score} | ({"lift": self.lift} if math.isfinite(self.lift) else {})


def why_empty(hits: list[Hit], floor: Floor) -> str:
    if not hits or hits[0].score == 0:
        return "no passage in scope shares a word or a meaning with the query"
    best = max(map(floor.standing, hits))
    return (
        f"the best passage scores {best:.3f}, below the floor {floor.least:.3f} at which nonsense scores "
        "in this library"
    )


def above(hits: list[Hit], floor: Floor) -> list[Hit]:
    """The hits that reach the floor, once one of them does; then also those that score half as high as the best one."""
    if not any(floor.reached(hit) for hit in hits if hit.score > 0):
        return []
    half = 0.5 * max(hit.score for hit in hits)
    return [hit for hit in hits if hit.score > 0 and (hit.score >= half or floor.reached(hit))]


def outstanding(hits: list[Hit], floor: Floor) -> list[Hit]:
    """The hits that stand out from the collection as no nonsense does.

    A question in another language than its answer shares no words with it and has lower cosines than nonsense
    in the answer's own language, yet the answer stands out.
    """
    if floor.given:
        return []
    return [
        hit for hit in hits if hit.parts.get("evidence", hit.parts.get("lift", 0.0)) > floor.lift and hit.score > 0
    ]


@dataclass(frozen=True, slots=True)
class Cut:
    """What of the candidates may come into an answer.

    Attributes:
        floor: What is too little.
        limit: Passages of the answer, or for the reranker.
        reach: What trust and context could at most multiply the score of one candidate with, relative to another's.
    """

    floor: Floor
    limit: int
    reach: float

    @classmethod
    def of(cls, floor: Floor, limit: int, trusts: Collection[int], in_context: bool) -> Cut:
        """`trusts`: Of the sources that were searched; where all are trusted alike, trust lifts nothing."""
        reach = trust_factor(max(trusts, default=5)) / trust_factor(min(trusts, default=1))
        return cls(floor, limit, reach * (1.0 + CONTEXT_BOUND if in_context else 1.0))

    def liftable(self, hits: list[Hit]) -> list[Hit]:
        """The first `limit` hits, and all that trust and context could lift among them: a limit only cuts."""
        if len(hits) <= self.limit:
            return hits
        least = hits[self.limit - 1].score / self.reach * (1.0 - _ROUNDING)
        return hits[: sum(hit.score >= least for hit in hits)]

    def placed(self, hits: list[Hit], naming: Container[int]) -> list[Hit]:
        """Where the query names a place: the hits that name it, too, and what of the others could stand beside them.

        The others keep their order, whatever share of their scores they lose; they stay when they are among the first
        `limit` of all of them, or of those that reach the floor by themselves.
        """
        others = [hit for hit in hits if hit.passage_id not in naming]
        first = {hit.passage_id for hit in self.liftable(others)}
        first |= {hit.passage_id for hit in self.liftable([hit for hit in others if self.floor.reached(hit)])}
        return [hit for hit in hits if hit.passage_id in naming or hit.passage_id in first]


def contenders(
    keyword: Mapping[int, float],
    cosines: Mapping[int, float],
    ceiling: float,
    fusion: Fusion,
    cut: Cut,
    plain: Mapping[int, float] | None = None,
    shares: Mapping[int, float] | None = None,
) -> Collection[int]:
    """The candidates that may be in the answer, while the keyword scores of some are not known yet.

    Another one is left out, whatever its keyword score turns out to be, for one of two reasons: enough candidates,
    for the answer and as rivals, certainly count and certainly stand before it; or it has less than half of the best
    score and too little evidence to count itself.

    Args:
        keyword: Keyword scores as far as they are known.
        cosines: Of every candidate that has a vector.
        ceiling: The most that a keyword score which is not known can be.
        plain: The cosines that evidence is made of, where they are others.
        shares: What candidates keep of their scores, where that is not all.
    """
    everyone = list(keyword.keys() | cosines.keys())
    known, near = column(keyword, everyone), column(cosines, everyone)
    standing = near if plain is None else column(plain, everyone)
    vectors = fusion.vectors(near)
    kept = np.nan_to_num(column(shares, everyone), nan=1.0) if shares else 1.0

    def standings(unknown: float) -> tuple[Array, Array]:
        """Their scores if all that is not known were that, and which of them then count."""
        words = np.where(np.isnan(known), unknown, known)
        scores = fusion.scores(words, vectors)
        enough = cut.floor.enough(scores, fusion.evidence(scores, words, standing), words)
        return scores * kept, (scores > 0) & enough

    low, count_surely = standings(0.0)
    if not count_surely.any():
        return everyone
    high, may_count = standings(ceiling)
    certain = np.sort(low[(low >= 0.5 * high.max()) | count_surely])
    enough = max(cut.limit, NEAR)
    last = (certain[-enough] if len(certain) >= enough else 0.0) / cut.reach * (1.0 - _ROUNDING)
    return set(compress(everyone, (high >= last) & ((high >= 0.5 * low.max()) | may_count)))


def likely(
    ranked: Sequence[tuple[Hit, Passage]], candidates: Sequence[Hit], curve: Curve | None, cap: float = 1.0
) -> list[tuple[Hit, Passage]]:
    """What was found with its probability among all candidates of our own legs; in the order in which it came."""
    if curve is None:
        return list(ranked)
    field = Field((hit.score for hit in candidates), curve, cap)
    return [(field.settled(hit), passage) for hit, passage in ranked]


def guard(passage: Passage, scope: Scope) -> None:
    """The record is asked again: what an engine must not have found is an error, not something to hide."""
    if not scope.allows(_row(passage)):
        raise EngineError(
            f"passage {passage.ref} lies outside the scope of the request; nothing is answered", component="guard"
        )


def meeting(found: list[tuple[Hit, Passage]], wanted: Filter | None) -> list[tuple[Hit, Passage]]:
    """What meets the request's filter of what came from outside, where nobody applied it."""
    return found if wanted is None else [pair for pair in found if matches(wanted, _row(pair[1]))]


def _row(passage: Passage) -> IndexRow:
    return IndexRow(
        passage_id=passage.passage_id,
        source_id=passage.source_id,
        document_id=passage.document_id,
        heading_text="",
        text="",
        language=passage.language,
        collection=passage.collection,
        facets=passage.facets,
        valid_from=passage.effective_from.toordinal() if passage.effective_from else 0,
        valid_until=passage.effective_until.toordinal() if passage.effective_until else FOREVER,
    )
