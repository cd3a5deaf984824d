"""The curve that judged questions make most likely, adopted only where held-out questions gain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.scoring.blending import probability
from wenyuan.core.scoring.evaluation import calibration_error, in_bins
from wenyuan.core.scoring.probability import Curve

_SLOPES = np.geomspace(0.25, 4.0, 33)
_STEPS = 25
_WIDE = 0.5  # of the prior, in logits and in ln slope
_MOST = 10.0  # of an intercept: where all answers are right, or none, nothing else would hold it

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPassages:
    """The judged results of one question.

    Attributes:
        evidence: Of the passages that count; see `Field.evidences`.
        right: Whether each answers.
    """

    evidence: Sequence[float]
    right: Sequence[bool]


def best_curve(questions: Sequence[JudgedPassages], prior: Curve | None = None, weight: float = 0.0) -> Curve:
    """The maximum-likelihood curve over all passages of all questions, by grid search over slopes.

    Args:
        prior: Towards which it is drawn, as if by `weight` questions.

    Raises:
        ValueError: there is nothing judged.
    """
    right = np.array([float(one) for question in questions for one in question.right])
    if not len(right):
        raise ValueError("no passage is judged")
    pull = weight / len(questions) * len(right) if prior is not None else 0.0
    centre = prior or Curve(0.0, 1.0)
    evidence = np.array([one for question in questions for one in question.evidence])
    best, least = centre, np.inf
    for slope in _SLOPES:
        logits = slope * evidence
        intercept = _intercept(logits, right, centre.intercept, pull)
        z = logits + intercept
        off = ((intercept - centre.intercept) ** 2 + np.log(slope / centre.slope) ** 2) / (2 * _WIDE**2)
        loss = float(np.sum(np.logaddexp(0.0, z) - right * z)) + pull * float(off)
        if loss < least:
            best, least = Curve(round(intercept, 3), round(float(slope), 3)), loss
    return best


def probabilities(question: JudgedPassages, curve: Curve) -> list[float]:
    """Of the passages that count, in their order."""
    return [probability(curve.intercept + curve.slope * one) for one in question.evidence]


def error_of(questions: Sequence[JudgedPassages], curves: Sequence[Curve]) -> float:
    """Expected calibration error (0..1) of all passages that count, with a curve for each question."""
    judged = (
        pair for q, curve in zip(questions, curves, strict=True)
        for pair in zip(probabilities(q, curve), q.right, strict=True)
    )  # fmt: skip
    return calibration_error(in_bins(judged)) or 0.0


def calibrated(
    questions: Sequence[JudgedPassages], dealt: NDArray[np.int64], prior: Curve, weight: float
) -> tuple[Curve, float]:
    """The curve learned from all questions, if cross-validation shows that it is no worse than the prior; else the
    prior.

    Args:
        dealt: The fold of each question.
        prior, weight: See `best_curve`.

    Returns:
        The curve, and the error of held-out questions with it.
    """
    usual = error_of(questions, [prior] * len(questions))
    taught = {
        fold: best_curve([q for q, own in zip(questions, dealt, strict=True) if own != fold], prior, weight)
        for fold in np.unique(dealt)
    }
    held_out = error_of(questions, [taught[fold] for fold in dealt])
    if held_out > usual:
        return prior, usual
    return best_curve(questions, prior, weight), held_out


_FEW = 5.0  # questions that the usual curve counts as where only the first passage of each teaches
_RIGHT = 0.2  # of the first passages, at least: where hardly one is right, the answers are at fault, or the ranking
_LEAST = 0.003  # of the mean squared error: less is not worth a change of every score


def first_calibrated(
    questions: Sequence[JudgedPassages], dealt: NDArray[np.int64], prior: Curve
) -> tuple[Curve, tuple[float, float]]:
    """The curve learned from the first passage of each question, where held-out questions gain; else the prior.

    A handful of questions tells how sure one may be of the first passage long before it tells anything of the tenth.

    Args:
        dealt: The fold of each question.

    Returns:
        The curve, and the mean squared error of the first passage of held-out questions: with the prior, and with what the
        other folds teach.
    """
    firsts = [JudgedPassages(evidence=q.evidence[:1], right=q.right[:1]) for q in questions]

    def error(curves: Sequence[Curve]) -> float:
        off = (
            (chance - right) ** 2
            for one, curve in zip(firsts, curves, strict=True)
            for chance, right in zip(probabilities(one, curve), one.right, strict=True)
        )
        return math.fsum(off) / max(1, sum(len(one.right) for one in firsts))

    taught = {
        fold: best_curve([q for q, own in zip(firsts, dealt, strict=True) if own != fold], prior, _FEW)
        for fold in np.unique(dealt)
    }
    errors = error([prior] * len(firsts)), error([taught[fold] for fold in dealt])
    right = sum(one.right[0] for one in firsts if one.right) / max(1, len(firsts))
    gains = right >= _RIGHT and errors[1] <= errors[0] - _LEAST
    return (best_curve(firsts, prior, _FEW) if gains else prior), errors


def _intercept(logits: Floats, right: Floats, centre: float, pull: float) -> float:
    """The intercept by Newton's method."""
    intercept = centre
    for _ in range(_STEPS):
        chances = 1.0 / (1.0 + np.exp(-(logits + intercept)))
        slope = float(np.sum(right - chances)) - pull * (intercept - centre) / _WIDE**2
        bend = float(np.sum(chances * (1.0 - chances))) + pull / _WIDE**2
        step = slope / max(bend, 1e-9)
        intercept = min(_MOST, max(-_MOST, intercept + min(1.0, max(-1.0, step))))
        if abs(step) < 1e-6:
            break
    return intercept
