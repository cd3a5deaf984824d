"""Lines of a terminal: how wide a text is, and where it is broken."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

# One wide character with the mark of a word at its side, white space, or a word of narrow characters.
_TOKEN = re.compile(r"\*?[^\s\u0021-\u2e7f]\*?|\s+|[\u0021-\u2e7f]+")
_CLOSING = frozenset("，。、；：！？）》」』】”’.,;:!?)")

Piece = tuple[str, bool]
"""Some text, and whether it is a word of the query."""


def cells(text: str) -> int:
    """Number of terminal columns of a text."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def wrapped(pieces: Sequence[Piece], width: int) -> Iterator[list[Piece]]:
    """Wrap to lines of at most `width` columns; Chinese may break anywhere, but one closing mark may exceed the
    width.
    """
    line: list[Piece] = []
    column = 0
    for piece, marked in pieces:
        for token in _TOKEN.findall(piece):
            hangs = column <= width and len(token) == 1 and token in _CLOSING
            if line and column + cells(token.rstrip()) > width and not hangs:
                yield line
                line, column = [], 0
            if not line and token.isspace():
                continue
            if line and line[-1][1] == marked:
                line[-1] = (line[-1][0] + token, marked)
            else:
                line.append((token, marked))
            column += cells(token)
    if line:
        yield line
