"""Coordinates on a page of a PDF, and its graphics: horizontal and vertical lines, such as table rules, and images."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

# Coordinates are points in reading orientation: turned by its /Rotate, and further until its text is upright; y
# upwards from the lower edge of what is shown of it.

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
        if not (width and height):
            return NOWHERE
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


MOST_OBJECTS = 10_000
"""Objects of a page that are looked at: where more are drawn, tables are known by their columns alone."""
_MOST_POINTS = 400  # of one path: a curve of a figure has more
_MOST_STROKES = 500  # of a page, in each direction
_DEPTH = 3  # of drawings within drawings
_THIN = 3.0  # points: what is not thicker is a line
_SHORTEST = 4.0
_NEAR = 3.0  # points within which lines meet
_WHITE = 250
Matrix = tuple[float, float, float, float, float, float]
SAME: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


class Stroke(NamedTuple):
    """A horizontal or vertical line: coordinate `at` on one axis, from `start` to `end` on the other, in points of
    the frame.
    """

    at: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Drawn:
    """The graphics of a page.

    Attributes:
        across: Its horizontal lines, from top to bottom.
        down: Its vertical lines, from left to right.
        pictures: How many.
        cut: Whether more is drawn than is looked at.
    """

    across: tuple[Stroke, ...] = ()
    down: tuple[Stroke, ...] = ()
    pictures: int = 0
    cut: bool = False


def drawn(page: Any, placed: Callable[[Box], Box]) -> Drawn:
    """The lines and pictures of a page.

    Args:
        page: A page of pypdfium2.
        placed: From the file's coordinates to those of the page as it is read.
    """
    boxes: list[Box] = []
    pictures = 0
    for count, found in enumerate(_objects(page.raw, SAME, 0)):
        if count >= MOST_OBJECTS:
            return Drawn(pictures=pictures, cut=True)
        if found is None:
            pictures += 1
        else:
            boxes += found
    across, down = [], []
    for left, bottom, right, top in map(placed, boxes):
        if top - bottom <= _THIN and right - left >= _SHORTEST:
            across.append(Stroke((top + bottom) / 2, left, right))
        elif right - left <= _THIN and top - bottom >= _SHORTEST:
            down.append(Stroke((left + right) / 2, bottom, top))
    across, down = _merged(across), _merged(down)
    if max(len(across), len(down)) > _MOST_STROKES:
        return Drawn(pictures=pictures, cut=True)
    return Drawn(tuple(reversed(across)), tuple(down), pictures)


def _objects(holder: Any, matrix: Matrix, depth: int) -> Iterator[list[Box] | None]:
    """The straight edges of each drawn object; None for an image."""
    from pypdfium2 import raw

    counted, nth = (
        (raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject)
        if depth
        else (raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject)
    )
    for index in range(counted(holder)):
        thing = nth(holder, index)
        kind = raw.FPDFPageObj_GetType(thing)
        if kind == raw.FPDF_PAGEOBJ_PATH:
            yield _edges(thing, matrix)
        elif kind == raw.FPDF_PAGEOBJ_IMAGE:
            yield None
        elif kind == raw.FPDF_PAGEOBJ_FORM and depth < _DEPTH:
            yield from _objects(thing, times(matrix_of(thing), matrix), depth + 1)
        else:
            yield []


def _edges(path: Any, matrix: Matrix) -> list[Box]:
    """The visible straight edges of a path, as boxes without thickness; a thin filled area is one edge."""
    from pypdfium2 import raw

    fill, stroked = ctypes.c_int(), ctypes.c_int()
    count = raw.FPDFPath_CountSegments(path)
    if not 2 <= count <= _MOST_POINTS or not raw.FPDFPath_GetDrawMode(path, fill, stroked):
        return []
    if not stroked.value and (not fill.value or _is_white(path)):
        return []
    outlines = list(_outlines(path, count, times(matrix_of(path), matrix)))
    found = []
    for points in outlines:
        xs, ys = [x for x, _ in points], [y for _, y in points]
        bounds = min(xs), min(ys), max(xs), max(ys)
        if min(bounds[2] - bounds[0], bounds[3] - bounds[1]) <= _THIN:
            found.append(bounds)
        else:
            found += [(min(a, c), min(b, d), max(a, c), max(b, d)) for (a, b), (c, d) in pairwise(points)]
    return found


def _outlines(path: Any, count: int, matrix: Matrix) -> Iterator[list[tuple[float, float]]]:
    """The points of each subpath; curved ones are left out."""
    from pypdfium2 import raw

    points: list[tuple[float, float]] = []
    x, y = ctypes.c_float(), ctypes.c_float()
    for index in range(count):
        segment = raw.FPDFPath_GetPathSegment(path, index)
        kind = raw.FPDFPathSegment_GetType(segment)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        a, b, c, d, e, f = matrix
        point = a * x.value + c * y.value + e, b * x.value + d * y.value + f
        if kind != raw.FPDF_SEGMENT_LINETO:
            if len(points) > 1:
                yield points
            points = []
        points.append(point)
        if raw.FPDFPathSegment_GetClose(segment) and len(points) > 2:
            points.append(points[0])
    if len(points) > 1:
        yield points


def _is_white(path: Any) -> bool:
    from pypdfium2 import raw

    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    told = raw.FPDFPageObj_GetFillColor(path, red, green, blue, alpha)
    return bool(told) and min(red.value, green.value, blue.value) >= _WHITE


def matrix_of(thing: Any) -> Matrix:
    from pypdfium2 import raw

    found = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(thing, found):
        return SAME
    return found.a, found.b, found.c, found.d, found.e, found.f


def times(first: Matrix, second: Matrix) -> Matrix:
    a, b, c, d, e, f = first
    g, h, i, j, k, m = second
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def _merged(strokes: Sequence[Stroke]) -> list[Stroke]:
    """Collinear lines that touch or overlap, merged; sorted by `at`."""
    found: list[Stroke] = []
    row: list[Stroke] = []
    for stroke in sorted(strokes):
        if row and stroke.at - row[0].at > _NEAR:
            found += _in_row(row)
            row = []
        row.append(stroke)
    return found + _in_row(row)


def _in_row(row: Sequence[Stroke]) -> list[Stroke]:
    found: list[Stroke] = []
    for _, start, end in sorted(row, key=lambda stroke: stroke.start):
        if found and start - found[-1].end <= _NEAR:
            found[-1] = found[-1]._replace(end=max(found[-1].end, end))
        else:
            found.append(Stroke(row[0].at, start, end))
    return found
