"""PDF to a `Document`: the text layer, page by page, lines joined to paragraphs."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from wenyuan.core.messages import msg
from wenyuan.core.model import Document, Facet
from wenyuan.core.text.structure import opening
from wenyuan.readers.assemble import Original, Piece, assemble, no_title, rejected
from wenyuan.readers.text import sectioned

# From the lines of printed pages to paragraphs: what a line break on paper meant.
#
# A line ends a paragraph when the next line's first word would still have fit on it, when the next line is
# indented, stands further off, is set in another size, or opens a numbered section. No page image is needed.


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


# PDF → `Document`: the text layer, page by page; a scan without one is refused, never read as empty.


_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_MAX_PAGES = 5_000
_MAX_CHARACTERS = 20_000_000
_LINE_END = re.compile("\r\n|[\n\r]|\ufffe")  # pdfium writes U+FFFE for a hyphen at a line's end
_SPACES = re.compile(r"\s+")
_GAP = 2.5
_NO_HEADING = re.compile(r"[。；，,;：:]$")
_HEADING_RATIO = (1.6, 1.3, 1.15)  # height of the letters to that of the text, for levels 1, 2, 3
_MAX_HEADING = 100
_SHARED = 3  # pages on which a running line stands that is told in words
_MARGIN = 0.12  # of the page, above and below its text
# What Sphinx prints where a listing or a table is broken over pages, and the mark of a line of code that was too long.
_BROKEN = re.compile(
    r"[(（]?(?:(?:table|表格?) *[0-9.]+ *[-–—]+ *)?"
    r"(?:continue[sd] on (?:the )?next page|continued from (?:the )?previous page|续下页|接上页|续上页)[)）]?",
    re.IGNORECASE,
)
_WRAPPED = re.compile("^˓→ *")
_SAMPLES = 5  # letters of a line that are measured

_Boxes = Callable[[int], tuple[float, float, float, float]]


def read_pdf(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read the text layer of a PDF.

    Raises:
        DocumentRejected: encrypted, damaged, too long, or without a text layer.
    """
    import pypdfium2 as pdfium

    try:
        with pdfium.PdfDocument(content) as pdf:
            pages = _pages(pdf, name)
            properties = {
                key: " ".join(pdf.get_metadata_value(key).split()) for key in ("Title", "Author", "Subject")
            }
    except pdfium.PdfiumError as error:
        reason = (
            "it is encrypted" if error.err_code == _PASSWORD_ERROR else msg("it is damaged: {error}", error=error)
        )
        raise rejected(reason, name) from error
    empty = [number for number, lines in enumerate(pages, 1) if not lines]
    if len(empty) == len(pages):
        raise rejected(msg("no text layer on any of its {count} pages (scanned?)", count=len(pages)), name)
    lines, notes = _body(pages)
    if empty:
        notes.append(
            msg(
                "no text layer on {count} of {count2} pages: {empty}",
                count=len(empty),
                count2=len(pages),
                empty=_some(empty),
            )
        )
    pieces, largest = _pieces(list(paragraphs(lines)))
    title = properties["Title"]
    metadata: dict[str, Facet] = {"pages": len(pages)}
    metadata |= {key.lower(): properties[key][:500] for key in ("Author", "Subject") if not no_title(properties[key])}
    document = assemble(
        sectioned(pieces, levels_are_sure=False),
        Original(content, uri, name),
        title=largest if no_title(title) else title,
        media_type="application/pdf",
        empty=f"no text on any of its {len(pages)} pages but running headers",
        notes=notes,
        metadata=metadata,
    )
    return (document,)


def _some(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:20])) + (" …" if len(numbers) > 20 else "")


def _pages(pdf: Any, name: str) -> list[list[PrintedLine]]:
    if len(pdf) > _MAX_PAGES:
        raise rejected(
            msg("it has {count} pages; at most {max_pages} are read", count=len(pdf), max_pages=_MAX_PAGES), name
        )
    pages = []
    characters = 0
    for index in range(len(pdf)):
        page = pdf[index]
        text_page = page.get_textpage()
        pages.append(list(_lines(text_page, index + 1, page.get_height())))
        characters += text_page.count_chars()
        text_page.close()
        page.close()
        if characters > _MAX_CHARACTERS:
            raise rejected(
                msg("it holds more than {max_characters} characters", max_characters=f"{_MAX_CHARACTERS:,}"), name
            )
    return pages


