"""Sums of vectors, from which mean cosines are told without reading a vector again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["CHINESE", "Sums"]

Array = np.ndarray[Any, Any]

CHINESE = "zh"
"""The language of a passage in Chinese; those in any other language are summed up together."""


class Sums:
    """The sums of the vectors of passages in Chinese, and of the others; vectors of zeros stand for none and do not count.

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
        """Of what `written` gave; KeyError, TypeError or ValueError when it is not that."""
        sums = np.array(kept["sums"], np.float64).reshape(2, dimension)
        return cls(sums, np.array(kept["counts"], np.int64).reshape(2))

    def written(self) -> Mapping[str, Any]:
        """For JSON."""
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
        """Add (n, dim) rows; `chinese`: (n,) bool."""
        there = vectors.any(axis=1)
        for of_which in (False, True):
            chosen = vectors[there & (chinese == of_which)]
            self.sums[int(of_which)] += chosen.sum(axis=0, dtype=np.float64)
            self.counts[int(of_which)] += len(chosen)

    def mean_cosine(self, vector: Array, chinese: bool | None = None) -> float:
        """Of the vectors of passages in Chinese, of the others, or (None) of all; 0 where there is none."""
        of_which = slice(None) if chinese is None else [int(chinese)]
        count = int(self.counts[of_which].sum())
        return float(self.sums[of_which].sum(axis=0) @ vector) / count if count else 0.0
