"""From the lines of printed pages to paragraphs: what a line break on paper meant.

A line ends a paragraph when the next line's first word would still have fit on it, when the next line is
indented, stands further off, is set in another size, or opens a numbered section. No page image is needed.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from wenyuan.core.structure import opening

__all__ = ["Paragraph", "PrintedLine", "paragraphs", "running_lines"]

_WIDE = r"\u1100-\u115f\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff"
_WIDE_CHAR = re.compile(f"[{_WIDE}“”‘’…—]")
_FIRST_WORD = re.compile(rf"[{_WIDE}][、。，．：；？！）」』】》]?|[^\s{_WIDE}]+")
_MARK = re.compile(r"[•●○■□▪◆◇※–\-*]\s+\S|[（(]?[0-9a-zA-Z一二三四五六七八九十]{1,3}[）)]|[①-⑳]")
_SENTENCE_END = re.compile(r"""[。！？!?.：:；;…][”’」』）)"']*$""")
_BROKEN_WORD = re.compile(r"[A-Za-z]-$")
_NUMBER = re.compile(r"[0-9]+")
_NUMBER_AT_AN_END = re.compile(r"^[0-9]{1,5}(?= )|(?<= )[0-9]{1,5}$")
_AT_AN_END = object()
_MAX_RUNNING = 120  # characters
_EDGE_LINES = 2
_RUNNING_PAGES = 3
_NEIGHBOURS = 8


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line on a page, in points, y upwards; `left` = `right` where the file does not tell its place.

    Attributes:
        in_margin: Whether it stands where headers and footers do, or its place is unknown.
        gapped: Whether it holds a gap that no justified text has: the cells of a table's row.
    """

    text: str
    page: int
    left: float = 0.0
    right: float = 0.0
    bottom: float = 0.0
    height: float = 0.0
    in_margin: bool = True
    gapped: bool = False

    @property
    def placed(self) -> bool:
        return self.right > self.left

    @property
    def em(self) -> float:
        """Width of a full character, from the line itself."""
        return (self.right - self.left) / max(_units(self.text), 1.0)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Joined lines: where they begin, and the height of their letters in points (0 when unknown).

    Attributes:
        turns: ``(offset, page)`` where the text goes on on another page.
    """

    text: str
    page: int
    height: float
    turns: tuple[tuple[int, int], ...] = ()


def _units(text: str) -> float:
    wide = len(_WIDE_CHAR.findall(text))
    return wide + 0.5 * (len(text) - wide)


def running_lines(pages: Sequence[Sequence[PrintedLine]]) -> dict[tuple[int, int], str]:
    """Headers and footers: of a page's first and last two lines, those in its margins that three pages share.

    Lines are shared when identical, or when they differ in the page's number alone (``第 3 页``). Those that name the
    section at hand (``2.5. Priorities 11``, ``12 Chapter 3``) are told by the page's number at one end, on a fifth of all pages.

    Returns:
        The line's text by (index of page, index of line).
    """
    seen: Counter[tuple[object, ...]] = Counter()
    found: dict[tuple[int, int], tuple[str, set[tuple[object, ...]]]] = {}
    for at, lines in enumerate(pages):
        edge = {*range(min(_EDGE_LINES, len(lines))), *range(max(len(lines) - _EDGE_LINES, 0), len(lines))}
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
            keys |= {
                (_AT_AN_END, n.start() == 0, int(n[0]) - at) for n in _NUMBER_AT_AN_END.finditer(text[:_MAX_RUNNING])
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


def paragraphs(lines: Sequence[PrintedLine]) -> Iterator[Paragraph]:
    """Join lines, also across pages; a paragraph carries the page on which it begins."""
    pitch = _pitch(lines)
    open_lines: list[PrintedLine] = []
    for at, line in enumerate(lines):
        if open_lines and _begins(lines, at, open_lines[0], pitch):
            yield _joined(open_lines)
            open_lines = []
        open_lines.append(line)
    if open_lines:
        yield _joined(open_lines)


def _pitch(lines: Sequence[PrintedLine]) -> float:
    """Usual distance from line to line, 0 when unknown."""
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
    """Whether a paragraph begins with ``lines[at]``; `first` began the one that is open."""
    line, before = lines[at], lines[at - 1]
    if _BROKEN_WORD.search(before.text) and line.text[:1].islower():
        return False
    if _opens(line.text):
        return True
    if not (line.placed and before.placed):
        return _looks_closed(before.text, lines[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS])
    if abs(line.height - before.height) > 0.15 * max(line.height, before.height):
        return True
    if line.page != before.page:
        return bool(_SENTENCE_END.search(before.text)) or _had_room(lines, at)
    drop = before.bottom - line.bottom
    if abs(drop) < line.height / 3:
        return False  # the same line of print, in two parts
    if before.gapped and line.left < before.left + line.height and not _opens(before.text):
        return True  # the row of a table ends
    indented = drop > 0 and line.left > before.left + 0.8 * line.em and not _opens(first.text)
    return drop > 1.4 * pitch or indented or _had_room(lines, at)


def _opens(text: str) -> bool:
    """Whether it begins with a number or a mark."""
    return bool(opening(text) or _MARK.match(text))


def _looks_closed(text: str, around: Sequence[PrintedLine]) -> bool:
    longest = max(_units(line.text) for line in around)
    return (bool(_SENTENCE_END.search(text)) and _units(text) < 0.8 * longest) or _units(text) < 0.5 * longest


def _had_room(lines: Sequence[PrintedLine], at: int) -> bool:
    """Whether the first word of ``lines[at]`` would have fit on the line before."""
    line, before = lines[at], lines[at - 1]
    if line.text[0].islower() and not _SENTENCE_END.search(before.text):
        return False  # lines may be broken early, but no paragraph begins so
    column = max(
        other.right
        for other in lines[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]
        if (other.placed and abs(other.left - before.left) <= 3 * before.em) or other is before
    )
    word = _FIRST_WORD.match(line.text)
    return column - before.right > (_units(word[0]) if word else 1.0) * line.em + 0.5 * before.em


def _joined(lines: Sequence[PrintedLine]) -> Paragraph:
    text = lines[0].text
    turns = []
    for before, line in itertools.pairwise(lines):
        length = len(text)
        if _BROKEN_WORD.search(text) and line.text[:1].islower():
            text = text[:-1] + line.text
        elif text.endswith("-") or (_joins_closely(text, line.text) and not _same_row(before, line)):
            text += line.text
        else:
            text += " " + line.text
        if line.page != before.page:
            turns.append((text.index(line.text, max(length - 1, 0)), line.page))
    return Paragraph(text, lines[0].page, median(line.height for line in lines), tuple(turns))


def _joins_closely(before: str, after: str) -> bool:
    """No space is written beside a Chinese character at a line's end."""
    return bool(_WIDE_CHAR.match(before[-1:]) or _WIDE_CHAR.match(after[:1]))


def _same_row(before: PrintedLine, line: PrintedLine) -> bool:
    return line.placed and before.page == line.page and abs(before.bottom - line.bottom) < line.height / 3
