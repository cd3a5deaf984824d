"""Reading EPUB and MHTML: chapters in the order of the book, pages as browsers save them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from package_files import zipped
from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.readers.epub import read_epub
from wenyuan.readers.mhtml import read_mhtml

CONTAINER = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
DOCTYPE = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">'


def book(
    chapters: Mapping[str, str], spine: str = "", items: str = "", more: Mapping[str, str | bytes] | None = None
) -> bytes:
    """A book; a chapter's file by name, its body."""
    listed = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in chapters)
    spine = spine or "".join(f'<itemref idref="{name}"/>' for name in chapters)
    opf = (
        '<package xmlns:dc="urn:dc"><metadata><dc:title>培训手册</dc:title><dc:creator>李明</dc:creator><dc:language>zh-CN</dc:language></metadata>'
        f"<manifest>{listed}{items}</manifest><spine>{spine}</spine></package>"
    )
    pages = {
        f"OPS/{name}": f"<?xml version='1.0'?>{DOCTYPE}<html><head><title/></head><body>{body}</body></html>"
        for name, body in chapters.items()
    }
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": CONTAINER,
            "OPS/book.opf": opf,
            **pages,
            **(more or {}),
        }
    )


def read(content: bytes) -> Document:
    (document,) = read_epub(content, uri="file:///a.epub", name="a.epub")
    return document


def test_chapters_come_in_the_order_of_the_spine_with_the_titles_of_the_contents() -> None:
    """A chapter with a heading keeps it; one without is called as in the contents, of EPUB 3 or 2; all have an address."""
    nav = '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/><item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    ncx = f'{DOCTYPE.replace("html", "ncx", 1)}<ncx><navMap><navPoint><navLabel><text>Fees</text></navLabel><content src="c.xhtml"/></navPoint></navMap></ncx>'
    content = book(
        {
            "a.xhtml": "<p>七日内退费。</p>",
            "b.xhtml": "<h1>总则</h1><ul><li>甲</li></ul>",
            "c.xhtml": "<p>Ten.</p><img src='x.png'/>",
        },
        spine='<itemref idref="nav"/><itemref idref="b.xhtml"/><itemref idref="a.xhtml"/><itemref idref="c.xhtml"/>',
        items=nav,
        more={
            "OPS/nav.xhtml": "<html><body><nav><a href='a.xhtml#x'>退费</a></nav></body></html>",
            "OPS/toc.ncx": ncx,
        },
    )
    document = read(content)
    assert [(block.kind, document.text[block.start : block.end], block.anchor) for block in document.blocks] == [
        ("heading", "总则", "epubcfi(/6/4!/4)"),
        ("list", "- 甲", "epubcfi(/6/4!/4)"),
        ("heading", "退费", "epubcfi(/6/6!/4)"),
        ("paragraph", "七日内退费。", "epubcfi(/6/6!/4)"),
        ("heading", "Fees", "epubcfi(/6/8!/4)"),
        ("paragraph", "Ten.", "epubcfi(/6/8!/4)"),
    ]
    assert (document.title, document.language, document.metadata) == ("培训手册", "zh", {"author": "李明"})
    fidelity = document.fidelity
    assert fidelity and (fidelity.lost, fidelity.invented, fidelity.pictures) == (0, 0, 1)


def test_a_book_that_names_its_chapters_again_and_again_is_read_once() -> None:
    """A spine may repeat a chapter, and name what is not there."""
    spine = '<itemref idref="a.xhtml"/>' * 1_000 + '<itemref idref="gone"/>'
    document = read(
        book(
            {"a.xhtml": "<p>once</p>"},
            spine=spine,
            items='<item id="gone" href="gone.xhtml" media-type="application/xhtml+xml"/>',
        )
    )
    assert document.text == "once"
    assert document.fidelity and document.fidelity.warnings == ("chapters that the book lists are missing: 1",)


def test_a_book_that_lies_in_a_folder_of_its_archive() -> None:
    """Some packers put the folder in, not what is in it."""
    opf = '<package><manifest><item id="a" href="a.html" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>'
    content = {"META-INF/container.xml": CONTAINER, "OPS/book.opf": opf, "OPS/a.html": "<p>text</p>"}
    assert read(zipped({f"epub/{name}": body for name, body in content.items()})).text == "text"
    with pytest.raises(DocumentRejected, match=r"no META-INF/container\.xml"):
        read(zipped({"OPS/book.opf": opf}))


LOCKED = '<encryption><CipherReference URI="OPS/a.xhtml"/></encryption>'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (book({"a.xhtml": "<p>x</p>"}, more={"META-INF/encryption.xml": LOCKED}), "it is encrypted"),
        (book({"a.xhtml": "<p>x</p>"}, more={"OPS/a.xhtml": "<!DOCTYPE html [<!ENTITY a 'b'>]><html>&a;</html>"}), "document type"),
        (book({"a.xhtml": "<p>x</p>"}, more={"OPS/b.css": " " * 5_000_000}), "decompression bomb"),
        (book({"a.xhtml": "<p> </p>"}), "holds no text"),
        (book({"a.xhtml": "<p>x</p>"}, more={"META-INF/container.xml": "<container/>"}), "names no book"),
        (book({"a.xhtml": "<p>x</p>"}, more={"META-INF/container.xml": CONTAINER.replace("OPS/book.opf", "../../etc/passwd")}), "is missing"),
    ],
)  # fmt: skip
def test_protected_and_hostile_books_are_refused_by_name(content: bytes, reason: str) -> None:
    """Fonts may be encrypted, chapters may not; nothing outside of the file is opened."""
    with pytest.raises(DocumentRejected, match=reason):
        read(content)


def saved(charset: str, body: str) -> bytes:
    return (
        f'From: <Saved by Blink>\r\nSnapshot-Content-Location: https://example.com/fees\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; start="<main>"; boundary="b"\r\n\r\n'
        f"--b\r\nContent-Type: text/html\r\nContent-ID: <frame>\r\n\r\n<p>advert</p>\r\n"
        f'--b\r\nContent-Type: text/html; charset="{charset}"\r\nContent-ID: <main>\r\nContent-Transfer-Encoding: 8bit\r\n\r\n'
    ).encode() + f"<title>退費</title><p>{body}</p>\r\n--b--\r\n".encode(charset)


@pytest.mark.parametrize("charset", ["utf-8", "gbk", "big5"])
def test_a_saved_page_is_read_in_the_encoding_that_its_part_states(charset: str) -> None:
    """The part that is named as the first is the page."""
    (document,) = read_mhtml(saved(charset, "七日內退費"), uri="file:///a.mht", name="a.mht")
    assert (document.title, document.text) == ("退費", "七日內退費")
    assert document.metadata["saved_from"] == "https://example.com/fees"


def test_a_mail_without_a_page_is_no_saved_page() -> None:
    """What has no part of HTML is refused."""
    with pytest.raises(DocumentRejected, match="no part that is a page"):
        read_mhtml(b"Subject: x\r\n\r\ntext", uri="file:///a.mht", name="a.mht")
