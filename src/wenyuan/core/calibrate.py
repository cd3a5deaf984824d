"""From a score to the probability that a passage answers the question.

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
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest

from wenyuan.core.ranking import Hit
from wenyuan.core.rerank import probability

__all__ = [
    "CURVES",
    "NEAR",
    "PARTS",
    "VERSION",
    "Curve",
    "Field",
    "curve_of",
    "key_of",
    "raw_of",
    "shown",
    "unsettled",
]

PARTS = ("calibration", "intercept", "slope")
"""What is recorded of a curve, by name."""

VERSION = 2
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
    version: int = VERSION

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
