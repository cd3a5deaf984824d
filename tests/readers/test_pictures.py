"""Pages as pictures: of the right size, within bounds, and never more than one hostile file is lost."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image

from pdf_files import make_pdf
from wenyuan.core.errors import DocumentRejected
from wenyuan.readers.ocr.drawing import MAX_PICTURE_PIXELS, draw_page, fitted, has_pictures, png
from wenyuan.readers.process import ReadingLimits
from wenyuan.readers.sandbox import Sandbox

PDF = make_pdf([[(72, 700, "First")], [], [(72, 700, "Third", 40)]])


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as shared:
        yield shared


def pixels(picture: bytes) -> np.ndarray:
    """Rows × columns × channels of a PNG as `png` writes them."""
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(picture):
        (size,) = struct.unpack_from(">I", picture, at)
        kind, body = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", picture, at + 8 + size) == (zlib.crc32(kind + body),)
        chunks[kind] = body
        at += 12 + size
    columns, rows, depth, colour = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    assert depth == 8
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(rows, -1)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(rows, columns, 1 if colour == 0 else 3)


def test_a_page_is_drawn_as_wide_as_was_asked(sandbox: Sandbox) -> None:
    """The page that was named, in the proportions of the paper, with ink where its words stand and nowhere else."""
    third = pixels(sandbox.draw(PDF, name="a.pdf", page=3, width=595))
    assert third.shape[:2] == (842, 595)
    inked = np.argwhere(third[:, :, 0] < 128)
    assert inked[:, 0].min() > 842 - 740
    assert inked[:, 0].max() < 842 - 690
    assert inked[:, 1].min() >= 70
    empty = pixels(sandbox.draw(PDF, name="a.pdf", page=2, width=300))
    assert empty.shape[1] == 300
    assert empty.min() == 255


@pytest.mark.parametrize("page", [0, 4, -1])
def test_a_page_that_is_not_there_is_named(sandbox: Sandbox, page: int) -> None:
    """With how many there are."""
    with pytest.raises(DocumentRejected, match=f"it has 3 pages and no page {page}"):
        sandbox.draw(PDF, name="a.pdf", page=page, width=300)


@pytest.mark.parametrize("size", [(595, 842), (1, 14_400), (14_400, 1), (14_400, 14_400), (0.01, 0.01)])
def test_no_page_is_drawn_larger_than_is_allowed(size: tuple[float, float]) -> None:
    """However large or narrow the paper is."""
    scale = fitted(size, 2_400)
    assert size[0] * size[1] * scale**2 <= MAX_PICTURE_PIXELS * 1.001
    assert max(size) * scale <= 20_000.001
    assert size[0] * scale <= 2_400.001


@pytest.mark.parametrize("size", [(0, 842), (595, -1), (float("inf"), 842), (float("nan"), 842)])
def test_paper_without_a_size_is_refused(size: tuple[float, float]) -> None:
    with pytest.raises(DocumentRejected, match="no size"):
        fitted(size, 300)


def test_what_is_no_picture_is_refused(sandbox: Sandbox) -> None:
    """Kinds without pages, files that are something else, and damaged ones; the next page is drawn all the same."""
    with pytest.raises(DocumentRejected, match="no pages that could be drawn"):
        sandbox.draw(b"# Title", name="a.md", page=1, width=300)
    with pytest.raises(DocumentRejected, match="not a PDF"):
        sandbox.draw(b"MZ", name="a.pdf", page=1, width=300)
    with pytest.raises(DocumentRejected, match="it cannot be drawn"):
        sandbox.draw(PDF[:300], name="a.pdf", page=1, width=300)
    assert sandbox.draw(PDF, name="a.pdf", page=1, width=300)
    assert (has_pictures("A.PDF"), has_pictures("a.webp"), has_pictures("a.docx")) == (True, True, False)


def test_a_page_that_would_never_be_done_is_given_up() -> None:
    """A page of a million lines ends at the limit of processor time, by name; the process is replaced."""
    pen = b"0 0 m " + b"595 842 l 0 842 l 595 0 l 0 0 l " * 400_000 + b"S"
    endless = make_pdf([[(72, 700, "x")]]).replace(b"BT /F 12 Tf", pen + b" BT /F 12 Tf")
    with Sandbox(ReadingLimits(wall_seconds=1.0, cpu_seconds=1.0)) as sandbox:
        with pytest.raises(DocumentRejected, match=r"took (longer|more) than 1 s"):
            sandbox.draw(endless, name="endless.pdf", page=1, width=2_400)
        assert sandbox.draw(PDF, name="a.pdf", page=1, width=300)


def test_grey_is_written_as_grey_and_colour_as_colour() -> None:
    """A third of the size where all channels are the same; a fourth channel is left out."""
    grey = np.full((2, 3, 4), 7, np.uint8)
    assert pixels(png(grey)).tolist() == [[[7]] * 3] * 2
    colour = grey.copy()
    colour[1, 2] = (1, 2, 3, 4)
    assert pixels(png(colour))[1, 2].tolist() == [1, 2, 3]


def test_an_image_without_its_library_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images need an extra part of the program; the reason names the command."""
    import sys

    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setattr("wenyuan.readers.ocr.drawing.check_signature", lambda _content, _name: None)
    with pytest.raises(DocumentRejected, match="Pillow is needed") as caught:
        draw_page(b"\x89PNG", name="a.png", page=1, width=300)
    assert "ocr" in caught.value.hint


