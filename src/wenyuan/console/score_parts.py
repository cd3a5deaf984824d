"""The parts of a score as a page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# A score taken apart into the pieces of a bar.


_USUAL_WEIGHT = 0.7
_LEAST = 0.0005  # what is smaller is not seen, and not told
_RULE_PARTS = ("link", "weight", "support", "condition", "inheritance", "asked")


@dataclass(frozen=True, slots=True)
class ScorePart:
    """A component of a score.

    Attributes:
        name: ``vector``, ``keyword``, ``law``, ``context``, ``trust``, ``identifier``, ``rivals``, ``reranker`` or, unexplained,
            ``score``.
        value: How much it adds; negative: how much it takes away.
        start: Where it begins in the bar, 0..1.
    """

    name: str
    value: float
    start: float

    @property
    def width(self) -> float:
        """Its length in the bar, 0..1."""
        return abs(self.value)


def pieces_of(score: float, parts: Mapping[str, float]) -> tuple[ScorePart, ...]:
    """The components that add up to a passage's score, in order of computation.

    The pieces end at the score: the deduction for low trust extends beyond it.
    """
    if "fused" not in parts:
        return (ScorePart("score", score, 0.0),)
    sums = _summands(score, parts)
    made, reached = [], 0.0
    for name, value in sums:
        if value >= _LEAST:
            made.append(ScorePart(name, min(value, 1.0 - reached), reached))
            reached = min(1.0, reached + value)
    for name, value in sums:
        if value <= -_LEAST:
            reached = max(0.0, reached + value)
            made.append(ScorePart(name, value, reached))
    return tuple(made)


def _summands(score: float, parts: Mapping[str, float]) -> list[tuple[str, float]]:
    fused, trust = parts["fused"], parts.get("trust", 1.0)
    vector = _share_of_vector(parts)
    law = fused * (parts.get("law", 1.0) - 1.0)
    context = (fused + law) * parts.get("context", 0.0)
    return [
        ("vector", vector),
        ("keyword", fused - vector),
        ("law", law),
        ("context", context),
        ("trust", (fused + law + context) * (trust - 1.0)),
        ("identifier", parts.get("identifier", 0.0)),
        ("rivals", parts.get("retrieved", score) - parts["raw"] if "raw" in parts else 0.0),
        ("reranker", parts.get("share", 0.0) * (parts.get("reranker", 0.0) - parts.get("retrieved", 0.0))),
    ]


def _share_of_vector(parts: Mapping[str, float]) -> float:
    """The part of the fused score that the vector leg contributes; the weight is derived from the three scores."""
    vector, keyword, fused = parts.get("vector"), parts.get("keyword"), parts["fused"]
    if vector is None or keyword is None:
        return 0.0 if vector is None else fused
    apart = vector - keyword
    weight = (fused - keyword) / apart if abs(apart) > 1e-6 else _USUAL_WEIGHT
    return weight * vector


def product_of(parts: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """The factors of a rule's score; empty for a passage."""
    return tuple((name, parts[name]) for name in _RULE_PARTS if name in parts) if "link" in parts else ()
