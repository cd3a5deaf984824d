"""The legs of a request: the two halves of our own index."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from wenyuan.core.errors import EngineTimeout
from wenyuan.core.filters import Scope
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.model import Passage
from wenyuan.core.ports import Deadline, Engine
from wenyuan.core.scoring.adapt import QueryMap
from wenyuan.core.scoring.formula import CENTRE
from wenyuan.core.scoring.fusion import Candidates, Reference, column
from wenyuan.core.scoring.law_factor import shares as law_shares
from wenyuan.core.scoring.probability import NEAR
from wenyuan.core.scoring.vector_sums import CHINESE
from wenyuan.core.text.analysis import search_terms
from wenyuan.runtime.cores import usable_cores
from wenyuan.service.query import LegReport
from wenyuan.service.search.answer_cache import CacheCounts
from wenyuan.service.search.candidates import Cutoff, above, contenders
from wenyuan.service.search.collection_profile import CollectionProfile
from wenyuan.service.search.common_vectors import Of
from wenyuan.service.search.fair_semaphore import FairSemaphore
from wenyuan.service.search.general_texts import SCRIPTS
from wenyuan.service.search.label_vectors import LabelVectors
from wenyuan.service.search.law_lookup import LawLookup
from wenyuan.service.search.leg_execution import LegExecutor, Legs
from wenyuan.service.search.query_vectors import QueryVectors
from wenyuan.service.search.question import AnalysedQuery

Array = np.ndarray[Any, Any]

_ROUNDING = 1e-6
"""An engine adds up the same score in another order when it is asked for given passages."""
_NEAREST = 10  # general passages
_MOST_REMEMBERED = 65_536  # passages whose nearness to what all have in common is remembered
_MOST_LITERALS, _LITERAL_SHARE = 4, 0.5  # names that are looked for, and the share of the best score in their terms


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aim:
    """The target of the vector search: the score of a passage is the cosine ``scale · (vector · passage) + offset``.

    Attributes:
        vector: ``(d,)`` float32, unit.
        asked: The query's own vector, as it was embedded.
    """

    vector: Any
    scale: float = 1.0
    offset: float = 0.0
    asked: Any = None

    def level(self, cosine: Any) -> Any:
        """Calibrate a cosine, or an array of cosines, to `vector`."""
        return self.scale * cosine + self.offset


def mapped(learned: QueryMap, aim: Aim) -> Aim:
    """The target after a learned query map."""
    return Aim(vector=learned.apply(aim.vector), scale=learned.scale, offset=learned.offset, asked=aim.asked)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LegRequest:
    """Input of the legs.

    Attributes:
        depth: How many passages each of them gives.
        cut: How much is asked for: then without those that cannot be in the answer; None: all that was found.
    """

    query: AnalysedQuery
    scope: Scope
    depth: int
    profile: CollectionProfile
    deadline: Deadline
    cut: Cutoff | None = None


class LegOutput(NamedTuple):
    """Output of the legs.

    Attributes:
        aim: None without an encoder.
        labels: The calibrated cosine of the question to the label of each candidate that was looked at, where labels count.
    """

    candidates: Candidates
    reports: list[LegReport]
    aim: Aim | None
    labels: Mapping[int, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Words:
    """Keyword scores of passages, each in the query wording that fits it best.

    Attributes:
        reworded: Which of the other wordings that is, counted from 1; not of those that its own words fit best.
        unseen: The highest score that a passage can have which the leg, asked for some, did not give.
        ms: How long the leg took.
    """

    scores: dict[int, float]
    reworded: dict[int, int]
    unseen: float = 0.0
    ms: float = 0.0


class _Near(NamedTuple):
    """Result of the vector leg: cosines to the target, time in ms, and whether the query vector was cached."""

    cosines: dict[int, float]
    aim: Aim
    ms: float
    remembered: bool


class OwnLegs:
    """Runs the keyword and vector legs in parallel and merges them into one candidate list, each candidate with both
    scores.

    Every candidate of one leg is scored by the other too, so that a score never depends on what else was found;
    but for those that cannot be in the answer, whatever the other leg says (see `candidates.contenders`).
    """

    def __init__(
        self,
        engine: Engine,
        vectors: QueryVectors | None,
        executor: LegExecutor,
        laws: LawLookup,
        labels: LabelVectors,
    ) -> None:
        self._engine = engine
        self._vectors = vectors
        self._laws, self._labels = laws, labels
        self._executor = executor
        self._common: dict[tuple[int, str], float] = {}
        here = engine.works_here and (vectors is None or getattr(vectors.encoder, "works_here", False))
        self._semaphore = FairSemaphore(usable_cores()) if here else None

    def query_vectors(self) -> CacheCounts | None:
        """Statistics of the query vector cache; None without an encoder."""
        return None if self._vectors is None else self._vectors.counts()

    def shares(self, candidates: Array, law: float, deadline: Deadline) -> Array:
        """The factors by which candidates, (n,) int64, are reduced for being of another statute, (n,); `law`: see `Traits`."""
        return law_shares(self._laws.of(candidates, deadline), law) if law else np.ones(len(candidates))

    def found(self, request: LegRequest) -> LegOutput:
        """The best candidates of both legs, best first.

        Raises:
            KnowledgeError: a leg failed or did not answer in time.
        """
        if self._semaphore is None:
            return self._labelled(self._by_legs(self._executor, request), request)
        # More at once than there are cores hinder one another, at the interpreter's lock.
        if not self._semaphore.acquire(timeout=request.deadline.remaining()):
            raise EngineTimeout("too many requests were before this one", component="search")
        try:
            # Where all is computed here, to change threads four times would take longer than two legs at once save.
            found = self._executor.together(lambda legs: self._by_legs(legs, request), request.deadline)
            return self._labelled(found, request)
        finally:
            self._semaphore.release()

    def _labelled(self, found: LegOutput, request: LegRequest) -> LegOutput:
        """What was found, with the score of the label for passages whose label is nearer to the query than their text,
        in libraries where labels count. Only the best that count are looked at, the same however many are asked for.
        """
        every, aim = found.candidates, found.aim
        if aim is None or not request.profile.traits.labels:
            return found
        best = every.passage_ids[:NEAR][above(every.scores[:NEAR])].tolist()
        labels = self._labels.of(best, request.deadline)
        if not labels:
            return found
        cosines = dict(zip(labels, np.vecdot(np.stack(list(labels.values())), aim.vector).tolist(), strict=True))
        level = aim.level(column(cosines, best))
        near = dict(zip(best, level.tolist(), strict=True))
        labelled = request.profile.fusion.labelled(every, column(near, every.passage_ids.tolist()))
        return found._replace(candidates=labelled, labels={number: near[number] for number in labels})

    def nearness(self, script: str, aim: Aim, passage: Passage, deadline: Deadline) -> float:
        """The centred cosine of a query and a passage, −1..1; see `core.scoring.answerable`.

        Args:
            script: Of the query; see `script_of`.

        Raises:
            KnowledgeError: the engine or the encoder failed.
        """
        assert self._vectors is not None
        common = self._vectors.mean("passages", "han" if passage.language == CHINESE else "latin", deadline)
        asked = aim.asked - self._vectors.mean("questions", script, deadline)
        length, level = float((asked @ asked) ** 0.5), float((common @ common) ** 0.5)
        number = passage.passage_id
        to = self._engine.cosines(asked / length, [number], deadline=deadline).get(number)
        if to is None:  # it has no vector
            return 0.0
        along = level * self._along(passage, common / level, deadline)
        apart = (1.0 - 2.0 * along + level * level) ** 0.5  # of the passage from what all have in common
        return float((to - common @ asked / length) / apart) if apart else 0.0

    def _along(self, passage: Passage, common: Array, deadline: Deadline) -> float:
        """The cosine of a passage to what all in its language have in common; neither ever changes, so it is remembered."""
        known, key = self._common, (passage.passage_id, passage.language)
        cosine = known.get(key)
        if cosine is None:
            cosine = self._engine.cosines(common, [passage.passage_id], deadline=deadline).get(passage.passage_id)
            if cosine is None:  # it has no vector any more
                return 0.0
            if len(known) >= _MOST_REMEMBERED:
                known = self._common = {}
            known[key] = cosine
        return cosine

    def apart(self, aim: Aim, cosine: float, language: str, deadline: Deadline) -> float:
        """By how much a cosine is larger than the mean of the largest `_NEAREST` to general passages.

        Args:
            cosine: To the best passage, its text and its label together, calibrated as the legs do it.
            language: Of that passage.

        Raises:
            KnowledgeError: the encoder failed.
        """
        assert self._vectors is not None
        script = "han" if language == CHINESE else "latin"
        kinds: tuple[Of, ...] = ("passages", "everyday")
        near = [self._vectors.general(of, script, deadline) @ aim.asked for of in kinds]
        nearest = np.sort(np.concatenate(near))[-_NEAREST:]
        return float(cosine - nearest.mean())

    def _by_legs(self, legs: Legs, request: LegRequest) -> LegOutput:
        """Run both legs, and score each candidate of one leg in the other unless it cannot be in the answer.

        Args:
            legs: What runs them.
        """
        deadline, fusion, law = request.deadline, request.profile.fusion, request.profile.traits.law
        vectors = self._vectors
        second = None if vectors is None else legs.begin(partial(self._vector, vectors, request), "vector")
        first = legs.begin(lambda: self._keyword(request), "keyword")
        words = legs.outcome(first, "keyword leg", deadline)
        reports = [LegReport(name="keyword", state="ok", ms=words.ms, hits=len(words.scores))]
        if second is None:
            return LegOutput(self._by_words(words, request), reports, None)
        near = legs.outcome(second, "vector leg", deadline)
        aim = near.aim
        reports.append(
            LegReport(name="vector", state="ok", ms=near.ms, hits=len(near.cosines), remembered=near.remembered)
        )
        missing = [number for number in words.scores if number not in near.cosines]
        asked = legs.begin(lambda: self._engine.cosines(aim.vector, missing, deadline=deadline), "cosines")
        further = legs.outcome(asked, "vector leg", deadline)
        known = {**near.cosines, **further}
        ids = [*near.cosines, *missing]
        cosines, keyword = aim.level(column(known, ids)), column(words.scores, ids)
        numbers = np.array(ids, np.int64)
        shares = self.shares(numbers, law, deadline)
        if request.cut is not None:
            may = contenders(keyword, cosines, words.unseen, fusion, request.cut, shares)
            numbers, keyword, cosines, shares = numbers[may], keyword[may], cosines[may], shares[may]
        ids, unknown = numbers.tolist(), np.isnan(keyword)
        rest = numbers[unknown].tolist()
        others = _best(
            [self._keyword_scores(legs, said, rest, request.scope, deadline) for said in request.query.wordings.each]
        )
        keyword = np.where(unknown, column(others.scores, ids, 0.0), keyword)
        reworded = column({**words.reworded, **others.reworded}, ids, 0.0)
        return LegOutput(fusion.candidates(numbers, keyword, cosines, shares, reworded), reports, aim)

    def _by_words(self, words: _Words, request: LegRequest) -> Candidates:
        """The candidates of the keyword leg alone, in a library without vectors."""
        profile, ids = request.profile, list(words.scores)
        numbers, scores = np.array(ids, np.int64), column(words.scores, ids)
        shares = self.shares(numbers, profile.traits.law, request.deadline)
        return profile.fusion.candidates(numbers, scores, None, shares, column(words.reworded, ids, 0.0))

    def aim(
        self,
        script: str,
        vector: Any,
        profile: CollectionProfile,
        deadline: Deadline,
        uncounted: HiddenDocuments | None = None,
    ) -> Aim:
        """The centred target of a query, with the learned query map applied if there is one.

        Passages that resemble any question stand too near to each of them: what a passage has in common with
        general questions is taken off its cosine, its mean over the collection is put back. Where the library has
        both languages, so is a part of what questions in the query's own language have in common and those in the
        other one do not: an answer in the other language is as near as one in its own.

        Args:
            script: Of the query; see `script_of`.
            vector: The query's, as it was embedded, (dim,) float32.
            uncounted: See `Scope.uncounted`.
        """
        learned = None if profile.tuning is None else profile.tuning.map
        aim = Aim(vector=vector, asked=vector)
        if self._vectors is not None and (learned is None or learned.aimed):
            own = self._vectors.mean("questions", script, deadline)
            common = CENTRE * own
            if profile.traits.bridge:
                (other,) = (s for s in SCRIPTS if s != script)
                common = common + profile.traits.bridge * (own - self._vectors.mean("questions", other, deadline))
            moved = vector - common
            if length := float((moved @ moved) ** 0.5):
                # What is taken off is put back as it is over the whole collection, so that cosines keep their scale.
                offset = self._engine.mean_cosine(common, uncounted=uncounted)
                aim = Aim(vector=moved / length, scale=length, offset=offset, asked=vector)
        return aim if learned is None else mapped(learned, aim)

    def naming(
        self, reference: Reference, passages: Sequence[int], scope: Scope, deadline: Deadline
    ) -> Collection[int]:
        """Those of the passages that contain one of the identifiers (see `text.analysis.identifiers`), or may contain one of the
        literal names: most of its terms.
        """
        if not reference.literals:
            marks = ["#" + name for name in reference.named]
            return self._keyword_scores(self._executor, marks, passages, scope, deadline).keys()
        found: set[int] = set()
        for name in reference.literals[:_MOST_LITERALS]:
            scores = self._keyword_scores(self._executor, search_terms(name), passages, scope, deadline)
            least = _LITERAL_SHARE * max(scores.values(), default=0.0)
            found.update(number for number, score in scores.items() if score >= least)
        return found

    def _keyword(self, request: LegRequest) -> _Words:
        """Keyword search in every wording of the query; each hit is scored in all wordings."""
        begun, engine = time.perf_counter(), self._engine
        query, scope, depth, deadline = request.query.wordings, request.scope, request.depth, request.deadline
        results = [engine.keyword(words, scope=scope, limit=depth, deadline=deadline) for words in query.each]
        scores = [{hit.passage_id: hit.score for hit in result.hits} for result in results]
        if query.others:
            everyone = set().union(*scores)
            for words, known in zip(query.each, scores, strict=True):
                rest = sorted(everyone - known.keys())
                known.update(engine.keyword_scores(words, rest, deadline=deadline, uncounted=scope.uncounted))
        # The most that a passage can score which the leg, asked for `depth` of them, did not give.
        last = [result.hits[-1].score for result in results if len(result.hits) >= depth]
        unseen = (1.0 + _ROUNDING) * max(last, default=0.0)
        return replace(_best(scores), unseen=unseen, ms=(time.perf_counter() - begun) * 1e3)

    def _vector(self, vectors: QueryVectors, request: LegRequest) -> _Near:
        begun, query = time.perf_counter(), request.query
        vector, remembered = vectors.of(query.subject, request.deadline)
        aim = self.aim(query.script, vector, request.profile, request.deadline, request.scope.uncounted)
        result = self._engine.vector(aim.vector, scope=request.scope, limit=request.depth, deadline=request.deadline)
        cosines = {hit.passage_id: hit.parts["cosine"] for hit in result.hits}
        return _Near(cosines, aim, (time.perf_counter() - begun) * 1e3, remembered)

    def _keyword_scores(
        self, legs: Legs, words: list[str], passages: Sequence[int], scope: Scope, deadline: Deadline
    ) -> Mapping[int, float]:
        """Keyword scores of passages that only the vector leg found."""
        score = partial(self._engine.keyword_scores, words, passages, deadline=deadline, uncounted=scope.uncounted)
        asked = legs.begin(score, "keyword_scores")
        return legs.outcome(asked, "keyword leg", deadline)


def _best(scores: Sequence[Mapping[int, float]]) -> _Words:
    """The best score of each passage over several wordings; ties go to the first, the query as it was asked."""
    best, reworded = dict(scores[0]), {}
    for number, of_wording in enumerate(scores[1:], 1):
        for passage_id, score in of_wording.items():
            if score > best.get(passage_id, 0.0):
                best[passage_id], reworded[passage_id] = score, number
    return _Words(best, reworded)
