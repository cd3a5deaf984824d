"""A reranker's or judge's scores, checked and blended into the library's own."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wenyuan.core.errors import ScoresRejected, msg
from wenyuan.core.ports import Hit

Shares = tuple[float, float, float]

SHARES: Shares = (0.25, 0.4, 0.6)
"""The reranker's say at the places 1-3, 4-10 and behind; those of qmd (github.com/tobi/qmd)."""
_FIRST, _SECOND = 3, 10


def probability(logit: float) -> float:
    """The logistic function, without overflow."""
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    grown = math.exp(logit)
    return grown / (1.0 + grown)


def checked_scores(scores: Sequence[object], count: int, component: str, *, logits: bool) -> list[float]:
    """Validated probabilities from a model's output.

    Args:
        count: How many texts were given.
        component: Who answered, for the message.
        logits: They are any numbers, and become probabilities here; else they must be 0..1.

    Raises:
        ScoresRejected: too few, too many, not numbers, NaN, infinity, or not in 0..1.
    """
    if len(scores) != count:
        raise ScoresRejected(
            msg("{count} texts went in, {count2} scores came out", count=count, count2=len(scores)),
            component=component,
        )
    checked = []
    for place, score in enumerate(scores, 1):
        if isinstance(score, bool) or not isinstance(score, (int, float)):
            raise ScoresRejected(msg("the score of text {place} is no number", place=place), component=component)
        value = _float(score)
        if not math.isfinite(value):
            raise ScoresRejected(
                msg("the score of text {place} is NaN or infinite", place=place), component=component
            )
        if not logits and not 0.0 <= value <= 1.0:
            raise ScoresRejected(
                msg("the score of text {place} is {value}, which is not in 0..1", place=place, value=f"{value:.4g}"),
                component=component,
                hint='it may be a logit: set reranker.scores = "logit"',
            )
        checked.append(probability(value) if logits else value)
    return checked


def share_at(place: int, shares: Shares) -> float:
    """The weight of the reranker at a rank (1 is the first)."""
    return shares[0] if place <= _FIRST else shares[1] if place <= _SECOND else shares[2]


def blended(hit: Hit, place: int, score: float, shares: Shares = SHARES) -> Hit:
    """A hit with the reranker's score blended in.

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
    """The hit before blending; unchanged if it was never blended."""
    if "reranker" not in hit.parts:
        return hit
    parts = {name: value for name, value in hit.parts.items() if name not in ("retrieved", "reranker", "share")}
    return hit._replace(score=hit.parts["retrieved"], parts=parts)


def explain_blend(hit: Hit) -> str:
    """The derivation of a blended score, as a sum that a person can check."""
    p = hit.parts
    share = p["share"]
    return f"{1 - share:.2f}·{p['retrieved']:.3f} + {share:.2f}·reranker {p['reranker']:.3f} → {hit.score:.3f}"


def _float(score: int | float) -> float:
    try:
        return float(score)
    except OverflowError:
        return math.inf
