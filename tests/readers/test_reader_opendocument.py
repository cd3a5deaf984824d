"""Reading ODT and ODP: structure, automatic numbers, notes and tables; what is hidden or deleted is left out and said."""

from __future__ import annotations

import hashlib

import pytest

from package_files import opendocument
from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.readers.flat import read_fods, read_fodt
from wenyuan.readers.opendocument import read_odp, read_odt


def read(body: str, styles: str = "") -> Document:
    (document,) = read_odt(opendocument(body, styles=styles), uri="file:///a.odt", name="a.odt")
    return document


def blocks(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


ARTICLES = (
    '<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="一, 二, 三, ..." '
    'style:num-prefix="第" style:num-suffix="条"/></text:list-style>'
)


def test_headings_paragraphs_and_lists_in_both_languages() -> None:
    """Spaces, tabs and line breaks are elements; a list keeps its depth, a list without a style has dashes."""
    document = read(
        '<text:h text:outline-level="1">总则</text:h><text:p>甲<text:s text:c="2"/>乙<text:tab/>丙<text:line-break/>丁</text:p>'
        "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>inner</text:p></text:list-item>"
        "</text:list></text:list-item><text:list-item><text:p>two</text:p><text:p>more</text:p></text:list-item></text:list>"
    )
    assert blocks(document) == [
        ("heading", "总则"),
        ("paragraph", "甲  乙\t丙\n丁"),
        ("list", "- one\n  - inner\n- two\n  more"),
    ]
    assert (document.title, document.metadata) == ("规程", {"author": "李明"})
    assert document.fidelity and (document.fidelity.lost, document.fidelity.invented) == (0, 0)


def test_articles_numbered_by_the_list_are_clauses() -> None:
    """第一条 is in no text of the file; a list that goes on counts on."""
    item = "<text:list-item><text:p>{}</text:p></text:list-item>"
    document = read(
        f'<text:list text:style-name="L1">{item.format("本办法适用于全体员工。")}{item.format("费用按月结算。")}</text:list>'
        f'<text:list text:style-name="L1" text:continue-numbering="true">{item.format("自发布之日起施行。")}</text:list>',
        ARTICLES,
    )
    assert [(b.kind, b.label) for b in document.blocks] == [
        ("clause", "第一条"),
        ("clause", "第二条"),
        ("clause", "第三条"),
    ]
    assert document.fidelity and (document.fidelity.lost, document.fidelity.invented) == (0, 0)


def test_numbers_of_several_levels() -> None:
    """Levels above are shown where the style says so."""
    styles = (
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>'
        '<text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")" text:display-levels="2"/></text:list-style>'
    )
    inner = "<text:list><text:list-item><text:p>x</text:p></text:list-item><text:list-item><text:p>y</text:p></text:list-item></text:list>"
    body = f'<text:list text:style-name="L"><text:list-item text:start-value="4"><text:p>a</text:p>{inner}</text:list-item></text:list>'
    assert read(body, styles).text == "4. a\n  4.a) x\n  4.b) y"


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("一, 二, 三, ...", "一 二 十 十一"),
        ("壹, 贰, 叁, ...", "壹 贰 壹拾 壹拾壹"),
        ("甲, 乙, 丙, ...", "甲 乙 癸 11"),
        ("①, ②, ③, ...", "① ② ⑩ ⑪"),
        ("a", "a b j k"),
        ("A", "A B J K"),
        ("i", "i ii x xi"),
        ("I", "I II X XI"),
        ("1", "1 2 10 11"),
    ],
)
def test_numbers_are_written_as_the_list_says(form: str, written: str) -> None:
    styles = (
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-suffix="." '
        f'style:num-format="{form}"/></text:list-style>'
    )
    items = "<text:list-item><text:p>x</text:p></text:list-item>" * 11
    lines = read(f'<text:list text:style-name="L">{items}</text:list>', styles).text.split("\n")
    assert [line.partition(".")[0] for line in (*lines[:2], *lines[-2:])] == written.split()


def test_tables_repeat_what_covers_several_rows() -> None:
    """Header rows are rows; a cell over two rows stands in both."""
    cell = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>"
    tall = ' table:number-rows-spanned="2"'
    document = read(
        f"<table:table><table:table-header-rows><table:table-row>{cell.format('', '项目')}{cell.format('', 'Fee')}</table:table-row></table:table-header-rows>"
        f"<table:table-row>{cell.format(tall, '培训')}{cell.format('', '100')}</table:table-row>"
        f"<table:table-row><table:covered-table-cell/>{cell.format('', '200')}</table:table-row></table:table>"
    )
    assert blocks(document) == [("table", "项目 | Fee\n培训 | 100\n培训 | 200")]
    assert document.fidelity and (document.fidelity.lost, document.fidelity.invented, document.fidelity.tables) == (
        0,
        0,
        1,
    )


def test_notes_boxes_and_pictures() -> None:
    """A note follows its passage; the text of a box stands in its paragraph; pictures are counted."""
    note = "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>以合同为准</text:p></text:note-body></text:note>"
    box = "<draw:frame><draw:text-box><text:p>boxed</text:p></draw:text-box></draw:frame>"
    document = read(
        f"<text:p>七日内退费{note}。</text:p><text:p>a{box}b<draw:frame><draw:image/></draw:frame></text:p>"
    )
    assert document.text == "七日内退费[1]。\n\n[1] 以合同为准\n\na\nboxed\nb"
    assert document.fidelity and (document.fidelity.lost, document.fidelity.invented, document.fidelity.pictures) == (
        0,
        0,
        1,
    )


