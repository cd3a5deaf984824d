"""Candidate selection: score cutoffs, reranking, lookups of the statutes and labels of candidates."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wenyuan.core.errors import EngineError, KnowledgeError, msg
from wenyuan.core.filters import Filter, Scope, matches
from wenyuan.core.model import FOREVER, ORIGIN_PRIORITY, IndexRow, Passage, as_written, embedded_text, heading_text
from wenyuan.core.ports import Deadline, Hit, Ranking, Reranker
from wenyuan.core.scoring import law_of, rescale, trust_factor
from wenyuan.core.scoring.fusion import CONTEXT_BOUND, Candidates, Fusion, reference_of
from wenyuan.core.scoring.probability import NEAR, raw_of
from wenyuan.core.scoring.rerank import Copies, blended, checked_scores, distinct
from wenyuan.core.text.summaries import with_lead
from wenyuan.core.text.synonyms import Wording, Wordings
from wenyuan.service import Answer, LegReport, Query, Rewriting
from wenyuan.service.search import Record
from wenyuan.service.search.execution import LegExecutor
from wenyuan.settings import RerankerSettings

if TYPE_CHECKING:
    pass

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


def guard(passage: Passage, scope: Scope) -> None:
    """Check a passage against the scope again. A passage outside it means that the engine is faulty: it is an error,
    never filtered silently.
    """
    within = scope.covers(passage.source_id, *_validity(passage))
    if not within or not (scope.filter is None or matches(scope.filter, _row(passage))):  # few requests have a filter
        raise EngineError(
            msg("passage {ref} lies outside the scope of the request; nothing is answered", ref=passage.ref),
            component="guard",
        )


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


# The last step before the cut: a reranker reads the best candidates with the query, where one is set up.
#
# It judges what passages say, not where they stand: a query that names a place ("Article 13", GB 50300-2013) is left to
# the search, which knows places exactly, and rules are never given to it.


_LEG = "reranker"
_MOST_CHARS = 8_000
"""Of one text: more than any model reads."""
_LEFT_OVER = 0.1
"""The share of a request's time that an optional reranker must leave, so that the answer is not late without it."""


@dataclass(frozen=True, slots=True)
class Reranking:
    """The library's reranker (or None), and the weight of its scores."""

    reranker: Reranker | None = None
    settings: RerankerSettings = field(default_factory=RerankerSettings)

    @property
    def fingerprint(self) -> str:
        """Changes whenever rankings could change; ``""`` without a reranker."""
        if self.reranker is None:
            return ""
        return f"{self.reranker.fingerprint}|{self.settings.top_n}|{','.join(map(str, self.settings.blend))}"

    def reach(self, limit: int) -> int:
        """How many candidates the reranker needs for an answer of `limit`."""
        return limit if self.reranker is None else max(limit, self.settings.top_n)

    def best(
        self, query: str, found: Ranked, limit: int, executor: LegExecutor, deadline: Deadline
    ) -> tuple[Ranked, list[LegReport]]:
        """The best `limit` candidates after reranking, and the leg report of the reranker.

        All that could be in the answer is reranked, so that scores with and without its word never compete.

        Raises:
            KnowledgeError: a required reranker failed.
        """
        found = ordered(found)
        if self.reranker is None:
            return found[:limit], []
        if why := _unasked(query, found):
            return found[:limit], [LegReport(name=_LEG, state="skipped", ms=0.0, hits=0, error=why)]
        head = found[: self.reach(limit)]
        begun = time.perf_counter()
        try:
            scores = self._scores(self.reranker, query, head, executor, deadline)
        except KnowledgeError as error:
            if self.settings.required:
                raise
            ms = (time.perf_counter() - begun) * 1e3
            return found[:limit], [LegReport(name=_LEG, state="failed", ms=ms, hits=0, error=str(error))]
        shares = self.settings.blend
        mixed = [
            (blended(hit, place, score, shares), passage)
            for place, ((hit, passage), score) in enumerate(zip(head, scores, strict=True), 1)
        ]
        ms = (time.perf_counter() - begun) * 1e3
        return ordered(mixed)[:limit], [LegReport(name=_LEG, state="ok", ms=ms, hits=len(mixed))]

    def _scores(
        self, reranker: Reranker, query: str, head: Ranked, executor: LegExecutor, deadline: Deadline
    ) -> Sequence[float]:
        left = deadline.remaining() * (1.0 if self.settings.required else 1.0 - _LEFT_OVER)
        own = Deadline(deadline.clock() + min(left, self.settings.timeout), deadline.clock)
        texts = [_text(passage) for _, passage in head]
        asked = executor.begin(lambda: reranker.rerank(query, texts, deadline=own), _LEG)
        scores = executor.outcome(asked, _LEG, own)
        return checked_scores(scores, len(texts), _LEG, logits=False)


