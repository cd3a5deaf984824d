"""A page as printed: its lines with their positions, from the text layer or, where that is not usable, from OCR."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from wenyuan.readers.pdf.false_letters import LetterCheck
from wenyuan.readers.pdf.replacement_text import without_false_replacements
from wenyuan.readers.pdf.scripts import with_scripts
from wenyuan.readers.pdf.strokes import NOWHERE, Box, Drawn, Frame, Stroke, drawn
from wenyuan.readers.pdf.struck import struck_letters
from wenyuan.readers.pdf.visibility import Visibility, VisibilityBudget, visibility

# Decides whether a page's text layer is usable, or the page needs OCR.

_LEAST_TEXT = 30  # characters: a picture over most of the page beside fewer than that is a scan with a stamp on it
_COVERED = 0.5  # of the page
_SHARE = 0.1
_LEAST_BAD = 8
_SAMPLED = 500  # characters of a page that are asked for their glyphs
_HAN = re.compile("[\u3400-\u9fff]")
_LEAST_HAN = 100
_ORDINARY = frozenset(
    "的一是不在有人了中大为以和上个国我到他时要就出会可也你对年月日号第条元及或与其等應為於與個國會時對條號，。、；："
)
_LEAST_ORDINARY = 0.02  # of the Chinese characters of a page; about .2 in any real text
# What Chinese text looks like that was decoded as Latin-1 or Windows-1252: letters with accents side by side, which no
# language writes; and the two words that damaged UTF-8 and empty memory make of GBK.
_MOJIBAKE = re.compile("[\u00a1-\u00ff\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2018-\u201e\u2020\u2021\u2022\u2026\u2030\u2039\u203a\u20ac\u2122]{4,}")  # fmt: skip
_GARBLED = re.compile("(?:锟斤拷|烫烫|屯屯)+")
_NO_TEXT = frozenset({"Co", "Cn", "Cs", "Cc"})


def unreadable(text: str, unmapped: float = 0.0) -> float:
    """The share (0..1) of a page's visible characters that are garbage.

    These are characters of private use, U+FFFD, controls and code points that nothing is assigned to; runs of four and more
    letters with accents (Chinese in a wrong encoding); all Chinese characters of a page that has a hundred of them and none
    of those that every text has (a font's table that names wrong ones).

    Args:
        unmapped: The share of glyphs of which the file does not say which character they are.
    """
    visible = [c for c in text if not c.isspace()]
    if not visible:
        return 0.0
    bad = sum(c == "\ufffd" or (unicodedata.category(c) in _NO_TEXT and c != "\ufffe") for c in visible)
    bad += sum(len(run) for run in _MOJIBAKE.findall(text) if len(set(run)) > 2 and sum("\u00a1" <= c <= "\u00ff" for c in run) >= len(run) / 2)  # fmt: skip
    bad += sum(len(run) for run in _GARBLED.findall(text))
    han = _HAN.findall(text)
    if len(han) >= _LEAST_HAN and sum(c in _ORDINARY for c in visible) < _LEAST_ORDINARY * len(han):
        bad += len(han)
    return min(1.0, max(bad / len(visible) if bad >= _LEAST_BAD else 0.0, unmapped))


def unmapped_share(text_page: Any) -> float:
    """The share (0..1) of a page's glyphs, sampled, without a Unicode mapping.

    Args:
        text_page: Of pypdfium2.
    """
    from pypdfium2 import raw

    count = text_page.count_chars()
    if not count:
        return 0.0
    sampled = range(0, count, max(1, count // _SAMPLED))
    unmapped: int = sum(raw.FPDFText_HasUnicodeMapError(text_page, at) == 1 for at in sampled)
    return unmapped / len(sampled)


def needs_picture(page: Any, own: str, unmapped: float) -> bool:
    """Whether a page needs OCR: it is not blank, and its text layer is empty or broken.

    Args:
        page: Of pypdfium2.
        own: The text of its layer.
        unmapped: As `unmapped_share` says.
    """
    visible = sum(not c.isspace() for c in own)
    if not visible:
        return next(iter(page.get_objects(max_depth=1)), None) is not None
    if visible < _LEAST_TEXT and _covered(page) >= _COVERED:
        return True
    return unreadable(own, unmapped) >= _SHARE


def _covered(page: Any) -> float:
    """The share (0..1) of the page area covered by its largest image."""
    from pypdfium2 import raw

    width, height = page.get_width(), page.get_height()
    most = 0.0
    for image in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3):
        left, bottom, right, top = image.get_bounds()
        most = max(most, (right - left) * (top - bottom))
    return most / (width * height) if width and height else 0.0


_Boxes = Callable[[int], Box]
_LINE_END = re.compile("\r\n|[\n\r]|\ufffe")  # pdfium writes U+FFFE for a hyphen at a line's end
_SPACES = re.compile(r"\s+")
_GAP = 2.5
_WIDE_SPACE = 0.5
_CELL = 0.9  # of a line's height: no space of a justified text is as wide
_LONGEST_BAR = 1.3  # of a line's height: a letter of bars is no longer
MARGIN = 0.12  # of the page, above and below its text
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
_FONT_NAME = 100  # bytes
_FIXED_PITCH = 1  # of a font's flags
_FIXED_FONT = re.compile(
    b"(?i)mono|courier|consol|typewriter|menlo|fixed|terminal|^(?:[A-Z]{6}\\+)?(?:CM|EC|SF)(?:SL|IT)?TT"
)
_WIDE = r"\u1100-\u115f\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff"
WIDE_CHAR = re.compile(f"[{_WIDE}“”‘’…—]")
SENTENCE_END = re.compile(r"""[。！？!?.：:；;…][”’」』）)"']*\Z""")
FIRST_WORD = re.compile(rf"[{_WIDE}][、。，．：；？！）」』】》]?|[^\s{_WIDE}]+")


