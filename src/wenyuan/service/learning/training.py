"""Training, and evaluation on held-out questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.filters import Scope
from wenyuan.core.ports import Deadline, Encoder, Engine
from wenyuan.core.scoring.adapt import QueryMap, Words, learn, levelled
from wenyuan.core.scoring.cross_validation import STRENGTHS, Trial
from wenyuan.core.scoring.curve_fit import JudgedPassages
from wenyuan.core.scoring.folds import Deal
from wenyuan.core.scoring.fusion import reference_of
from wenyuan.core.scoring.probability import NEAR, Candidate, Curve, Field
from wenyuan.core.scoring.vector_checks import checked_vectors
from wenyuan.core.text.analysis import search_terms
from wenyuan.core.text.introductions import without_introduction
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.learning.lessons import Lesson, Rows, TrainingPassages
from wenyuan.service.search.legs import Aim

Array = NDArray[np.float32]
Step = Callable[[str, int, int], None]
"""``step(stage, done, total)``: how far learning is."""

_FIRST = 10  # answers of a question that tell how likely one is
_AT_ONCE = 32  # questions embedded, or compared with all passages, at once
_NO_HURRY = 60.0  # seconds for one call: learning is nobody's request


def embedded(encoder: Encoder, questions: Sequence[str], step: Step) -> Array:
    """Unit vectors of questions, ``(n, d)``; raises an `EncoderError`."""
    parts = [np.zeros((0, encoder.fingerprint.dimension), np.float32)]
    for at in range(0, len(questions), _AT_ONCE):
        some = list(map(without_introduction, questions[at : at + _AT_ONCE]))
        answered = encoder.encode_queries(some, deadline=_unhurried())
        parts.append(checked_vectors(answered, len(some), encoder.fingerprint.dimension, "encoder"))
        step("embed", at + len(some), len(questions))
    return np.concatenate(parts)


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingSet:
    """Training questions together with the passages of their library.

    Attributes:
        aims: What is looked for without a map, by question.
        scale: The encoder's, for cosines.
        depth: Candidates of each leg.
        shares: What candidates keep of their scores for their laws, where that is not all.
        labels: The vectors of candidates' labels, where those count.
    """

    holdings: TrainingPassages
    lessons: Sequence[Lesson]
    aims: Sequence[Aim]
    engine: Engine
    scope: Scope
    scale: tuple[float, float]
    depth: int
    shares: Callable[[Sequence[int]], Mapping[int, float]]
    labels: Callable[[Sequence[int]], Mapping[int, Array]]

    def learned(self, of: Rows) -> QueryMap:
        """The query map learned from the lessons with these indices."""
        answers = [[target.rows for target in self.lessons[i].targets] for i in of]
        return learn(self._vectors[of], answers, self.holdings.vectors, [self._words[i] for i in of.tolist()])

    def weakened(self, learned: QueryMap, strength: float, of: Rows) -> QueryMap | None:
        """The map at a strength, with its spread measured on these lessons; None at strength 0."""
        if not strength:
            return None
        levels = np.array([(self.aims[i].scale, self.aims[i].offset) for i in of.tolist()], dtype=np.float32)
        return levelled(learned.weakened(strength), self._vectors[of], levels, self.holdings.vectors)

    @cached_property
    def _vectors(self) -> Array:
        """Query vectors, ``(n, d)``."""
        return np.stack([aim.vector for aim in self.aims])

    @cached_property
    def _words(self) -> Words:
        """Keyword hits of each question, with scores."""
        return [self._by_words(lesson.question) for lesson in self.lessons]

    def _by_words(self, question: str) -> tuple[Rows, Array]:
        words, place = search_terms(without_introduction(question)), self.holdings.place
        found = self.engine.keyword(words, scope=self.scope, limit=self.depth, deadline=_unhurried()).hits
        held = [(place[hit.passage_id], hit.score) for hit in found if hit.passage_id in place]
        return np.array([row for row, _ in held], np.int64), np.array([score for _, score in held], np.float32)

    def trials(self, dealt: Deal, step: Step) -> list[Trial]:
        """Every held-out question (`Deal.held`) under every strength of the map learned for its fold."""
        trials: dict[int, Trial] = {}
        folds = np.unique(dealt.folds[dealt.held]).tolist()
        for number, fold in enumerate(folds, 1):
            others, own = dealt.others(fold), dealt.own(fold)
            learned = self.learned(others)
            maps = [self.weakened(learned, strength, others) for strength in STRENGTHS]
            for at in range(0, len(own), _AT_ONCE):
                block = own[at : at + _AT_ONCE]
                cosines = np.stack([self._cosines(block, tried) for tried in maps], axis=1)
                trials |= {i: self._trial(i, c, maps) for i, c in zip(block.tolist(), cosines, strict=True)}
            step("learn", number, len(folds))
        return [trials[i] for i in dealt.held.tolist()]

    def _cosines(self, of: Rows, tried: QueryMap | None, vectors: Array | None = None) -> Array:
        """Calibrated cosines of questions (by index) to all passages, or to other vectors."""
        vectors = self.holdings.vectors if vectors is None else vectors
        if tried is not None:
            return tried.level(tried.apply(self._vectors[of]) @ vectors.T)
        aims = [self.aims[i] for i in of.tolist()]
        return np.stack([aim.level(aim.vector @ vectors.T) for aim in aims])

    def _trial(self, number: int, cosines: Array, maps: Sequence[QueryMap | None]) -> Trial:
        """The candidates of both legs, each scored by both, as in a request; `cosines`: (strengths, passages)."""
        lesson, (by_words, scores) = self.lessons[number], self._words[number]
        keyword = dict(zip(self.holdings.ids[by_words].tolist(), scores.tolist(), strict=True))
        depth = min(self.depth, cosines.shape[1])
        nearest = np.argpartition(-cosines, depth - 1, axis=1)[:, :depth]
        rows = np.union1d(nearest, by_words).astype(np.int64)
        ids = self.holdings.ids[rows].tolist()
        unseen = [passage_id for passage_id in ids if passage_id not in keyword]
        words = search_terms(without_introduction(lesson.question))
        keyword |= self.engine.keyword_scores(words, unseen, deadline=_unhurried())
        near = self._with_labels(number, cosines[:, rows], ids, maps)
        low, high = self.scale
        units, grades = self._graded(lesson, rows)
        return Trial(
            units=units,
            grades=grades,
            ideal=[target.grade for target in lesson.targets],
            keyword=np.array([keyword.get(passage_id, 0.0) for passage_id in ids]),
            vector=np.clip((near.astype(np.float64) - low) / (high - low), 0.0, 1.0),
            kept=np.array([self._kept(lesson, np.union1d(own, by_words), ids) for own in nearest]),
        )

    def _with_labels(self, number: int, cosines: Array, ids: Sequence[int], maps: Sequence[QueryMap | None]) -> Array:
        """``(strengths, passages)``: the larger of the cosines to a passage's text and to its label."""
        labels = self.labels(ids)
        if not labels:
            return cosines
        vectors, held = np.stack(list(labels.values())), [at for at, one in enumerate(ids) if one in labels]
        told = np.full_like(cosines, -1.0)
        told[:, held] = np.stack([self._cosines(np.array([number]), tried, vectors)[0] for tried in maps])
        return np.maximum(cosines, told)

    def _kept(self, lesson: Lesson, candidates: Rows, ids: Sequence[int]) -> list[float]:
        """Statute factors of passages when these rows are the candidates; 1 for others."""
        if reference_of(lesson.question):
            return [1.0] * len(ids)
        shares = self.shares(self.holdings.ids[candidates].tolist())
        return [shares.get(passage_id, 1.0) for passage_id in ids]

    def _graded(self, lesson: Lesson, rows: Rows) -> tuple[Rows, NDArray[np.float64]]:
        """The group of each row (for answers, a negative number for their target), and its grade."""
        units, grades = lesson.keys(self.holdings, rows).copy(), np.zeros(len(rows))
        keys = units.copy()
        for number, target in enumerate(lesson.targets, 1):
            held = np.isin(keys, lesson.keys(self.holdings, target.rows))
            units[held], grades[held] = -number, target.grade
        return units, grades


def first_results(trial: Trial, strength: float, weight: float) -> JudgedPassages:
    """The first ten results of a question under a choice, one passage per answer."""
    at = STRENGTHS.index(strength)
    scores = trial.scores(at, weight)
    order = np.argsort(-scores, kind="stable")
    _, first = np.unique(trial.units[order], return_index=True)
    best = order[np.sort(first)[:_FIRST]]
    columns = zip(scores.tolist(), trial.keyword.tolist(), trial.vector[at].tolist(), strict=True)
    candidates = [Candidate(number, *column) for number, column in enumerate(columns)]
    field = Field((candidates[number] for number in order[:NEAR]), Curve(0.0, 1.0))
    evidence = field.evidences([candidates[number] for number in best])
    return JudgedPassages(evidence=evidence, right=(trial.grades[best] > 0).tolist())


def _unhurried() -> Deadline:
    return deadline_after(_NO_HURRY)
