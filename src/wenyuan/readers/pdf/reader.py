"""From ordered pages to blocks: paragraphs that continue over columns and pages, followed by their tables and footnotes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wenyuan.core.errors import msg
from wenyuan.core.model import Document, Facet
from wenyuan.readers.assemble import Original, Piece, assemble, no_title, rejected, unread
from wenyuan.readers.numbered_headings import sectioned
from wenyuan.readers.pdf.annotations import beside_text
from wenyuan.readers.pdf.arrangement import Note, arranged
from wenyuan.readers.pdf.false_letters import LetterCheck
from wenyuan.readers.pdf.page import PrintedLine, PrintedPage, needs_picture, text_layer
from wenyuan.readers.pdf.paragraphs import Paragraph, Words, paragraphs
from wenyuan.readers.pdf.recognised_page import Pages, in_pictures, marked
from wenyuan.readers.pdf.running_lines import without_running
from wenyuan.readers.pdf.tables import Table, table_piece
from wenyuan.readers.pdf.unseen import without_unseen
from wenyuan.readers.pdf.visibility import VisibilityBudget
from wenyuan.readers.text import measured

_NO_HEADING = re.compile(r"[。；，,;：:]\Z")
_HEADING_RATIO = (1.6, 1.3, 1.15)  # height of the letters to that of the text, for levels 1, 2, 3
_MAX_HEADING = 100
_MUCH = 0.4  # of a document: more than headings ever are


@dataclass(frozen=True, slots=True)
class Flow:
    """The blocks of a document.

    Attributes:
        largest: The largest text of the first page that has any, a title of last resort.
        added: Characters of it that no page has: the signs between cells, what is repeated in merged ones.
    """

    pieces: list[Piece]
    largest: str
    added: str


def flowing(pages: Sequence[PrintedPage], kept: Sequence[Sequence[PrintedLine]]) -> Flow:
    """The blocks of a document.

    Args:
        kept: The lines of each page that are text.
    """
    letters = _usual((line.height, len(line.text)) for lines in kept for line in lines)
    lines: list[PrintedLine] = []
    floating: list[tuple[int, Table | Note]] = []  # after how many lines
    for page, of_page in zip(pages, kept, strict=True):
        for item in arranged(page, of_page, letters):
            if isinstance(item, PrintedLine):
                lines.append(item)
            else:
                floating.append((len(lines), item))
    words = Words(line.text for of_page in kept for line in of_page)
    found = list(paragraphs(lines, words, {place for place, item in floating if _parts(item, lines, place)}))
    body = _usual((paragraph.height, len(paragraph.text)) for paragraph in found)
    pieces: list[Piece] = []
    added: list[str] = []
    waiting = _together(floating)
    read = 0
    for paragraph in [*found, None]:
        while waiting and (paragraph is None or waiting[0][0] <= read):
            _, item = waiting.pop(0)
            if isinstance(item, Note):
                pieces += (_piece(each, 0.0) for each in paragraphs(item.lines, words))
            else:
                piece, more = table_piece(item)
                pieces.append(piece)
                added.append(more)
        if paragraph is not None:
            pieces.append(_piece(paragraph, body))
            read += len(paragraph.printed)
    return Flow(pieces, _largest(found, body), "".join(added))


def _usual(heights: Iterable[tuple[float, int]]) -> float:
    """The body text's letter height, from heights with weights; 0 without any.

    The median, or what is higher and makes up nearly as much: a manual may hold more listings, in small letters, than text.
    """
    ranked = sorted(heights)
    whole = sum(weight for _, weight in ranked)
    shares: Counter[float] = Counter()
    middle, seen = 0.0, 0
    for height, weight in ranked:
        if 2 * seen < whole:
            middle = height
        seen += weight
        shares[round(height, 1)] += weight
    return max([middle, *(height for height, weight in shares.items() if weight >= _MUCH * whole > 0)])


def _parts(item: Table | Note, lines: Sequence[PrintedLine], place: int) -> bool:
    """Whether a table between two lines of one column separates their paragraphs."""
    if not isinstance(item, Table) or not 0 < place < len(lines):
        return False
    above, below = lines[place - 1], lines[place]
    return above.page == item.page == below.page and above.bottom > item.bottom > below.bottom


def _together(floating: Sequence[tuple[int, Table | Note]]) -> list[tuple[int, Table | Note]]:
    """Tables and footnotes, with parts of a table on consecutive pages merged, even with footnotes between them."""
    found: list[tuple[int, Table | Note]] = []
    last: int | None = None  # the table that may go on
    for place, item in floating:
        if isinstance(item, Table):
            before = found[last] if last is not None else None
            if before and before[0] == place and isinstance(before[1], Table) and before[1].goes_on(item):
                found[last or 0] = place, before[1].with_more(item)
                continue
            last = len(found)
        found.append((place, item))
    return found


def _largest(found: Sequence[Paragraph], body: float) -> str:
    top = [p for p in found if p.page == found[0].page and len(p.text) <= _MAX_HEADING]
    largest = max(top, key=lambda p: p.height, default=None)
    return largest.text if largest and largest.height > _HEADING_RATIO[-1] * body > 0 else ""


def _piece(paragraph: Paragraph, body: float) -> Piece:
    text = paragraph.text
    place: dict[str, Any] = {"page": paragraph.page, "anchor": f"page={paragraph.page}"}
    if body and len(text) <= _MAX_HEADING and not _NO_HEADING.search(text) and any(map(str.isalpha, text)):
        for level, ratio in enumerate(_HEADING_RATIO, 1):
            if paragraph.height > ratio * body:
                return Piece("heading", text, level=level, lines=paragraph.lines, **place)
    turns = tuple((offset, f"page={page}") for offset, page in paragraph.turns)
    return Piece("paragraph", text, inner=turns, lines=paragraph.lines, **place)


_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_MAX_PAGES = 5_000
_MAX_CHARACTERS = 20_000_000


def read_pdf(content: bytes, *, uri: str, name: str, recognised: Pages | None = None) -> tuple[Document, ...]:
    """Read a PDF: the text layer of each page, or recognised text (OCR) where the layer is empty or broken.

    Args:
        recognised: What was recognised, by page; None where no OCR is installed.

    Raises:
        PagesWanted: which pages are to be recognised first.
        DocumentRejected: encrypted, damaged, too long, or without any text.
    """
    import pypdfium2 as pdfium

    try:
        with pdfium.PdfDocument(content) as pdf:
            pages, notes = _pages(pdf, name, recognised)
            properties = {
                key: " ".join(pdf.get_metadata_value(key).split()) for key in ("Title", "Author", "Subject")
            }
    except pdfium.PdfiumError as error:
        reason = (
            "it is encrypted" if error.err_code == _PASSWORD_ERROR else msg("it is damaged: {error}", error=error)
        )
        raise rejected(reason, name) from error
    metadata: dict[str, Facet] = {"pages": len(pages)}
    metadata |= {key.lower(): properties[key][:500] for key in ("Author", "Subject") if not no_title(properties[key])}
    title, original = properties["Title"], Original(content, uri, name)
    return (document_of(pages, original, title, media_type="application/pdf", notes=notes, metadata=metadata),)


def document_of(
    pages: Sequence[PrintedPage],
    original: Original,
    title: str = "",
    *,
    media_type: str,
    notes: Sequence[str],
    metadata: Mapping[str, Facet],
) -> Document:
    """The document made from printed pages.

    Args:
        title: As the file says; ``""`` where it says none.
        notes: What is to be said of pages that could not be read.

    Raises:
        DocumentRejected: there is no text on them.
    """
    seals = [line for page in pages for line in page.lines if line.seal]
    running = without_running([[line for line in page.lines if not line.seal] for page in pages])
    kept, removed = running.kept, running.notes
    flow = flowing(pages, kept)
    pieces = [*map(_alone, running.heads), *_with_seals(flow.pieces, seals), *map(_alone, running.feet)]
    document = assemble(
        sectioned(pieces, levels_are_sure=False),
        original,
        title=flow.largest if no_title(title) else title,
        media_type=media_type,
        empty=f"no text on any of its {len(pages)} pages but running headers",
        notes=(*removed, *notes),
        metadata=metadata,
    )
    taken = sum(map(_size, (line for page in pages for line in page.lines))) - sum(
        map(_size, (line for lines in (*kept, running.heads, running.feet, seals) for line in lines))
    )
    left_out = msg("running heads, feet and page numbers are left out ({count} characters)", count=taken)
    pressed = msg(
        "read from seals, and no headings: {texts}", texts="; ".join(line.text for line in seals[:20])[:500]
    )
    told = (*notes, *[left_out] * bool(taken), *[pressed] * bool(seals))
    return marked(_with_fidelity(document, pages, flow, told), pages)


def _alone(line: PrintedLine) -> Piece:
    """A line as a paragraph of its own, never a heading."""
    return _piece(Paragraph(line.text, line.page, line.height, (), ((0, len(line.text), line),)), 0.0)


def _with_seals(pieces: Sequence[Piece], seals: Sequence[PrintedLine]) -> list[Piece]:
    """The pieces, and after the last of a page what its seals say."""
    found = list(pieces)
    for line in seals:
        after = max((at for at, piece in enumerate(found, 1) if (piece.page or 0) <= line.page), default=len(found))
        found.insert(after, _alone(line))
    return found


def _size(line: PrintedLine) -> int:
    return len("".join(line.text.split()))


def _with_fidelity(document: Document, pages: Sequence[PrintedPage], flow: Flow, left: Sequence[str]) -> Document:
    cut = [page.number for page in pages if page.drawn.cut]
    drawn = msg("so much is drawn on pages {pages} that no lines of tables were looked for", pages=_some(cut))
    document = measured(
        document,
        (page.own for page in pages),
        added=flow.added,
        pages=len(pages),
        pictures=sum(page.drawn.pictures for page in pages if not page.recognised),
        warnings=[*left, *[drawn] * bool(cut)],
    )
    recognised = [sure for page in pages if page.recognised for line in page.lines for sure in line.sure]
    fidelity = document.fidelity and replace(
        document.fidelity,
        ocr_pages=sum(page.recognised for page in pages),
        unread_pages=sum(page.unread for page in pages),
        dropped_lines=sum(page.dropped for page in pages),
        confidence=sum(recognised) / len(recognised) if recognised else None,
    )
    return replace(document, fidelity=fidelity)


def _some(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:20])) + (" …" if len(numbers) > 20 else "")


def _pages(pdf: Any, name: str, recognised: Pages | None) -> tuple[list[PrintedPage], list[str]]:
    """The pages, and notes on those that could not be read."""
    if len(pdf) > _MAX_PAGES:
        raise rejected(
            msg("it has {count} pages; at most {max_pages} are read", count=len(pdf), max_pages=_MAX_PAGES), name
        )
    pages: list[PrintedPage] = []
    pictures: list[int] = []
    characters = 0
    unseen = laid = 0
    undecided: list[int] = []
    budget, letters = VisibilityBudget(), LetterCheck()
    beside: Counter[str] = Counter()
    for index in range(len(pdf)):
        page = pdf[index]
        beside += beside_text(page)
        shown, hidden = without_unseen(text_layer(page, index + 1, budget, letters))
        pages.append(shown)
        found = shown.visibility
        unseen += hidden + len(found.unseen) + found.replaced
        laid += found.laid
        undecided += [index + 1] * found.open
        characters += len(shown.own)
        own = "\n".join(line.text for line in shown.lines) if hidden or found.unseen else shown.own
        if needs_picture(page, own, shown.unmapped):
            pictures.append(index + 1)
        page.close()
        if characters > _MAX_CHARACTERS:
            raise rejected(
                msg("it holds more than {max_characters} characters", max_characters=f"{_MAX_CHARACTERS:,}"), name
            )
    read, notes = in_pictures(pages, pictures, recognised, name)
    left_out = msg("text that nobody sees on the page is left out ({count} characters)", count=unseen)
    over = msg(
        "text laid in no colour over what the pages show is taken for what they say ({count} characters)", count=laid
    )
    not_found = msg("whether all text of pages {pages} is seen was not found out", pages=_some(undecided))
    said = (*[left_out] * bool(unseen), *[over] * bool(laid), *[not_found] * bool(undecided))
    return read, [*notes, *said, *unread(beside)]
