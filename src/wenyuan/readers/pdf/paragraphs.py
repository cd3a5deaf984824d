"""Lines of printed and recognised pages: their reading order, running headers and footers, and joining them to
paragraphs.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import numpy as np

from wenyuan.core.fidelity import Line
from wenyuan.core.text.structure import opening
from wenyuan.readers.ocr import Read
from wenyuan.readers.pdf.page import FIRST_WORD, SENTENCE_END, WIDE_CHAR, PrintedLine, rows_of, units

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
    read: Read

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def height(self) -> float:
        return self.bottom - self.top


def ordered(lines: Sequence[Read], size: tuple[int, int]) -> tuple[list[list[Upright]], int]:
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


def _angle(lines: Sequence[Read]) -> float:
    """Skew of the page in radians: the median angle of its lines, weighted by length."""
    if not lines:
        return 0.0
    by_angle = sorted(lines, key=lambda line: line.rect.angle)
    weights = np.cumsum([line.rect.width for line in by_angle])
    return by_angle[int(np.searchsorted(weights, weights[-1] / 2))].rect.angle


def _upright(line: Read, angle: float, x0: float, y0: float) -> Upright:
    """A line of a skewed page, rotated around the page's centre."""
    c, s = float(np.cos(angle)), float(np.sin(angle))
    x, y = line.rect.x - x0, line.rect.y - y0
    x, y = x0 + x * c + y * s, y0 - x * s + y * c
    width, height = line.rect.width / 2, line.rect.height / 2
    return Upright(x - width, y - height, x + width, y + height, line)


def _column(line: Read, page_width: int) -> Upright:
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


# Joins the lines of printed pages to paragraphs.
#
# A line ends a paragraph when the next line's first word would still have fit on it, when the next line is
# indented, stands further off, is set in another size, or opens a numbered section. No page image is needed.

_MARK = re.compile(r"[•●○■□▪◆◇※–\-*]\s+\S|[（(]?[0-9a-zA-Z一二三四五六七八九十]{1,3}[）)]|[①-⑳]")
_BROKEN_WORD = re.compile(r"[A-Za-z]-\Z")
_WORD = re.compile("[A-Za-z]+")
_HYPHENED = re.compile("[A-Za-z]+-[a-z]+")
_LAST_WORD = re.compile(r"[A-Za-z]+-\Z")
_NEIGHBOURS = 8
_FAR = 3.5  # lines' heights between lines that are never of one paragraph


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Joined lines with their position, and their letter height in points (0 when unknown).

    Attributes:
        turns: ``(offset, page)`` where the text goes on on another page.
        printed: ``(start, end, line)``: which of its characters stand on which line.
    """

    text: str
    page: int
    height: float
    turns: tuple[tuple[int, int], ...] = ()
    printed: tuple[tuple[int, int, PrintedLine], ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """Its printed lines with offsets in its text. A recognised line is included even without a position, for its
        confidence.
        """
        return tuple(
            Line(start, end, line.page, line.box, line.confidence)
            for start, end, line in self.printed
            if line.box[0] < line.box[2] or line.confidence is not None
        )


class Words:
    """The vocabulary of a document, to decide whether a hyphen at a line's end belongs to the word.

    Args:
        lines: Their texts.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._plain: set[str] = set()
        self._hyphened: set[str] = set()
        for line in lines:
            if "-" in line:
                self._hyphened.update(word.lower() for word in _HYPHENED.findall(line))
            self._plain.update(word.lower() for word in _WORD.findall(line))

    def keeps_hyphen(self, before: str, after: str) -> bool:
        """Whether the hyphenated word across `before` and `after` occurs with its hyphen elsewhere in the document."""
        first, second = _LAST_WORD.search(before), _WORD.match(after)
        if not first or not second:
            return False
        word = f"{first[0]}{second[0]}".lower()
        return word in self._hyphened and word.replace("-", "") not in self._plain


def paragraphs(
    lines: Sequence[PrintedLine], words: Words | None = None, apart: Container[int] = ()
) -> Iterator[Paragraph]:
    """Join lines to paragraphs, also across pages; a paragraph has the page on which it begins.

    Args:
        apart: Places among `lines` where something stands between a line and the one before.
        words: Of the document; without them every hyphen at a line's end that can be undone is.
    """
    pitch = _pitch(lines)
    open_lines: list[PrintedLine] = []
    for at, line in enumerate(lines):
        if open_lines and (at in apart or _begins(lines, at, open_lines[0], pitch)):
            yield joined(open_lines, words)
            open_lines = []
        open_lines.append(line)
    if open_lines:
        yield joined(open_lines, words)


def _pitch(lines: Sequence[PrintedLine]) -> float:
    """Usual distance between lines; 0 when unknown."""
    steps = [
        above.bottom - below.bottom
        for above, below in itertools.pairwise(lines)
        if above.page == below.page
        and above.placed
        and below.placed
        and above.bottom - below.bottom > below.height / 2
    ]
    return median(steps) if steps else 0.0


