"""Struck text on a printed page: a line drawn through the middle of its letters."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from wenyuan.readers.pdf.strokes import Box, Stroke

_LOW, _HIGH = 0.3, 0.66  # of the height of the letters: what is drawn lower is an underline, higher an overline
_BEYOND = 0.6  # of their height: a line that goes on further is a rule, and no letter's
_OF_ONE = 0.15  # the same of a single letter, which a sign may be drawn beside


def struck_letters(
    text: str, place: tuple[float, float], start: int, box: Callable[[int], Box], across: Sequence[Stroke]
) -> tuple[frozenset[int], tuple[Stroke, ...]]:
    """The places in a line of the letters that a line is drawn through, and the lines that do.

    Args:
        place: Bottom and top of its most common letters.
        start: Where it begins in the text of the page.
        box: Of a letter, by its place in the text of the page.
        across: The horizontal lines of the page, from top to bottom.
    """
    bottom, top = place
    height = top - bottom
    found: set[int] = set()
    through: list[Stroke] = []
    first = bisect_left(across, -(bottom + _HIGH * height), key=lambda stroke: -stroke.at)
    for stroke in across[first:]:
        if stroke.at < bottom + _LOW * height:
            break
        if held := _through(text, stroke, start, box, height):
            found |= held
            through.append(stroke)
    return frozenset(found), tuple(through)


def _through(text: str, stroke: Stroke, start: int, box: Callable[[int], Box], height: float) -> set[int]:
    held = []
    for at, char in enumerate(text):
        left, _, right, _ = box(start + at)
        if not char.isspace() and right > left and stroke.start - 1 <= (left + right) / 2 <= stroke.end + 1:
            held.append((at, left, right))
    if not held:
        return set()
    left, right = held[0][1], held[-1][2]
    beyond = max(left - stroke.start, stroke.end - right)
    one = len(held) == 1 and (beyond > _OF_ONE * height or not text[held[0][0]].isalnum())
    return set() if one or beyond > _BEYOND * height else set(range(held[0][0], held[-1][0] + 1))
