"""Finds the red seals on the picture of a page, by colour and shape: what is written in a circle is no heading."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wenyuan.readers.ocr.detection import Rect, regions

if TYPE_CHECKING:
    from PIL.Image import Image

_SIDE = 480  # pixels of the longer side of the picture that is looked at
_LEAST, _MOST = 0.045, 0.45  # sides of a seal, as shares of the longer side of the page: from 1.3 cm on A4
_LONGEST = 1.8  # times as long as it is wide: an oval one; red letters over a document are a longer line
_RED, _BRIGHT = 45, 90  # by how much red is above the other colours, and how red it is at least
_GAP = 4  # pixels between the ring, the star and the letters of a seal
_INK = 0.5  # of a line's ink that is red

Box = tuple[float, float, float, float]


def red(pixels: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Which pixels ``(rows, columns, 3)`` are red ink."""
    values = pixels.astype(np.int16)
    others = np.maximum(values[:, :, 1], values[:, :, 2])
    return np.asarray((values[:, :, 0] - others > _RED) & (values[:, :, 0] > _BRIGHT))


def seals(picture: Image) -> list[Box]:
    """Left, top, right and bottom of the seals on an RGB picture, in its pixels."""
    from PIL import Image

    scale = min(1.0, _SIDE / max(picture.size))
    size = tuple(max(1, round(side * scale)) for side in picture.size)
    small = np.asarray(picture.resize((size[0], size[1]), Image.Resampling.BOX))
    mask = red(small)
    if not mask.any():
        return []
    wide = mask.copy()
    for step in range(1, _GAP + 1):
        wide[:, step:] |= mask[:, :-step]
        wide[:, :-step] |= mask[:, step:]
    tall = wide.copy()
    for step in range(1, _GAP + 1):
        tall[step:] |= wide[:-step]
        tall[:-step] |= wide[step:]
    found = []
    longest = max(size)
    for runs in regions(tall):
        row, first, last = runs.T
        left, right, top, bottom = first.min() + _GAP, last.max() - _GAP, row.min() + _GAP, row.max() + 1 - _GAP
        width, height = right - left, bottom - top
        if not _LEAST * longest <= min(width, height) <= max(width, height) <= _MOST * longest:
            continue
        if max(width, height) <= _LONGEST * min(width, height):
            found.append((left / scale, top / scale, right / scale, bottom / scale))
    return found


def in_seal(picture: Image, rect: Rect, found: list[Box]) -> bool:
    """Whether a line stands in a seal and its own ink is red: what a seal is pressed on is not its text."""
    if not any(left <= rect.x <= right and top <= rect.y <= bottom for left, top, right, bottom in found):
        return False
    corners = rect.corners()
    (left, top), (right, bottom) = np.maximum(corners.min(axis=0), 0), corners.max(axis=0)
    pixels = np.asarray(
        picture.crop((int(left), int(top), max(int(right), int(left) + 1), max(int(bottom), int(top) + 1)))
    )
    ink = pixels.min(axis=2) < 160
    return bool(ink.any()) and bool((red(pixels) & ink).sum() > _INK * ink.sum())