def _begins(lines: Sequence[PrintedLine], at: int, first: PrintedLine, pitch: float) -> bool:
    """Whether ``lines[at]`` begins a paragraph; `first` is the first line of the current one."""
    line, before = lines[at], lines[at - 1]
    if _BROKEN_WORD.search(before.text) and line.text[:1].islower():
        return False
    if _opens(line.text):
        return True
    if not (line.placed and before.placed):
        return _looks_closed(before.text, lines[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS])
    if _same_row(before, line):
        return False  # the same line of print, in two parts
    if abs(line.height - before.height) > 0.15 * max(line.height, before.height):
        return True
    drop = before.bottom - line.bottom
    if line.page != before.page or drop < -2 * line.height:  # another page or column
        return bool(SENTENCE_END.search(before.text)) or _had_room(lines, at)
    if before.gapped and line.left < before.left + line.height and not _opens(before.text):
        return True  # the row of a table ends
    indented = drop > 0 and line.left > before.left + 0.8 * line.em and not _opens(first.text)
    return drop > min(1.4 * pitch, _FAR * line.height) or indented or _had_room(lines, at)


def _opens(text: str) -> bool:
    """Whether a text begins with a section number or a bullet."""
    return bool(opening(text) or _MARK.match(text))


def _looks_closed(text: str, around: Sequence[PrintedLine]) -> bool:
    longest = max(units(line.text) for line in around)
    return (bool(SENTENCE_END.search(text)) and units(text) < 0.8 * longest) or units(text) < 0.5 * longest


def _had_room(lines: Sequence[PrintedLine], at: int) -> bool:
    """Whether the first word of ``lines[at]`` would have fitted on the line before."""
    line, before = lines[at], lines[at - 1]
    if line.text[0].islower() and not SENTENCE_END.search(before.text):
        return False  # lines may be broken early, but no paragraph begins so
    column = max(
        other.right
        for other in lines[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]
        if (other.placed and abs(other.left - before.left) <= 3 * before.em and _of_one_column(other, before))
        or other is before
        or (other is line and line.page == before.page and line.bottom < before.bottom)
    )
    word = FIRST_WORD.match(line.text)
    return column - before.right > (units(word[0]) if word else 1.0) * line.em + 0.5 * before.em


def _of_one_column(other: PrintedLine, line: PrintedLine) -> bool:
    return other.page != line.page or other.column == line.column


def joined(lines: Sequence[PrintedLine], words: Words | None = None) -> Paragraph:
    """Lines joined to one text: hyphenation removed, a space where words are separated by one."""
    text = lines[0].text
    parts = [(0, len(text))]
    for before, line in itertools.pairwise(lines):
        broken = _BROKEN_WORD.search(text) and line.text[:1].islower()
        if broken and not (words and words.keeps_hyphen(text, line.text)):
            text = text[:-1]
            parts[-1] = parts[-1][0], len(text)
        elif not text.endswith("-") and not (_joins_closely(text, line.text) and not _same_row(before, line)):
            text += " "
        parts.append((len(text), len(text) + len(line.text)))
        text += line.text
    printed = tuple((start, end, line) for (start, end), line in zip(parts, lines, strict=True))
    turns = tuple(
        (start, line.page)
        for (_, _, before), (start, _, line) in itertools.pairwise(printed)
        if line.page != before.page
    )
    return Paragraph(text, lines[0].page, median(line.height for line in lines), turns, printed)


def _joins_closely(before: str, after: str) -> bool:
    """Whether lines are joined without a space, as next to a Chinese character."""
    return bool(WIDE_CHAR.match(before[-1:]) or WIDE_CHAR.match(after[:1]))


def _same_row(before: PrintedLine, line: PrintedLine) -> bool:
    return line.placed and before.page == line.page and abs(before.bottom - line.bottom) < line.height / 3


# Finds running headers, footers and page numbers, which repeat from page to page and are no part of the text.

_NUMBER = re.compile(r"[0-9]+")
_NUMBER_AT_AN_END = re.compile(r"^[0-9]{1,5}(?= )|(?<= )[0-9]{1,5}\Z")
_AT_AN_END = object()
_MAX_RUNNING = 120  # characters
_EDGE_LINES = 2
_RUNNING_PAGES = 3
_MOST_SAID = 6
_PAGE_OF = re.compile(
    r"(?i)(?:page|seite|p\.)\s*[0-9]{1,5}(?:\s*(?:of|/|von)\s*[0-9]{1,5})?|第\s*[0-9]{1,5}\s*[页頁](?:\s*[，,/]?\s*共\s*[0-9]{1,5}\s*[页頁])?"
    r"|^[0-9]{1,5}(?=\s|\Z)|(?<=\s)[0-9]{1,5}(?:\s*/\s*[0-9]{1,5})?\Z"
)
"""The page's number with the words around it, or at an end."""
_SAYS = re.compile(r"[^\W\d_]{3}|[\u2e80-\u9fff]{2}|[A-Za-z]+[- ]?[0-9]")
"""What says more than which page it is."""
_SHARED = 3  # pages on which a running line stands that is told in words


