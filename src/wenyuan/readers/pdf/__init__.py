"""PDF to a `Document`: the text layer, page by page, lines joined to paragraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wenyuan.core.messages import msg
from wenyuan.core.model import Document, Facet
from wenyuan.readers.assemble import Original, assemble, no_title, rejected
from wenyuan.readers.fidelity import measured
from wenyuan.readers.pdf.flow import Flow, flowing
from wenyuan.readers.pdf.page import PrintedLine, PrintedPage, text_layer
from wenyuan.readers.pdf.recognised import Pages, in_pictures, marked
from wenyuan.readers.pdf.running import without_running
from wenyuan.readers.pdf.usable import needs_picture
from wenyuan.readers.text import sectioned

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
    kept, removed = without_running([page.lines for page in pages])
    flow = flowing(pages, kept)
    document = assemble(
        sectioned(flow.pieces, levels_are_sure=False),
        original,
        title=flow.largest if no_title(title) else title,
        media_type=media_type,
        empty=f"no text on any of its {len(pages)} pages but running headers",
        notes=(*removed, *notes),
        metadata=metadata,
    )
    taken = sum(map(_size, (line for page in pages for line in page.lines))) - sum(
        map(_size, (line for lines in kept for line in lines))
    )
    running = msg("running heads, feet and page numbers are left out ({count} characters)", count=taken)
    return marked(_with_fidelity(document, pages, flow, (*notes, *[running] * bool(taken))), pages)


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
    for index in range(len(pdf)):
        page = pdf[index]
        pages.append(text_layer(page, index + 1))
        characters += len(pages[-1].own)
        if needs_picture(page, pages[-1].own, pages[-1].unmapped):
            pictures.append(index + 1)
        page.close()
        if characters > _MAX_CHARACTERS:
            raise rejected(
                msg("it holds more than {max_characters} characters", max_characters=f"{_MAX_CHARACTERS:,}"), name
            )
    return in_pictures(pages, pictures, recognised, name)
