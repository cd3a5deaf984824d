"""From class probabilities along a line to characters with confidence and position."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Letter(NamedTuple):
    """A recognised character.

    Attributes:
        confidence: The probability of it at its best step, 0..1.
        at: Its middle, as a share (0..1) of the line's length.
    """

    text: str
    confidence: float
    at: float


def decode_letters(steps: NDArray[np.float32], characters: Sequence[str], length: float = 1.0) -> tuple[Letter, ...]:
    """Greedy decoding of connectionist temporal classification (Graves et al. 2006): repetitions are merged, blanks
    dropped.

    Args:
        steps: ``(steps, classes)`` probabilities; class 0 is the blank.
        characters: By class.
        length: The share of the steps that the line takes, where it was padded at its end.
    """
    best = steps.argmax(axis=1)
    sure = steps[np.arange(len(best)), best]
    bounds = np.concatenate(([0], np.nonzero(np.diff(best))[0] + 1, [len(best)]))
    found = []
    for start, end in itertools.pairwise(bounds):
        if best[start]:
            middle = (start + end) / 2 / len(best) / length
            found.append(Letter(characters[best[start]], float(sure[start:end].max()), min(float(middle), 1.0)))
    return tuple(found)