def _lines(text_page: Any, page: int, page_height: float) -> Iterator[PrintedLine]:
    """The lines of a page in the file's order, each with its place."""
    text = text_page.get_text_range()
    box = _boxes(text_page, text)
    at = 0
    for end in [*_LINE_END.finditer(text), None]:
        raw = text[at : end.start()] if end else text[at:]
        line = raw.strip()
        if line and not _BROKEN.fullmatch(line):
            start = at + len(raw) - len(raw.lstrip())
            left, right = box(start)[0], box(start + len(line) - 1)[2]
            bottom, top = _height(line, start, box)
            in_margin = top == bottom or bottom < _MARGIN * page_height or top > (1 - _MARGIN) * page_height
            hyphen = "-" if end and end[0] == "\ufffe" else ""
            gapped = _gapped(line, start, box, top - bottom)
            yield PrintedLine(
                _WRAPPED.sub("", line) + hyphen, page, left, right, bottom, top - bottom, in_margin, gapped
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


def _boxes(text_page: Any, text: str) -> _Boxes:
    """The box of ``text[at]``: left, bottom, right, top; zeros when pdfium does not say."""
    import pypdfium2 as pdfium
    from pypdfium2 import raw

    pairs = [at for at, c in enumerate(text) if c > "\uffff"]  # two units for pdfium, which counts in UTF-16

    def box(at: int) -> tuple[float, float, float, float]:
        index = raw.FPDFText_GetCharIndexFromTextIndex(text_page, at + bisect_left(pairs, at))
        try:
            left, bottom, right, top = text_page.get_charbox(index, loose=True)
        except pdfium.PdfiumError:  # a character that pdfium itself put in
            return 0.0, 0.0, 0.0, 0.0
        return left, bottom, right, top

    return box


def _body(pages: list[list[PrintedLine]]) -> tuple[list[PrintedLine], list[str]]:
    """Lines without running headers and footers, and a note for each of these."""
    running = running_lines(pages)
    kept = [line for at, lines in enumerate(pages) for index, line in enumerate(lines) if (at, index) not in running]
    texts = Counter(re.sub("[0-9]+", "#", text) for text in running.values())
    shared = {text: count for text, count in texts.items() if count >= _SHARED}
    notes = [f"removed a running line from {count} pages: {text[:80]!r}" for text, count in shared.items()]
    if others := len(running) - sum(shared.values()):
        notes.append(f"removed {others} running lines with the page's number")
    return kept, notes


def _pieces(found: list[Paragraph]) -> tuple[list[Piece], str]:
    """Paragraphs, those in large letters as headings; and the largest text of the first page that has any."""
    if not found:
        return [], ""
    body = median(p.height for p in found for _ in p.text)  # weighed by length
    pieces = [_piece(paragraph, body) for paragraph in found]
    top = [p for p in found if p.page == found[0].page and len(p.text) <= _MAX_HEADING]
    largest = max(top, key=lambda p: p.height, default=None)
    return pieces, largest.text if largest and largest.height > _HEADING_RATIO[-1] * body > 0 else ""


def _piece(paragraph: Paragraph, body: float) -> Piece:
    text = paragraph.text
    place: dict[str, Any] = {"page": paragraph.page, "anchor": f"page={paragraph.page}"}
    if body and len(text) <= _MAX_HEADING and not _NO_HEADING.search(text) and any(map(str.isalpha, text)):
        for level, ratio in enumerate(_HEADING_RATIO, 1):
            if paragraph.height > ratio * body:
                return Piece("heading", text, level=level, **place)
    turns = tuple((offset, f"page={page}") for offset, page in paragraph.turns)
    return Piece("paragraph", text, inner=turns, **place)
