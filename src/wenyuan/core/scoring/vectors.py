"""Sums and validation of vectors, and index terms of passages in batches."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import EncoderTimeout, VectorRejected
from wenyuan.core.messages import msg
from wenyuan.core.ports import Deadline
from wenyuan.core.text import CJK, without_cjk

# Sums of vectors, which give mean cosines without reading the vectors again.


Array = np.ndarray[Any, Any]

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
