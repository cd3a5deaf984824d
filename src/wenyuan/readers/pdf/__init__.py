"""PDF to a `Document`: the text layer, page by page, lines joined to paragraphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wenyuan.core.messages import msg
from wenyuan.core.model import Document, Facet
from wenyuan.readers.assemble import Original, assemble, no_title, rejected
from wenyuan.readers.fidelity import measured
from wenyuan.readers.pdf.flow import Flow, flowing
from wenyuan.readers.pdf.page import PrintedPage, text_layer
from wenyuan.readers.pdf.running import without_running
from wenyuan.readers.text import sectioned

_PASSWORD_ERROR = 4  # FPDF_ERR_PASSWORD
_MAX_PAGES = 5_000
_MAX_CHARACTERS = 20_000_000


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
    kept, notes = without_running([page.lines for page in pages])
    if empty:
        notes.append(
            msg(
                "no text layer on {count} of {count2} pages: {empty}",
                count=len(empty),
                count2=len(pages),
                empty=_some(empty),
            )
        )
    flow = flowing(pages, kept)
    title = properties["Title"]
    metadata: dict[str, Facet] = {"pages": len(pages)}
    metadata |= {key.lower(): properties[key][:500] for key in ("Author", "Subject") if not no_title(properties[key])}
    document = assemble(
        sectioned(flow.pieces, levels_are_sure=False),
        Original(content, uri, name),
        title=flow.largest if no_title(title) else title,
        media_type="application/pdf",
        empty=f"no text on any of its {len(pages)} pages but running headers",
        notes=notes,
        metadata=metadata,
    )
    return (_with_fidelity(document, pages, flow),)


def _with_fidelity(document: Document, pages: Sequence[PrintedPage], flow: Flow) -> Document:
    cut = [page.number for page in pages if page.drawn.cut]
    drawn = msg("so much is drawn on pages {pages} that no lines of tables were looked for", pages=_some(cut))
    document = measured(
        document,
        (page.own for page in pages),
        added=flow.added,
        pages=len(pages),
        pictures=sum(page.drawn.pictures for page in pages if not page.recognised),
        warnings=[drawn] * bool(cut),
    )
    recognised = [sure for page in pages if page.recognised for line in page.lines for sure in line.sure]
    fidelity = document.fidelity and replace(
        document.fidelity,
        ocr_pages=sum(page.recognised for page in pages),
        confidence=sum(recognised) / len(recognised) if recognised else None,
    )
    return replace(document, fidelity=fidelity)


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
