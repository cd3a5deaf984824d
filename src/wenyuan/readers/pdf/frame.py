"""Coordinates on a page.

Coordinates are points in reading orientation: turned by its /Rotate, and further until its text is upright; y
upwards from the lower edge of what is shown of it.
"""

from __future__ import annotations

from dataclasses import dataclass

Box = tuple[float, float, float, float]
"""Left, bottom, right and top; all zero where the file does not tell."""
NOWHERE: Box = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Frame:
    """The transformation from the file's coordinates to those in which most text of the page is upright.

    Attributes:
        bounds: What is shown of the page, in the file's coordinates.
        shown: By how many degrees the page is turned to the right when it is shown.
        upright: By how many more it is turned here, so that its text runs from left to right.
    """

    bounds: Box
    shown: int
    upright: int = 0

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the page, turned as it is read."""
        _, _, width, height = _turned(self.bounds, self.bounds, self.shown + self.upright)
        return width, height

    def box(self, box: Box) -> Box:
        """Transform a box from the file's coordinates to this frame."""
        return _turned(box, self.bounds, self.shown + self.upright)

    def share(self, box: Box) -> Box:
        """A box of this frame as a fraction of the displayed page: left, top, right, bottom; zeros for an empty box."""
        width, height = self.size
        left, bottom, right, top = _turned(box, (0.0, 0.0, width, height), -self.upright)
        if self.upright % 180:
            width, height = height, width
        shares = left / width, 1 - top / height, right / width, 1 - bottom / height
        left, top, right, bottom = (round(min(max(each, 0.0), 1.0), 5) for each in shares)
        return (left, top, right, bottom) if left < right and top < bottom else NOWHERE


def _turned(box: Box, bounds: Box, degrees: int) -> Box:
    """A box of a page within `bounds`, after rotating the page clockwise by a multiple of 90 degrees."""
    (x0, y0, x1, y1), (left, bottom, right, top) = bounds, box
    turns = degrees // 90 % 4
    if turns == 1:
        return bottom - y0, x1 - right, top - y0, x1 - left
    if turns == 2:
        return x1 - right, y1 - top, x1 - left, y1 - bottom
    if turns == 3:
        return y1 - top, left - x0, y1 - bottom, right - x0
    return left - x0, bottom - y0, right - x0, top - y0
