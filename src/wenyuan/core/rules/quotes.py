"""Whether a document has the words that an evidence quotes, however either of them is set."""

from __future__ import annotations

from wenyuan.core.text import fold

__all__ = ["plain"]


def plain(text: str) -> str:
    """What a quote and its source have in common however they are set: letters and digits, folded."""
    return "".join(c for c in fold(text) if c.isalnum())