def units(text: str) -> float:
    """Width of a text in full-width characters."""
    wide = len(WIDE_CHAR.findall(text))
    return wide + 0.5 * (len(text) - wide)


class Gap(NamedTuple):
    """Wide white space ``text[start:end]`` in a line: the text before ends at x `right`, the text after begins at x
    `left`.

    Attributes:
        stepped: Whether the text after it is higher or lower, so in another table row.
    """

    start: int
    end: int
    right: float
    left: float
    stepped: bool = False


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line on a page; `left` = `right` where the file gives no position.

    Attributes:
        page: 1-based.
        box: Its place as `core.fidelity.Line.box` has it.
        in_margin: Whether it is where headers and footers are, or its place is unknown.
        gaps: The wide spaces in it, from left to right.
        fixed: Whether it has such, and all letters of its font are equally wide: in a listing, spaces are text.
        seal: Whether it is written in a seal.
        column: Which of several columns of its page it stands in; 0 for one that goes over all of them.
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
    gaps: tuple[Gap, ...] = ()
    fixed: bool = False
    box: tuple[float, float, float, float] = NOWHERE
    confidence: float | None = None
    sure: tuple[float, ...] = ()
    column: int = 0
    seal: bool = False

    @property
    def gapped(self) -> bool:
        """Whether it has a gap wider than justified text has, as between the cells of a table row."""
        return any(gap.left - gap.right > _GAP * self.height for gap in self.gaps)

    @property
    def top(self) -> float:
        return self.bottom + self.height

    @property
    def placed(self) -> bool:
        return self.right > self.left

    @property
    def em(self) -> float:
        """Width of a full-width character, estimated from the line itself."""
        return (self.right - self.left) / max(units(self.text), 1.0)


@dataclass(frozen=True, slots=True)
class PrintedPage:
    """The content of a printed page.

    Attributes:
        number: 1-based.
        lines: In the file's order, or in that of their recognition.
        own: All characters that the page itself has: those of its text layer, or those that were recognised.
        recognised: Whether its lines were recognised in an image of it.
        unread: Whether it holds no text but perhaps an image of it, and was not recognised.
        dropped: Lines that were recognised in an image of it and left out, see `ocr.pages.recognised`.
        unmapped: The share of its glyphs of which the file does not say which character they are.
        visibility: What of `own` is seen; the rest is in no line.
    """

    number: int
    frame: Frame
    lines: tuple[PrintedLine, ...]
    own: str
    drawn: Drawn = field(default_factory=Drawn)
    recognised: bool = False
    unread: bool = False
    dropped: int = 0
    unmapped: float = 0.0
    visibility: Visibility = field(default_factory=Visibility)


def text_layer(
    page: Any, number: int, budget: VisibilityBudget | None = None, letters: LetterCheck | None = None
) -> PrintedPage:
    """The lines of a page's text layer, without what nobody sees on the page.

    Args:
        page: A page of pypdfium2.
        number: 1-based.
        budget: How much may be drawn to find that out; of this page alone by default.
        letters: What was found out of the document's letters; nothing by default.
    """
    replaced = without_false_replacements(page, number - 1)
    text_page = page.get_textpage()
    try:
        text = text_page.get_text_range()
        unmapped = unmapped_share(text_page)
        found = visibility(page, text_page, unmapped, budget or VisibilityBudget())
        false = (letters or LetterCheck()).of(page, text_page)
        if false or replaced:
            found = replace(found, unseen=found.unseen | false, replaced=replaced)
            if 2 * len(false) > text_page.count_chars():
                unmapped = 1.0  # a picture of the page says more
        index = _Index(text_page, text)
        shown = text
        if found.unseen:
            shown = "".join(" " if index.of(at) in found.unseen else char for at, char in enumerate(text))
        frame = _frame_of(page, index, shown)
        seen = drawn(page, frame.box)
        layer = _Layer(index, shown, frame, seen)
        lines = tuple(_lines(layer, number))
        seen = replace(seen, across=tuple(stroke for stroke in seen.across if stroke not in layer.through))
    finally:
        text_page.close()
    own = text.replace("\ufffe", "-")
    return PrintedPage(number, frame, lines, own, seen, unmapped=unmapped, visibility=found)


