"""What an index on a server counts of documents that are hidden from somebody: it is taken off what it counts of all."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wenyuan.core.hidden_documents import AccessClasses, HiddenDocuments
from wenyuan.core.scoring.formula import Array

_MOST = 16
_Key = tuple[int, int, frozenset[int]]


@dataclass(frozen=True, slots=True, eq=False)
class HiddenTally:
    """Counts of hidden passages, at one state of the index.

    Attributes:
        at: The state that they are of.
        passages: How many there are.
        length: Of all of them, in terms.
        holding: By number of a term, how many of them hold it; terms beyond its end, none.
        vectors: How many have a vector.
        total: The sum of these, (dim,) float64.
        chinese_share: The share of Chinese ones among passages that are *not* hidden.
    """

    at: int
    passages: int
    length: int
    holding: Array
    vectors: int
    total: Array
    chinese_share: float

    def held(self, number: int) -> int:
        """How many of them hold a term."""
        return int(self.holding[number]) if number < len(self.holding) else 0

    def mean_cosine(self, vector: Any, total: Array, vectors: int) -> float:
        """The mean cosine to all vectors but theirs.

        Args:
            total: The sum of all vectors.
            vectors: How many these are.
        """
        left = vectors - self.vectors
        return float((total - self.total) @ vector) / left if left > 0 else 0.0


def counted_terms(numbers: Array) -> Array:
    """How often each number of a term stands in a list."""
    return np.bincount(numbers.astype(np.int64), minlength=1)


class HiddenTallies:
    """The tallies of the last sights that were asked for. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, tuple[AccessClasses, HiddenTally]] = OrderedDict()

    def of(self, at: int, hidden: HiddenDocuments, read: Callable[[], HiddenTally]) -> HiddenTally:
        """The tally of a sight at a state of the index; `read` makes it."""
        key = at, id(hidden.classes), hidden.unread
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][1]
        made = read()
        with self._lock:
            # It keeps the classes, so that no others get their id.
            self._kept[made.at, id(hidden.classes), hidden.unread] = hidden.classes, made
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return made
