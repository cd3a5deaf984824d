"""From scores to probabilities: that a passage answers the question, that the scope holds an answer at all, and that the
first passages suffice.

**A passage.** Its score alone does not tell: .6 is high in one collection, and typical of any passage in another. What
carries over is how far it lies above the best other candidate, and above the middle of all of them relative to their spread:

    evidence(x) = 16 · (x − best other) + .4 · (x − middle) / spread of the candidates
    p(x)        = 1 / (1 + e^−(intercept + slope · evidence))

It is fitted passage by passage and does not add up to one: where several passages answer, each may be likely. The candidates
are those found by the library's own legs within the scope with at least half of the best score, before floor, trust and
context, without copies; they do not depend on the number of results asked for, up to half of `search.depth`. p increases with
x, so the order does not change, and the score is kept in the parts (``raw``). Best other and middle are shown as one
score, their weighted mean (``rivals``), and the weights as one width (``spread``):
p = 1 / (1 + e^−(intercept + slope · (raw − rivals) / spread)).

**The scope.** The probability that it holds an answer at all:

    z = 9.0 · nearness + 2.0 · keyword + 6.6 · margin − 2.0 · unknown − 1.9,   P = 1 / (1 + e^−z)

``nearness`` is a cosine that does not depend on the collection: between the query and the best passage, each centred by the
mean of some forty general texts of its kind and language (see `service.search`). ``keyword`` is that passage's keyword
score, ``margin`` how far the first candidate stands before the second. No statistics of the library are needed, so P holds
within a filter and in a library of twenty files, too.

The coefficients are logistic regressions on judged collections large and small, among them small libraries of companies:
their own questions, questions about neighbouring subjects, and questions of other collections. Nine in ten questions that
reach a library are taken to have an answer there. docs/explanation/scoring.md shows the results on held-out collections
(`python bench/transfer.py`).

**Enough passages.** The raw numbers of a judge are calibrated on questions whose answers are known; see `monotone` and
`threshold`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.ports import Hit
from wenyuan.core.scoring.evaluation import Change, calibration_error, changed, in_bins
from wenyuan.core.scoring.rerank import probability

PARTS = ("calibration", "intercept", "slope")
"""What is recorded of a curve, by name."""

CALIBRATE_VERSION = 3
"""Changes with the form or its constants: an answer is replayed with the numbers that its record holds."""

NEAR = 30
"""How many of the candidates tell how far they lie apart."""
_USUAL, _TRUST_IN_USUAL = 0.04, 10
"""The spread of most questions, and how many candidates it counts as: a handful has no spread of its own."""
_AHEAD, _ABOVE = 16.0, 0.4
"""What it counts that a passage lies before the best other one, and above the middle by a spread."""
ALONE = 0.1
"""How far the only passage found counts as standing before others, when it is asked whether anything answers."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Parameters of the map from scores to probabilities.

    Attributes:
        version: Of the form; 0: scores stay as they are.
    """

    intercept: float
    slope: float
    version: int = CALIBRATE_VERSION

    def measured(self) -> Mapping[str, float]:
        """The form in which it is stored and recorded; see `curve_of`."""
        return {"calibration": self.version, "intercept": self.intercept, "slope": self.slope}


CURVES: Mapping[str, Curve] = {
    "hybrid": Curve(-1.4, 1.0),
    "keyword-only": Curve(-0.7, 0.4),
}
"""By mode of the library. bench/transfer.py says how well they do elsewhere."""


def curve_of(known: Mapping[str, float], mode: str) -> Curve:
    """The curve of a library: learned, else the default of its mode; numbers of another form are not taken."""
    usual = CURVES[mode]
    if known.get("calibration", CALIBRATE_VERSION) != CALIBRATE_VERSION:
        return usual
    return Curve(known.get("intercept", usual.intercept), known.get("slope", usual.slope))


def key_of(measured: Mapping[str, float]) -> str:
    """A short key of the curve for records; ``""`` without one."""
    return "/".join(f"{measured[name]:g}" for name in PARTS) if measured.get("calibration") else ""


class Field:
    """The candidates of a question, relative to which each passage gets its probability.

    Args:
        scores: Of all candidates, 0..1, in any order.
        answerable: The probability that any of them answers.
    """

    __slots__ = ("_answerable", "_best", "_curve", "_middle", "_pull", "_second", "spread")

    def __init__(self, scores: Iterable[float], curve: Curve, answerable: float = 1.0) -> None:
        near = nlargest(NEAR, scores)
        near = [score for score in near if score >= 0.5 * near[0]]
        if len(near) == 1:  # all others, if there are any, lie below
            near.append(0.5 * near[0])
        between = [score - near[-1] for score in near[1:-1]]
        usual = (_TRUST_IN_USUAL * _USUAL + math.fsum(between)) / (_TRUST_IN_USUAL + len(between))
        self._curve, self._answerable = curve, answerable
        self._best = near[0] if near else 0.0
        self._second = near[1] if near else 0.0
        self._middle = median(near) if near else 0.0
        self._pull = _ABOVE / usual
        self.spread = 1.0 / (_AHEAD + self._pull)

    def rivals(self, score: float) -> float:
        """The competition that a passage with this score has, as one score; non-increasing in the score."""
        other = self._second if score >= self._best else self._best
        return (_AHEAD * other + self._pull * self._middle) * self.spread

    def settled(self, hit: Hit) -> Hit:
        """The hit with its probability as score; the former score is kept among its parts.

        Its trust (part ``trust``, 1 where there is none) is the last factor.
        """
        rivals = self.rivals(hit.score)
        match = probability(self._curve.intercept + self._curve.slope * (hit.score - rivals) / self.spread)
        parts = {
            **hit.parts, "raw": hit.score, "rivals": rivals, "spread": self.spread, "match": match,
            "answerable": self._answerable,
        }  # fmt: skip
        return hit._replace(score=min(1.0, self._answerable * match * hit.parts.get("trust", 1.0)), parts=parts)


def raw_of(hit: Hit) -> float:
    """The score before it became a probability; for rules and external hits, the score."""
    return hit.parts.get("raw", hit.score)


_SETTLED = ("raw", "rivals", "spread", "match", "answerable")


def unsettled(hit: Hit) -> Hit:
    """The hit with its score before it became a probability."""
    parts = {name: value for name, value in hit.parts.items() if name not in _SETTLED}
    return hit._replace(score=raw_of(hit), parts=parts)


def shown(hit: Hit, curve: Curve) -> str:
    """The derivation of a probability from its score, so that a person can check it."""
    p = hit.parts
    logit = curve.intercept + curve.slope * (p["raw"] - p["rivals"]) / p["spread"]
    trusted = f" · trust {p['trust']:.2f}" if p.get("trust", 1.0) != 1.0 else ""
    return (
        f"{curve.intercept:.3f} + {curve.slope:.3f}·({p['raw']:.4f} − rivals {p['rivals']:.4f}) / spread "
        f"{p['spread']:.4f} = {logit:.3f}, 1 / (1 + e^−({logit:.3f})) = match {p['match']:.3f} · "
        f"answerable {p['answerable']:.3f}{trusted} → {hit.score:.3f}"
    )


# The curve that judged questions make most likely; see `calibrated` for what it does.


_SLOPES = np.geomspace(0.25, 4.0, 33)
_STEPS = 25
_WIDE = 0.5  # of the prior, in logits and in ln slope
_MOST = 10.0  # of an intercept: where all answers are right, or none, nothing else would hold it

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The judged results of one question.

    Attributes:
        field: Scores of the candidates among which it has its rivals, 0..1.
        scores: Of the passages that count; `right`: whether each answers.
    """

    field: Sequence[float]
    scores: Sequence[float]
    right: Sequence[bool]