def running_lines(pages: Sequence[Sequence[PrintedLine]]) -> dict[tuple[int, int], str]:
    """Headers and footers: among a page's two outermost lines at top and bottom, those in the margins that three
    pages share.

    Lines are shared when identical, or when they differ in the page's number alone (``第 3 页``). Those that name the
    section at hand (``2.5. Priorities 11``, ``12 Chapter 3``) are told by the page's number at one end, on a fifth of all pages.

    Returns:
        The line's text by (index of page, index of line).
    """
    seen: Counter[tuple[object, ...]] = Counter()
    found: dict[tuple[int, int], tuple[str, set[tuple[object, ...]]]] = {}
    for at, lines in enumerate(pages):
        edge = _edge(lines)
        of_page: set[tuple[object, ...]] = set()
        for index in (i for i in edge if lines[i].in_margin):
            text = " ".join(lines[index].text.split())
            keys: set[tuple[object, ...]] = {(text,)}
            if len(text) <= 60:
                keys |= {
                    (text[: n.start()], int(n[0]) - at, text[n.end() :])
                    for n in _NUMBER.finditer(text)
                    if len(n[0]) < 6
                }
            if not SENTENCE_END.search(text):  # a footnote may have the page's number by chance
                keys |= {
                    (_AT_AN_END, n.start() == 0, int(n[0]) - at)
                    for n in _NUMBER_AT_AN_END.finditer(text[:_MAX_RUNNING])
                }
            found[at, index] = text, keys
            of_page |= keys
        seen.update(of_page)
    enough = {_AT_AN_END: max(_RUNNING_PAGES, len(pages) // 5)}
    return {
        place: text
        for place, (text, keys) in found.items()
        if any(seen[key] >= enough.get(key[0], _RUNNING_PAGES) for key in keys)
    }


def _edge(lines: Sequence[PrintedLine]) -> set[int]:
    """The first and last lines of a page, both in file order and by position."""
    first, last = range(min(_EDGE_LINES, len(lines))), range(max(len(lines) - _EDGE_LINES, 0), len(lines))
    places = {id(line): at for at, line in enumerate(lines)}
    rows = rows_of([line for line in lines if line.placed and line.in_margin])
    outer = {places[id(line)] for row in (*rows[:_EDGE_LINES], *rows[-_EDGE_LINES:]) for line in row}
    return {*first, *last, *outer}


class Running(NamedTuple):
    """Pages without what runs through them.

    Attributes:
        kept: The lines of each page that are its own.
        heads: What stood at the top of pages in words, each once, as where it stood first: it may say what the document is.
        feet: Likewise at the bottom.
        notes: On what was taken out.
    """

    kept: list[list[PrintedLine]]
    heads: list[PrintedLine]
    feet: list[PrintedLine]
    notes: list[str]


def without_running(pages: Sequence[Sequence[PrintedLine]]) -> Running:
    """The lines of each page without running headers and footers, what these say, and a note for each of them."""
    running = running_lines(pages)
    kept = [
        [line for index, line in enumerate(lines) if (at, index) not in running] for at, lines in enumerate(pages)
    ]
    texts = Counter(re.sub("[0-9]+", "#", text) for text in running.values())
    shared = {text: count for text, count in texts.items() if count >= _SHARED}
    notes = [f"removed a running line from {count} pages: {text[:80]!r}" for text, count in shared.items()]
    if others := len(running) - sum(shared.values()):
        notes.append(f"removed {others} running lines with the page's number")
    heads, feet = _said_once(pages, kept, running)
    return Running(kept, heads, feet, notes)


def _said_once(
    pages: Sequence[Sequence[PrintedLine]],
    kept: Sequence[Sequence[PrintedLine]],
    running: Mapping[tuple[int, int], str],
) -> tuple[list[PrintedLine], list[PrintedLine]]:
    """The first of each running line that is the same on its pages and whose words stand nowhere else in the text."""
    bare = {place: _PAGE_OF.sub("", said).strip(" -–—|·") for place, said in running.items()}
    same = Counter(bare.values())
    text = "".join("".join(line.text.split()) for lines in kept for line in lines).casefold()
    heads: list[PrintedLine] = []
    feet: list[PrintedLine] = []
    for (at, index), said in sorted(bare.items()):
        words = "".join(said.split()).casefold()
        if same[said] >= _SHARED and _SAYS.search(said) and words not in text:
            line = pages[at][index]
            height = max((each.top for each in pages[at]), default=0.0)
            (heads if line.bottom > height / 2 else feet).append(line)
            text += words
    return heads[:_MOST_SAID], feet[:_MOST_SAID]
