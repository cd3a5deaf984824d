"""Whether the scores of some answers mean what they say: by bins, and in three numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wenyuan.core.scoring.evaluation import Bin, calibration_error, in_bins

PLACES: Mapping[str, tuple[int, int]] = {"first": (0, 1), "next": (1, 3)}
"""The places of an answer that are measured apart, since people look there: the first fragment, and the two behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """How far the scores of some fragments are probabilities of being right.

    Attributes:
        count: Of the fragments; the other numbers are None where there is none.
        score: Their mean score.
        right: The share of them that is right.
        ece: Expected calibration error, see `core.scoring.evaluation`.
        brier: The mean squared distance of the score from 1 where right and from 0 where not (Brier 1950).
        auc: How often a right one scores above a wrong one, ties counting half; None where all are right, or none is.
        bins: Of the reliability diagram.
    """

    count: int
    score: float | None
    right: float | None
    ece: float | None
    brier: float | None
    auc: float | None
    bins: tuple[Bin, ...]


def reliability(scored: Iterable[tuple[float, bool]]) -> Reliability:
    """Of scores (0..1) and whether each fragment is right."""
    pairs = list(scored)
    if not pairs:
        return Reliability(count=0, score=None, right=None, ece=None, brier=None, auc=None, bins=())
    scores, right = np.array([score for score, _ in pairs]), np.array([bool(one) for _, one in pairs])
    bins = in_bins(pairs)
    area = auc(scores[right], scores[~right])
    return Reliability(
        count=len(pairs),
        score=round(float(scores.mean()), 4),
        right=round(float(right.mean()), 4),
        ece=round(calibration_error(bins) or 0.0, 4),
        brier=round(float(np.mean((scores - right) ** 2)), 4),
        auc=None if area is None else round(area, 4),
        bins=tuple(bins),
    )


def reliability_of(kept: Mapping[str, Any]) -> Reliability:
    """Inverse of `dataclasses.asdict`."""
    return Reliability(**{**kept, "bins": tuple(Bin(**one) for one in kept["bins"])})


def auc(right: Any, wrong: Any) -> float | None:
    """How often one of the first numbers is larger than one of the second, ties counting half; None without any."""
    right, wrong = np.sort(np.asarray(right)), np.sort(np.asarray(wrong))
    if not len(right) or not len(wrong):
        return None
    below = np.searchsorted(wrong, right, "left") + np.searchsorted(wrong, right, "right")
    return float(below.mean() / (2 * len(wrong)))
