"""Files that hold many of something: paragraphs, rows, members, objects; made for the measurement of how time grows."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Callable, Mapping
from functools import lru_cache

import docx
from docx.document import Document as WordDocument

from package_files import opendocument, paragraph, presentation, shape, slide, zipped
from pdf_files import make_pdf
from wenyuan.core.errors import DocumentRejected
from wenyuan.readers.selection import CONTAINERS, READERS, read_guarded, unpack_guarded
from word_files import rewritten, saved

Build = Callable[[int], bytes]
"""Makes a file of so many parts."""

_W = '<w:p><w:r><w:t xml:space="preserve">a </w:t></w:r></w:p>'
_BODY_END = b"<w:sectPr"


@lru_cache(1)
def _empty_word() -> bytes:
    document: WordDocument = docx.Document()
    return saved(document)


def _word(inside: str) -> bytes:
    return rewritten(
        _empty_word(), "word/document.xml", lambda xml: xml.replace(_BODY_END, inside.encode() + _BODY_END, 1)
    )


def _nested(outer: str, inner: str, closing: str, count: int) -> str:
    return outer * count + inner + closing * count


_SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData>{}</worksheet>'
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def _workbook(*sheets: str, after: str = "", strings: int = 0) -> bytes:
    named = "".join(f'<sheet name="s{n}" sheetId="{n}" r:id="r{n}"/>' for n in range(1, len(sheets) + 1))
    related = "".join(
        f'<Relationship Id="r{n}" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="r1" Type="{_RELATIONS}/officeDocument"'
        ' Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{_RELATIONS}"><sheets>{named}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}">{related}<Relationship Id="strings"'
        f' Type="{_RELATIONS}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{main}">' + "<si><t>a</t></si>" * strings + "</sst>",
    }
    parts |= {f"xl/worksheets/sheet{n}.xml": _SHEET.format(rows, after) for n, rows in enumerate(sheets, 1)}
    return zipped(parts)


def _rows(count: int) -> str:
    return "".join(f'<row r="{n}"><c r="A{n}"><v>{n}</v></c></row>' for n in range(1, count + 1))


def _epub(count: int) -> bytes:
    items = "".join(f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(count))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(count))
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata/>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    chapters = {f"c{n}.xhtml": "<html><body><p>a</p></body></html>" for n in range(count)}
    return zipped(
        {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "a.opf": package, **chapters}
    )


def _mail(parts: str, kind: str = "multipart/mixed; boundary=b") -> bytes:
    return f"From: a@b.example\nSubject: x\nMIME-Version: 1.0\nContent-Type: {kind}\n\n{parts}".encode()


def _attachments(count: int) -> bytes:
    part = '--b\nContent-Type: text/plain\nContent-Disposition: attachment; filename="a.txt"\n\nx\n'
    return _mail(part * count + "--b--\n")


def _nested_parts(count: int) -> bytes:
    inside = "".join(f"--b{n}\nContent-Type: multipart/mixed; boundary=b{n + 1}\n\n" for n in range(count))
    return _mail(inside, "multipart/mixed; boundary=b0")


def _nested_zips(count: int) -> bytes:
    content = zipped({"a.txt": "a"})
    for _ in range(count):
        content = zipped({"a.zip": content})
    return content


def _stored(count: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(count):
            archive.writestr(f"{number}.txt", b"a")
    return buffer.getvalue()


def _pdf(*more: bytes) -> bytes:
    """A page with a line, and objects that nothing refers to, which only the search for objects finds."""
    body = make_pdf([[(50, 700, "Leave")]])
    return body.replace(b"\nxref\n", b"\n" + b"\n".join(more) + b"\nbroken\n", 1)


FILES: Mapping[str, tuple[str, int, Build]] = {
    "Word paragraphs": (".docx", 40, lambda n: _word(_W * n)),
    "Word runs": (".docx", 30, lambda n: _word(f"<w:p>{'<w:r><w:t>a</w:t></w:r>' * n}</w:p>")),
    "Word texts of a run": (".docx", 20, lambda n: _word(f"<w:p><w:r>{'<w:t>a</w:t>' * n}</w:r></w:p>")),
    "Word tables in one another": (
        ".docx", 200, lambda n: _word(_nested("<w:tbl><w:tr><w:tc>", _W, f"{_W}</w:tc></w:tr></w:tbl>", n)),
    ),
    "Word rows": (".docx", 80, lambda n: _word(f"<w:tbl>{f'<w:tr><w:tc>{_W}</w:tc></w:tr>' * n}</w:tbl>")),
    "Word columns": (".docx", 80, lambda n: _word(f"<w:tbl><w:tr>{f'<w:tc>{_W}</w:tc>' * n}</w:tr></w:tbl>")),
    "sheet rows": (".xlsx", 40, lambda n: _workbook(_rows(n))),
    "sheet cells": (".xlsx", 30, lambda n: _workbook(f'<row r="1">{"<c><v>1</v></c>" * n}</row>')),
    "sheets": (".xlsx", 400, lambda n: _workbook(*[_rows(1)] * n)),
    "merged cells": (
        ".xlsx", 60,
        lambda n: _workbook(
            _rows(n),
            after=f"<mergeCells>{''.join(f'<mergeCell ref={chr(34)}A{i}:B{i}{chr(34)}/>' for i in range(1, n))}</mergeCells>",
        ),
    ),
    "shared strings": (".xlsx", 20, lambda n: _workbook(_rows(1), strings=n)),
    "slides": (".pptx", 600, lambda n: presentation(*[slide(shape(paragraph("a")))] * n)),
    "shapes": (".pptx", 150, lambda n: presentation(slide(*[shape(paragraph("a"))] * n))),
    "texts of a shape": (
        ".pptx", 20, lambda n: presentation(slide(shape(f"<a:p><a:r>{'<a:t>a</a:t>' * n}</a:r></a:p>"))),
    ),
    "groups of shapes": (
        ".pptx", 100, lambda n: presentation(slide(_nested("<p:grpSp>", shape(paragraph("a")), "</p:grpSp>", n))),
    ),
    "OpenDocument paragraphs": (".odt", 30, lambda n: opendocument("<text:p>a</text:p>" * n)),
    "OpenDocument sections": (
        ".odt", 60, lambda n: opendocument(_nested("<text:section>", "<text:p>a</text:p>", "</text:section>", n)),
    ),
    "OpenDocument lists": (
        ".odt", 60,
        lambda n: opendocument(
            _nested("<text:list><text:list-item>", "<text:p>a</text:p>", "</text:list-item></text:list>", n)
        ),
    ),
    "repeated cells": (
        ".ods", 60,
        lambda n: opendocument(
            "<table:table>"
            + '<table:table-row><table:table-cell table:number-columns-repeated="100"><text:p>a</text:p></table:table-cell></table:table-row>'
            * n
            + "</table:table>",
            kind="spreadsheet",
        ),
    ),
    "chapters": (".epub", 400, _epub),
    "attachments": (".eml", 100, _attachments),
    "parts in one another": (".eml", 60, _nested_parts),
    "messages in one another": (
        ".eml", 60, lambda n: _mail("Content-Type: message/rfc822\n\n" * n + "x", "message/rfc822"),
    ),
    "parts of a saved page": (".mht", 60, lambda n: _mail("--b\nContent-Type: text/html\n\n<p>a</p>\n" * n + "--b--\n")),
    "style rules": (".html", 20, lambda n: _page("".join(f".c{at}{{opacity:0}}" for at in range(n)), "<p>a")),
    "chosen by one style rule": (".html", 6, lambda n: _page(",".join(f".c{at}" for at in range(n)) + "{opacity:0}", "<p>a")),
    "unclosed style rules": (".html", 6, lambda n: _page("p{a:b;{" * n, "<p>a")),
    "compounds of a style rule": (".html", 3, lambda n: _page("a-b" * n + "!{opacity:0}", "<p>a")),
    "elements under style rules": (
        ".html", 60, lambda n: _page("p.c{color:#fff} .d{display:none} b{opacity:0}", "<p class=c>a<b>b</b><p class=d>c" * n),
    ),
    "elements with styles": (".html", 60, lambda n: _page("", "<p style='color:#fff;font-size:2px;left:1px'>a<a href=b>c</a>" * n)),
    "white text of a PDF": (
        ".pdf", 60,
        lambda n: make_pdf([[(50, 700, "Leave")]], drawn=[b"1 g " + b"BT /F 9 Tf 1 0 0 1 9 9 Tm (a) Tj ET " * n]),
    ),
    "text under areas of a PDF": (
        ".pdf", 90,
        lambda n: make_pdf([[(50, 700, "Leave")]], drawn=[b"BT /F 9 Tf 1 0 0 1 9 9 Tm (a) Tj ET 0 0 99 99 re f " * n]),
    ),
    "members of a ZIP": (".zip", 120, _stored),
    "ZIPs in one another": (".zip", 400, _nested_zips),
    "PDF pages": (".pdf", 300, lambda n: make_pdf([[(50, 700, "Leave")]] * n)),
    "PDF lines": (".pdf", 60, lambda n: make_pdf([[(50, 800 - at % 700, f"line {at}") for at in range(n)]])),
    "PDF strokes": (".pdf", 60, lambda n: make_pdf([[(50, 700, "Leave")]], drawn=[b"0 0 m 9 9 l S " * n])),
    "PDF boxes": (
        ".pdf", 60,
        lambda n: make_pdf([[(50, 700, "Leave")]], drawn=[b"".join(b"%d %d 9 9 re S " % (i % 500, i % 800) for i in range(n))]),
    ),
    "PDF objects": (".pdf", 30, lambda n: _pdf(*(b"%d 0 obj\n<< /A 1 >>\nendobj" % (at + 9) for at in range(n)))),
    "PDF arrays in one another": (".pdf", 4, lambda n: _pdf(b"9 0 obj\n" + b"[" * n + b"]" * n + b"\nendobj")),
    "PDF dictionaries in one another": (
        ".pdf", 10, lambda n: _pdf(b"9 0 obj\n" + b"<</A " * n + b"1" + b">>" * n + b"\nendobj"),
    ),
}  # fmt: skip
"""By name: the suffix, how many characters of a measured size a part stands for, and what makes it."""


def _page(styles: str, body: str) -> bytes:
    return f"<html><head><style>{styles}</style></head><body>{body}</body></html>".encode()


def read(suffix: str, content: bytes) -> None:
    """Read or unpack a file, as the reading process does."""
    with contextlib.suppress(DocumentRejected):
        if suffix in CONTAINERS:
            unpack_guarded(content, uri=f"file:///x{suffix}", name=f"x{suffix}")
        else:
            read_guarded(content, uri=f"file:///x{suffix}", name=f"x{suffix}", reader=READERS[suffix])
