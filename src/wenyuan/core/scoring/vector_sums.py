"""Sums of vectors, which give mean cosines without reading the vectors again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wenyuan.core.scoring.formula import Array

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
