"""How far an index has come. Milvus has no transactions: what counts is what the newest mark says.

A mark is a row that is only ever added, so there is one at every moment; older ones are removed afterwards.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from wenyuan.core.errors import IndexCorrupt
from wenyuan.core.sums import Sums
from wenyuan.engines.milvus.sessions import Session

__all__ = ["Mark", "add_mark", "newest"]


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
        least: The least mean length with which rows were weighed (see `keyword`); 0 for none.
        open: Whether rows of a later change may be there, written by somebody who has not finished.
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

    def settled(self, target: int) -> bool:
        """Whether the index is as the catalog was at change `target`."""
        return self.watermark == self.swept == target and not self.open


_KEPT = 8
"""Marks that stay: a server that reads while it writes may give the older ones alone, never none."""
_BODY = (
    "library", "generation", "watermark", "swept", "stamp", "passages", "length", "vectors", "chinese", "terms", "least",
    "open",
)  # fmt: skip


def newest(session: Session, collection: str) -> Mark | None:
    """The mark that counts; None in a collection that nobody has marked."""
    rows = session.rows(collection, "step >= 0", ["step", "body", "total"])
    if not rows:
        return None
    row = max(rows, key=lambda row: int(row["step"]))
    try:
        body = json.loads(row["body"]) if isinstance(row["body"], (str, bytes)) else row["body"]
        return Mark(step=int(row["step"]), total=np.array(row["total"], np.float32), **{n: body[n] for n in _BODY})
    except (KeyError, TypeError, ValueError) as error:
        raise IndexCorrupt(
            f"its mark cannot be read ({type(error).__name__})",
            component=session.component,
            hint="drop the index's collections; they are built again from the catalog",
        ) from error


def add_mark(session: Session, collection: str, mark: Mark) -> Mark:
    """Make `mark`, under the next number, the one that counts; returns it."""
    made = replace(mark, step=mark.step + 1)
    body = {name: getattr(made, name) for name in _BODY}
    session.put(collection, [{"step": made.step, "body": body, "total": made.total.tolist()}])
    session.drop_where(collection, f"step < {made.step - _KEPT}")
    return made
