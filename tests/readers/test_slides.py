"""Reading PPTX: slides are sections with lists, tables and notes; what is hidden is left out and said."""

from __future__ import annotations

import pytest

from package_files import paragraph, presentation, shape, slide, table, zipped
from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.readers.slides import read_pptx


def read(content: bytes) -> Document:
    (document,) = read_pptx(content, uri="file:///a.pptx", name="a.pptx")
    return document


def blocks(document: Document) -> list[tuple[str, str, int | None]]:
    return [(block.kind, document.text[block.start : block.end], block.page) for block in document.blocks]


def test_a_slide_is_a_section_with_its_title_its_list_and_what_is_said_to_it() -> None:
    """The title comes first wherever it stands; points keep their depth; notes have a heading of their own."""
    first = slide(
        shape(paragraph("退费"), paragraph("七日内", 'lvl="1"'), place=""),
        shape(paragraph("课程总则"), place="title"),
    )
    second = slide(shape(paragraph("Refund desk"), place="ctrTitle"), shape(paragraph("Open 9 to 5.")))
    document = read(presentation(first, second, notes={1: "先讲退费。"}, title="培训"))
    assert blocks(document) == [
        ("heading", "课程总则", 1),
        ("list", "- 退费\n  - 七日内", 1),
        ("heading", "备注", 1),
        ("paragraph", "先讲退费。", 1),
        ("heading", "Refund desk", 2),
        ("paragraph", "Open 9 to 5.", 2),
    ]
    assert (document.title, document.metadata) == ("培训", {"author": "李明"})
    fidelity = document.fidelity
    assert fidelity and (fidelity.pages, fidelity.lost, fidelity.invented) == (
        2,
        1,
        0,
    )  # the number on the notes' page


@pytest.mark.parametrize("word", ["Room rates", "课程总则"])
def test_a_deck_of_text_boxes_is_called_by_its_file(word: str) -> None:
    """Where the first slide has no title, the heading that the reader makes names the slide, and not the whole deck."""
    document = read(
        presentation(slide(shape(paragraph(word), place="")), slide(shape(paragraph("Menus"), place="title")))
    )
    assert blocks(document)[0] in (("heading", "Slide 1", 1), ("heading", "第 1 页", 1))
    assert (document.title, document.titled) == ("a", False)


def test_marks_that_a_paragraph_has_count_and_those_it_refuses_do_not() -> None:
    """Automatic numbers are text; a paragraph without a mark parts two lists."""
    numbered = 'lvl="0"><a:buAutoNum type="arabicPeriod" startAt="3"/'
    inside = (paragraph("甲", numbered), paragraph("乙", numbered), paragraph("说明", "><a:buNone/"), paragraph("丙"))
    assert [text for _, text, _ in blocks(read(presentation(slide(shape(*inside, place="body")))))][1:] == [
        "3. 甲\n4. 乙", "说明", "- 丙",
    ]  # fmt: skip


def test_merged_cells_stand_in_every_row_that_they_cover() -> None:
    """A cell over two rows is repeated, one over two columns stands once."""
    tall = f'<a:tc rowSpan="2"><a:txBody>{paragraph("费用")}</a:txBody></a:tc>'
    wide = f'<a:tc gridSpan="2"><a:txBody>{paragraph("2024")}</a:txBody></a:tc>'
    rows = (("项目", wide, '<a:tc hMerge="1"/>'), (tall, "100", "元"), ('<a:tc vMerge="1"/>', "200", "元"))
    document = read(presentation(slide(shape(paragraph("T"), place="title"), table(*rows))))
    assert blocks(document)[1][:2] == ("table", "项目 | 2024\n费用 | 100 | 元\n费用 | 200 | 元")
    assert document.fidelity and (document.fidelity.lost, document.fidelity.invented, document.fidelity.tables) == (
        0,
        0,
        1,
    )


def test_hidden_slides_shapes_and_running_lines_are_left_out_and_said() -> None:
    """Hidden things are no part of what is shown; a slide without a title is named by its number."""
    shown = slide(
        shape(paragraph("Visible")), shape(paragraph("secret"), hidden=True), shape(paragraph("2024"), place="dt")
    )
    document = read(presentation(slide(shape(paragraph("draft")), hidden=True), shown))
    assert document.text == "Slide 2\n\nVisible"
    assert document.notes == ("left out the hidden slides 1", "left out dates (1), hidden shapes (1)")
    assert document.fidelity and document.fidelity.warnings == ("hidden slides are not read: 1",)
    assert document.fidelity.lost == len("draftsecret2024")


