"""What terms are worth in an index on a server, whose rows carry weights that were right when they were written.

A weight w = (k1 + 1) · f / (f + n), where f is how often a term occurs and n the norm of the row's length, is BM25 without
idf, with the mean length of all passages at that time. The mean drifts as passages come and go; how far a weight can be
from what it would be now is known, so candidates are fetched until no other row could enter the ranking.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass

from wenyuan.core.scoring.common_words import worth
from wenyuan.core.scoring.formula import K1, B, quantised_length, term_weights
from wenyuan.engines.hidden_tally import HiddenTally
from wenyuan.engines.index_mark import Mark


def digest(term: str) -> str:
    """The key of a term, 32 hexadecimal digits: it needs no quoting, and does not tell the term."""
    return hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def norm(length: int, mean: float) -> float:
    """What BM25 adds to a term's frequency, for a passage of `length` terms."""
    return K1 * (1.0 - B + B * quantised_length(length) / mean)


def weighed(frequency: int, length: int, mean: float) -> float:
    """The part of BM25 that is a passage's own: the score is the sum of these times idf."""
    return (K1 + 1.0) * frequency / (frequency + norm(length, mean))


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """A query's terms as the index knew them at one mark.

    Attributes:
        weights: Idf of every term that asks for something.
        worth: By number, what those add that some passage holds; see `core.scoring.common_words`.
        mean: Length of a passage, in terms.
        least: The least mean with which rows were weighed.
    """

    weights: Mapping[str, float]
    worth: Mapping[int, float]
    mean: float
    least: float

    @classmethod
    def of(cls, known: Mapping[str, tuple[int, int]], mark: Mark, tally: HiddenTally | None) -> QueryTerms:
        """What terms are worth.

        Args:
            known: By term, its number, from 1, and how many passages hold it; 0 and 0 for one that the index does not know.
            tally: Of passages that are not counted.
        """
        held_by = {
            term: held - (0 if tally is None or not number else tally.held(number))
            for term, (number, held) in known.items()
        }
        passages, length = mark.passages, mark.length
        if tally is not None:
            passages, length = passages - tally.passages, length - tally.length
        weights = term_weights(max(0, passages), held_by)
        counted = worth(weights, passages)
        by_number = {known[term][0]: counted[term] for term in weights if held_by[term] > 0}
        return cls(weights, by_number, length / passages if passages > 0 else 0.0, mark.least)

    @property
    def total(self) -> float:
        """The query's information."""
        return math.fsum(self.weights.values())

    @property
    def drift(self) -> float:
        """By how much a score that the server gives may be below what it would be with weights of now."""
        return max(1.0, self.mean / self.least)
