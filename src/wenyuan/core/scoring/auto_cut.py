"""How many passages are worth giving: a top k that follows the scores.

Scores are calibrated: the floor is where a passage is as likely noise as help. The rule, in this order:

1. What lies below the floor is noise: it does not count.
2. Among what is left, the largest step down between neighbours, as a share of the best score's height above
   the floor, is where the answer ends, if it is at least `drop`. The first of equal steps counts.
3. Never fewer than `low` (as far as there are so many), never more than `high`: both hold before 1 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def auto_cut(scores: Sequence[float], *, low: int = 1, high: int = 10, floor: float = 0.0, drop: float = 0.35) -> int:
    """How many of the passages with these scores to return.

    Args:
        scores: 0..1, best first.
        floor: Score below which a passage is more likely noise than help.
        drop: Smallest step down that ends an answer, as a share of the best score's height above the floor.

    Raises:
        ValueError: scores outside 0..1 or rising, or arguments that make no sense.
    """
    if not 0 <= low <= high or not 0.0 <= floor <= 1.0 or not 0.0 < drop <= 1.0:
        raise ValueError(f"no such cut: low {low}, high {high}, floor {floor}, drop {drop}")
    if not all(0.0 <= score <= 1.0 for score in scores) or any(b > a for a, b in pairwise(scores)):
        raise ValueError("scores must lie in 0..1 and not rise")
    least = min(low, len(scores))
    helpful = [score for score in scores[:high] if score >= floor]
    return max(least, _end(helpful, least, floor, drop))


def _end(scores: Sequence[float], least: int, floor: float, drop: float) -> int:
    """The position of the largest score drop if it is large enough; else the end of the list."""
    height = scores[0] - floor if scores else 0.0
    steps = [(scores[k - 1] - scores[k], k) for k in range(max(1, least), len(scores))]
    step, k = max(steps, key=lambda s: (s[0], -s[1]), default=(0.0, 0))
    return k if height > 0 and step >= drop * height else len(scores)
