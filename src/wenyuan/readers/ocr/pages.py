"""Pages as images, in the reading process: recognised, cached, drawn for people; and image files to a `Document`."""

from __future__ import annotations

import io
import json
import math
import os
import re
import shutil
import struct
import time
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.fidelity import PICTURES
from wenyuan.core.model import Document
from wenyuan.readers import check_signature, ocr, suffix_of
from wenyuan.readers.assemble import Original, rejected
from wenyuan.readers.ocr import Recogniser
from wenyuan.readers.ocr.seals import in_seal, seals
from wenyuan.readers.pdf import document_of
from wenyuan.readers.pdf.page import Pages, PrintedPage, in_pictures
from wenyuan.readers.pdf.paragraphs import Upright, ordered
from wenyuan.readers.pdf.strokes import NOWHERE, Frame
from wenyuan.runtime import install_command
from wenyuan.runtime.regular import read_regular

if TYPE_CHECKING:
    from PIL.Image import Image


FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP")
MAX_PAGES = 5_000
MAX_PIXELS = 80_000_000
"""Of a picture before it is decoded: A4 at 900 dpi, A3 at 600."""

_LEAST_CONFIDENCE = 0.5  # mean of a line: below it, it is a picture rather than text
_DPI = 200
_LONGEST = 3_600  # pixels of a page that is recognised: A3 at 220 dpi
_LEAST_SIDE = 10  # of a picture: in fewer pixels nothing can be written
_ORIENTATION = 0x0112  # of Exif
_BETWEEN_DIGITS = re.compile("(?<=[0-9])[，．：](?=[0-9])")
_NARROW = str.maketrans("，．：", ",.:")


@cache
def _recogniser() -> Recogniser:
    return Recogniser(ocr.load())


def recognised(content: bytes, *, name: str, page: int) -> dict[str, Any]:
    """A page as JSON: ``size`` (width and height in points), by how many degrees it is turned to the right for its text
    to be ``upright``, and ``rows`` of lines.

    Lines that are more likely no text are left out, and counted as ``dropped``. Each line has its ``text``, how ``sure`` each character is, its ``box`` on the page as shares of width and height (left,
    top, right, bottom), and the ``place`` in points where it stands when the page is turned as its text is. The lines of red
    ``seals`` stand apart.

    Args:
        page: 1-based.

    Raises:
        DocumentRejected: there is no such page, it is too large, cannot be decoded, or the model files are not in order.
    """
    recogniser = _recogniser()
    picture, points = (_of_pdf if name.lower().endswith(".pdf") else _of_image)(content, page)
    lines = recogniser.lines(picture)
    kept = [line for line in lines if line.confidence >= _LEAST_CONFIDENCE]
    rows, upright = ordered(kept, picture.size)
    found = seals(picture)
    pressed = {id(line.read) for row in rows for line in row if found and in_seal(picture, line.read.rect, found)}
    own = [[line for line in row if id(line.read) not in pressed] for row in rows]
    return {
        "size": [round(side * points, 1) for side in picture.size],
        "upright": upright,
        "dropped": len(lines) - len(kept),
        "rows": [[_told(line, picture.size, points) for line in row] for row in own if row],
        "seals": [_told(line, picture.size, points) for row in rows for line in row if id(line.read) in pressed],
    }


