"""Calibration of a judge's raw numbers, and the threshold above which passages may be taken as sufficient.

A judge says of the first k passages how sure it is (0..1) that they suffice to answer the question. Its number is not a
probability; the order that it gives may still be of use. On n questions whose answers are known, asked at each k of `STEPS`:

* `monotone` fits the non-decreasing step function from raw numbers to shares of sufficient ones with the least squared
  error (isotonic regression by pool adjacent violators; Barlow et al. 1972, Zadrozny & Elkan 2002).
* `threshold` bounds the risk that a question is stopped at a k that does not suffice. What suffices at k suffices at every
  larger k, so a question is lost at a threshold t exactly if M ≥ t, with M the largest number that the judge gave where it did
  not suffice. M of the questions are independent draws, and the losses at t are binomial. The threshold lies above all but
  `allowed` of the n values of M, with `allowed` the largest c for which P(Binomial(n, ε) ≤ c) ≤ δ. Then the risk is at most ε
  with a probability of at least 1 − δ over the choice of the n questions (risk-controlling prediction sets; Bates et al. 2021),
  whatever the judge is worth, as long as the questions to come are like these. The risk falls as t rises, so thresholds
  need no correction for being many, and a block of the curve that begins above the bound is as safe as the bound itself.
* `compared` asks whether the judge tells more than the scores that the library has anyway: both are calibrated on the other
  folds, and the mean squared error of each question is compared (Brier 1950).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.scoring.evaluation import PairedDifference, calibration_error, changed, in_bins

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

STEPS = (1, 3, 5, 8, 13, 21, 34, 55, 89)
"""Numbers of passages at which a judge is asked, below the most that may be given: at the most there is nothing to decide."""
DELTA = 0.1
"""How likely the risk may be larger than is said, by an unlucky choice of the questions that it was calibrated on."""


def steps_below(most: int) -> tuple[int, ...]:
    """The numbers of passages at which a judge is asked where at most so many are given."""
    return tuple(step for step in STEPS if step < most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Monotone:
    """A non-decreasing step function from raw numbers to probabilities.

    Attributes:
        starts: The least raw number of each block, rising.
        chances: The probability of each block, rising.
    """

    starts: tuple[float, ...]
    chances: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(np.all(np.diff(values) > 0) for values in (self.starts, self.chances))
        if not self.starts or len(self.starts) != len(self.chances) or not rising:
            raise ValueError("blocks rise in both, and there is at least one")
        if not 0.0 <= self.chances[0] <= self.chances[-1] <= 1.0:
            raise ValueError("probabilities lie in 0..1")

    def probability(self, raw: float) -> float:
        """Of one raw number; below all that were seen, that of the first block."""
        return float(self.probabilities(np.array([raw]))[0])

    def probabilities(self, raw: Floats) -> Floats:
        """Of each raw number, in the given shape."""
        block = np.searchsorted(self.starts, raw, side="right") - 1
        found: Floats = np.array(self.chances)[np.maximum(block, 0)]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What makes a judge's numbers of use in one library.

    Attributes:
        judge: Fingerprint of the judge whose numbers they are.
        steps: Numbers of passages at which it may be asked.
        threshold: The probability that it must give before its word is taken.
        risk: That its word is taken though the passages do not suffice: at most so much, with 1 − `DELTA`.
        questions: How many it was calibrated on.
    """

    judge: str
    steps: tuple[int, ...]
    curve: Monotone
    threshold: float
    risk: float
    questions: int

    def stored(self) -> Mapping[str, Any]:
        """As JSON values; see `calibration_of`."""
        return {
            "judge": self.judge, "steps": list(self.steps), "starts": list(self.curve.starts),
            "chances": list(self.curve.chances), "threshold": self.threshold, "risk": self.risk,
            "questions": self.questions,
        }  # fmt: skip


def calibration_of(stored: Mapping[str, Any]) -> Calibration:
    """Inverse of `Calibration.stored`."""
    return Calibration(
        judge=stored["judge"],
        steps=tuple(stored["steps"]),
        curve=Monotone(starts=tuple(stored["starts"]), chances=tuple(stored["chances"])),
        threshold=stored["threshold"],
        risk=stored["risk"],
        questions=stored["questions"],
    )


