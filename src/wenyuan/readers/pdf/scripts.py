"""Powers, indexes and struck text as such on a printed page; powers and indexes are digits of a smaller size beside others, above or below them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from wenyuan.readers import notation
from wenyuan.readers.pdf.strokes import Box

_MAY_BE_SCRIPT = re.compile(
    r"(?<=\S)[+−-]?[0-9]{1,9}(?:[+−-](?![0-9]))?|(?<=[0-9])[0-9]+|(?<=[\w)\]])[n](?![A-Za-z])(?:[+−-][0-9])?"
)
_SMALL, _RAISED, _LOWERED = 0.85, 0.18, 0.02  # of the height of the line's letters
_MOST_SCRIPTS = 0.3  # of a line's letters


def with_scripts(
    text: str,
    place: tuple[float, float],
    start: int,
    box: Callable[[int], Box],
    places: Sequence[int],
    struck: Collection[int] = (),
) -> tuple[str, list[int]] | None:
    """A line with its powers, indexes and struck letters as such, and where given places of it are then; None where it has
    none of them.

    Args:
        struck: Places of letters that are struck.
        place: Bottom and top of its most common letters.
        start: Where it begins in the text of the page.
        box: Of a letter, by its place in the text of the page.
    """
    signs: dict[int, str] = {}
    for found in _MAY_BE_SCRIPT.finditer(text):
        for at in range(*found.span()):
            if sign := _script(box(start + at), *place):
                signs[at] = sign
    if len(signs) > _MOST_SCRIPTS * len(text):
        signs = {}
    if not signs and not struck:
        return None
    parts = [f"{signs[at]}{char}{notation.END}" if at in signs else char for at, char in enumerate(text)]
    for at in struck:
        parts[at] = (
            (notation.OUT if at - 1 not in struck else "")
            + parts[at]
            + (notation.END if at + 1 not in struck else "")
        )
    shown = notation.plain("".join(parts))
    return (shown, [len(notation.plain(_closed(parts, at, struck))) for at in places]) if shown != text else None


def _closed(parts: Sequence[str], end: int, struck: Collection[int]) -> str:
    """The line up to a place; what is struck there ends with it."""
    return "".join(parts[:end]) + (notation.END if end - 1 in struck and end in struck else "")


def _script(box: Box, base: float, high: float) -> str:
    """The sign of a letter that is raised or lowered; ``""`` for others."""
    _, bottom, _, top = box
    usual = high - base
    if not 0 < top - bottom < _SMALL * usual:
        return ""
    if bottom > base + _RAISED * usual:
        return notation.UP
    lowered = bottom < base + _LOWERED * usual and top < high - _RAISED * usual
    return notation.DOWN if lowered else ""