def test_groups_alternatives_and_pictures() -> None:
    """Shapes of a group are read in their place, of alternatives the first; pictures are counted."""
    group = f"<p:grpSp>{shape(paragraph('inner'))}<p:pic><p:nvPicPr/></p:pic></p:grpSp>"
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    choice = f"<mc:AlternateContent {mc}><mc:Choice>{shape(paragraph('new'))}</mc:Choice><mc:Fallback>{shape(paragraph('old'))}</mc:Fallback></mc:AlternateContent>"
    document = read(presentation(slide(group, choice)))
    assert document.text == "Slide 1\n\ninner\n\nnew"
    assert document.fidelity and (document.fidelity.pictures, document.fidelity.lost) == (1, 0)


def test_what_a_chart_shows_is_a_table() -> None:
    """Its title, what it is about, and a column for each series, as the file keeps them beside the drawing."""
    c = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
    a = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    point = "<c:pt idx='{}'><c:v>{}</c:v></c:pt>"
    named = f"<c:cat>{point.format(0, '一月')}{point.format(1, '二月')}</c:cat>"
    one = f"<c:ser><c:tx>{point.format(0, '退费')}</c:tx>{named}<c:val>{point.format(0, 10)}{point.format(1, 12)}</c:val></c:ser>"
    two = f"<c:ser><c:tx>{point.format(0, 'New')}</c:tx>{named}<c:val>{point.format(1, 7)}</c:val></c:ser>"
    chart = f"<c:chartSpace {c} {a}><c:title><a:t>每月</a:t></c:title>{one}{two}</c:chartSpace>"
    rels = '<Relationships xmlns="x"><Relationship Id="rId9" Type="t/chart" Target="../charts/chart1.xml"/></Relationships>'
    frame = f'<p:graphicFrame><c:chart {c} r:id="rId9"/></p:graphicFrame>'
    more: dict[str, str | bytes] = {"ppt/charts/chart1.xml": chart, "ppt/slides/_rels/slide1.xml.rels": rels}
    document = read(presentation(slide(shape(paragraph("T"), place="title"), frame), more=more))
    assert [text for _, text, _ in blocks(document)] == ["T", "每月", "– | 退费 | New\n一月 | 10\n二月 | 12 | 7"]
    assert document.fidelity and (document.fidelity.lost, document.fidelity.invented) == (0, 0)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (presentation(slide(shape(paragraph("x"))), more={"ppt/slides/slide1.xml": "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"}), "document type"),
        (presentation(slide(shape(paragraph("x"))), more={"ppt/media/a.bin": b"\0" * 5_000_000}), "decompression bomb"),
        (presentation(slide(shape(paragraph("x"), hidden=True))), "none of its slides that are shown holds text"),
        (zipped({"word/document.xml": "<a/>"}), "has no ppt/presentation.xml"),
        (zipped({"ppt/presentation.xml": "<a"}), "not well-formed"),
        (presentation(slide("<a:x>" * 5_000 + "</a:x>" * 5_000)), "not well-formed"),
        (b"no archive", "damaged"),
    ],
)  # fmt: skip
def test_what_is_hostile_or_broken_is_refused_by_name(content: bytes, reason: str) -> None:
    """Bombs, entities, missing parts and nesting without end each have a reason."""
    with pytest.raises(DocumentRejected, match=reason) as caught:
        read(content)
    assert caught.value.component == "a.pptx"


def test_what_lies_outside_of_the_file_is_never_opened() -> None:
    """A slide that names an external part or one above the root is passed over."""
    rels = '<Relationships xmlns="x"><Relationship Id="rId1" Type="t/slide" TargetMode="External" Target="file:///etc/passwd"/></Relationships>'
    with pytest.raises(DocumentRejected, match="none of its slides"):
        read(presentation(slide(shape(paragraph("x"))), more={"ppt/_rels/presentation.xml.rels": rels}))


def test_a_slide_that_is_listed_again_and_again_is_read_once() -> None:
    """A ring of slides cannot be made, but a list that repeats one can."""
    listed = '<p:sldId r:id="rId1"/>' * 100
    ns = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    document = read(
        presentation(
            slide(shape(paragraph("once"))),
            more={"ppt/presentation.xml": f"<p:presentation {ns}>{listed}</p:presentation>"},
        )
    )
    assert document.text.count("once") == 1
