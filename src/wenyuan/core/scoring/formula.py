"""How a score is made: keyword and vector halves on one scale, 0 to 1, and the factors of trust and support."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from wenyuan.core.scoring.law_factor import LAW
from wenyuan.core.text.analysis import OWN, PAIR
from wenyuan.core.text.numbers import QUANTITY

Term = TypeVar("Term")
Array = np.ndarray[Any, Any]
Scores = TypeVar("Scores", float, Array)

K1 = 1.2
B = 0.75
KNEE = 0.5
PAIRED = 0.15
"""What a pair of neighbouring words counts, of its idf."""
VECTOR_WEIGHT = 0.75
"""Of the vector leg. One for all collections: what was measured of each, and what was learned of single queries, did not
carry over to collections that were left out (docs/explanation/scoring.md)."""
CENTRE = 0.5
"""How far queries are moved away from general questions. All the way loses as much as it gains."""
BRIDGE = 0.3
"""How far queries are moved away from their own language in a library of both. More of it gains where an answer is there
in one language only, and loses where it is there in both and one's own was meant: docs/explanation/scoring.md."""


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a collection that its scores depend on.

    Attributes:
        bridge: How far queries are moved away from their own language, towards the other one; 0 in a library of one.
        law: How much an article loses at most that is of another law than most candidates (see `laws`); 0: nothing.
        labels: Whether the labels of all passages were embedded, and count.
    """

    bridge: float = 0.0
    law: float = 0.0
    labels: bool = False

    @classmethod
    def of(cls, known: Mapping[str, float]) -> Traits:
        """Inverse of the stored and recorded form."""
        return cls(known.get("bridge", 0.0), known.get("law", LAW), bool(known.get("labels", 0.0)))


PLAIN = Traits()
"""Of a collection in one language, without articles."""


def _fieldnorm_table() -> tuple[int, ...]:
    """The 256 representable lengths: 0..39 exactly, then a 3-bit mantissa float (Lucene's SmallFloat.byte4)."""
    exact = 24
    table = list(range(exact))
    for code in range(256 - exact):
        bits, shift = code & 7, (code >> 3) - 1
        table.append(exact + (bits if shift < 0 else (bits | 8) << shift))
    return tuple(table)


LENGTHS = _fieldnorm_table()
"""What lengths are quantised to: 256 of them, rising."""


def quantised_length(length: int) -> int:
    """The largest representable length that is not above `length`."""
    return LENGTHS[bisect_right(LENGTHS, length) - 1]


def idf(documents: int, with_term: int) -> float:
    """ln(1 + (N − n + ½) / (n + ½)), never negative."""
    return math.log(1.0 + (documents - with_term + 0.5) / (with_term + 0.5))


def term_weights(documents: int, holding: Mapping[str, int]) -> Mapping[str, float]:
    """Idf of each query term; 0 for an identifier, word pair or quantity that no passage has.

    Args:
        documents: Number of passages in the index.
        holding: By term, the number of passages that hold it.
    """
    return {
        term: idf(documents, n) * (PAIRED if PAIR in term else 1.0)
        for term, n in holding.items()
        if n or not (term.startswith((OWN, QUANTITY)) or PAIR in term)
    }


def bm25(frequencies: Mapping[Term, int], length: int, average_length: float, weights: Mapping[Term, float]) -> float:
    """BM25 score of one passage; terms may be strings or numbers.

    Args:
        frequencies: How often each query term occurs in it.
        length: Its number of terms; quantised here.
        average_length: Over all passages, of unquantised lengths.
        weights: idf by term.
    """
    norm = K1 * (1.0 - B + B * quantised_length(length) / average_length)
    total = 0.0
    for term, weight in weights.items():
        count = frequencies.get(term, 0)
        if count:
            total += weight * (K1 + 1.0) * count / (count + norm)
    return total


def squash(share: float) -> float:
    """Map a share of 0..2.2 to a score of 0..1: identity up to `KNEE`, then concave and strictly rising."""
    if share <= KNEE:
        return share
    room = 1.0 - KNEE
    return 1.0 - room * math.exp(-(share - KNEE) / room)


def rescale(cosine: Scores, scale: tuple[float, float]) -> Scores:
    """Map a cosine, or an array of them, linearly from ``scale = (lo, hi)`` to 0..1, clipped; NaN (no vector) becomes 0."""
    low, high = scale
    share: Scores = np.fmin(1.0, np.fmax(0.0, (cosine - low) / (high - low)))
    return share + 0.0  # a negative zero would be shown as one


def trust_factor(trust: int) -> float:
    """Factor of a probability: .98 for trust 1 … 1.02 for trust 5. It only breaks near-ties."""
    return 0.97 + 0.01 * trust


def support_factor(trust: int) -> float:
    """Factor of a derived rule by the trust of its evidence: .6 for trust 1 … 1.0 for trust 5."""
    return 0.5 + 0.1 * trust