def best_curve(questions: Sequence[Judged], prior: Curve | None = None, weight: float = 0.0) -> Curve:
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
    """Expected calibration error (0..1) of all passages that count, with a curve for each question."""
    judged = (
        pair for q, curve in zip(questions, curves, strict=True)
        for pair in zip(probabilities(q, curve), q.right, strict=True)
    )  # fmt: skip
    return calibration_error(in_bins(judged)) or 0.0


def calibrated(
    questions: Sequence[Judged], dealt: NDArray[np.int64], prior: Curve, weight: float
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


def _logits(questions: Sequence[Judged], slope: float) -> Floats:
    """Logits of all passages that count, without the intercept."""
    found = []
    for question in questions:
        field = Field(question.field, Curve(0.0, slope))
        found += [slope * (score - field.rivals(score)) / field.spread for score in question.scores]
    return np.array(found)


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


VERSION = 2
"""Changes with the form or its numbers; recorded with every answer."""

ABSTAIN = {"off": 0.0, "lenient": 0.25, "normal": 0.38, "strict": 0.55}
"""The least probability that there is an answer, by `search.abstain`, chosen by what each costs: an answer that is withheld
is the worse error. What each keeps and refuses is in docs/explanation/scoring.md."""

MEASURED_WITH = "multilingual-e5-small"
"""The encoder, by the id of its fingerprint, whose vectors the numbers below are for; with others they were not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The features of a question's best passage from which `Model` computes the probability of an answer.

    Attributes:
        keyword: Its keyword score, 0..1, in the wording of the query that fits it best.
        nearness: Its cosine without what all questions and all passages have in common, −1..1; 0 without an encoder.
        margin: How far the first candidate's score lies above the second's; `ALONE` where there is one only.
        unknown: No word of a query in Latin letters stands in any candidate, and the best passage is not in Chinese. Chinese
            is asked by pairs of characters: a spoken question often shares none with its answer.
        strange: The query looks like no text.
    """

    keyword: float
    nearness: float = 0.0
    margin: float = 0.0
    unknown: bool = False
    strange: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A logistic model of whether the scope holds an answer; the attributes are its coefficients."""

    nearness: float = 0.0
    keyword: float
    margin: float = 0.0
    unknown: float = -2.0
    strange: float = -4.5
    intercept: float

    def probability(self, standing: Standing) -> float:
        """The probability that the scope holds an answer, 0..1."""
        logit = (
            self.intercept
            + self.nearness * standing.nearness
            + self.keyword * standing.keyword
            + self.margin * standing.margin
            + self.unknown * standing.unknown
            + self.strange * standing.strange
        )
        return 1.0 / (1.0 + math.exp(-logit))


MODELS: Mapping[str, Model] = {
    "hybrid": Model(nearness=9.0, keyword=2.0, margin=6.6, intercept=-1.9),
    "keyword-only": Model(keyword=9.3, intercept=-1.7),
}
"""By mode of the library. With an encoder that was not measured, the likelier of the two counts."""


# Calibration of a judge's raw numbers, and the threshold above which passages may be taken as sufficient.
#
# A judge says of the first k passages how sure it is (0..1) that they suffice to answer the question. Its number is not a
# probability; the order that it gives may still be of use. On n questions whose answers are known, asked at each k of `STEPS`:
#
# * `monotone` fits the non-decreasing step function from raw numbers to shares of sufficient ones with the least squared
#   error (isotonic regression by pool adjacent violators; Barlow et al. 1972, Zadrozny & Elkan 2002).
# * `threshold` bounds the risk that a question is stopped at a k that does not suffice. What suffices at k suffices at every
#   larger k, so a question is lost at a threshold t exactly if M ≥ t, with M the largest number that the judge gave where it did
#   not suffice. M of the questions are independent draws, and the losses at t are binomial. The threshold lies above all but
#   `allowed` of the n values of M, with `allowed` the largest c for which P(Binomial(n, ε) ≤ c) ≤ δ. Then the risk is at most ε
#   with a probability of at least 1 − δ over the choice of the n questions (risk-controlling prediction sets; Bates et al. 2021),
#   whatever the judge is worth, as long as the questions to come are like these. The risk falls as t rises, so thresholds
#   need no correction for being many, and a block of the curve that begins above the bound is as safe as the bound itself.
# * `compared` asks whether the judge tells more than the scores that the library has anyway: both are calibrated on the other
#   folds, and the mean squared error of each question is compared (Brier 1950).

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
    change: Change

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