def image(format: str, size: tuple[int, int] = (400, 200), **more: Any) -> bytes:
    """White, its left quarter red."""
    made = Image.new("RGB", size, "white")
    made.paste((255, 0, 0), (0, 0, size[0] // 4, size[1]))
    file = io.BytesIO()
    made.save(file, format, **more)
    return file.getvalue()


@pytest.mark.parametrize(
    ("suffix", "format"), [("png", "PNG"), ("jpg", "JPEG"), ("webp", "WEBP"), ("tif", "TIFF"), ("bmp", "BMP")]
)
def test_an_image_is_its_own_page(sandbox: Sandbox, suffix: str, format: str) -> None:
    """In its proportions, made smaller and never larger; there is no second page."""
    for width, shown in ((300, (300, 150)), (2_000, (400, 200))):
        with Image.open(io.BytesIO(sandbox.draw(image(format), name=f"a.{suffix}", page=1, width=width))) as drawn:
            assert drawn.size == shown
            red, green, _ = drawn.convert("RGB").getpixel((5, 5))  # type: ignore[misc]
            assert red > 240 > 20 > green
    with pytest.raises(DocumentRejected, match="no page 2"):
        sandbox.draw(image(format), name=f"a.{suffix}", page=2, width=300)


def test_a_photograph_stands_upright(sandbox: Sandbox) -> None:
    """As its camera says that it was held: so it was read, too."""
    turned = Image.Exif()
    turned[0x0112] = 6
    picture = sandbox.draw(image("JPEG", exif=turned), name="a.jpg", page=1, width=300)
    with Image.open(io.BytesIO(picture)) as drawn:
        assert drawn.size == (200, 400)


def test_an_image_that_is_too_large_is_refused(sandbox: Sandbox) -> None:
    """Before it is unpacked: a file of a hundred kilobytes can hold a billion pixels. So is one that is cut off."""
    file = io.BytesIO()
    Image.new("1", (30_000, 30_000)).save(file, "PNG")
    with pytest.raises(DocumentRejected, match="pixels"):
        sandbox.draw(file.getvalue(), name="bomb.png", page=1, width=300)
    with pytest.raises(DocumentRejected, match="it cannot be drawn"):
        sandbox.draw(image("PNG")[:200], name="cut.png", page=1, width=300)
    with pytest.raises(DocumentRejected, match="it is damaged"):
        sandbox.draw(image("PNG")[:20], name="cut.png", page=1, width=300)


def test_an_image_that_can_be_seen_through_lies_on_white(sandbox: Sandbox) -> None:
    """As it is recognised: black letters on nothing are not black on black. Sixteen bits of grey are eight, not all white."""

    def shade(file: io.BytesIO, name: str, at: int) -> object:
        drawn = sandbox.draw(file.getvalue(), name=name, page=1, width=40)
        return Image.open(io.BytesIO(drawn)).convert("L").getpixel((at, 10))

    file = io.BytesIO()
    clear = Image.new("RGBA", (40, 20), (0, 0, 0, 0))
    clear.paste((0, 0, 0, 255), (0, 0, 20, 20))
    clear.save(file, "PNG")
    assert [shade(file, "a.png", at) for at in (5, 35)] == [0, 255]
    file = io.BytesIO()
    Image.fromarray(np.full((20, 40), 0x4000, np.uint16)).save(file, "TIFF")
    assert shade(file, "a.tif", 5) == 0x40
