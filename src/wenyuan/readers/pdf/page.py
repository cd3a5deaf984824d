"""A page of a PDF as it is printed: its lines with their places, from the text layer or from what was recognised in its image."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

# Coordinates are points of the page as it is read: turned by its /Rotate, and further until its text is upright; y
# upwards from the lower edge of what is shown of it. `Box` is left, bottom, right and top; all zero where the file does not tell.

Box = tuple[float, float, float, float]
_Boxes = Callable[[int], Box]
_NOWHERE: Box = (0.0, 0.0, 0.0, 0.0)
_LINE_END = re.compile("\r\n|[\n\r]|\ufffe")  # pdfium writes U+FFFE for a hyphen at a line's end
_SPACES = re.compile(r"\s+")
_GAP = 2.5
_MARGIN = 0.12  # of the page, above and below its text
# What Sphinx prints where a listing or a table is broken over pages, and the mark of a line of code that was too long.
_BROKEN = re.compile(
    r"[(（]?(?:(?:table|表格?) *[0-9.]+ *[-–—]+ *)?"
    r"(?:continue[sd] on (?:the )?next page|continued from (?:the )?previous page|续下页|接上页|续上页)[)）]?",
    re.IGNORECASE,
)
_WRAPPED = re.compile("^˓→ *")
_SAMPLES = 5  # letters of a line that are measured
_LONG = re.compile(r"[^\s\ufffe][^\n\r\ufffe]{2,}[^\s\ufffe]")  # whose direction can be told
_SAMPLED_LINES = 20
_WIDE = r"\u1100-\u115f\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff"
WIDE_CHAR = re.compile(f"[{_WIDE}“”‘’…—]")
FIRST_WORD = re.compile(rf"[{_WIDE}][、。，．：；？！）」』】》]?|[^\s{_WIDE}]+")


def units(text: str) -> float:
    """Width of a text in full characters."""
    wide = len(WIDE_CHAR.findall(text))
    return wide + 0.5 * (len(text) - wide)


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line on a page; `left` = `right` where the file does not tell its place.

    Attributes:
        page: 1-based.
        box: Its place as `core.fidelity.Line.box` has it.
        in_margin: Whether it stands where headers and footers do, or its place is unknown.
        gapped: Whether it holds a gap that no justified text has: the cells of a table's row.
        confidence: Mean of its characters, 0..1, where it was recognised in an image.
        sure: Of each character of `text`, 0..1, where it was recognised.
    """

    text: str
    page: int
    left: float = 0.0
    right: float = 0.0
    bottom: float = 0.0
    height: float = 0.0
    in_margin: bool = True
    gapped: bool = False
    box: tuple[float, float, float, float] = _NOWHERE
    confidence: float | None = None
    sure: tuple[float, ...] = ()

    @property
    def placed(self) -> bool:
        return self.right > self.left

    @property
    def em(self) -> float:
        """Width of a full character, from the line itself."""
        return (self.right - self.left) / max(units(self.text), 1.0)


@dataclass(frozen=True, slots=True)
class PrintedPage:
    """What is printed on a page.

    Attributes:
        number: 1-based.
        width: In points, as the page is read; so is `height`.
        lines: In the file's order, or in that of their recognition.
        own: All characters that the page itself has: those of its text layer, or those that were recognised.
        recognised: Whether its lines were recognised in an image of it.
    """

    number: int
    width: float
    height: float
    lines: tuple[PrintedLine, ...]
    own: str
    recognised: bool = False


def text_layer(page: Any, number: int) -> PrintedPage:
    """The lines of a page's text layer.

    Args:
        page: A page of pypdfium2.
        number: 1-based.
    """
    text_page = page.get_textpage()
    try:
        text = text_page.get_text_range()
        frame = _frame_of(page, text_page, text)
        lines = tuple(_lines(text, _boxes(text_page, text, frame), number, frame))
    finally:
        text_page.close()
    return PrintedPage(number, *frame.size, lines, text.replace("\ufffe", "-"))


def recognised_page(page: Any, number: int, lines: Sequence[PrintedLine]) -> PrintedPage:
    """A page whose lines (of `recognised_line`) take the place of its text layer."""
    width, height = page.get_size()
    return PrintedPage(number, width, height, tuple(lines), "\n".join(line.text for line in lines), recognised=True)


