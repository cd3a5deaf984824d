"""What terms are worth: their numbers, and how many passages hold them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wenyuan.core.scoring.common_words import worth
from wenyuan.core.scoring.formula import term_weights
from wenyuan.engines.hidden_tally import HiddenTally
from wenyuan.engines.milvus.collections import CollectionNames, Mark
from wenyuan.engines.milvus.sessions import Session

FIELDS = ("term", "number", "held", "at", "before")


def digest(term: str) -> str:
    """The key of a term, 32 hexadecimal digits: it needs no quoting, and does not tell the term."""
    return hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class MilvusQueryTerms:
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
    def of(
        cls,
        session: Session,
        names: CollectionNames,
        terms: Sequence[str],
        mark: Mark,
        tally: HiddenTally | None = None,
    ) -> MilvusQueryTerms:
        """Read them; `tally` is of passages that are not counted."""
        keys = {digest(term): term for term in terms}
        known: dict[str, tuple[int, int]] = {}
        for row in session.named(names.words, "term", list(keys), FIELDS):
            held = row["held"] if row["at"] <= mark.watermark else row["before"]
            number = int(row["number"])
            known[keys[row["term"]]] = number, int(held) - (0 if tally is None else tally.held(number))
        held_by = {term: known.get(term, (0, 0))[1] for term in terms}
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
