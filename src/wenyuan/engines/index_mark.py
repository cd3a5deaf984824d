"""How far an index on a server has come."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wenyuan.core.errors import IndexMismatch, msg
from wenyuan.core.ports import ChangeFeed
from wenyuan.core.scoring.vector_sums import Sums


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One state of an index.

    Attributes:
        step: Its number.
        library: Whose index this is.
        generation: Of which analyser, encoder and format.
        watermark: The last change of the catalog that counts: rows of later ones are not looked at.
        swept: The last change whose removals have been carried out.
        stamp: What tells change `watermark` from that of another catalog.
        passages: How many rows count.
        length: Of all of them, in terms.
        vectors: How many of them have a vector.
        terms: The highest number that was given to a term.
        least: The least mean length with which rows were weighed (see `engines.term_statistics`); 0 for none.
        open: Whether there may be rows of a later change, from an unfinished step.
        gone: Keys of rows that count no more, and may still be there.
        chinese: How many of these are of passages in Chinese.
        total: The sums of vectors, (2 · dim,) float32: of passages in other languages, then of those in Chinese.
    """

    step: int = 0
    library: str
    generation: str
    watermark: int = 0
    swept: int = 0
    stamp: str = ""
    passages: int = 0
    length: int = 0
    vectors: int = 0
    chinese: int = 0
    terms: int = 0
    least: float = 0.0
    open: bool = False
    gone: tuple[Any, ...] = ()
    total: Any = field(compare=False)

    @property
    def mean(self) -> float:
        """Length of a passage, in terms."""
        return self.length / self.passages if self.passages else 0.0

    @property
    def sums(self) -> Sums:
        """Of vectors."""
        return Sums(
            self.total.astype(np.float64).reshape(2, -1),
            np.array([self.vectors - self.chinese, self.chinese], np.int64),
        )

    def same_state(self, other: Mark) -> bool:
        """Whether the same rows count at both, of the same index."""
        return self.watermark == other.watermark

    def is_before(self, other: Mark) -> bool:
        """Whether it was written before another one, of the same index."""
        return self.step < other.step

    def settled(self, target: int) -> bool:
        """Whether the index is as the catalog was at change `target`."""
        return self.watermark == self.swept == target and not self.open


def check_same(feed: ChangeFeed, mark: Mark, hint: str, component: str) -> None:
    """IndexMismatch when the index follows another history of changes, which only happens to be as long."""
    if mark.watermark and mark.stamp != feed.stamp(mark.watermark):
        raise IndexMismatch(
            msg("its change {watermark} is not the catalog's", watermark=mark.watermark),
            component=component,
            hint=hint,
        )
