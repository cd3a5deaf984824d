"""Which candidates of the legs are kept, and what their labels say."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from wenyuan.core.errors import EngineError
from wenyuan.core.filters import Filter, Scope, matches
from wenyuan.core.model import FOREVER, IndexRow, Passage
from wenyuan.core.ports import Deadline, Hit
from wenyuan.core.scoring import law_of, trust_factor
from wenyuan.core.scoring.fusion import CONTEXT_BOUND, Fusion, column
from wenyuan.core.scoring.probability import NEAR, Curve, Field
from wenyuan.service.search import Record

# Which of the candidates count: floor, limit, and the guard that asks the record again.


Array = np.ndarray[Any, Any]
_SHARE = 0.4
"""Of the best score: what scores less is not given."""
_ROUNDING = 1e-9  # of a division, so that what stands exactly at the edge stays


def why_empty(hits: Sequence[Hit], floor: float) -> str:
    """Why nothing is given of these candidates, where a score is asked for: see `SearchSettings.floor`."""
    if not hits or hits[0].score == 0:
        return "no passage in scope shares a word or a meaning with the query"
    return f"the best passage scores {hits[0].score:.3f}, below the floor {floor:.3f} that is set"


def above(hits: Sequence[Hit], floor: float | None = None) -> list[Hit]:
    """The hits that score `_SHARE` of the best one, or reach the floor; none where none reaches it.

    What names the place that the query names counts whatever it scores.
    """
    named = [hit for hit in hits if hit.parts.get("identifier", 0.0) > 0.0]
    best = max((hit.score for hit in hits), default=0.0)
    if not best or (best < (floor or 0.0) and not named):
        return []
    least = _least(best, floor)
    return [hit for hit in hits if hit.score > 0 and (hit.score >= least or hit in named)]


def _least(best: float, floor: float | None) -> float:
    """What a passage must score beside the best one."""
    return _SHARE * best if floor is None else min(floor, _SHARE * best)


@dataclass(frozen=True, slots=True)
class Cut:
    """What of the candidates may come into an answer.

    Attributes:
        floor: The least score that counts; None where none is set.
        limit: Passages of the answer, or for the reranker.
        reach: What trust and context could at most multiply the score of one candidate with, relative to another's.
    """

    floor: float | None
    limit: int
    reach: float

    @classmethod
    def of(cls, floor: float | None, limit: int, trusts: Collection[int], in_context: bool) -> Cut:
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
        `limit` of all of them, `NEAR` at least: by them it is told whether there is a document that lacks the place.
        """
        others = [hit for hit in hits if hit.passage_id not in naming]
        first = {hit.passage_id for hit in replace(self, limit=max(self.limit, NEAR)).liftable(others)}
        return [hit for hit in hits if hit.passage_id in naming or hit.passage_id in first]


def contenders(
    keyword: Mapping[int, float],
    cosines: Mapping[int, float],
    ceiling: float,
    fusion: Fusion,
    cut: Cut,
    shares: Mapping[int, float] | None = None,
) -> Collection[int]:
    """The candidates that may be in the answer, while the keyword scores of some are not known yet.

    Another one is left out, whatever its keyword score turns out to be, for one of two reasons: enough candidates,
    for the answer and as rivals, certainly count and certainly stand before it; or it has less than `_SHARE` of the
    best score, and less than the floor.

    Args:
        keyword: Keyword scores as far as they are known.
        cosines: Of every candidate that has a vector.
        ceiling: The most that a keyword score which is not known can be.
        shares: What candidates keep of their scores, where that is not all.
    """
    everyone = list(keyword.keys() | cosines.keys())
    known = column(keyword, everyone)
    vectors = fusion.vectors(column(cosines, everyone))
    kept = np.nan_to_num(column(shares, everyone), nan=1.0) if shares else 1.0
    low = fusion.scores(np.where(np.isnan(known), 0.0, known), vectors) * kept
    high = fusion.scores(np.where(np.isnan(known), ceiling, known), vectors) * kept
    if not low.any():
        return everyone
    certain = np.sort(low[low >= _SHARE * high.max()])
    enough = max(cut.limit, NEAR)
    last = (certain[-enough] if len(certain) >= enough else 0.0) / cut.reach * (1.0 - _ROUNDING)
    least = _least(low.max(), cut.floor)
    return set(compress(everyone, (high >= last) & (high >= least)))


