"""What a page of a PDF draws, in the order of drawing: its text, and what may lie under or over it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wenyuan.readers.pdf.strokes import MOST_OBJECTS, SAME, Box, Matrix, matrix_of, times

_DEPTH = 5  # of drawings within drawings
INVISIBLE = (3, 7)  # ways of rendering text that put nothing on the page: none at all, and as a clip of what follows
_STROKED = (1, 5)
_MOST_SEGMENTS = 6  # of a rectangle
_CLEAR = 20  # of 255: what is less opaque is not seen
_CLIPS = 50  # paths of one clip that are looked at
Colour = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Painted:
    """Something that is drawn on a page.

    Attributes:
        handle: Of pypdfium2.
        box: In the page's coordinates.
        text: Whether it is text; else it is an area: a filled path, an image, a shading.
        colour: Red, green, blue, and how opaque it is, 0..255; None for an image, a shading or a pattern.
        clip: What is shown of it at most; None where nothing is cut off.
        plain: Whether its shape, or that of its clip, is a rectangle.
        invisible: Whether it is text that is drawn in no colour at all.
        within: Whether it stands in a drawing of its own, or in a part that can be switched off.
    """

    handle: Any
    box: Box
    text: bool
    colour: Colour | None
    clip: Box | None
    plain: bool
    invisible: bool = False
    within: bool = False


def painted(page: Any) -> list[Painted] | None:
    """What a page of pypdfium2 draws, in its order; None where that is more than is looked at."""
    found: list[Painted] = []
    for count, item in enumerate(_walk(page.raw, SAME, 0)):
        if count >= MOST_OBJECTS:
            return None
        if item is not None:
            found.append(item)
    return found


def _walk(holder: Any, matrix: Matrix, depth: int) -> Iterator[Painted | None]:
    from pypdfium2 import raw

    counted, nth = (
        (raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject)
        if depth
        else (raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject)
    )
    for index in range(counted(holder)):
        thing = nth(holder, index)
        kind = raw.FPDFPageObj_GetType(thing)
        if kind == raw.FPDF_PAGEOBJ_FORM:
            yield None
            if depth < _DEPTH:
                yield from _walk(thing, times(matrix_of(thing), matrix), depth + 1)
        else:
            yield _painted(thing, kind, matrix, depth)


def _painted(thing: Any, kind: int, matrix: Matrix, depth: int) -> Painted | None:
    from pypdfium2 import raw

    edges = [ctypes.c_float() for _ in range(4)]
    if not raw.FPDFPageObj_GetBounds(thing, *edges):
        return None
    box = _moved((edges[0].value, edges[1].value, edges[2].value, edges[3].value), matrix)
    if kind == raw.FPDF_PAGEOBJ_TEXT:
        mode = raw.FPDFTextObj_GetTextRenderMode(thing)
        clip, plain = _clip(thing, matrix)
        within = depth > 0 or raw.FPDFPageObj_CountMarks(thing) > 0 or bool(raw.FPDFPageObj_HasTransparency(thing))
        colour = _colour(thing, stroked=mode in _STROKED)
        invisible = mode in INVISIBLE or (colour is not None and colour[3] < _CLEAR)
        return Painted(thing, box, True, colour, clip, plain, invisible, within)
    if kind == raw.FPDF_PAGEOBJ_PATH:
        fill, stroked = ctypes.c_int(), ctypes.c_int()
        if not raw.FPDFPath_GetDrawMode(thing, fill, stroked) or not fill.value:
            return None
        plain = raw.FPDFPath_CountSegments(thing) <= _MOST_SEGMENTS and _clip(thing, matrix)[0] is None
        return Painted(thing, box, False, _colour(thing, stroked=False), None, plain)
    return Painted(thing, box, False, None, None, False)


def _colour(thing: Any, *, stroked: bool) -> Colour | None:
    from pypdfium2 import raw

    parts = [ctypes.c_uint() for _ in range(4)]
    ask = raw.FPDFPageObj_GetStrokeColor if stroked else raw.FPDFPageObj_GetFillColor
    if not ask(thing, *parts):
        return None
    return parts[0].value, parts[1].value, parts[2].value, parts[3].value


def _clip(thing: Any, matrix: Matrix) -> tuple[Box | None, bool]:
    """What is shown of an object at most, and whether that is a rectangle."""
    from pypdfium2 import raw

    clip = raw.FPDFPageObj_GetClipPath(thing)
    count = raw.FPDFClipPath_CountPaths(clip) if clip else 0
    if count <= 0:
        return None, True
    plain = count <= _CLIPS
    left, bottom, right, top = float("-inf"), float("-inf"), float("inf"), float("inf")
    x, y = ctypes.c_float(), ctypes.c_float()
    for path in range(min(count, _CLIPS)):
        segments = raw.FPDFClipPath_CountPathSegments(clip, path)
        if not 0 < segments <= _MOST_SEGMENTS:
            plain = False
            continue
        xs, ys = [], []
        for at in range(segments):
            segment = raw.FPDFClipPath_GetPathSegment(clip, path, at)
            raw.FPDFPathSegment_GetPoint(segment, x, y)
            plain &= raw.FPDFPathSegment_GetType(segment) != raw.FPDF_SEGMENT_BEZIERTO
            xs.append(x.value)
            ys.append(y.value)
        left, bottom, right, top = max(left, min(xs)), max(bottom, min(ys)), min(right, max(xs)), min(top, max(ys))
    if left == float("-inf"):
        return None, plain
    return _moved((left, bottom, max(left, right), max(bottom, top)), matrix), plain


def _moved(box: Box, matrix: Matrix) -> Box:
    if matrix == SAME:
        return box
    a, b, c, d, e, f = matrix
    corners = [(a * x + c * y + e, b * x + d * y + f) for x in (box[0], box[2]) for y in (box[1], box[3])]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)