def recognised_line(
    text: str,
    page: Any,
    number: int,
    box: tuple[float, float, float, float],
    sure: tuple[float, ...] = (),
) -> PrintedLine:
    """A line that was recognised in the image of a page.

    Args:
        text: Not blank.
        page: A page of pypdfium2.
        number: 1-based.
        box: Left, top, right and bottom, as shares of the image's width and height.
        sure: How sure each character of `text` is, 0..1.
    """
    width, height = page.get_size()
    left, top, right, bottom = box
    return PrintedLine(
        text, number, left * width, right * width, (1 - bottom) * height, (bottom - top) * height,
        in_margin=1 - bottom < _MARGIN or 1 - top > 1 - _MARGIN,
        box=box,
        confidence=sum(sure) / len(sure) if sure else None,
        sure=sure,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Frame:
    """How a page is read: the file's coordinates turned so that most of its text is upright.

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
        """A place in the file's coordinates in those of this frame."""
        return _turned(box, self.bounds, self.shown + self.upright)

    def share(self, box: Box) -> Box:
        """A place in this frame as a share of the page as it is shown: left, top, right, bottom; zeros where it is none."""
        width, height = self.size
        left, bottom, right, top = _turned(box, (0.0, 0.0, width, height), -self.upright)
        if self.upright % 180:
            width, height = height, width
        shares = left / width, 1 - top / height, right / width, 1 - bottom / height
        left, top, right, bottom = (round(min(max(each, 0.0), 1.0), 5) for each in shares)
        return (left, top, right, bottom) if left < right and top < bottom else _NOWHERE


def _turned(box: Box, bounds: Box, degrees: int) -> Box:
    """A box of a page within `bounds`, when the page is turned to the right, by a multiple of 90 degrees."""
    (x0, y0, x1, y1), (left, bottom, right, top) = bounds, box
    turns = degrees // 90 % 4
    if turns == 1:
        return bottom - y0, x1 - right, top - y0, x1 - left
    if turns == 2:
        return x1 - right, y1 - top, x1 - left, y1 - bottom
    if turns == 3:
        return y1 - top, left - x0, y1 - bottom, right - x0
    return left - x0, bottom - y0, right - x0, top - y0


def _frame_of(page: Any, text_page: Any, text: str) -> _Frame:
    """The frame of a page, by the direction of most of its longer lines (of some that lie evenly over it)."""
    frame = _Frame(page.get_bbox(), page.get_rotation())
    box = _boxes(text_page, text, frame)
    spans = [match.span() for match in _LONG.finditer(text)]
    ways: Counter[int] = Counter()
    for start, end in spans[:: max(1, len(spans) // _SAMPLED_LINES)]:
        first, last = box(start), box(end - 1)
        across, up = last[0] + last[2] - first[0] - first[2], last[1] + last[3] - first[1] - first[3]
        if abs(across) >= abs(up):
            ways[0 if across >= 0 else 180] += 1
        else:
            ways[90 if up > 0 else 270] += 1
    return replace(frame, upright=ways.most_common(1)[0][0]) if ways else frame


def _lines(text: str, box: _Boxes, page: int, frame: _Frame) -> Iterator[PrintedLine]:
    """The lines of a page in the file's order, each with its place."""
    _, page_height = frame.size
    at = 0
    for end in [*_LINE_END.finditer(text), None]:
        raw = text[at : end.start()] if end else text[at:]
        line = raw.strip()
        if line and not _BROKEN.fullmatch(line):
            start = at + len(raw) - len(raw.lstrip())
            left, right = box(start)[0], box(start + len(line) - 1)[2]
            bottom, top = _height(line, start, box)
            yield PrintedLine(
                _WRAPPED.sub("", line) + ("-" if end and end[0] == "\ufffe" else ""),
                page,
                left,
                right,
                bottom,
                top - bottom,
                in_margin=top == bottom or bottom < _MARGIN * page_height or top > (1 - _MARGIN) * page_height,
                gapped=_gapped(line, start, box, top - bottom),
                box=frame.share((left, bottom, right, top)),
            )
        at = end.end() if end else at


def _gapped(line: str, start: int, box: _Boxes, height: float) -> bool:
    """Whether two of its words stand further apart than two full-width spaces put them."""
    for space in _SPACES.finditer(line):
        right, left = box(start + space.start() - 1)[2], box(start + space.end())[0]
        if right and left - right > _GAP * height:
            return True
    return False


def _height(line: str, start: int, box: _Boxes) -> tuple[float, float]:
    """Bottom and top of the line's usual letters: bullets and words in another font may be of other sizes."""
    letters = [i for i, c in enumerate(line) if c.isalnum()] or [0]
    sample = [box(start + letters[len(letters) * n // _SAMPLES]) for n in range(_SAMPLES)]
    _, bottom, _, top = sorted(sample, key=lambda b: b[3] - b[1])[_SAMPLES // 2]
    return bottom, top


def _boxes(text_page: Any, text: str, frame: _Frame) -> _Boxes:
    """The box of ``text[at]``; zeros when pdfium does not say."""
    import pypdfium2 as pdfium
    from pypdfium2 import raw

    pairs = [at for at, c in enumerate(text) if c > "\uffff"]  # two units for pdfium, which counts in UTF-16

    def box(at: int) -> Box:
        index = raw.FPDFText_GetCharIndexFromTextIndex(text_page, at + bisect_left(pairs, at))
        try:
            return frame.box(text_page.get_charbox(index, loose=True))
        except pdfium.PdfiumError:  # a character that pdfium itself put in
            return _NOWHERE

    return box
