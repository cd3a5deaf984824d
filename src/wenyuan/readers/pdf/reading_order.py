"""The reading order of lines on printed and recognised pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from wenyuan.readers.ocr.recogniser import RecognisedLine

# Reading order of the lines on a recognised page: columns separated by vertical gaps, then row by row.

_LEAST_LINES = 3  # on either side of a strip, for it to part columns
_LEAST_LINE = 6.0  # a column's usual line, in heights of a line: the cells of a table are shorter
_SPANNING = 0.25  # share of all lines that may lie across the strip between columns: titles, pictures' captions
_MIDDLE = (0.2, 0.8)  # of the page's text: where the strip is looked for
_SAME_ROW = 0.5  # of the lower line's height


@dataclass(frozen=True, slots=True)
class Upright:
    """A line in a coordinate system rotated so that text runs along x and lines follow along y, in pixels."""

    left: float
    top: float
    right: float
    bottom: float
    read: RecognisedLine

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def height(self) -> float:
        return self.bottom - self.top


def ordered(lines: Sequence[RecognisedLine], size: tuple[int, int]) -> tuple[list[list[Upright]], int]:
    """Rows of lines in reading order, and the clockwise rotation in degrees that makes the page's text upright.

    A row has one line but where several stand beside each other.

    Args:
        size: Width and height of the picture.
    """
    (width, height), upright = size, 0
    across = [line for line in lines if not line.vertical]
    down = [line for line in lines if line.vertical]
    if sum(len(line.letters) for line in down) > sum(len(line.letters) for line in across):
        placed = [_column(line, width) for line in lines]
        width, height, upright = height, width, 270
    else:
        angle = _angle(across)
        placed = [_upright(line, angle, width / 2, height / 2) for line in lines]
    flipped = sum(len(line.letters) for line in lines if line.flipped)
    if flipped > sum(len(line.letters) for line in lines) / 2:
        placed = [
            Upright(width - line.right, height - line.bottom, width - line.left, height - line.top, line.read)
            for line in placed
        ]
        upright = (upright + 180) % 360
    return _in_order(placed), upright


def _angle(lines: Sequence[RecognisedLine]) -> float:
    """Skew of the page in radians: the median angle of its lines, weighted by length."""
    if not lines:
        return 0.0
    by_angle = sorted(lines, key=lambda line: line.rect.angle)
    weights = np.cumsum([line.rect.width for line in by_angle])
    return by_angle[int(np.searchsorted(weights, weights[-1] / 2))].rect.angle


def _upright(line: RecognisedLine, angle: float, x0: float, y0: float) -> Upright:
    """A line of a skewed page, rotated around the page's centre."""
    c, s = float(np.cos(angle)), float(np.sin(angle))
    x, y = line.rect.x - x0, line.rect.y - y0
    x, y = x0 + x * c + y * s, y0 - x * s + y * c
    width, height = line.rect.width / 2, line.rect.height / 2
    return Upright(x - width, y - height, x + width, y + height, line)


def _column(line: RecognisedLine, page_width: int) -> Upright:
    """A vertical line of text (columns run from right to left), in upright coordinates."""
    box = line.rect.corners()
    (left, top), (right, bottom) = box.min(axis=0), box.max(axis=0)
    return Upright(float(top), page_width - float(right), float(bottom), page_width - float(left), line)


def _in_order(lines: list[Upright]) -> list[list[Upright]]:
    strip = _strip(lines)
    if strip is None:
        return _rows(lines)
    found: list[list[Upright]] = []
    band: list[Upright] = []
    spanning = [line for line in lines if line.left < strip < line.right]
    for line in sorted(spanning, key=lambda line: line.middle):
        band = [each for each in lines if each not in spanning and each.middle < line.middle]
        found += _in_columns(band, strip)
        found.append([line])
        lines = [each for each in lines if each not in band]
    return found + _in_columns([each for each in lines if each not in spanning], strip)


def _in_columns(lines: list[Upright], strip: float) -> list[list[Upright]]:
    left = [line for line in lines if line.right <= strip]
    right = [line for line in lines if line.left >= strip]
    return (_in_order(left) if left else []) + (_in_order(right) if right else [])


def _strip(lines: Sequence[Upright]) -> float | None:
    """The x of a vertical gap that separates two columns of text; None without one."""
    if len(lines) < 2 * _LEAST_LINES:
        return None
    begin, end = min(line.left for line in lines), max(line.right for line in lines)
    height = median(line.height for line in lines)
    places = np.arange(begin + _MIDDLE[0] * (end - begin), begin + _MIDDLE[1] * (end - begin), max(height / 4, 1.0))
    if not len(places):
        return None
    crossing = [sum(line.left < x < line.right for line in lines) for x in places]
    least = min(crossing)
    free = places[[count == least for count in crossing]]
    if least > _SPANNING * len(lines):
        return None
    runs = np.split(free, np.nonzero(np.diff(free) > max(height / 2, 1.5))[0] + 1)
    strip = float(np.mean(max(runs, key=len)))
    sides = [line for line in lines if line.right <= strip], [line for line in lines if line.left >= strip]
    if any(len(side) < _LEAST_LINES for side in sides):
        return None
    if any(median((line.right - line.left) / line.height for line in side) < _LEAST_LINE for side in sides):
        return None
    return strip


def _rows(lines: Sequence[Upright]) -> list[list[Upright]]:
    """Lines from top to bottom; those at the same height form a row, from left to right."""
    rows: list[list[Upright]] = []
    for line in sorted(lines, key=lambda line: line.middle):
        last = rows[-1] if rows else []
        if last and line.middle - last[0].middle < _SAME_ROW * min(line.height, *(each.height for each in last)):
            last.append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.left) for row in rows]