def ordered(found: Ranked) -> Ranked:
    """Sort by probability; ties by the score behind it."""
    return sorted(found, key=lambda pair: (-pair[0].score, -raw_of(pair[0]), pair[0].passage_id))


def _unasked(query: str, found: Ranked) -> str:
    """Why the reranker is not asked; ``""`` if it is."""
    if not found:
        return "nothing was found"
    reference = reference_of(query)
    exact = reference is not None and reference.named and not reference.doubtful
    return "the query names a place, which is looked up exactly" if exact else ""


def _text(passage: Passage) -> str:
    """The text given to the reranker, the same as is embedded: title, headings, the document's lead, text."""
    text = with_lead(passage.lead, passage.text)
    return as_written(embedded_text(heading_text(passage.title, passage.headings), text))[:_MOST_CHARS]


# Of which law a candidate is an article: see `core.scoring`.


_BELONGING_MOST = 200_000
"""Passages that are remembered, in some 20 MB. A passage never changes, so what is remembered stays true."""


class LawLookup:
    """The statute of each passage, read from the record and cached. Thread-safe."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._known: dict[int, str] = {}
        self._one: dict[str, str] = {}  # so that passages of one law share its name

    def of(self, candidates: Collection[int], deadline: Deadline) -> Mapping[int, str]:
        """The statute of each candidate; ``""`` for none, and for passages that the record does not have.

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
    """The label vectors of passages, read from the record and cached: a passage never changes. Thread-safe."""

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


# Merges the results of several wordings of a question, and of a follow-up query: each passage has the score of the one that
# fits it best.


class Searched(NamedTuple):
    """Results from the library's own sources; the fields are those of `Answer`.

    Attributes:
        asked: The question, and all other wordings in which it was asked.
    """

    ranked: Ranked
    copies: Copies
    legs: list[LegReport]
    why: str
    answerable: float
    asked: Wordings
    missing: tuple[str, ...] = ()
    nearest: tuple[Hit, Passage] | None = None


def united(parts: Sequence[Searched], rewriting: Rewriting | None, *, copies: bool) -> Searched:
    """Merge the results of a question (the first part) with those of its rewritten forms; ties go to the question.

    Args:
        copies: Give copies, too, as answers of a former version did.
    """
    best: dict[int, tuple[Hit, Passage]] = {}
    for part, place in zip(parts, _places(parts), strict=True):
        for hit, passage in part.ranked:
            known = best.get(hit.passage_id)
            if known is None or hit.score > known[0].score:
                best[hit.passage_id] = (_placed(hit, place), passage)
    ranked = sorted(best.values(), key=lambda pair: -pair[0].score)
    told = {number: same for part in reversed(parts) for number, same in part.copies.items()}
    if not copies:
        ranked, new = distinct(ranked)
        given = {passage.passage_id for _, passage in ranked}
        for original in told.keys() | new.keys():
            same = (*told.get(original, ()), *new.get(original, ()))
            told[original] = tuple({p.passage_id: p for p in same if p.passage_id not in given}.values())
    others = [*parts[0].asked.others]
    for part in parts[1:]:
        others += [Wording(part.asked.text, part.asked.words, (), ()), *part.asked.others]
    near = [
        (_placed(hit, place), passage)
        for part, place in zip(parts, _places(parts), strict=True) if part.nearest
        for hit, passage in (part.nearest,)
    ]  # fmt: skip
    return Searched(
        ranked, told, _legs(parts, rewriting), "" if ranked else parts[0].why, max(part.answerable for part in parts),
        replace(parts[0].asked, others=tuple(others)), parts[0].missing,
        None if ranked else max(near, key=lambda pair: pair[0].score, default=None),
    )  # fmt: skip


