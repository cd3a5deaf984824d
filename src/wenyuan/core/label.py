"""What a passage stands under, for those who need no more of it; and the vector of that."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Label", "LabelVector"]


class Label(NamedTuple):
    """Of one passage: its document's title, its headings, and its language."""

    title: str
    headings: tuple[str, ...]
    language: str


class LabelVector(NamedTuple):
    """The vector of a passage's `core.model.label_text`; passages with the same label have the same.

    Attributes:
        key: What it is stored under.
        vector: ``(dim,)`` float32.
    """

    passage_id: int
    key: str
    vector: Any
