"""How a probability is said to people: what hardly answers is not called found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

LIKELY = 0.5
"""From here on a passage is more likely the answer than not."""
HARDLY = 0.05
"""Below, it would answer in fewer than one case of twenty."""
SHOWN = 0.005
"""Below, the score rounds to nothing, and people are not shown the passage."""

Likelihood = Literal["likely", "perhaps", "hardly", "none"]


def likelihood(scores: Iterable[float]) -> Likelihood:
    """What an answer is called, by the most likely of its passages."""
    best = max(scores, default=0.0)
    if best < SHOWN:
        return "none"
    return "likely" if best >= LIKELY else "perhaps" if best >= HARDLY else "hardly"


def percent(scores: Iterable[float]) -> str:
    """The probability of the most likely one, as ``32 %``; ``under 1 %`` is ``<1 %``."""
    best = max(scores, default=0.0)
    return f"{100 * best:.0f} %" if best >= 0.01 else "<1 %"
