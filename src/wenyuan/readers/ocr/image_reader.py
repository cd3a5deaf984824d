"""PNG, JPEG, TIFF, WebP and BMP files to a `Document`: each page is recognised, and laid out as a PDF page is."""

from __future__ import annotations

from wenyuan.core.errors import msg
from wenyuan.core.model import Document
from wenyuan.readers.assemble import Original, rejected
from wenyuan.readers.ocr import weights
from wenyuan.readers.ocr.pages import MAX_PAGES, open_image
from wenyuan.readers.pdf.page import PrintedPage
from wenyuan.readers.pdf.reader import document_of
from wenyuan.readers.pdf.recognised_page import Pages, in_pictures
from wenyuan.readers.pdf.strokes import NOWHERE, Frame
from wenyuan.readers.selection import suffix_of

_TYPES = {
    ".png": "png",
    ".jpg": "jpeg",
    ".jpeg": "jpeg",
    ".tif": "tiff",
    ".tiff": "tiff",
    ".webp": "webp",
    ".bmp": "bmp",
}


def read_image(content: bytes, *, uri: str, name: str, recognised: Pages | None = None) -> tuple[Document, ...]:
    """Read the text on the pages of an image.

    Args:
        recognised: What was recognised on its pages; None where no OCR is installed.

    Raises:
        PagesWanted: which pages are to be recognised first.
        DocumentRejected: no OCR, damaged, too large, or no text on any page.
    """
    if recognised is None:
        raise weights.not_installed("the text in a picture can be read by OCR only, which is not installed", name)
    try:
        with open_image(content) as image:
            count = getattr(image, "n_frames", 1)
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise rejected(msg("it is damaged: {error}", error=error), name) from error
    if count > MAX_PAGES:
        raise rejected(
            msg("it has {count} pages; at most {max_pages} are read", count=count, max_pages=MAX_PAGES), name
        )
    unread = [PrintedPage(number, Frame(NOWHERE, 0), (), "") for number in range(1, count + 1)]
    pages, notes = in_pictures(unread, range(1, count + 1), recognised, name)
    if not any(page.lines for page in pages):
        raise rejected("no text was found in the picture", name)
    media_type = f"image/{_TYPES[suffix_of(name)]}"
    original = Original(content, uri, name)
    return (document_of(pages, original, media_type=media_type, notes=notes, metadata={"pages": count}),)
