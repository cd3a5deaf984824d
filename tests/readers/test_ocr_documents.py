"""Scanned PDF files and images become documents: what is read, what is marked as unsure, what is kept, and what is refused."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from pdf_files import make_pdf
from scans import draw
from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.readers.ocr.image_reader import read_image
from wenyuan.readers.ocr.page_store import PageStore
from wenyuan.readers.page_workers import PageWorkers, Watch
from wenyuan.readers.sandbox import Sandbox

_PAGES = (
    ["Article 1. The fee is USD 4,250.75.", "It is due on 2026-03-15."],
    ["Article 2. Interest is 7.38% a year."],
)


def _picture(lines: list[str]) -> Image.Image:
    return draw([(40, 60 + 60 * n, line) for n, line in enumerate(lines)], area=(900, 300))


def _file(form: str, pages: tuple[list[str], ...] = _PAGES) -> bytes:
    first, *others = [_picture(lines) for lines in pages]
    made = io.BytesIO()
    more = {"save_all": True, "append_images": others} if form in ("PDF", "TIFF") else {}
    first.save(made, form, **more)
    return made.getvalue()


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    store = PageStore(tmp_path_factory.mktemp("library") / "ocr", "1")
    with Sandbox(pages=PageWorkers(1, store)) as shared:
        yield shared


def _read(sandbox: Sandbox, content: bytes, name: str, watch: Watch | None = None) -> Document:
    (document,) = sandbox.read(content, uri=f"file:///{name}", name=name, watch=watch).documents
    return document


def _reason(sandbox: Sandbox, content: bytes, name: str) -> DocumentRejected:
    with pytest.raises(DocumentRejected) as caught:
        _read(sandbox, content, name)
    return caught.value


def test_a_scanned_pdf_is_text_with_places_and_confidence(sandbox: Sandbox) -> None:
    seen: list[tuple[int, int]] = []
    document = _read(sandbox, _file("PDF"), "scan.pdf", Watch(told=lambda done, of: seen.append((done, of))))
    assert [line for page in _PAGES for line in page] == [
        document.text[line.start : line.end] for line in document.lines
    ]
    assert [line.page for line in document.lines] == [1, 1, 2]
    assert all(line.confidence and line.confidence > 0.9 for line in document.lines)
    left, top, right, bottom = document.lines[0].box
    assert 0.03 < left < 0.06 and 0.2 < top < 0.25 and 0.55 < right < 0.75 and top < bottom < 0.38
    assert document.fidelity and document.fidelity.ocr_pages == document.fidelity.pages == 2
    assert document.fidelity.confidence and document.fidelity.confidence > 0.9
    assert seen[0] == (0, 2) and seen[-1] == (2, 2) and seen == sorted(seen)


def test_every_page_of_a_tiff_is_read(sandbox: Sandbox) -> None:
    document = _read(sandbox, _file("TIFF"), "scan.tiff")
    assert "4,250.75" in document.text and "7.38%" in document.text
    assert document.media_type == "image/tiff" and document.metadata["pages"] == 2


@pytest.mark.parametrize(
    ("form", "name"), [("PNG", "a.png"), ("JPEG", "a.jpg"), ("WEBP", "a.webp"), ("BMP", "a.bmp")]
)
def test_images_are_read(sandbox: Sandbox, form: str, name: str) -> None:
    assert "4,250.75" in _read(sandbox, _file(form, _PAGES[:1]), name).text


def test_what_was_recognised_is_not_read_again_after_a_stop_and_forgotten_when_it_is_stored(tmp_path: Path) -> None:
    content, store = _file("PDF"), PageStore(tmp_path / "ocr", "1")

    def stop(done: int, _pages: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    workers = PageWorkers(1, store)
    with Sandbox(pages=workers) as sandbox:
        with pytest.raises(KeyboardInterrupt):
            _read(sandbox, content, "scan.pdf", Watch(stop, lambda _text: True))
        seen: list[tuple[int, int]] = []
        document = _read(
            sandbox, content, "scan.pdf", Watch(lambda done, of: seen.append((done, of)), lambda _text: True)
        )
        assert seen[0] == (1, 2) and seen[-1] == (2, 2)
        assert "4,250.75" in document.text and "7.38%" in document.text
        assert (tmp_path / "ocr").exists()
        workers.settled()
    assert not (tmp_path / "ocr").exists()


def test_pages_are_not_kept_where_they_may_not_be(tmp_path: Path) -> None:
    with Sandbox(pages=PageWorkers(1, PageStore(tmp_path / "ocr", "1"))) as sandbox:
        _read(sandbox, _file("PNG", _PAGES[1:]), "a.png", Watch(keep=lambda text: "7.38%" not in text))
    assert not (tmp_path / "ocr").exists()


def test_without_an_ocr_the_reason_names_the_command_that_installs_it() -> None:
    with Sandbox() as sandbox:
        for content, name in ((_file("PDF"), "scan.pdf"), (_file("PNG", _PAGES[:1]), "a.png")):
            refused = _reason(sandbox, content, name)
            assert "[ocr]" in refused.hint and "install" in refused.hint
        mixed = make_pdf([[(72, 700, "This page has a text layer that is read as it is.")], []])
        document = _read(sandbox, mixed, "mixed.pdf")
        assert any("no text layer on 1 of 2 pages: 2" in note for note in document.notes)
        assert document.fidelity and document.fidelity.unread_pages == 1


def test_only_pages_without_a_text_layer_are_recognised(sandbox: Sandbox) -> None:
    seen: list[tuple[int, int]] = []
    page = [(72, 700, "This page has a text layer that is read as it is.")]
    document = _read(sandbox, make_pdf([page, []]), "mixed.pdf", Watch(told=lambda *at: seen.append(at)))
    assert document.fidelity and document.fidelity.ocr_pages == 0 and seen == []
    assert not document.fidelity.by_recognition


def test_a_page_that_could_not_be_recognised_counts_as_none_that_was() -> None:
    """The document says which page that is and why."""
    read = {"text": "Article 1", "sure": [1.0] * 9, "box": [0.1, 0.1, 0.4, 0.2], "place": [60, 84, 240, 110]}
    pages = {1: {"size": [595, 842], "upright": 0, "rows": [[read]]}, 2: {"failed": "it took too long"}}
    (document,) = read_image(_file("TIFF"), uri="file:///a.tiff", name="a.tiff", recognised=pages)
    assert document.fidelity and (document.fidelity.pages, document.fidelity.ocr_pages) == (2, 1)
    assert document.fidelity.warnings == ("page 2 was not recognised: it took too long",)
    assert (document.fidelity.unread_pages, document.fidelity.by_recognition) == (1, True)


def test_lines_that_are_no_text_are_left_out_and_counted(sandbox: Sandbox) -> None:
    """What was taken for a line and is more likely a picture is not read, and the document says how many there were."""
    page = _picture(_PAGES[0])
    pen, drawn = ImageDraw.Draw(page), random.Random(0)
    at = 100
    while at < 500:
        width = drawn.randint(8, 22)
        pen.line([(at + drawn.randint(0, width), 220 + drawn.randint(0, 36)) for _ in range(4)], "black", 3)
        at += width + 4
    made = io.BytesIO()
    page.save(made, "PNG")
    document = _read(sandbox, made.getvalue(), "scribbled.png")
    assert document.fidelity
    assert document.fidelity.dropped_lines == 1
    assert [document.text[line.start : line.end] for line in document.lines] == _PAGES[0]


def test_a_blank_picture_is_refused(sandbox: Sandbox) -> None:
    assert "no text was found in the picture" in str(_reason(sandbox, _file("PNG", ([],)), "blank.png"))


def _png(width: int, height: int) -> bytes:
    """A PNG file that says it is so large, and holds next to nothing."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 100)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


def test_an_image_of_too_many_pixels_is_stopped_before_it_is_decoded(sandbox: Sandbox) -> None:
    assert "it has 30000 × 30000 pixels; at most 80,000,000 are read" in str(
        _reason(sandbox, _png(30_000, 30_000), "big.png")
    )


def test_an_image_of_no_size_is_refused(sandbox: Sandbox) -> None:
    assert _reason(sandbox, _png(0, 40), "none.png").message
    assert "it has 1 × 40 pixels: too few for a text" in str(_reason(sandbox, _png(1, 40), "thin.png"))


@pytest.mark.parametrize("name", ["cut.png", "cut.tiff", "cut.jpg", "cut.webp", "cut.bmp"])
def test_an_image_that_is_cut_off_is_refused(sandbox: Sandbox, name: str) -> None:
    form = {"tiff": "TIFF", "jpg": "JPEG"}.get(name[4:], name[4:].upper())
    assert "damaged" in str(_reason(sandbox, _file(form, _PAGES[:1])[:600], name))


def test_an_image_under_the_name_of_another_kind_is_refused(sandbox: Sandbox) -> None:
    assert "it is named .jpg but is a PNG image" in str(_reason(sandbox, _file("PNG", _PAGES[:1]), "a.jpg"))
