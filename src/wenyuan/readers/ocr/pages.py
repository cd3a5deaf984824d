"""Pages as images, recognised in the reading process, and laid out."""

from __future__ import annotations

import io
import math
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.readers.ocr import weights
from wenyuan.readers.ocr.recogniser import Recogniser
from wenyuan.readers.ocr.seals import in_seal, seals
from wenyuan.readers.pdf.reading_order import Upright, ordered

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
    return Recogniser(weights.load())


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
        "rows": [[_line_json(line, picture.size, points) for line in row] for row in own if row],
        "seals": [_line_json(line, picture.size, points) for row in rows for line in row if id(line.read) in pressed],
    }


def _line_json(line: Upright, size: tuple[int, int], points: float) -> dict[str, Any]:
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