def followed(query: Query, first: Answer, more: Answer) -> Answer:
    """An answer united with what was found for the query's follow-up; no more passages than the query's limit.

    Args:
        first, more: Of the same change of the library.
    """
    rules = [(hit, first.passages[hit.passage_id]) for hit in first.hits if hit.origin == "kg_rule"]
    parts = (_searched(query.text, first), _searched(query.follow_up, more))
    both = united(parts, None, copies=not first.floors.get("distinct", 1.0))
    ranked = sorted([*both.ranked[: query.limit], *rules], key=order)
    ranked = ranked[: query.limit if query.rules == "within" else None]
    passages = {hit.passage_id: passage for hit, passage in ranked}
    return replace(
        first,
        hits=Ranking([hit for hit, _ in ranked]),
        passages=passages,
        copies={number: same for number, same in both.copies.items() if number in passages},
        legs=tuple(both.legs),
        wordings=both.asked.others,
        ms={
            "total": first.ms.get("total", 0.0) + more.ms.get("total", 0.0),
            **{leg.name: leg.ms for leg in both.legs},
        },
    )


def order(pair: tuple[Hit, Passage]) -> tuple[float, int]:
    """Sort key: score, then origin priority; ties keep the order of their leg."""
    return -pair[0].score, ORIGIN_PRIORITY[pair[0].origin]


def _searched(text: str, answer: Answer) -> Searched:
    """An answer without derived rules."""
    ranked = [(hit, answer.passages[hit.passage_id]) for hit in answer.hits if hit.origin != "kg_rule"]
    return Searched(
        ranked, answer.copies, list(answer.legs), answer.reason, answer.answerable or 0.0,
        Wordings(text, [], answer.wordings), answer.missing_terms,
    )  # fmt: skip


def _places(parts: Sequence[Searched]) -> list[int]:
    """The number of each part's own wording among all wordings; 0 for the question."""
    return list(accumulate((len(part.asked.others) + 1 for part in parts[:-1]), initial=0))


def _placed(hit: Hit, place: int) -> Hit:
    """A hit with the number of its wording among all wordings."""
    return hit._replace(parts={**hit.parts, "wording": place + hit.parts.get("wording", 0)}) if place else hit


def _legs(parts: Sequence[Searched], rewriting: Rewriting | None) -> list[LegReport]:
    """One report per leg over all wordings, and that of the leg ``llm``, which rewrote the query."""
    by_name: dict[str, list[LegReport]] = {}
    for part in parts:
        for leg in part.legs:
            by_name.setdefault(leg.name, []).append(leg)
    legs = [
        replace(
            next((leg for leg in of if leg.state == "failed"), of[0]), ms=sum(leg.ms for leg in of), hits=max(leg.hits for leg in of),
            remembered=all(leg.remembered for leg in of),
        )
        for of in by_name.values()
    ]  # fmt: skip
    if rewriting is not None:
        state, hits = "failed" if rewriting.error else "ok", len(rewriting.wordings)
        legs.append(LegReport(name="llm", state=state, ms=rewriting.ms, hits=hits, error=rewriting.error))
    return legs
