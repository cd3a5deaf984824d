"""From scores to probabilities: that a passage answers the question.

Its score alone does not tell: .6 is high in one collection, and typical of any passage in another. What carries over is how
far it lies above the best other candidate, in the score and in each of its two legs, and above the middle of all candidates
relative to their spread; and how much more it has of what the question's content words say (``covered``):

    evidence(x) = 4.8 · (score − best other) + .9 · (keyword − best other) + 12.6 · (vector − best other)
                  + .36 · (score − middle) / spread of the candidates + 2.4 · (covered − best other)
    p(x)        = 1 / (1 + e^−(intercept + slope · evidence))

It is fitted passage by passage and does not add up to one: where several passages answer, each may be likely. Passages under
one heading that says what the question asks (a question of a FAQ with its answers) are no rivals of each other. The candidates
are those found by the library's own legs within the scope with at least half of the best score, before floor, trust and
context, without copies; they do not depend on the number of results asked for, up to half of `search.depth`. No passage gets
more than one that stands before it, so the order does not change, and the score is kept in the parts (``raw``). What the
evidence lacks to the score is shown as one score, ``rivals``, and its weights as one width, ``spread``:
p = 1 / (1 + e^−(intercept + slope · (raw − rivals) / spread)).

That the scope holds an answer at all is `answerable`, and that the first passages suffice `risk`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import accumulate
from operator import sub
from statistics import median
from types import MappingProxyType
from typing import NamedTuple

from wenyuan.core.ports import Hit
from wenyuan.core.scoring.blending import probability

PARTS = ("calibration", "intercept", "slope")
"""What is recorded of a curve, by name."""

CALIBRATE_VERSION = 5
"""Changes with the form or its constants: an answer is replayed with the numbers that its record holds."""

NEAR = 30
"""How many of the candidates tell how far they lie apart."""
RIVALS = 10
"""How many of the first are looked at for the best other one."""
_USUAL, _TRUST_IN_USUAL = 0.04, 10
"""The spread of most questions, and how many candidates it counts as: a handful has no spread of its own."""
_AHEAD, _ABOVE, _MORE = (4.8, 0.9, 12.6), 0.36, 2.4
"""What it counts that a passage lies before the best other one, in score, keyword and vector; above the middle by a spread; and has
more of what the question says than the best other one."""
WEIGHTS = (*_AHEAD, _ABOVE, _MORE)
"""Of the features of the evidence, see `Field.features`."""
_ALONE, _MORE_ALONE = (0.2, 0.05), 0.2
"""How far a passage without rivals counts as standing before them in keyword and vector, and in the share of words; in the score, by
half of it."""


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
    "hybrid": Curve(-1.06, 1.0),
    "keyword-only": Curve(-0.7, 0.8),
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


class WordMatch(NamedTuple):
    """How the words of a passage match the question.

    Attributes:
        covered: The share of what the question's words say that the passage has, 0..1; None: not known.
        group: Of passages that are no rivals of each other; None: it has none.
    """

    covered: float | None = None
    group: Hashable = None


UNMATCHED = WordMatch()


class Candidate(NamedTuple):
    """A candidate as it competes with the others of a question.

    Attributes:
        score: 0..1, of both legs.
        keyword, vector: Of each leg, 0..1; 0 where there is no such leg.
        words: What was compared of its words.
    """

    passage_id: int
    score: float
    keyword: float = 0.0
    vector: float = 0.0
    words: WordMatch = UNMATCHED


class Field:
    """The candidates of a question, relative to which each passage gets its probability.

    Args:
        candidates: All of them, in any order.
        answerable: The probability that any of them answers.
    """

    __slots__ = ("_answerable", "_best", "_curve", "_middle", "_numbers", "_rivals", "_usual", "spread")

    def __init__(self, candidates: Iterable[Candidate], curve: Curve, answerable: float = 1.0) -> None:
        near = nlargest(NEAR, candidates, key=lambda one: (one.score, -one.passage_id))
        near = [one for one in near if one.score >= 0.5 * near[0].score]
        scores = [one.score for one in near]
        if len(near) == 1:  # all others, if there are any, lie below
            scores.append(0.5 * scores[0])
        between = [score - scores[-1] for score in scores[1:-1]]
        usual = (_TRUST_IN_USUAL * _USUAL + math.fsum(between)) / (_TRUST_IN_USUAL + len(between))
        self._curve, self._answerable = curve, answerable
        self._rivals = near[:RIVALS]
        self._numbers = frozenset(one.passage_id for one in self._rivals)
        self._best: dict[int | None, tuple[tuple[float, ...] | None, float | None]] = {}
        self._middle = median(scores) if near else 0.0
        self._usual = usual
        self.spread = 1.0 / (_AHEAD[0] + _ABOVE / usual)

    def evidence(self, one: Candidate) -> float:
        """How far a passage stands before the others, weighted as the module says; 0 for one among equals."""
        return math.fsum(weight * one for weight, one in zip(WEIGHTS, self.features(one), strict=True))

    def features(self, one: Candidate) -> tuple[float, ...]:
        """How far a passage stands before the best other one, in score, keyword and vector, above the middle in spreads, and before
        the best other one in the share of words; 0 where shares are not known.
        """
        number, (own, group) = one.passage_id, one.words
        rival = number if number in self._numbers else None
        if group is None and rival in self._best:
            best, covered = self._best[rival]
        else:
            best, covered = self._best_other(number, group)
            if group is None:
                self._best[rival] = best, covered
        ahead = (0.5 * one.score, *_ALONE) if best is None else tuple(map(sub, one[1:4], best))
        more = 0.0 if own is None else _MORE_ALONE if covered is None else own - covered
        return *ahead, (one.score - self._middle) / self._usual, more

    def _best_other(self, number: int, group: Hashable) -> tuple[tuple[float, ...] | None, float | None]:
        """The largest score, keyword and vector of the rivals of a passage, None without any; and their largest share of words.

        Args:
            group: See `WordMatch`; its passages are no rivals.
        """
        others = [
            rival for rival in self._rivals
            if rival.passage_id != number and (group is None or rival.words.group != group)
        ]  # fmt: skip
        best = tuple(map(max, zip(*(rival[1:4] for rival in others), strict=True))) if others else None
        shares = [rival.words.covered for rival in others if rival.words.covered is not None]
        return best, max(shares, default=None)

    def evidences(self, candidates: Sequence[Candidate]) -> list[float]:
        """The evidence of each, none more than that of one which stands before it; they come in the order of their scores."""
        return list(accumulate(map(self.evidence, candidates), min))

    def settled(self, hits: Sequence[Hit], words: Mapping[int, WordMatch] = MappingProxyType({})) -> list[Hit]:
        """The hits with their probabilities as scores, in the order given; the former score is kept among the parts.

        The trust of each (part ``trust``, 1 where there is none) is the last factor.

        Args:
            words: Of the candidates whose words were compared, by passage id.
        """
        order = sorted(range(len(hits)), key=lambda at: -hits[at].score)
        evidences = self.evidences([candidate(hits[at], words) for at in order])
        matches = [probability(self._curve.intercept + self._curve.slope * evidence) for evidence in evidences]
        settled = list(hits)
        for at, evidence, match in zip(order, evidences, matches, strict=True):
            hit = hits[at]
            parts = {
                **hit.parts, "raw": hit.score, "rivals": hit.score - evidence * self.spread, "spread": self.spread,
                "match": match, "answerable": self._answerable,
            }  # fmt: skip
            score = min(1.0, self._answerable * match * hit.parts.get("trust", 1.0))
            settled[at] = hit._replace(score=score, parts=parts)
        return settled


def candidate(hit: Hit, words: Mapping[int, WordMatch]) -> Candidate:
    """A hit as it competes with others.

    Args:
        words: Of the candidates whose words were compared, by passage id.
    """
    parts = hit.parts
    return Candidate(
        hit.passage_id,
        hit.score,
        parts.get("keyword", 0.0),
        parts.get("vector", 0.0),
        words.get(hit.passage_id, UNMATCHED),
    )


def raw_of(hit: Hit) -> float:
    """The score before it became a probability; for rules and external hits, the score."""
    return hit.parts.get("raw", hit.score)


_SETTLED = ("raw", "rivals", "spread", "match", "answerable")


def unsettled(hit: Hit) -> Hit:
    """The hit with its score before it became a probability."""
    parts = {name: value for name, value in hit.parts.items() if name not in _SETTLED}
    return hit._replace(score=raw_of(hit), parts=parts)


def explain_probability(hit: Hit, curve: Curve) -> str:
    """The derivation of a probability from its score, so that a person can check it."""
    p = hit.parts
    logit = curve.intercept + curve.slope * (p["raw"] - p["rivals"]) / p["spread"]
    trusted = f" · trust {p['trust']:.2f}" if p.get("trust", 1.0) != 1.0 else ""
    return (
        f"{curve.intercept:.3f} + {curve.slope:.3f}·({p['raw']:.4f} − rivals {p['rivals']:.4f}) / spread "
        f"{p['spread']:.4f} = {logit:.3f}, 1 / (1 + e^−({logit:.3f})) = match {p['match']:.3f} · "
        f"answerable {p['answerable']:.3f}{trusted} → {hit.score:.3f}"
    )
