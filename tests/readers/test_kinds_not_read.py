"""What a file holds and its reader does not know is counted and named: presentations, OpenDocument, web pages and books."""

from __future__ import annotations

import io
import zipfile

from package_files import opendocument, paragraph, presentation, shape, slide
from wenyuan.core.model import Document
from wenyuan.i18n.translation import translated
from wenyuan.readers.epub import read_epub
from wenyuan.readers.html import read_html
from wenyuan.readers.opendocument import read_odt
from wenyuan.readers.slides import read_pptx

A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'


def warned(documents: tuple[Document, ...]) -> list[str]:
    fidelity = documents[0].fidelity
    assert fidelity is not None
    return [str(one) for one in fidelity.warnings]


def test_of_a_slide() -> None:
    """Objects, charts of a later kind, ink, media and shapes of an unknown kind; lines between shapes are none."""
    unknown = (
        f'<p:graphicFrame><a:graphic {A}><a:graphicData uri="http://schemas.openxmlformats.org/presentationml/2006/ole"><p:oleObj/></a:graphicData></a:graphic></p:graphicFrame>'
        f'<p:graphicFrame><a:graphic {A}><a:graphicData uri="http://schemas.microsoft.com/office/drawing/2014/chartex"/></a:graphic></p:graphicFrame>'
        f"<p:contentPart/><p:model3d/><p:cxnSp/><p:pic><p:nvPicPr><p:nvPr><a:videoFile {A}/></p:nvPr></p:nvPicPr></p:pic>"
    )
    content = presentation(slide(shape(paragraph("T"), place="title"), shape(paragraph("words")), unknown))
    assert warned(read_pptx(content, uri="file:///a.pptx", name="a.pptx")) == [
        "content of kinds that are not read: chart (1), embedded object (1), ink (1), media (1), model3d (1)"
    ]


def test_of_an_open_document() -> None:
    """Charts and other objects by what they hold, controls, frames and media; within a paragraph and beside it."""
    body = (
        '<text:p>words<draw:frame><draw:object href="./Object 1"/></draw:frame></text:p>'
        "<draw:frame><draw:object-ole/></draw:frame><text:p><draw:control/><draw:floating-frame/></text:p><draw:frame><draw:plugin/></draw:frame>"
    )
    chart = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:chart="urn:oasis:names:tc:opendocument:xmlns:chart:1.0"><office:body><office:chart/></office:body></office:document-content>'
    )
    content = opendocument(body, more={"Object 1/content.xml": chart})
    assert warned(read_odt(content, uri="file:///a.odt", name="a.odt")) == [
        "content of kinds that are not read: chart (1), embedded object (1), embedded page (1), form control (1), media (1)"
    ]


PAGE = "<p>words</p><iframe src='x'></iframe><video></video><price-chart data='x'></price-chart><my-box>more words</my-box>"


def test_of_a_page() -> None:
    """Frames, media and elements of a page's own that hold nothing; one that holds text is read."""
    documents = read_html(f"<html><body>{PAGE}</body></html>".encode(), uri="file:///a.html", name="a.html")
    assert "more words" in documents[0].text
    (said,) = warned(documents)
    assert said == "content of kinds that are not read: iframe (1), price-chart (1), video (1)"
    assert translated(said).startswith("未读取的内容类型") or "iframe" in translated(said)


def test_of_a_book() -> None:
    """What its chapters hold, counted over the book."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(
            "META-INF/container.xml", '<container><rootfiles><rootfile full-path="a.opf"/></rootfiles></container>'
        )
        archive.writestr(
            "a.opf",
            '<package><metadata/><manifest><item id="1" href="1.xhtml" media-type="application/xhtml+xml"/><item id="2" href="2.xhtml" '
            'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="1"/><itemref idref="2"/></spine></package>',
        )
        for number in (1, 2):
            archive.writestr(
                f"{number}.xhtml", f"<html><body><h1>T</h1><p>words {number}</p><audio></audio></body></html>"
            )
    documents = read_epub(buffer.getvalue(), uri="file:///a.epub", name="a.epub")
    assert warned(documents) == ["content of kinds that are not read: audio (2)"]
