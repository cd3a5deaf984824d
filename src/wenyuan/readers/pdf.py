"""PDF → `Document`: the text layer, page by page; a scan without one is refused, never read as empty."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

from wenyuan.core.model import Document, Facet
from wenyuan.readers.assemble import Original, Piece, assemble, no_title, rejected
from wenyuan.readers.layout import Paragraph, PrintedLine, paragraphs, running_lines
from wenyuan.readers.sections import sectioned

__all__ = ["read_pdf"]

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
        reason = "it is encrypted" if error.err_code == _PASSWORD_ERROR else f"it is damaged: {error}"
        raise rejected(reason, name) from error
    empty = [number for number, lines in enumerate(pages, 1) if not lines]
    if len(empty) == len(pages):
        raise rejected(f"no text layer on any of its {len(pages)} pages (scanned?)", name)
    lines, notes = _body(pages)
    if empty:
        notes.append(f"no text layer on {len(empty)} of {len(pages)} pages: {_some(empty)}")
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
        raise rejected(f"it has {len(pdf)} pages; at most {_MAX_PAGES} are read", name)
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
            raise rejected(f"it holds more than {_MAX_CHARACTERS:,} characters", name)
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
