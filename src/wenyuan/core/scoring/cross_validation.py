"""Whether something that was learned helps on other data: cross-validation, and a verdict.

Questions are dealt into folds (`core.scoring.evaluation`). What is learned from the other folds ranks the candidates of each
question, under every strength of the map and every weight of the vector leg (`Trial`). Which of these choices is best is
decided for each fold by the others, so that the gain that is reported was neither learned nor chosen on the question
itself. It counts when its mean is worth having, a bootstrap (Efron 1979) says that it is no accident, and no fold loses for
certain: what helps most questions and spoils one part of them is not adopted. The bootstrap draws documents with all their
questions (a cluster bootstrap; Davison & Hinkley 1997, 3.8): what helps one question of a document helps the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.scoring.evaluation import RESAMPLES

STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
WEIGHTS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
LEAST_GAIN = 0.005
"""Of mean nDCG@10: less is not worth a change of every score."""
_FOLDS_SURE = 0.01
"""The share of bootstrap means that may lie at or below no gain."""
_LOST = 0.05
"""The share of a fold's bootstrap means that may lie above no loss where it loses for certain."""
_K = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """The candidates of one question, with their scores under every strength of the map.

    Attributes:
        units: ``(c,)`` integers: what a candidate counts as, its document or itself; each counts once, at its best.
        grades: ``(c,)``: the grade of its unit, 0 for no answer.
        ideal: Grades of all answers, found or not.
        keyword: ``(c,)``, 0..1.
        vector: ``(strengths, c)``, 0..1.
        kept: ``(strengths, c)``: what a candidate keeps of its score (see `laws`).
    """

    units: NDArray[np.int64]
    grades: Floats
    ideal: Sequence[float]
    keyword: Floats
    vector: Floats
    kept: Floats

    def scores(self, strength: int, weight: float) -> Floats:
        """Fused scores, ``(c,)``, under the strength with that index and a weight of the vector leg."""
        scores: Floats = (weight * self.vector[strength] + (1.0 - weight) * self.keyword) * self.kept[strength]
        return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningVerdict:
    """The result of a cross-validation.

    Attributes:
        before, after: Mean nDCG@10 on held-out questions, 0..1: with the present settings, and with those chosen on
            the other folds.
        lower, upper: The gains that 99 % of the bootstrap exceed, and stay below: what is promised.
        by_fold: ``(before, after)`` of each fold.
        collapsed: Folds, counted from 1, whose questions lose, and no accident.
        better, worse: How many questions gain and lose.
        strength, weight: The choice that is best over all folds.
    """

    questions: int
    before: float
    after: float
    lower: float
    upper: float
    by_fold: tuple[tuple[float, float], ...]
    collapsed: tuple[int, ...]
    better: int
    worse: int
    strength: float
    weight: float

    @property
    def gain(self) -> float:
        return self.after - self.before

    @property
    def adopt(self) -> bool:
        """Whether the gain is large enough and significant, and no fold loses significantly."""
        return self.gain >= LEAST_GAIN and self.lower > 0.0 and not self.collapsed


def ndcg_table(trial: Trial, weights: Sequence[float]) -> Floats:
    """``(strengths, weights)``: nDCG@10 (Järvelin & Kekäläinen 2002) of a question for each choice of strength and
    weight.
    """
    discounts = 1.0 / np.log2(np.arange(2, _K + 2))
    best = np.sort(np.asarray(trial.ideal, dtype=np.float64))[::-1][:_K]
    ideal = float(best @ discounts[: len(best)])
    table = np.zeros((len(trial.vector), len(weights)))
    for row in range(len(trial.vector)):
        for column, weight in enumerate(weights):
            order = np.argsort(-trial.scores(row, weight), kind="stable")
            _, first = np.unique(trial.units[order], return_index=True)
            ranked = trial.grades[order[np.sort(first)[:_K]]]
            table[row, column] = ranked @ discounts[: len(ranked)] / ideal
    return table


def judge(
    trials: Sequence[Trial],
    dealt: NDArray[np.int64],
    groups: NDArray[np.int64] | None = None,
    *,
    weight: float,
    seed: int = 7,
) -> TuningVerdict:
    """The cross-validated verdict over all held-out questions.

    Args:
        trials: Of each question, by what was learned from the other folds; strength 0 comes first.
        dealt: The fold of each.
        groups: Equal for questions that tell of one another, which the bootstrap draws together; None: each by itself.
        weight: The present weight of the vector leg.

    Raises:
        ValueError: there are fewer than two folds: nothing could be chosen by others.
    """
    if len(np.unique(dealt)) < 2:
        raise ValueError("judging needs at least two folds")
    weights = sorted({*WEIGHTS, weight}, key=lambda w: (abs(w - weight), w))  # of equals, the nearest to what is
    values = np.array([ndcg_table(trial, weights).ravel() for trial in trials])  # (questions, choices)
    before, after = values[:, 0], np.empty(len(trials))
    folds = np.unique(dealt)
    for fold in folds:
        held = dealt == fold
        after[held] = values[held, int(np.argmax(_rounded(values[~held].mean(axis=0))))]
    chosen = int(np.argmax(_rounded(values.mean(axis=0))))
    gains = after - before
    together = np.arange(len(trials)) if groups is None else groups
    lower, upper = np.quantile(drawn_means(gains, together, seed), (_FOLDS_SURE, 1.0 - _FOLDS_SURE))
    return TuningVerdict(
        questions=len(trials),
        before=float(before.mean()),
        after=float(after.mean()),
        lower=float(lower),
        upper=float(upper),
        by_fold=tuple((float(before[dealt == f].mean()), float(after[dealt == f].mean())) for f in folds),
        collapsed=tuple(
            number
            for number, fold in enumerate(folds, 1)
            if np.quantile(drawn_means(gains[dealt == fold], together[dealt == fold], seed), 1.0 - _LOST) < 0.0
        ),
        better=int((gains > 0).sum()),
        worse=int((gains < 0).sum()),
        strength=STRENGTHS[chosen // len(weights)],
        weight=weights[chosen % len(weights)],
    )


def drawn_means(gains: Floats, groups: NDArray[np.int64], seed: int) -> Floats:
    """Bootstrap means of gains: `RESAMPLES` draws of groups with all their questions; of single questions if there
    is one group.
    """
    known, place = np.unique(groups, return_inverse=True)
    if len(known) == 1:
        known, place = np.arange(len(gains)), np.arange(len(gains))
    sums, counts = np.bincount(place, gains), np.bincount(place)
    draw = np.random.default_rng(seed)
    drawn = (draw.integers(0, len(known), len(known)) for _ in range(RESAMPLES))
    return np.array([sums[some].sum() / counts[some].sum() for some in drawn])


def _rounded(means: Floats) -> Floats:
    """Rounded values, so that summation order does not decide between equal choices."""
    return np.round(means, 9)
