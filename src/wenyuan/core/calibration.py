"""The curve that judged questions make most likely; see `calibrate` for what it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.calibrate import Curve, Field
from wenyuan.core.measures import calibration_error, in_bins
from wenyuan.core.ranking import Hit

__all__ = ["Judged", "best_curve", "calibrated", "error_of", "probabilities"]

_SLOPES = np.geomspace(0.5, 6.0, 32)
_STEPS = 25
_WIDE = 0.5  # of the prior, in logits and in ln slope
_MOST = 10.0  # of an intercept: where all answers are right, or none, nothing else would hold it

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a question found.

    Attributes:
        field: Scores of the candidates among which it has its rivals, 0..1.
        scores: Of the passages that count; `right`: whether each answers.
    """

    field: Sequence[float]
    scores: Sequence[float]
    right: Sequence[bool]


def best_curve(questions: Sequence[Judged], prior: Curve | None = None, weight: float = 0.0) -> Curve:
    """The curve of greatest likelihood over all passages of all questions; slopes are tried one by one.

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
    best, least = centre, np.inf
    for slope in _SLOPES:
        logits = _logits(questions, float(slope))
        intercept = _intercept(logits, right, centre.intercept, pull)
        z = logits + intercept
        off = ((intercept - centre.intercept) ** 2 + np.log(slope / centre.slope) ** 2) / (2 * _WIDE**2)
        loss = float(np.sum(np.logaddexp(0.0, z) - right * z)) + pull * float(off)
        if loss < least:
            best, least = Curve(round(intercept, 3), round(float(slope), 3)), loss
    return best


def probabilities(question: Judged, curve: Curve) -> list[float]:
    """Of the passages that count, in their order."""
    field = Field(question.field, curve)
    return [field.settled(Hit(passage_id=1, score=score)).score for score in question.scores]


def error_of(questions: Sequence[Judged], curves: Sequence[Curve]) -> float:
    """The expected calibration error (0..1) of all passages that count, each question under a curve of its own."""
    judged = (
        pair for q, curve in zip(questions, curves, strict=True)
        for pair in zip(probabilities(q, curve), q.right, strict=True)
    )  # fmt: skip
    return calibration_error(in_bins(judged)) or 0.0


def calibrated(
    questions: Sequence[Judged], dealt: NDArray[np.int64], prior: Curve, weight: float
) -> tuple[Curve, float]:
    """The curve that questions teach, if those of each fold fare no worse with what the others teach; else the prior.

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


def _logits(questions: Sequence[Judged], slope: float) -> Floats:
    """Of every passage that counts, without the intercept."""
    found = []
    for question in questions:
        field = Field(question.field, Curve(0.0, slope))
        found += [slope * (score - field.rivals(score)) / field.spread for score in question.scores]
    return np.array(found)


def _intercept(logits: Floats, right: Floats, centre: float, pull: float) -> float:
    """By Newton's method."""
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
