"""Joins the lines of printed pages to paragraphs.

A line ends a paragraph when the next line's first word would still have fit on it, when the next line is
indented, stands further off, is set in another size, or opens a numbered section. No page image is needed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from wenyuan.core.fidelity import Line
from wenyuan.core.text.structure import opening
from wenyuan.readers.pdf.page import FIRST_WORD, SENTENCE_END, WIDE_CHAR, PrintedLine, units

_MARK = re.compile(r"[•●○■□▪◆◇※–\-*]\s+\S|[（(]?[0-9a-zA-Z一二三四五六七八九十]{1,3}[）)]|[①-⑳]")
_LETTER = r"[^\W\d_\u2e80-\u9fff\uac00-\ud7af]"  # of a script whose words are parted at line ends
_BROKEN_WORD = re.compile(rf"{_LETTER}[-\u2010\u00ad]\Z")
_SOFT = "\u00ad"  # a hyphen that stands at a line's end alone
_WORD = re.compile(f"{_LETTER}+")
_HYPHENED = re.compile(f"{_LETTER}+[-\u2010]{_LETTER}+")
_LAST_WORD = re.compile(rf"{_LETTER}+(?=[-\u2010]\Z)")
_LEAST_PART = 3  # letters of a word that makes a compound: shorter ones are syllables, too
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
        goes_on = False
        for line in lines:
            whole = line.rstrip()
            if "-" in line or "\u2010" in line:
                self._hyphened.update(_even(word) for word in _HYPHENED.findall(line))
            broken = _LAST_WORD.search(whole)
            found = _WORD.findall(whole[: broken.start()] if broken else whole)
            self._plain.update(word.lower() for word in found[goes_on:])  # the rest of a broken word is none
            goes_on = broken is not None
        self._firsts = {word.partition("-")[0] for word in self._hyphened}

    def keeps_hyphen(self, before: str, after: str) -> bool:
        """Whether the word across `before` and `after` is a compound.

        It is where it stands so elsewhere in the document, and not in one word; and where it stands nowhere else, but its first
        part begins other compounds of the document and its second is a word of it, or where it goes on with another hyphen.
        """
        first, second = _LAST_WORD.search(before), _WORD.match(after)
        if not first or not second or before.endswith(_SOFT):
            return False
        if f"{first[0]}{second[0]}".lower() in self._plain:
            return False
        if _even(f"{first[0]}-{second[0]}") in self._hyphened:
            return True
        if _HYPHENED.match(after):
            return True
        start, rest = first[0].lower(), second[0].lower()
        return len(start) >= _LEAST_PART and start in self._firsts and rest in self._plain


def _even(word: str) -> str:
    return word.lower().replace("\u2010", "-")


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
        elif not text.endswith(("-", "\u2010", _SOFT)) and not (
            _joins_closely(text, line.text) and not _same_row(before, line)
        ):
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