def test_what_is_deleted_hidden_or_a_comment_is_left_out_and_said() -> None:
    """Tracked deletions, hidden passages, contents and comments are no text; a reader is told of comments."""
    hidden = (
        '<style:style style:name="T1" style:family="text"><style:text-properties text:display="none"/></style:style>'
    )
    document = read(
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>old</text:p></text:deletion></text:changed-region></text:tracked-changes>"
        "<text:table-of-content><text:index-body><text:p>第一章……1</text:p></text:index-body></text:table-of-content>"
        '<text:p>shown<text:span text:style-name="T1">unseen</text:span><office:annotation><text:p>why?</text:p></office:annotation></text:p>',
        hidden,
    )
    assert document.text == "shown"
    assert document.notes == (
        "left out comments (1), deleted passages (1), hidden passages (1), lines of the table of contents (1)",
    )
    assert document.fidelity and document.fidelity.warnings == ("comments are not read: 1",)


def test_slides_of_odp_with_notes() -> None:
    """A slide is a section; hidden ones are left out; its notes have a heading of their own."""
    styles = '<style:style style:name="dp2" style:family="drawing-page"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
    title = '<draw:frame presentation:class="title"><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>'
    notes = '<presentation:notes><draw:frame presentation:class="notes"><draw:text-box><text:p>先讲退费</text:p></draw:text-box></draw:frame></presentation:notes>'
    body = (
        f"<draw:page><draw:frame><draw:text-box><text:list><text:list-item><text:p>七日</text:p></text:list-item></text:list></draw:text-box></draw:frame>{title.format('退费')}{notes}</draw:page>"
        f'<draw:page draw:style-name="dp2">{title.format("draft")}</draw:page>'
        "<draw:page><draw:custom-shape><text:p>Open 9 to 5</text:p></draw:custom-shape></draw:page>"
    )
    (document,) = read_odp(opendocument(body, kind="presentation", styles=styles), uri="file:///a.odp", name="a.odp")
    assert [(document.text[b.start : b.end], b.page) for b in document.blocks] == [
        ("退费", 1), ("- 七日", 1), ("备注", 1), ("先讲退费", 1), ("第 3 页", 3), ("Open 9 to 5", 3),
    ]  # fmt: skip
    assert document.notes == ("left out the hidden slides 2",)
    assert document.fidelity and (document.fidelity.pages, document.fidelity.lost) == (3, len("draft"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (opendocument("<text:p>x</text:p>", kind="spreadsheet"), "has no office:text"),
        (opendocument("<text:p>x</text:p>", more={"META-INF/manifest.xml": "<m><e><encryption-data/></e></m>"}), "it is encrypted"),
        (opendocument("<text:p>x</text:p>", more={"styles.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a/>'}), "document type"),
        (opendocument("<text:p>" + " " * 5_000_000 + "</text:p>"), "decompression bomb"),
        (opendocument("<text:section>" * 5_000 + "</text:section>" * 5_000), "not well-formed"),
        (opendocument("<text:p/>"), "holds no text"),
    ],
)  # fmt: skip
def test_what_is_hostile_or_of_another_kind_is_refused_by_name(content: bytes, reason: str) -> None:
    """Each has its reason, and the file's name."""
    with pytest.raises(DocumentRejected, match=reason) as caught:
        read_odt(content, uri="file:///a.odt", name="a.odt")
    assert caught.value.component == "a.odt"


def test_a_row_that_repeats_a_cell_a_million_times_is_bounded() -> None:
    """What a file states is not believed beyond a thousand."""
    cell = '<table:table-cell table:number-columns-repeated="1000000"><text:p>x</text:p></table:table-cell>'
    document = read(f"<table:table><table:table-row>{cell}</table:table-row></table:table>")
    assert document.text.count("x") == 1_000


_SPACES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'
)


def flat(kind: str, body: str) -> bytes:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document {_SPACES} office:mimetype="application/vnd.oasis.opendocument.{kind}">'
        "<office:master-styles><style:header><text:p>Head</text:p></style:header></office:master-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document>"
    ).encode()


def test_flat_files_are_read_as_the_archives_are() -> None:
    """One file of XML in place of an archive, with its own hash; another kind of file is refused by name."""
    text = flat("text", '<text:h text:outline-level="1">Pumps</text:h><text:p>They turn.</text:p>')
    (document,) = read_fodt(text, uri="file:///a.fodt", name="a.fodt")
    assert (document.title, document.sha256) == ("Pumps", hashlib.sha256(text).hexdigest())
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    rows = "".join(
        f"<table:table-row>{cell.format(a)}{cell.format(b)}</table:table-row>"
        for a, b in (("part", "count"), ("bolt", "4"))
    )
    (document,) = read_fods(
        flat("spreadsheet", f'\n <table:table table:name="S">\n  {rows}\n </table:table>\n'),
        uri="file:///a.fods",
        name="a.fods",
    )
    assert document.text == "part: bolt; count: 4"
    with pytest.raises(DocumentRejected, match="no flat OpenDocument"):
        read_fodt(b"<html/>", uri="file:///a.fodt", name="a.fodt")
