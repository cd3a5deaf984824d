"""Scores of passages (absolute, 0..1, explainable), the statute factor, and checks and sums of vectors.

The statute factor: if many candidates of a question are articles of one statute, the question is probably about it. An
article seldom says what its statute is about, and laypeople do not name it. With n candidates, of which c are articles of
one statute, its support is s = √((c − 1) / n). The score of an article is multiplied by

    1 − `LAW` · (largest support of any statute − s)

so articles of the statute with most candidates, and passages that are no articles, keep their scores. A statute is any text
with numbered articles: a code, a regulation, a company's rules. Other documents gain nothing by it
(docs/explanation/scoring.md).
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import EncoderTimeout, VectorRejected, msg
from wenyuan.core.ports import Deadline
from wenyuan.core.text import CJK, OWN, PAIR, without_cjk
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


# How a score is made:
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
    return share + 0.0  # a negative zero would be shown as one


def trust_factor(trust: int) -> float:
    """Factor of a probability: .98 for trust 1 … 1.02 for trust 5. It only breaks near-ties."""
    return 0.97 + 0.01 * trust


def support_factor(trust: int) -> float:
    """Factor of a derived rule by the trust of its evidence: .6 for trust 1 … 1.0 for trust 5."""
    return 0.5 + 0.1 * trust


# Sums of vectors, which give mean cosines without reading the vectors again.


CHINESE = "zh"
"""The language of a passage in Chinese; those in any other language are summed up together."""


class Sums:
    """Running sums of passage vectors, for passages in Chinese and for others. Zero vectors mean "no vector" and are
    skipped.

    Args:
        sums: (2, dim) float64; the second is of passages in Chinese.
        counts: (2,) int64, how many vectors each is of.
    """

    def __init__(self, sums: Array, counts: Array) -> None:
        self.sums, self.counts = sums, counts

    @classmethod
    def empty(cls, dimension: int) -> Sums:
        return cls(np.zeros((2, dimension)), np.zeros(2, np.int64))

    @classmethod
    def read(cls, kept: Mapping[str, Any], dimension: int) -> Sums:
        """Inverse of `written`; KeyError, TypeError or ValueError for anything else."""
        sums = np.array(kept["sums"], np.float64).reshape(2, dimension)
        return cls(sums, np.array(kept["counts"], np.int64).reshape(2))

    def written(self) -> Mapping[str, Any]:
        """As JSON values."""
        return {"sums": self.sums.tolist(), "counts": self.counts.tolist()}

    def copy(self) -> Sums:
        return Sums(self.sums.copy(), self.counts.copy())

    def add(self, vector: Array, *, chinese: bool) -> None:
        self.sums[int(chinese)] += vector
        self.counts[int(chinese)] += 1

    def remove(self, vector: Array, *, chinese: bool) -> None:
        self.sums[int(chinese)] -= vector
        self.counts[int(chinese)] -= 1

    def extend(self, vectors: Array, chinese: Array) -> None:
        """Add (n, dim) rows; `chinese` is a mask, (n,) bool."""
        there = vectors.any(axis=1)
        for of_which in (False, True):
            chosen = vectors[there & (chinese == of_which)]
            self.sums[int(of_which)] += chosen.sum(axis=0, dtype=np.float64)
            self.counts[int(of_which)] += len(chosen)

    def mean_cosine(self, vector: Array) -> float:
        """The mean cosine to all vectors; 0 without any."""
        count = int(self.counts.sum())
        return float(self.sums.sum(axis=0) @ vector) / count if count else 0.0


# What a model answers is not trusted: vectors are checked and made unit rows before they are used.


_SAME = 1e-6
"""Unit rows that differ by less than this in every dimension are one vector."""
_COMPARED_CHARS = 200
"""Texts are compared by their beginning: models cut long ones, so equal beginnings may give equal vectors."""


def checked_vectors(
    array: Any, count: int, dimension: int, component: str, *, texts: Sequence[str] = ()
) -> NDArray[np.float32]:
    """Validated, normalised rows from a model's output.

    Args:
        array: What the model gave: an array or nested lists of numbers.
        count: How many rows there must be.
        dimension: How many columns there must be.
        component: Who answered, for the message.
        texts: What was encoded, if the answer should also be tested for a model that says always the same.

    Returns:
        ``(count, dimension)`` float32, every row of length 1.

    Raises:
        VectorRejected: not numbers, wrong count or dimension, NaN, infinity, zero, or one vector for
            different texts.
    """
    rows = _numbers(array, component)
    if rows.size == 0 and count == 0:
        return np.zeros((0, dimension), np.float32)
    if rows.ndim != 2:
        raise VectorRejected(msg("expected rows of numbers, got {ndim} axes", ndim=rows.ndim), component=component)
    if rows.shape[0] != count:
        raise VectorRejected(
            msg("{count} texts went in, {shape} vectors came out", count=count, shape=rows.shape[0]),
            component=component,
        )
    if rows.shape[1] != dimension:
        raise VectorRejected(
            msg(
                "the vectors have {shape} dimensions, expected {dimension}", shape=rows.shape[1], dimension=dimension
            ),
            component=component,
        )
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    usable = np.isfinite(lengths[:, 0]) & (lengths[:, 0] > np.finfo(np.float32).tiny)
    if not usable.all():
        raise _unusable(rows, lengths[:, 0], usable, component)
    units: NDArray[np.float32] = (rows / lengths).astype(np.float32, copy=False)
    if texts:
        _check_not_constant(units, texts, component)
    return units


def check_deadline(deadline: Deadline | None, component: str) -> None:
    """Raise `EncoderTimeout` if the deadline has passed (`Deadline.check` would name an engine)."""
    if deadline is not None and deadline.remaining() <= 0:
        raise EncoderTimeout("the deadline passed", component=component)


def _numbers(array: Any, component: str) -> NDArray[Any]:
    try:
        rows = np.asarray(array)
    except (ValueError, TypeError) as error:  # rows of unequal length
        raise VectorRejected("the vectors have different lengths", component=component) from error
    if rows.size and rows.dtype.kind not in "fiu":  # strings, booleans and None must not turn into numbers
        raise VectorRejected("the answer holds values that are not numbers", component=component)
    # Single precision stays as it is (it may be large); all else is measured in double precision.
    return rows if rows.dtype == np.float32 else rows.astype(np.float64)


def _unusable(rows: NDArray[Any], lengths: NDArray[Any], usable: NDArray[Any], component: str) -> VectorRejected:
    at = int(np.argmin(usable))
    if np.isnan(rows[at]).any():
        what = "holds NaN"
    elif not np.isfinite(lengths[at]):
        what = "holds infinity or numbers too large"
    else:
        what = "is zero"
    bad = int((~usable).sum())
    return VectorRejected(
        msg("vector {at} {what} ({bad} of {count} are unusable)", at=at, what=what, bad=bad, count=len(usable)),
        component=component,
    )


def _check_not_constant(units: NDArray[np.float32], texts: Sequence[str], component: str) -> None:
    if len(units) < 2 or float(np.ptp(units, axis=0).max()) > _SAME:
        return
    different = {fold: text for text in texts if (fold := _letters(text))}
    if len(different) >= 2:
        one, other, *_ = (text[:40] for text in different.values())
        raise VectorRejected(
            msg(
                "{count} different texts all got the same vector, e.g. {one} and {other}",
                count=len(different),
                one=repr(one),
                other=repr(other),
            ),
            component=component,
        )


def _letters(text: str) -> str:
    """Letters and digits, folded by width, case and accents: the least that any model distinguishes."""
    folded = unicodedata.normalize("NFKD", text[:_COMPARED_CHARS]).casefold()
    return "".join(filter(str.isalnum, folded))


# The terms of many passages at once, as an index takes them: in less time than one after the other.


_SPACE = ord(" ")


def passage_bodies(passages: Sequence[tuple[str, str]]) -> list[str]:
    """For each passage, the terms of `text.passage_terms` of heading and text, separated by spaces, in another order.

    Characters of CJK runs and their pairs, which most terms of a Chinese text are, are cut out of all texts at once.
    """
    if not passages:
        return []
    told = [(without_cjk(heading, own=True), without_cjk(text)) for heading, text in passages]
    texts = [folded for both in told for folded, _ in both]
    codes = np.frombuffer("\n".join([*texts, ""]).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    cjk = _is_cjk(codes)
    ends = np.cumsum([len(text) + 1 for text in texts])[1::2]  # of each passage; no pair goes over a line's end
    singles = _cut(codes, np.flatnonzero(cjk), 1, ends)
    pairs = _cut(codes, np.flatnonzero(cjk[:-1] & cjk[1:]), 2, ends)
    return [
        f"{single}{pair}{' '.join(words + more)}"
        for single, pair, ((_, words), (_, more)) in zip(singles, pairs, told, strict=True)
    ]


def _cut(codes: Any, at: Any, length: int, ends: Any) -> list[str]:
    """``codes[i : i + length]`` for each ``i`` in `at`, each followed by a space; split into one text for each of
    `ends`.
    """
    written = np.full((len(at), length + 1), _SPACE, dtype="<u4")
    for place in range(length):
        written[:, place] = codes[at + place]
    whole = written.tobytes().decode("utf-32-le")
    bounds = [0, *(np.searchsorted(at, ends) * (length + 1)).tolist()]
    return [whole[start:end] for start, end in itertools.pairwise(bounds)]


def _is_cjk(codes: Any) -> Any:
    """Mask of the code points that are in `text.CJK`."""
    flags, last = _plane()
    found = flags[np.minimum(codes, 0x10000)]
    if codes.max(initial=0) > 0xFFFF:
        found |= (codes >= last[0]) & (codes <= last[1])
    return found


@lru_cache(maxsize=1)
def _plane() -> tuple[Any, tuple[int, int]]:
    """Lookup table of the basic plane, (65537,) bool, and the ranges beyond it."""
    flags = np.zeros(0x10001, dtype=bool)
    beyond = (1, 0)
    for low, high, single in re.findall(r"(.)-(.)|(.)", CJK):
        first, last = ord(low or single), ord(high or single)
        if last > 0xFFFF:
            beyond = first, last
        else:
            flags[first : last + 1] = True
    return flags, beyond
