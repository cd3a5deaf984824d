"""A section of a document, from which passages are cut."""

from __future__ import annotations

from dataclasses import dataclass, field

from wenyuan.core.model import Block


# --- sections -------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Section:
    """Consecutive blocks under one heading or clause, with its path.

    Attributes:
        whole: A clause or row: it stays one passage if it fits at all.
        cell: Of a row, though a heading may precede it.
    """

    path: tuple[str, ...]
    anchor: str
    whole: bool
    blocks: list[Block] = field(default_factory=list)
    cell: str | None = None