def monotone(raw: Floats, right: Flags) -> Monotone:
    """The curve that fits pairs of raw numbers and outcomes best; drawn towards one half as if by a right and a wrong pair at
    every number, so that nothing is certain.

    Args:
        raw: ``(m,)``, 0..1.
        right: ``(m,)``.

    Raises:
        ValueError: there is no pair.
    """
    if not raw.size:
        raise ValueError("a curve needs pairs")
    values, place = np.unique(raw, return_inverse=True)
    counts = np.bincount(place).astype(np.float64)
    sums = np.bincount(place, right.astype(np.float64))
    blocks: list[tuple[float, float, float]] = []  # its least raw number, sum and count
    for block in zip(values.tolist(), sums.tolist(), counts.tolist(), strict=True):
        blocks.append(block)
        while (
            len(blocks) > 1 and blocks[-2][1] * blocks[-1][2] >= blocks[-1][1] * blocks[-2][2]
        ):  # its mean is no less
            _, total, count = blocks.pop()
            start, before, counted = blocks.pop()
            blocks.append((start, before + total, counted + count))
    pairs = raw.size
    return Monotone(
        starts=tuple(start for start, _, _ in blocks),
        chances=tuple((pairs * total / count + 1.0) / (pairs + 2.0) for _, total, count in blocks),
    )


def allowed(questions: int, epsilon: float, delta: float = DELTA) -> int | None:
    """How many of the questions may be lost where a risk of at most `epsilon` is stated; None: they are too few."""
    log_odds = math.log(epsilon) - math.log1p(-epsilon)
    term, total, lost = questions * math.log1p(-epsilon), 0.0, None
    for count in range(questions + 1):
        total += math.exp(term)
        if total > delta:
            break
        lost = count
        term += math.log(questions - count) - math.log(count + 1) + log_odds if count < questions else 0.0
    return lost


def least_questions(epsilon: float, delta: float = DELTA) -> int:
    """How many questions are needed before a risk of at most `epsilon` can be stated at all."""
    return math.ceil(math.log(delta) / math.log1p(-epsilon))


def highest_wrong(raw: Floats, sufficient: Flags) -> Floats:
    """Of each question, the largest number that the judge gave where the passages did not suffice; −1 where they always did.

    Args:
        raw: ``(…, k)``, 0..1; NaN where the judge was not asked.
        sufficient: ``(…, k)``.
    """
    found: Floats = np.where(sufficient | np.isnan(raw), -1.0, raw).max(axis=-1)
    return found


def bound_of(highest: Floats, lost: int) -> Floats:
    """Above which raw numbers at most `lost` of the questions are stopped too early.

    Args:
        highest: ``(…, n)``, see `highest_wrong`.
    """
    found: Floats = np.partition(highest, highest.shape[-1] - lost - 1, axis=-1)[..., highest.shape[-1] - lost - 1]
    return found


def threshold(curve: Monotone, bound: float) -> float | None:
    """The least probability of the curve that only raw numbers above the bound have; None where there is none."""
    return next((chance for start, chance in zip(curve.starts, curve.chances, strict=True) if start > bound), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two calibrated judges of the same questions, tried on questions that they were not calibrated on.

    Attributes:
        error: Expected calibration error of the judge, and of what the library has anyway.
        raw_error: Of the judge's raw numbers.
        change: By how much the squared error of a question is less with the judge.
    """

    error: tuple[float, float]
    raw_error: float
    change: PairedDifference

    @property
    def better(self) -> bool:
        """Whether the judge tells more, beyond what chance explains."""
        return self.change.verdict == "better"


def compared(raw: Floats, own: Floats, sufficient: Flags, folds: NDArray[np.int64]) -> Compared:
    """Compare a judge with the library's own probability that the first k passages suffice.

    Args:
        raw, own: ``(n, k)``, 0..1; NaN where the judge was not asked.
        sufficient: ``(n, k)``.
        folds: ``(n,)``, the fold of each question; at least two.
    """
    asked = ~np.isnan(raw)
    held = held_out(raw, sufficient, folds), held_out(own, sufficient, folds)
    losses = [
        np.where(asked, (p - sufficient) ** 2, 0.0).sum(axis=1) / np.maximum(1, asked.sum(axis=1)) for p in held
    ]
    judge, usual = (_error(p[asked], sufficient[asked]) for p in held)
    return Compared(
        error=(judge, usual),
        raw_error=_error(raw[asked], sufficient[asked]),
        change=changed((-losses[1]).tolist(), (-losses[0]).tolist()),
    )


def held_out(raw: Floats, sufficient: Flags, folds: NDArray[np.int64]) -> Floats:
    """``(n, k)``: the probability of each number by the curve of the other folds; NaN where there is no number."""
    found = np.full(raw.shape, np.nan)
    asked = ~np.isnan(raw)
    for fold in np.unique(folds):
        own = folds == fold
        others = asked & ~own[:, None]
        curve = monotone(raw[others], sufficient[others])
        found[own] = np.where(asked[own], curve.probabilities(np.nan_to_num(raw[own])), np.nan)
    return found


def _error(chances: Floats, right: Flags) -> float:
    pairs: Sequence[tuple[float, bool]] = list(zip(chances.tolist(), right.tolist(), strict=True))
    return calibration_error(in_bins(pairs)) or 0.0
