"""Draws a page of a file as an image, for people to compare with the extracted text; runs in the reading process."""

from __future__ import annotations

import io
import math
import struct
import zlib
from typing import Any

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.fidelity import PICTURES
from wenyuan.readers.ocr.pages import check_size, open_image, smaller
from wenyuan.readers.selection import check_signature, suffix_of
from wenyuan.runtime.installation import install_command

MAX_PICTURE_PIXELS = 8_000_000
"""Of one picture: a page that is much higher than it is wide is drawn smaller than was asked for."""
_LONGEST_SIDE = 20_000.0  # pixels of a side
_COMPRESSION = 4  # of zlib: a page of text is as small with more, and takes twice the time


def has_pictures(name: str) -> bool:
    """Whether pages of a file of this name can be drawn: PDF files and images."""
    return suffix_of(name) in {".pdf", *PICTURES}


def draw_page(content: bytes, *, name: str, page: int, width: int) -> bytes:
    """A page as PNG, about `width` pixels wide and of `MAX_PICTURE_PIXELS` at most.

    Args:
        page: 1-based.

    Raises:
        DocumentRejected: the file has no such page, or cannot be drawn.
    """
    check_signature(content, name)
    draw = _pdf_page if suffix_of(name) == ".pdf" else _image_page if has_pictures(name) else None
    if draw is None:
        raise DocumentRejected("files of its kind have no pages that could be drawn", component=name)
    try:
        return draw(content, page, width)
    except DocumentRejected as error:
        raise DocumentRejected(error.message, component=name, hint=error.hint) from error
    except MemoryError:
        raise
    except Exception as error:  # whatever a hostile file made of its reader
        reason = msg("it cannot be drawn: {kind}: {error}", kind=type(error).__name__, error=str(error)[:300])
        raise DocumentRejected(reason, component=name) from error


def fitted(size: tuple[float, float], width: int) -> float:
    """Scale factor for a page of this size: about `width` pixels wide, at most `MAX_PICTURE_PIXELS`.

    Raises:
        DocumentRejected: the page has no size.
    """
    across, down = size
    if not (0 < across < math.inf and 0 < down < math.inf):
        raise DocumentRejected("the page has no size")
    wide = (width - 1e-6) / across  # sides are rounded up to whole pixels
    return min(wide, math.sqrt(MAX_PICTURE_PIXELS / (across * down)), _LONGEST_SIDE / max(across, down))


def _no_page(page: int, pages: int) -> DocumentRejected:
    return DocumentRejected(msg("it has {pages} pages and no page {page}", pages=pages, page=page))


def _pdf_page(content: bytes, page: int, width: int) -> bytes:
    import pypdfium2 as pdfium

    with pdfium.PdfDocument(content) as pdf:
        if not 1 <= page <= len(pdf):
            raise _no_page(page, len(pdf))
        found = pdf[page - 1]
        bitmap = found.render(scale=fitted(found.get_size(), width), rev_byteorder=True)
        return png(bitmap.to_numpy())


def png(pixels: Any) -> bytes:
    """Encode an array of bytes, rows × columns × (1, 3 or 4 channels, the fourth is dropped), as PNG; in grey where
    all pixels are grey.

    PNG, W3C, third edition: signature, IHDR, IDAT with a filter byte before each row, IEND.
    """
    import numpy as np

    rows, columns = pixels.shape[:2]
    colours = pixels.reshape(rows, columns, -1)[:, :, :3]
    if colours.shape[2] == 3 and (colours == colours[:, :, :1]).all():
        colours = colours[:, :, :1]
    lines = np.zeros((rows, 1 + columns * colours.shape[2]), np.uint8)
    lines[:, 1:] = colours.reshape(rows, -1)
    header = struct.pack(">IIBBBBB", columns, rows, 8, 0 if colours.shape[2] == 1 else 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), _COMPRESSION)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


def _image_page(content: bytes, page: int, width: int) -> bytes:
    try:
        import PIL  # noqa: F401
    except ImportError as error:
        raise DocumentRejected("to show images, Pillow is needed", hint=install_command("ocr")) from error

    with open_image(content) as image:
        pages = getattr(image, "n_frames", 1)
        if not 1 <= page <= pages:
            raise _no_page(page, pages)
        image.seek(page - 1)
        check_size(image)
        scale = max(fitted(image.size, width), fitted(image.size[::-1], width))  # it may lie on its side
        upright = smaller(image, math.ceil(max(image.size) * scale))
        scale = min(fitted(upright.size, width), 1.0)
        upright.thumbnail((math.ceil(upright.width * scale), math.ceil(upright.height * scale)))
        made = io.BytesIO()
        upright.save(made, "PNG", compress_level=_COMPRESSION)
        return made.getvalue()
