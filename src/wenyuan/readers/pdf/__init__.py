"""PDF to a `Document`: the text layer, page by page, lines joined to paragraphs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from wenyuan.core.fidelity import Fidelity
from wenyuan.core.messages import msg
from wenyuan.core.model import Document, Facet
from wenyuan.readers.assemble import Original, Piece, assemble, no_title, rejected
from wenyuan.readers.measure import measured
from wenyuan.readers.pdf.page import PrintedPage, text_layer
from wenyuan.readers.pdf.paragraphs import Paragraph, paragraphs
from wenyuan.readers.pdf.running import without_running
from wenyuan.readers.text import sectioned

_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_MAX_PAGES = 5_000
_MAX_CHARACTERS = 20_000_000
_NO_HEADING = re.compile(r"[。；，,;：:]$")
_HEADING_RATIO = (1.6, 1.3, 1.15)  # height of the letters to that of the text, for levels 1, 2, 3
_MAX_HEADING = 100


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
    empty = [page.number for page in pages if not page.lines]
    if len(empty) == len(pages):
        raise rejected(msg("no text layer on any of its {count} pages (scanned?)", count=len(pages)), name)
    lines, notes = without_running([page.lines for page in pages])
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
    return (replace(document, fidelity=_fidelity(document, pages)),)


def _fidelity(document: Document, pages: Sequence[PrintedPage]) -> Fidelity:
    recognised = [sure for page in pages if page.recognised for line in page.lines for sure in line.sure]
    return measured(
        document.text,
        "".join(page.own for page in pages),
        pages=len(pages),
        ocr_pages=sum(page.recognised for page in pages),
        confidence=sum(recognised) / len(recognised) if recognised else None,
    )


def _some(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:20])) + (" …" if len(numbers) > 20 else "")


def _pages(pdf: Any, name: str) -> list[PrintedPage]:
    if len(pdf) > _MAX_PAGES:
        raise rejected(
            msg("it has {count} pages; at most {max_pages} are read", count=len(pdf), max_pages=_MAX_PAGES), name
        )
    pages = []
    characters = 0
    for index in range(len(pdf)):
        page = pdf[index]
        pages.append(text_layer(page, index + 1))
        characters += len(pages[-1].own)
        page.close()
        if characters > _MAX_CHARACTERS:
            raise rejected(
                msg("it holds more than {max_characters} characters", max_characters=f"{_MAX_CHARACTERS:,}"), name
            )
    return pages


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
                return Piece("heading", text, level=level, lines=paragraph.lines, **place)
    turns = tuple((offset, f"page={page}") for offset, page in paragraph.turns)
    return Piece("paragraph", text, inner=turns, lines=paragraph.lines, **place)
