"""Retrieval metrics, calibration error and significance of a change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal

import numpy as np

# How good an answer to a judged question is, whether scores mean what they say, and whether a change is an accident.
#
# nDCG as Järvelin & Kekäläinen 2002 with linear gains, as ``trec_eval`` reckons it. Expected calibration error as in
# Naeini et al. 2015, "Obtaining Well Calibrated Probabilities Using Bayesian Binning": scores in ten bins of equal
# width; the distance of each bin's mean score from the share of its answers that are relevant, weighted by how many
# answers lie in it. What nobody judged counts as not relevant, so the share is a lower bound.


_BINS = 10
_SURE = 0.05
"""The share of bootstrap means at each end that a verdict leaves aside."""
RESAMPLES = 2_000


def ndcg(grades: Sequence[float], ideal: Iterable[float], k: int) -> float:
    """Normalised discounted cumulative gain at `k`, 0..1; 0 if there is no answer.

    Args:
        grades: Grades of the ranked results, best first; 0 for what is no answer.
        ideal: Of all answers.
    """
    best = _gain(sorted(ideal, reverse=True)[:k])
    return _gain(grades[:k]) / best if best else 0.0


def _gain(grades: Iterable[float]) -> float:
    return sum(grade / log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def recall(grades: Sequence[float], answers: int, k: int) -> float:
    """The share of all answers that are among the first `k`, 0..1."""
    return sum(grade > 0 for grade in grades[:k]) / answers if answers else 0.0


def reciprocal_rank(grades: Sequence[float], k: int) -> float:
    """1 / rank of the first answer among the first `k`; 0 if there is none."""
    return next((1.0 / rank for rank, grade in enumerate(grades[:k], start=1) if grade > 0), 0.0)


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: the smallest value that at least `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered)) - 1))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Answers whose scores fall into one tenth of 0..1.

    Attributes:
        score: Their mean score.
        relevant: The share of them that is judged an answer.
    """

    count: int
    score: float
    relevant: float


def in_bins(scored: Iterable[tuple[float, bool]]) -> list[Bin]:
    """Non-empty bins by rising score, from scores (0..1) and whether each answer is right."""
    counts, scores, answers = [0] * _BINS, [0.0] * _BINS, [0] * _BINS
    for score, right in scored:
        place = min(_BINS - 1, int(score * _BINS))
        counts[place] += 1
        scores[place] += score
        answers[place] += right
    return [
        Bin(count=count, score=score / count, relevant=relevant / count)
        for count, score, relevant in zip(counts, scores, answers, strict=True)
        if count
    ]


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """Expected calibration error (ECE), 0..1; None without any answer."""
    total = sum(one.count for one in bins)
    return sum(one.count * abs(one.score - one.relevant) for one in bins) / total if total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """The paired difference of two evaluations of the same questions.

    Attributes:
        mean: By how much they gained, on average; negative: lost.
        lower, upper: Between which nine in ten bootstrap means lie (Efron 1979).
        gained, lost: How many questions did.
        verdict: ``better`` or ``worse`` where zero lies outside, else ``no difference`` that these questions can tell.
    """

    mean: float
    lower: float
    upper: float
    gained: int
    lost: int
    verdict: Literal["better", "worse", "no difference"]


def changed(before: Sequence[float], after: Sequence[float], *, seed: int = 7) -> PairedDifference:
    """Compare two evaluations of the same questions, in the same order, by paired bootstrap.

    Raises:
        ValueError: there are none, or not equally many.
    """
    if not before or len(before) != len(after):
        raise ValueError("the same questions are needed on both sides, at least one")
    gains = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    draw = np.random.default_rng(seed)
    means = [gains[draw.integers(0, len(gains), len(gains))].mean() for _ in range(RESAMPLES)]
    lower, upper = (float(np.quantile(means, share)) for share in (_SURE, 1.0 - _SURE))
    verdict: Literal["better", "worse", "no difference"] = "no difference"
    if lower > 0.0:
        verdict = "better"
    elif upper < 0.0:
        verdict = "worse"
    return PairedDifference(
        mean=float(gains.mean()),
        lower=lower,
        upper=upper,
        gained=int((gains > 0).sum()),
        lost=int((gains < 0).sum()),
        verdict=verdict,
    )
