"""Powers and indexes on a printed page: digits of a smaller size beside others, above or below them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from wenyuan.readers import notation
from wenyuan.readers.pdf.strokes import Box

_MAY_BE_SCRIPT = re.compile(
    r"(?<=\S)[+−-]?[0-9]{1,9}(?:[+−-](?![0-9]))?|(?<=[0-9])[0-9]+|(?<=[\w)\]])[n](?![A-Za-z])(?:[+−-][0-9])?"
)
_SMALL, _RAISED, _LOWERED = 0.85, 0.18, 0.02  # of the height of the line's letters
_MOST_SCRIPTS = 0.3  # of a line's letters


def with_scripts(
    text: str, place: tuple[float, float], start: int, box: Callable[[int], Box], places: Sequence[int]
) -> tuple[str, list[int]] | None:
    """A line with its powers and indexes as such, and where given places of it are then; None where it has none.

    Args:
        place: Bottom and top of its most common letters.
        start: Where it begins in the text of the page.
        box: Of a letter, by its place in the text of the page.
    """
    signs: dict[int, str] = {}
    for found in _MAY_BE_SCRIPT.finditer(text):
        for at in range(*found.span()):
            if sign := _script(box(start + at), *place):
                signs[at] = sign
    if not signs or len(signs) > _MOST_SCRIPTS * len(text):
        return None
    parts = [f"{signs[at]}{char}{notation.END}" if at in signs else char for at, char in enumerate(text)]
    shown = notation.plain("".join(parts))
    return (shown, [len(notation.plain("".join(parts[:at]))) for at in places]) if shown != text else None


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