def _told(line: Upright, size: tuple[int, int], points: float) -> dict[str, Any]:
    corners = line.read.rect.corners()
    (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
    shares = (left / size[0], top / size[1], right / size[0], bottom / size[1])
    place = (line.left, line.top, line.right, line.bottom)
    text = line.read.text
    return {
        "text": _BETWEEN_DIGITS.sub(lambda found: found[0].translate(_NARROW), text),
        "sure": [round(letter.confidence, 3) for letter in line.read.letters for _ in letter.text],
        "box": [round(min(max(float(share), 0.0), 1.0), 5) for share in shares],
        "place": [round(float(value) * points, 1) for value in place],
    }


def _of_pdf(content: bytes, page: int) -> tuple[Image, float]:
    import pypdfium2 as pdfium

    try:
        with pdfium.PdfDocument(content) as pdf:
            if not 1 <= page <= len(pdf):
                raise DocumentRejected(msg("it has {pages} pages and no page {page}", pages=len(pdf), page=page))
            found = pdf[page - 1]
            sides = found.get_size()
            if not all(0 < side < math.inf for side in sides):
                raise DocumentRejected("the page has no size")
            scale = min(_DPI / 72, _LONGEST / max(sides))
            picture: Image = found.render(scale=scale, rev_byteorder=True).to_pil().convert("RGB")
    except pdfium.PdfiumError as error:
        raise DocumentRejected(msg("it is damaged: {error}", error=error)) from error
    return picture, 1 / scale


def open_image(content: bytes) -> Image:
    """Open an image without decoding its pixels.

    Raises:
        DocumentRejected: it is none of `FORMATS`, damaged, has no size or too many pixels.
    """
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # the limit is ours, and named
    try:
        image = Image.open(io.BytesIO(content), formats=FORMATS)
    except UnidentifiedImageError as error:
        raise DocumentRejected("it is no image that can be read, or it is damaged") from error
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise DocumentRejected(msg("it is damaged: {error}", error=error)) from error
    check_size(image)
    return image


def check_size(image: Image) -> None:
    """Refuse an image page with too many or too few pixels, before it is decoded."""
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise DocumentRejected(
            msg(
                "it has {width} × {height} pixels; at most {most} are read",
                width=width, height=height, most=f"{MAX_PIXELS:,}",
            )
        )  # fmt: skip
    if min(width, height) < _LEAST_SIDE:
        raise DocumentRejected(
            msg("it has {width} × {height} pixels: too few for a text", width=width, height=height)
        )


def _of_image(content: bytes, page: int) -> tuple[Image, float]:
    with open_image(content) as image:
        try:
            image.seek(page - 1)
            check_size(image)
            picture = smaller(image, _LONGEST)
        except (OSError, ValueError, SyntaxError, EOFError) as error:
            raise DocumentRejected(msg("it is damaged: {error}", error=error)) from error
    return picture, 842 / max(picture.size)


def smaller(image: Image, longest: int) -> Image:
    """Decode an image at no more than `longest` pixels a side and never larger than itself, upright, on white."""
    from PIL import Image, ImageOps

    scale = min(1.0, longest / max(image.size))
    image.draft("RGB", (round(image.width * scale), round(image.height * scale)))
    orientation = image.getexif().get(_ORIENTATION, 1)
    picture = image
    if image.mode not in ("RGB", "RGBA", "L", "LA", "CMYK", "YCbCr"):
        picture = _flat(image)
    if scale < 1:
        picture.thumbnail((longest, longest), Image.Resampling.BOX, reducing_gap=2.0)
    picture = _flat(picture)
    if orientation != 1:
        picture.getexif()[_ORIENTATION] = orientation
        picture = ImageOps.exif_transpose(picture)
    return picture.convert("RGB")


def _flat(picture: Image) -> Image:
    """The image in grey or RGB, transparency replaced by white."""
    from PIL import Image

    if picture.mode in ("1", "L", "I;16", "I"):
        return picture.convert("L") if picture.mode != "I;16" else picture.point(lambda v: v / 256).convert("L")
    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        seen = picture.convert("RGBA")
        ground = Image.new("RGB", seen.size, "white")
        ground.paste(seen, mask=seen.getchannel("A"))
        return ground
    return picture.convert("RGB")


# PNG, JPEG, TIFF, WebP and BMP files to a `Document`: each page is recognised, and laid out as a PDF page is.

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
        raise ocr.not_installed("the text in a picture can be read by OCR only, which is not installed", name)
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


# Cache of recognised pages that are not in the catalog yet, so that an interrupted ingest can continue.

_STALE = 14 * 86_400.0  # seconds after which a file is taken as abandoned


class PageStore:
    """A folder of recognised pages: a folder per file, named by SHA-256, with a file per page.

    Pages are written atomically, readable by the owner only. A page that cannot be read back counts as missing.

    Args:
        version: Of the recogniser; pages of other versions are ignored.
    """

    def __init__(self, folder: Path, version: str) -> None:
        self._folder = folder
        self._version = version.replace("/", "-")

    def pages(self, sha256: str) -> dict[int, dict[str, Any]]:
        """The cached pages of a file, by page number."""
        found = {}
        folder = self._of(sha256)
        for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            try:
                page = json.loads(read_regular(file))
                found[int(file.stem)] = dict(page)
            except (OSError, ValueError, TypeError):
                continue
        return found

    def keep(self, sha256: str, page: int, told: Mapping[str, Any]) -> None:
        """Cache a page; OSError where it cannot be written."""
        folder = self._of(sha256)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        passing = folder / f".{page}.{os.getpid()}"
        with os.fdopen(os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        passing.replace(folder / f"{page}.json")

    def drop(self, sha256: str) -> None:
        """Delete the cached pages of a file, and those unused for two weeks."""
        shutil.rmtree(self._of(sha256), ignore_errors=True)
        if not self._folder.is_dir():
            return
        now = time.time()
        for folder in self._folder.iterdir():
            if now - folder.stat().st_mtime > _STALE:
                shutil.rmtree(folder, ignore_errors=True)
        if not any(self._folder.iterdir()):
            self._folder.rmdir()

    def _of(self, sha256: str) -> Path:
        return self._folder / f"{sha256}.{self._version}"


# Draws a page of a file as an image, for people to compare with the extracted text; runs in the reading process.

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
