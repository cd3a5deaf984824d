"""How many passages are worth giving: a top k that follows the scores.

Scores are calibrated: the floor is where a passage is as likely noise as help. The rule, in this order:

1. What lies below the floor is noise: it does not count.
2. Among what is left, the largest step down between neighbours, as a share of the best score's height above
   the floor, is where the answer ends, if it is at least `drop`. The first of equal steps counts.
3. Never fewer than `low` (as far as there are so many), never more than `high`: both hold before 1 and 2.
4. Who can judge the passages themselves, such as a language model, may ask for more: while
   ``confidence(k)`` that the first k suffice is below one half, one more is taken, up to `high` or the floor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

__all__ = ["auto_cut"]

_SUFFICES = 0.5


def auto_cut(
    scores: Sequence[float],
    *,
    low: int = 1,
    high: int = 10,
    floor: float = 0.0,
    drop: float = 0.35,
    confidence: Callable[[int], float] | None = None,
) -> int:
    """How many of the passages with these scores to give.

    Args:
        scores: 0..1, best first.
        floor: Score below which a passage is more likely noise than help.
        drop: Smallest step down that ends an answer, as a share of the best score's height above the floor.
        confidence: How sure a judge is (0..1) that the first k passages suffice; asked at most `high` times.

    Raises:
        ValueError: scores outside 0..1 or rising, or arguments or a confidence that make no sense.
    """
    if not 0 <= low <= high or not 0.0 <= floor <= 1.0 or not 0.0 < drop <= 1.0:
        raise ValueError(f"no such cut: low {low}, high {high}, floor {floor}, drop {drop}")
    if not all(0.0 <= score <= 1.0 for score in scores) or any(b > a for a, b in pairwise(scores)):
        raise ValueError("scores must lie in 0..1 and not rise")
    least = min(low, len(scores))
    helpful = [score for score in scores[:high] if score >= floor]
    most = max(least, len(helpful))
    kept = max(least, _end(helpful, least, floor, drop))
    while confidence is not None and kept < most and _checked(confidence(kept)) < _SUFFICES:
        kept += 1
    return kept


def _end(scores: Sequence[float], least: int, floor: float, drop: float) -> int:
    """Where the largest step down lies, if it is large enough; else the end."""
    height = scores[0] - floor if scores else 0.0
    steps = [(scores[k - 1] - scores[k], k) for k in range(max(1, least), len(scores))]
    step, k = max(steps, key=lambda s: (s[0], -s[1]), default=(0.0, 0))
    return k if height > 0 and step >= drop * height else len(scores)


def _checked(confidence: float) -> float:
    if not 0.0 <= confidence <= 1.0:  # false for NaN too
        raise ValueError(f"confidence {confidence!r} is not in 0..1")
    return confidence