def _frame_of(page: Any, index: _Index, text: str) -> Frame:
    """The frame of a page, by the direction of most longer lines (of a sample spread over the page)."""
    frame = Frame(page.get_bbox(), page.get_rotation())
    box = _Layer(index, text, frame).box
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


@dataclass(frozen=True)
class _Index:
    """Where pdfium has the characters of a page's text."""

    text_page: Any
    text: str

    @cached_property
    def _pairs(self) -> list[int]:
        """Positions of characters outside the BMP, which pdfium counts as two (UTF-16)."""
        return [at for at, character in enumerate(self.text) if character > "\uffff"]

    def of(self, at: int) -> int:
        from pypdfium2 import raw

        return int(raw.FPDFText_GetCharIndexFromTextIndex(self.text_page, at + bisect_left(self._pairs, at)))


@dataclass(frozen=True)
class _Layer:
    """The text of a page, with the data needed to locate its characters."""

    index: _Index
    text: str
    frame: Frame
    drawn: Drawn = field(default_factory=Drawn)
    through: set[Stroke] = field(default_factory=set)  # lines through letters, which are no rules

    def box(self, at: int) -> Box:
        """The box of ``text[at]``; zeros when pdfium gives none."""
        import pypdfium2 as pdfium

        try:
            return self.frame.box(self.index.text_page.get_charbox(self.index.of(at), loose=True))
        except pdfium.PdfiumError:  # a character that pdfium itself put in
            return NOWHERE

    def is_fixed(self, at: int) -> bool:
        """Whether ``text[at]`` is in a monospaced font, by the font's flags or name."""
        from pypdfium2 import raw

        flags, name = ctypes.c_int(), ctypes.create_string_buffer(_FONT_NAME)
        raw.FPDFText_GetFontInfo(self.index.text_page, self.index.of(at), name, _FONT_NAME, flags)
        return bool(flags.value & _FIXED_PITCH) or bool(_FIXED_FONT.search(name.value))


def _lines(layer: _Layer, page: int) -> Iterator[PrintedLine]:
    """The lines of a page in file order with their positions, split where a vertical rule crosses them."""
    text = layer.text
    at = 0
    for end in [*_LINE_END.finditer(text), None]:
        raw = text[at : end.start()] if end else text[at:]
        line = raw.strip()
        if line and not _BROKEN.fullmatch(line):
            start = at + len(raw) - len(raw.lstrip())
            stop = start + len(line)
            marked = _WRAPPED.match(line)
            printed = _line(layer, start + (marked.end() if marked else 0), stop, page)
            if marked:  # it goes on with the line above: its words are not indented
                printed = replace(printed, left=layer.box(start)[0])
            *before, last = _cut(printed, stop, layer)
            yield from before
            yield replace(last, text=last.text + "-") if end and end[0] == "\ufffe" else last
        at = end.end() if end else at


def _line(layer: _Layer, start: int, end: int, page: int) -> PrintedLine:
    line, box = layer.text[start:end], layer.box
    left, right = box(start)[0], box(end - 1)[2]
    bottom, top = _height(line, start, box)
    edge = MARGIN * layer.frame.size[1]
    gaps = (*_gaps(line, start, box, top - bottom), *_unwritten(line, start, box, right - left))
    return PrintedLine(
        line, page, left, right, bottom, top - bottom,
        in_margin=top == bottom or bottom < edge or top > layer.frame.size[1] - edge,
        gaps=gaps,
        fixed=bool(gaps) and layer.is_fixed(start),
        box=layer.frame.share((left, bottom, right, top)),
    )  # fmt: skip


def _gaps(line: str, start: int, box: _Boxes, height: float) -> Iterator[Gap]:
    """Gaps between words that are wider than spaces in unjustified text."""
    for space in _SPACES.finditer(line):
        (_, low, right, _), (left, bottom, _, _) = box(start + space.start() - 1), box(start + space.end())
        if right and left - right > _WIDE_SPACE * height:
            yield Gap(*space.span(), right, left, left - right > height and abs(low - bottom) > height / 3)


