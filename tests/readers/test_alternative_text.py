"""What an author says in words that a picture shows is read at its place; names of files and icons are not."""

from __future__ import annotations

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from package_files import paragraph, presentation, shape, slide
from wenyuan.readers.alternative_text import picture_text
from wenyuan.readers.html import read_html
from wenyuan.readers.slides import read_pptx
from word_files import read, saved

SAID = "The pump in section, with its inlet on the left."
PLAN = "水泵剖面图，进水口在左侧"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (SAID, f"[{SAID}]"),
        (PLAN, f"[{PLAN}]"),
        ("A pump\n  in section. Description automatically generated with medium confidence", "[A pump in section.]"),
        ("image001-of-the-pump.png", ""),
        ("Home", ""),
        ("图标", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_what_says_nothing_is_no_text(said: str | None, text: str) -> None:
    """The name of a file, of an icon, and what a program says of itself."""
    assert picture_text(said) == text


@pytest.mark.parametrize("said", [SAID, PLAN])
def test_pictures_of_a_page_are_read_where_they_stand(said: str) -> None:
    """In paragraphs, cells and lists; not where the picture is hidden; nothing counts as made up."""
    picture = f'<img src="a.png" alt="{said}">'
    page = f"<p>Before {picture} after.<table><tr><td>x<td>{picture}</table><ul><li>{picture}</ul><p hidden>{picture}"
    (document,) = read_html(page.encode(), uri="file:///a.html", name="a.html")
    assert document.text == f"Before [{said}] after.\n\nx | [{said}]\n\n- [{said}]"
    assert document.fidelity is not None
    assert (document.fidelity.invented, document.fidelity.pictures) == (0, 4)


def test_pictures_of_a_word_file_are_read_where_they_stand() -> None:
    """In the run that holds them."""
    package = docx.Document()
    drawn = "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"
    xml = f'<w:p {nsdecls("w")}><w:r><w:t>Before</w:t></w:r><w:r><w:drawing><wp:inline xmlns:wp="{drawn}"><wp:docPr id="1" name="p" descr="{SAID}"/></wp:inline></w:drawing></w:r></w:p>'
    package.element.body.insert(0, parse_xml(xml))
    document = read(saved(package))
    assert document.text == f"Before [{SAID}]"
    assert document.fidelity is not None
    assert document.fidelity.invented == 0


def test_pictures_of_slides_are_read_on_their_slide() -> None:
    """As a paragraph of its own."""
    picture = f'<p:pic><p:nvPicPr><p:cNvPr id="3" name="p" descr="{PLAN}"/></p:nvPicPr></p:pic>'
    content = presentation(slide(shape(paragraph("Pumps"), place="title"), picture))
    (document,) = read_pptx(content, uri="file:///a.pptx", name="a.pptx")
    assert document.text == f"Pumps\n\n[{PLAN}]"
    assert document.fidelity is not None
    assert document.fidelity.invented == 0
