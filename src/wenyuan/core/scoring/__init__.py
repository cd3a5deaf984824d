"""Scores of passages (absolute, 0..1, explainable), and the statute factor.

The statute factor: if many candidates of a question are articles of one statute, the question is probably about it. An
article seldom says what its statute is about, and laypeople do not name it. With n candidates, of which c are articles of
one statute, its support is s = √((c − 1) / n). The score of an article is multiplied by

    1 − `LAW` · (largest support of any statute − s)

so articles of the statute with most candidates, and passages that are no articles, keep their scores. A statute is any text
with numbered articles: a code, a regulation, a company's rules. Other documents gain nothing by it
(docs/explanation/scoring.md).
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from wenyuan.core.text import OWN, PAIR
from wenyuan.core.text.numbers import QUANTITY
from wenyuan.core.text.structure import clause_keys, without_clauses

LAW = 0.1
"""What an article loses at most, relative to its score."""
_MAY_NAME = re.compile("[条條]|art", re.IGNORECASE)  # most passages are no articles, and are told by this


def law_of(title: str, headings: Sequence[str]) -> str:
    """The statute that a passage is an article of; ``""`` for other passages.

    Args:
        title: Of the document; where each article is a document of its own, it names both.
        headings: Over the passage.
    """
    named = "\n".join((title, *headings))
    if not _MAY_NAME.search(named):
        return ""
    keys = clause_keys(unicodedata.normalize("NFKC", named))
    if not any(key.startswith("article:") for key in keys):
        return ""
    return " ".join(without_clauses(unicodedata.normalize("NFKC", title)).split()).casefold()


def shares(laws: Mapping[int, str], weight: float) -> Mapping[int, float]:
    """The factors by which candidates of other statutes are reduced, above 1 − `weight`; candidates with factor 1 are
    left out.

    Args:
        laws: Of each candidate (see `law_of`).
        weight: `LAW`, or 0: no score is reduced.
    """
    counts = Counter(law for law in laws.values() if law)
    if len(counts) < 2:
        return {}
    spoken = {law: ((count - 1) / len(laws)) ** 0.5 for law, count in counts.items()}
    most = max(spoken.values())
    kept = {law: 1.0 - weight * (most - own) for law, own in spoken.items()}
    return {candidate: kept[law] for candidate, law in laws.items() if law and kept[law] < 1.0}


# Scores: absolute, 0..1, explainable.
#
# * keyword: BM25 (k1 = 1.2, b = 0.75; Robertson & Zaragoza 2009) over `text.passage_terms`, divided by the
#   summed idf of the query's distinct terms → the share of the query's information that a passage covers.
#   Pairs of words count `PAIRED` of their idf; where no passage has them, they and quantities do not count at all.
#   A passage of average length that has every term once has share 1; repetition and brevity go beyond (up to
#   k1 + 1), so the part above `KNEE` is bent into 0..1 without a tie: `squash`.
# * vector: the cosine on the encoder's own scale, clip((cos − lo) / (hi − lo), 0, 1).
# * retrieval_score = w · vector + (1 − w) · keyword; with one leg configured, that leg's score.
#
# Document lengths are quantised to one byte as Lucene and tantivy do (exact up to 40 terms, then about 6 %), so
# that every engine can give the same numbers.


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
    return share


def trust_factor(trust: int) -> float:
    """Factor of a probability: .98 for trust 1 … 1.02 for trust 5. It only breaks near-ties."""
    return 0.97 + 0.01 * trust


def support_factor(trust: int) -> float:
    """Factor of a derived rule by the trust of its evidence: .6 for trust 1 … 1.0 for trust 5."""
    return 0.5 + 0.1 * trust