def likely(
    ranked: Sequence[tuple[Hit, Passage]], candidates: Sequence[Hit], curve: Curve, answerable: float
) -> list[tuple[Hit, Passage]]:
    """What was found with its probability, best first: that it answers, if anything in scope does, and that anything does.

    Args:
        candidates: All that our own legs found: a passage's rivals.
        answerable: The probability that the scope holds an answer.
    """
    field = Field((hit.score for hit in candidates), curve, answerable)
    settled = [(field.settled(hit), passage) for hit, passage in ranked]
    return sorted(settled, key=lambda pair: -pair[0].score)


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


# Of which law a candidate is an article: see `core.scoring`.


_BELONGING_MOST = 200_000
"""Passages that are remembered, in some 20 MB. A passage never changes, so what is remembered stays true."""


class Belongings:
    """Looks passages up in the record, and remembers their laws. Safe to share between threads."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._known: dict[int, str] = {}
        self._one: dict[str, str] = {}  # so that passages of one law share its name

    def of(self, candidates: Collection[int], deadline: Deadline) -> Mapping[int, str]:
        """The law of each candidate, ``""`` for none, and for one that the record does not have.

        Raises:
            KnowledgeError: the record cannot be read.
        """
        known = self._known
        found = {number: known[number] for number in candidates if number in known}
        if len(found) < len(candidates):
            missing = [number for number in candidates if number not in found]
            told = self._record.labels(missing, deadline)
            laws = {n: law_of(told[n].title, told[n].headings) if n in told else "" for n in missing}
            read = {number: self._one.setdefault(law, law) for number, law in laws.items()}
            if len(known) + len(read) > _BELONGING_MOST:
                known, self._one = {}, {}
                self._known = known
            known.update(read)
            found |= read
        return found


# How near a query is to the labels of passages: their titles and headings, their questions, or their document's lead.


_MOST = 16_384
"""Vectors that are remembered, in 25 MB with 384 dimensions; and four times as many passages that have them."""


class LabelVectors:
    """Reads them from the record, and remembers them: a passage never changes. Safe to share between threads."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._known: dict[int, Any] = {}
        self._one: dict[str, Any] = {}  # passages with the same label share its vector

    def of(self, passages: Collection[int], deadline: Deadline) -> Mapping[int, Any]:
        """The vector of each passage's label, ``(dim,)`` float32; passages without one are left out.

        Raises:
            KnowledgeError: the record cannot be read.
        """
        known, one = self._known, self._one
        missing = [number for number in passages if number not in known]
        if missing:
            read: dict[int, Any] = dict.fromkeys(missing)
            for label in self._record.label_vectors(missing, deadline):
                read[label.passage_id] = one.setdefault(label.key, label.vector)
            if len(known) > 4 * _MOST or len(one) > _MOST:
                known, self._one = {}, {}
                self._known = known
            known.update(read)
        found = {number: known.get(number) for number in passages}
        return {number: vector for number, vector in found.items() if vector is not None}

    def cosines(self, vector: Any, passages: Collection[int], deadline: Deadline) -> Mapping[int, float]:
        """The cosine of a query to the label of each passage that has one.

        Args:
            vector: ``(dim,)`` float32, unit.

        Raises:
            KnowledgeError: the record cannot be read.
        """
        labels = self.of(passages, deadline)
        if not labels:
            return {}
        cosines = np.vecdot(np.stack(list(labels.values())), vector)
        return dict(zip(labels, cosines.tolist(), strict=True))
