"""From scores to probabilities: that a passage answers, and that the scope holds an answer at all.

From a score to the probability that a passage answers the question.

A score alone does not say it: .6 is much in one collection, and what every passage has in another. What says it is how
far a passage stands above the others that the question finds, measured by how far those lie apart:

    z(x)   = slope · (x − best) / spread            x: the passage's score, best: that of the first candidate
    rivals = VOID + Σ e^z of the best ten, less the passage's own
    p(x)   = 1 / (1 + e^−(intercept + z(x) − ln rivals))

So p is the passage's share among its rivals: a softmax whose temperature follows the question. Candidates are what the
library's own legs find within the scope and that score half as high as the best, before floor, trust and context; how
many are asked for is of no account, up to half of `search.depth`: beyond, more is looked at.
p rises with x, so that no order changes, and the score itself stays in the parts (``raw``). Rivals are shown as one score
that weighs what all of them do (``rivals``): p = 1 / (1 + e^−(intercept + slope · (raw − rivals) / spread)).

Whether what may be searched holds an answer at all: the probability that the best passage is more than the nearest one.

    z = 11.6 · nearness + 5.1 · keyword − .52 · ln(passages) − 3.8,   P = 1 / (1 + e^−z)

``nearness`` is a cosine that no collection bends: the query less what all questions have in common, to the best passage less
what all passages in its language have in common (the means of some forty texts about everything, see `service.search.analysis`).
``keyword`` is that passage's keyword score. ``passages``, at most `MOST`, is how many the vector leg found in scope: the best
of a hundred passages is nearer to any question than the best of five. So nothing is measured of a library, and P is as good in
a filter as in all of it.

The numbers are a logistic regression over questions of 16 judged collections, of other collections, of other documents, with
their answers taken out, and nonsense; docs/explanation/scoring.md says what it does for collections that are left out
(`python bench/transfer.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.ports import Hit
from wenyuan.core.scoring.evaluation import calibration_error, in_bins
from wenyuan.core.scoring.rerank import probability

PARTS = ("calibration", "intercept", "slope")
"""What is recorded of a curve, by name."""

CALIBRATE_VERSION = 2
"""Changes with the form or its constants: an answer is replayed with the numbers that its record holds."""

VOID = 0.1
"""What stands for the answer that the library does not have."""
_RIVALS = 10
NEAR = 30
"""How many of the candidates tell how far they lie apart."""
_USUAL, _TRUST_IN_USUAL = 0.04, 10
"""The spread of most questions, and how many candidates it counts as: a handful has no spread of its own."""


@dataclass(frozen=True, slots=True)
class Curve:
    """How scores become probabilities.

    Attributes:
        version: Of the form; 0: scores stay as they are.
    """

    intercept: float
    slope: float
    version: int = CALIBRATE_VERSION

    def measured(self) -> Mapping[str, float]:
        """As it is recorded beside the floors, for `curve_of`."""
        return {"calibration": self.version, "intercept": self.intercept, "slope": self.slope}


CURVES: Mapping[str, Curve] = {
    "hybrid": Curve(0.36, 1.42),
    "keyword-only": Curve(0.01, 0.97),
}
"""By mode of the library. bench/transfer.py says how well they do elsewhere."""


def curve_of(known: Mapping[str, float], mode: str) -> Curve:
    """The curve of a library: what was learned of it, else that of its mode."""
    usual = CURVES[mode]
    return Curve(known.get("intercept", usual.intercept), known.get("slope", usual.slope))


def key_of(measured: Mapping[str, float]) -> str:
    """What a record says of its curve, as one word; ``""`` for none."""
    return "/".join(f"{measured[name]:g}" for name in PARTS) if measured.get("calibration") else ""


class Field:
    """The candidates of a question, among which a passage has its probability.

    Args:
        scores: Of all candidates, 0..1, in any order.
        answerable: The probability that any of them answers.
    """

    __slots__ = ("_all", "_answerable", "_best", "_curve", "_steep", "spread")

    def __init__(self, scores: Iterable[float], curve: Curve, answerable: float = 1.0) -> None:
        near = nlargest(NEAR, scores)
        near = [score for score in near if score >= 0.5 * near[0]]
        between = [score - near[-1] for score in near[1:-1]]
        self.spread = (_TRUST_IN_USUAL * _USUAL + math.fsum(between)) / (_TRUST_IN_USUAL + len(between))
        self._curve, self._answerable = curve, answerable
        self._best = near[0] if near else 0.0
        self._steep = curve.slope / self.spread
        self._all = math.fsum(math.exp(self._steep * (score - self._best)) for score in near[:_RIVALS])

    def rivals(self, score: float) -> float:
        """What stands against a passage with this score, as one score; it never rises with the score."""
        own = math.exp(min(0.0, self._steep * (score - self._best)))
        return self._best + math.log(VOID + max(0.0, self._all - own)) / self._steep

    def settled(self, hit: Hit) -> Hit:
        """The hit with its probability as its score; what that was made of joins its parts.

        Its trust (part ``trust``, 1 where there is none) is the last factor.
        """
        rivals = self.rivals(hit.score)
        match = probability(self._curve.intercept + self._steep * (hit.score - rivals))
        parts = {
            **hit.parts, "raw": hit.score, "rivals": rivals, "spread": self.spread, "match": match,
            "answerable": self._answerable,
        }  # fmt: skip
        return hit._replace(score=min(1.0, self._answerable * match * hit.parts.get("trust", 1.0)), parts=parts)


def raw_of(hit: Hit) -> float:
    """The score before it became a probability; of a rule or a hit from elsewhere, the score."""
    return hit.parts.get("raw", hit.score)


_SETTLED = ("raw", "rivals", "spread", "match", "answerable")


def unsettled(hit: Hit) -> Hit:
    """The hit as it was before its score became a probability."""
    parts = {name: value for name, value in hit.parts.items() if name not in _SETTLED}
    return hit._replace(score=raw_of(hit), parts=parts)


def shown(hit: Hit, curve: Curve) -> str:
    """How a score became a probability, as a person can check it."""
    p = hit.parts
    logit = curve.intercept + curve.slope * (p["raw"] - p["rivals"]) / p["spread"]
    trusted = f" · trust {p['trust']:.2f}" if p.get("trust", 1.0) != 1.0 else ""
    return (
        f"{curve.intercept:.3f} + {curve.slope:.3f}·({p['raw']:.4f} − rivals {p['rivals']:.4f}) / spread "
        f"{p['spread']:.4f} = {logit:.3f}, 1 / (1 + e^−({logit:.3f})) = match {p['match']:.3f} · "
        f"answerable {p['answerable']:.3f}{trusted} → {hit.score:.3f}"
    )


# The curve that judged questions make most likely; see `calibrate` for what it does.


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


VERSION = 1
"""Changes with the form or its numbers; recorded with every answer."""

ABSTAIN = {"lenient": 0.06, "normal": 0.09, "strict": 0.2}
"""The least probability that there is an answer, by `search.abstain`. What each keeps and refuses is in
docs/explanation/scoring.md."""

MOST = 100
"""Passages in scope beyond which more of them change nothing."""

MEASURED_WITH = "multilingual-e5-small"
"""The encoder, by the id of its fingerprint, whose vectors the numbers below are for; with others they were not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How the best passage stands to a query.

    Attributes:
        keyword: Its keyword score, 0..1, in the wording of the query that fits it best.
        nearness: Its cosine without what all questions and all passages have in common, −1..1; 0 without an encoder.
        passages: How many were found in scope, as far as that is counted; at least 1.
        across: It is in another language than the query: that it shares no words says nothing.
        strange: The query looks like no text.
    """

    keyword: float
    nearness: float = 0.0
    passages: int = 1
    across: bool = False
    strange: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What each of these is worth, in logits."""

    nearness: float = 0.0
    keyword: float
    passages: float = 0.0
    across: float = 0.0
    strange: float = -2.5
    intercept: float

    def probability(self, standing: Standing) -> float:
        """That the scope holds an answer, 0..1."""
        logit = (
            self.intercept
            + self.nearness * standing.nearness
            + self.keyword * standing.keyword
            + self.passages * math.log(min(MOST, max(1, standing.passages)))
            + self.across * standing.across
            + self.strange * standing.strange
        )
        return 1.0 / (1.0 + math.exp(-logit))


MODELS: Mapping[str, Model] = {
    "hybrid": Model(nearness=11.6, keyword=5.1, passages=-0.52, across=1.4, intercept=-3.8),
    "keyword-only": Model(keyword=9.3, intercept=-3.3),
}
"""By mode of the library. With an encoder that was not measured, the likelier of the two counts."""