def _unwritten(line: str, start: int, box: _Boxes, width: float) -> Iterator[Gap]:
    """Wide gaps between full-width characters, for which pdfium writes no space; searched where a line is too wide
    for its text.
    """
    left, bottom, right, top = box(start)
    if not WIDE_CHAR.match(line) or width < units(line) * (right - left) + _CELL * (top - bottom):
        return
    for at in range(1, len(line)):
        (_, _, before, _), (after, _, _, _) = box(start + at - 1), box(start + at)
        if before and after - before > _CELL * (top - bottom) and not _SPACES.search(line, at - 1, at + 1):
            yield Gap(at, at, before, after)


def _cut(line: PrintedLine, stop: int, layer: _Layer) -> list[PrintedLine]:
    """Parts of a line (ending at `stop`), split at vertical rules that cross it and where the baseline changes."""
    start = stop - len(line.text)
    middle = line.bottom + line.height / 2
    places = {start + gap.end for gap in line.gaps if gap.stepped}
    for rule in layer.drawn.down:
        if (
            line.left + 1 < rule.at < line.right - 1
            and rule.start < middle < rule.end
            and rule.end - rule.start > _LONGEST_BAR * line.height
        ):
            gap = next((gap for gap in line.gaps if gap.right - 1 <= rule.at <= gap.left + 1), None)
            places.add(start + gap.end if gap else _right_of(rule.at, range(start, stop), layer))
    ends = [*sorted(places - {start, stop}), stop]
    if len(ends) == 1:
        return [_scripted(line, start, layer)]
    spans = [(a, a + len(layer.text[a:b].rstrip())) for a, b in pairwise([start, *ends])]
    return [_scripted(_line(layer, a, b, line.page), a, layer) for a, b in spans if a < b]


def _scripted(line: PrintedLine, start: int, layer: _Layer) -> PrintedLine:
    """The line with its powers, indexes and struck letters as such.

    Args:
        start: Where it begins in the text of the page.
    """
    places = [gap.start for gap in line.gaps]
    if not line.placed:
        return line
    place = (line.bottom, line.top)
    struck, through = struck_letters(line.text, place, start, layer.box, layer.drawn.across)
    layer.through.update(through)
    found = with_scripts(line.text, place, start, layer.box, places, struck)
    if found is None:
        return line
    gaps = (gap._replace(start=at, end=at + gap.end - gap.start) for gap, at in zip(line.gaps, found[1], strict=True))
    return replace(line, text=found[0], gaps=tuple(gaps))


def _right_of(x: float, span: range, layer: _Layer) -> int:
    """Index of a line's first character whose centre is right of `x`."""

    def middle(at: int) -> float:
        left, _, right, _ = layer.box(at)
        return (left + right) / 2 or x

    return span.start + bisect_left(span, x, key=middle)


def part(line: PrintedLine, frame: Frame, start: int, end: int) -> PrintedLine:
    """``text[start:end]`` of a line as a line of its own; `start` and `end` are the line's ends or those of its gaps."""
    if (start, end) == (0, len(line.text)):
        return line
    left = next((gap.left for gap in line.gaps if gap.end == start), line.left)
    right = next((gap.right for gap in line.gaps if gap.start == end), line.right)
    gaps = tuple(
        gap._replace(start=gap.start - start, end=gap.end - start)
        for gap in line.gaps
        if start < gap.start and gap.end < end
    )
    return replace(
        line, text=line.text[start:end], left=left, right=right, gaps=gaps, sure=line.sure[start:end],
        box=frame.share((left, line.bottom, right, line.top)),
    )  # fmt: skip


def _height(line: str, start: int, box: _Boxes) -> tuple[float, float]:
    """Bottom and top of the line's most common letters: bullets and words in other fonts may differ."""
    letters = [i for i, c in enumerate(line) if c.isalnum()] or [0]
    sample = [box(start + letters[len(letters) * n // _SAMPLES]) for n in range(_SAMPLES)]
    _, bottom, _, top = sorted(sample, key=lambda b: b[3] - b[1])[_SAMPLES // 2]
    return bottom, top


def rows_of(lines: Sequence[PrintedLine]) -> list[list[PrintedLine]]:
    """Lines grouped by height, each group from left to right, highest first."""
    rows: list[list[PrintedLine]] = []
    for line in sorted(lines, key=lambda each: -each.bottom):
        if rows and abs(rows[-1][0].bottom - line.bottom) < max(line.height, rows[-1][0].height) / 3:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda each: each.left) for row in rows]
