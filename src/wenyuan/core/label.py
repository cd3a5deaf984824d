"""What a passage stands under, for those who need no more of it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Label"]


class Label(NamedTuple):
    """Of one passage: its document's title, its headings, and its language."""

    title: str
    headings: tuple[str, ...]
    language: str
