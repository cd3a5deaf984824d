"""What one step of an index on a server adds up to: terms get their numbers, and passages, lengths and vectors are counted.

How rows are looked up and written is for the engine; what is counted does not depend on which server it is.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from wenyuan.core.errors import VectorRejected, msg
from wenyuan.core.model import IndexRow
from wenyuan.core.ports import Change
from wenyuan.core.scoring.vector_sums import CHINESE
from wenyuan.core.text.analysis import passage_terms
from wenyuan.engines.index_mark import Mark
from wenyuan.engines.term_statistics import digest
from wenyuan.engines.value_digests import token

IN_CHINESE = token("language", CHINESE)

M = TypeVar("M", bound=Mark)


class IndexStep(ABC, Generic[M]):
    """Counts what a step takes out of an index and puts into it.

    Args:
        mark: From which it goes on.
        upto: The change of the catalog up to which it goes.
        component: Of error messages.
    """

    def __init__(self, mark: M, upto: int, component: str) -> None:
        self._mark, self._upto, self._component = mark, upto, component
        self._gone: list[Any] = []  # keys of rows that count no more
        self._known: dict[str, tuple[int, int]] = {}  # by digest: number, passages that held it before
        self._more: Counter[str] = Counter()
        self._passages, self._length = mark.passages, mark.length
        self._terms, self._least, self._sums = mark.terms, mark.least, mark.sums

    @abstractmethod
    def _look_up(self, keys: Sequence[str]) -> None:
        """Learn the numbers of terms, by their digests."""

    def _counts_of_terms(self) -> Iterator[tuple[str, dict[str, int]]]:
        """By digest, what is written of each term that more or fewer passages hold than before."""
        for key, (number, held) in self._known.items():
            if self._more[key]:
                yield key, {"number": number, "held": held + self._more[key], "at": self._upto, "before": held}

    def _made(self, stamp: str) -> M:
        """The mark that makes it count."""
        return replace(
            self._mark,
            watermark=self._upto,
            swept=self._mark.swept if self._gone else self._upto,
            stamp=stamp,
            passages=self._passages,
            length=self._length,
            vectors=int(self._sums.counts.sum()),
            chinese=int(self._sums.counts[1]),
            terms=self._terms,
            least=self._least,
            open=False,
            gone=tuple(self._gone),
            total=self._sums.sums.astype(np.float32).ravel(),
        )

    def _count_out(self, length: int, keys: Iterable[str], tokens: Sequence[str], vector: Any) -> None:
        """Take a row out of the sums; its vector, (dim,) float64, is None where it has none."""
        self._passages -= 1
        self._length -= length
        self._more.subtract(keys)
        if vector is not None:
            self._sums.remove(vector, chinese=IN_CHINESE in tokens)

    def _count_in(self, added: Sequence[Change]) -> tuple[list[dict[int, int]], float]:
        """Count passages in; how often each has which terms, by their numbers, and the mean length that there is then."""
        counted = [Counter(_digests(change)) for change in added]
        keys = {key for counts in counted for key in counts}
        self._look_up(sorted(keys - self._known.keys()))
        for key in sorted(keys - self._known.keys()):
            self._terms += 1
            self._known[key] = self._terms, 0
        self._passages += len(added)
        self._length += sum(counts.total() for counts in counted)
        mean = max(1.0, self._length / self._passages)
        self._least = min(self._least or mean, mean)
        for counts in counted:
            self._more.update(counts.keys())
        return [{self._known[key][0]: often for key, often in counts.items()} for counts in counted], mean

    def _count_vector(self, row: IndexRow, dimension: int) -> None:
        """Count a vector in.

        Raises:
            VectorRejected: it has another number of dimensions than the index.
        """
        if len(row.vector) != dimension:
            raise VectorRejected(
                msg(
                    "the vector of passage {passage_id} has {count} dimensions, the index {dimension}",
                    passage_id=row.passage_id,
                    count=len(row.vector),
                    dimension=dimension,
                ),
                component=self._component,
            )
        self._sums.add(row.vector, chinese=row.language == CHINESE)


def _digests(change: Change) -> list[str]:
    assert change.row is not None
    return [digest(term) for term in passage_terms(change.row.heading_text, change.row.text)]


def in_batches(changes: Iterable[Change], size: int) -> Iterator[Sequence[Change]]:
    """Changes in batches of a size, the last of which may be shorter."""
    left = iter(changes)
    while batch := tuple(itertools.islice(left, size)):
        yield batch
