"""What a reranker says, and how it moves a ranking: bounded by the place that a hit had before.

A reranker reads query and passage together; it is better at judging what is close and worse at exact words, numbers
and names than the search before it. So the search keeps most of its say at the top, where it has found the
words themselves, and the reranker has the more to say the further down a hit stood:

    score = (1 − share) · retrieved + share · reranker        share by the place before: 1-3, 4-10, behind

Both are absolute (0..1), and so is what comes out; only the share follows from the place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from wenyuan.core.errors import ScoresRejected
from wenyuan.core.ranking import Hit

__all__ = ["SHARES", "before", "blended", "checked_scores", "probability", "share_at", "told"]

Shares = tuple[float, float, float]

SHARES: Shares = (0.25, 0.4, 0.6)
"""The reranker's say at the places 1-3, 4-10 and behind; those of qmd (github.com/tobi/qmd)."""
_FIRST, _SECOND = 3, 10


def probability(logit: float) -> float:
    """A logit as 0..1, without overflow."""
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    grown = math.exp(logit)
    return grown / (1.0 + grown)


def checked_scores(scores: Sequence[object], count: int, component: str, *, logits: bool) -> list[float]:
    """Probabilities from whatever a model answered.

    Args:
        count: How many texts were given.
        component: Who answered, for the message.
        logits: They are any numbers, and become probabilities here; else they must be 0..1.

    Raises:
        ScoresRejected: too few, too many, not numbers, NaN, infinity, or not in 0..1.
    """
    if len(scores) != count:
        raise ScoresRejected(f"{count} texts went in, {len(scores)} scores came out", component=component)
    checked = []
    for place, score in enumerate(scores, 1):
        if isinstance(score, bool) or not isinstance(score, (int, float)):
            raise ScoresRejected(f"the score of text {place} is no number", component=component)
        value = _float(score)
        if not math.isfinite(value):
            raise ScoresRejected(f"the score of text {place} is NaN or infinite", component=component)
        if not logits and not 0.0 <= value <= 1.0:
            raise ScoresRejected(
                f"the score of text {place} is {value:.4g}, which is not in 0..1",
                component=component,
                hint='it may be a logit: set reranker.scores = "logit"',
            )
        checked.append(probability(value) if logits else value)
    return checked


def share_at(place: int, shares: Shares) -> float:
    """The reranker's say at a place (the first is 1)."""
    return shares[0] if place <= _FIRST else shares[1] if place <= _SECOND else shares[2]


def blended(hit: Hit, place: int, score: float, shares: Shares = SHARES) -> Hit:
    """A hit with the reranker's word on it.

    Args:
        place: Where it stood before (the first is 1).
        score: The reranker's probability.
    """
    share = share_at(place, shares)
    # Rounding must not lead out of 0..1.
    mixed = min(1.0, max(0.0, (1.0 - share) * hit.score + share * score))
    parts = {**hit.parts, "retrieved": hit.score, "reranker": score, "share": share}
    return hit._replace(score=mixed, parts=parts)


def before(hit: Hit) -> Hit:
    """The hit as it was before it was blended; one that never was stays as it is."""
    if "reranker" not in hit.parts:
        return hit
    parts = {name: value for name, value in hit.parts.items() if name not in ("retrieved", "reranker", "share")}
    return hit._replace(score=hit.parts["retrieved"], parts=parts)


def told(hit: Hit) -> str:
    """How a blended hit's score came about, as a sum that a person can check."""
    p = hit.parts
    share = p["share"]
    return f"{1 - share:.2f}·{p['retrieved']:.3f} + {share:.2f}·reranker {p['reranker']:.3f} → {hit.score:.3f}"


def _float(score: int | float) -> float:
    try:
        return float(score)
    except OverflowError:
        return math.inf
