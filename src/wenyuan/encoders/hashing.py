"""A test double: texts that share words are near each other; there is no model and nothing to learn.

Words and, for Chinese, characters with their bigrams are hashed to a few signed dimensions each
(feature hashing: Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning").
"""

from __future__ import annotations

import functools
import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.errors import ConfigError
from wenyuan.core.messages import msg
from wenyuan.core.model import EncoderFingerprint
from wenyuan.core.ports import Deadline
from wenyuan.core.scoring.vectors import check_deadline, checked_vectors

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_RUN = re.compile(f"[{_HAN}]+|[^\\W_{_HAN}]+")
_HAN_START = re.compile(f"[{_HAN}]")
_DIMENSIONS_PER_TERM = 8
"""More than one, so that two terms can hardly cancel each other out."""


class HashingEncoder:
    """Deterministic vectors without a model.

    Args:
        dimension: Of the vectors, at least 8.

    Raises:
        ConfigError: the dimension is too small.
    """

    def __init__(self, dimension: int = 256) -> None:
        if dimension < _DIMENSIONS_PER_TERM:
            raise ConfigError(
                msg(
                    "the hashing encoder needs at least {dimensions_per_term} dimensions",
                    dimensions_per_term=_DIMENSIONS_PER_TERM,
                )
            )
        self.fingerprint = EncoderFingerprint(id="hashing", sha256="", dimension=dimension, pooling="sum")

    def encode_queries(self, texts: Sequence[str], *, deadline: Deadline | None = None) -> Any:
        check_deadline(deadline, "encoder hashing")
        return self._encode(texts)

    def encode_passages(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Any:
        rows = self._encode(texts)
        if progress and texts:
            progress(len(texts))
        return rows

    def close(self) -> None:
        """No-op."""

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        dimension = self.fingerprint.dimension
        rows = np.zeros((len(texts), dimension))
        for row, text in zip(rows, texts, strict=True):
            row[:] = _summed(text, dimension)
        return checked_vectors(rows, len(texts), dimension, "encoder hashing")


@functools.lru_cache(maxsize=4_096)  # each new library asks for the vectors of the same general questions
def _summed(text: str, dimension: int) -> NDArray[np.float64]:
    row = np.zeros(dimension)
    for term, times in Counter(_terms(text)).items():
        for at, sign in _places(term, dimension):
            row[at] += sign * math.sqrt(times)
    return row


def _terms(text: str) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    yield "\0"  # one place for every text, so that even an empty one has a vector
    for run in _RUN.findall(folded):
        if _HAN_START.match(run):
            yield from run
            yield from (run[i : i + 2] for i in range(len(run) - 1))
        else:
            yield run


def _places(term: str, dimension: int) -> Iterator[tuple[int, int]]:
    digest = hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=4 * _DIMENSIONS_PER_TERM).digest()
    for i in range(_DIMENSIONS_PER_TERM):
        number = int.from_bytes(digest[4 * i : 4 * i + 4], "little")
        yield (number >> 1) % dimension, 1 if number & 1 else -1
