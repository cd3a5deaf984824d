"""Reading DOCX: document order, styles in both languages, automatic numbers; no bombs, no DTD."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from wenyuan.core.errors import DocumentRejected
from wenyuan.readers.container_check import check_archive
from wenyuan.readers.numbering import chinese_numeral
from word_files import blocks, read, rewritten, saved, with_entries


def simple() -> bytes:
    package = docx.Document()
    package.add_paragraph("Visible text.")
    return saved(package)


def test_paragraphs_lists_and_tables_come_in_document_order() -> None:
    """A table between paragraphs stays between them; list paragraphs make one list with their marks."""
    package = docx.Document()
    package.add_heading("Manual", 1)
    package.add_paragraph("Before.")
    table = package.add_table(2, 2)
    for at, text in enumerate(("甲", "B", "1", "2")):
        table.cell(at // 2, at % 2).text = text
    package.add_paragraph("one", style="List Bullet")
    package.add_paragraph("two", style="List Bullet")
    package.add_paragraph("After.")
    assert blocks(saved(package)) == [
        ("heading", "Manual"),
        ("paragraph", "Before."),
        ("table", "甲 | B\n1 | 2"),
        ("list", "- one\n- two"),
        ("paragraph", "After."),
    ]


def test_heading_styles_are_known_in_chinese_too() -> None:
    """标题 2 is a heading of level 2, also full-width and for styles based on it."""
    package = docx.Document()
    chinese = package.styles.add_style("标题 2", WD_STYLE_TYPE.PARAGRAPH)
    package.styles.add_style("標題　３", WD_STYLE_TYPE.PARAGRAPH)
    package.styles.add_style("公司标题", WD_STYLE_TYPE.PARAGRAPH).base_style = chinese
    for style in ("标题 2", "標題　３", "公司标题"):
        package.add_paragraph("名称", style=style)
    package.add_paragraph("正文")
    found = [(block.kind, block.level) for block in read(saved(package)).blocks]
    assert found == [("heading", 2), ("heading", 3), ("heading", 2), ("paragraph", 0)]


def test_title_and_facets_come_from_style_and_properties() -> None:
    """The title paragraph names the document, else its properties do."""
    package = docx.Document()
    package.core_properties.title = "属性标题"
    package.core_properties.author = "文渊"
    package.add_paragraph("x")
    document = read(saved(package))
    assert (document.title, dict(document.metadata)) == ("属性标题", {"author": "文渊"})
    package.add_heading("Real Title", 0)
    assert read(saved(package)).title == "Real Title"


def _numbered(package: Any, form: str, pattern: str) -> None:
    """A numbering that python-docx has no call for, as numId 99."""
    numbering = package.part.numbering_part.element
    numbering.insert(
        0,
        parse_xml(
            f'<w:abstractNum {nsdecls("w")} w:abstractNumId="98">'
            f'<w:lvl w:ilvl="0"><w:start w:val="9"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{pattern}"/></w:lvl>'
            f'<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:isLgl/>'
            f'<w:lvlText w:val="%1.%2"/></w:lvl></w:abstractNum>'
        ),
    )
    numbering.append(parse_xml(f'<w:num {nsdecls("w")} w:numId="99"><w:abstractNumId w:val="98"/></w:num>'))


def _paragraph(package: Any, text: str, level: int) -> None:
    properties = package.add_paragraph(text)._p.get_or_add_pPr()
    properties.append(parse_xml(f'<w:numPr {nsdecls("w")}><w:ilvl w:val="{level}"/><w:numId w:val="99"/></w:numPr>'))


def test_automatic_clause_numbers_are_written_out() -> None:
    """Articles that Word numbers itself have their numbers in the text, and open clauses."""
    package = docx.Document()
    _numbered(package, "chineseCountingThousand", "第%1条")
    for text in ("甲方应当支付价款。", "乙方应当交付货物。"):
        _paragraph(package, text, 0)
    document = read(saved(package))
    assert [(b.kind, b.label) for b in document.blocks] == [("clause", "第九条"), ("clause", "第十条")]
    assert document.text.startswith("第九条 甲方")


def test_deeper_levels_start_again_below_each_upper_one() -> None:
    """A level counts anew under the next number above it; legal style writes Arabic digits."""
    package = docx.Document()
    _numbered(package, "upperRoman", "%1.")
    for text, level in (("a", 0), ("b", 1), ("c", 1), ("d", 0), ("e", 1)):
        _paragraph(package, text, level)
    assert read(saved(package)).text.split("\n\n") == ["IX. a", "9.1 b", "9.2 c", "X. d", "10.1 e"]


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (1, "一"),
        (10, "十"),
        (13, "十三"),
        (20, "二十"),
        (105, "一百零五"),
        (110, "一百一十"),
        (1001, "一千零一"),
        (2024, "二千零二十四"),
    ],
)
def test_chinese_numerals_are_written_as_in_statutes(number: int, written: str) -> None:
    """Zeros between digits are read once, and 十 stands without 一 at the beginning only."""
    assert chinese_numeral(number) == written


def test_content_controls_and_insertions_are_read_deletions_and_hidden_runs_are_not() -> None:
    """Text in content controls and tracked insertions counts; deleted and hidden text is noted and left out."""
    package = docx.Document()
    body = package.element.body
    word = nsdecls("w")
    for number, xml in enumerate(
        (
            f"<w:sdt {word}><w:sdtContent><w:p><w:r><w:t>control</w:t></w:r></w:p></w:sdtContent></w:sdt>",
            f"<w:p {word}><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins>"
            "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>",
            f"<w:p {word}><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:t>shown</w:t></w:r></w:p>",
        )
    ):
        body.insert(number, parse_xml(xml))
    document = read(saved(package))
    assert document.text == "control\n\ninserted\n\nshown"
    assert any("deleted passages (1)" in note and "hidden runs (1)" in note for note in document.notes)


def test_merged_cells_reach_into_the_rows_below() -> None:
    """A cell that covers several is repeated in each of them, one that is a whole row stands once."""
    package = docx.Document()
    table = package.add_table(4, 3)
    table.cell(3, 0).merge(table.cell(3, 2)).text = "row"
    table.cell(0, 0).merge(table.cell(1, 0)).text = "甲"
    table.cell(2, 0).merge(table.cell(2, 1)).text = "wide"
    table.cell(0, 1).text, table.cell(1, 2).text, table.cell(2, 2).text = "b", "c", "d"
    assert blocks(saved(package)) == [("table", "甲 | b\n甲 | – | c\nwide | wide | d\nrow")]


def test_a_document_without_text_is_rejected() -> None:
    """Nothing to read is a reason."""
    with pytest.raises(DocumentRejected, match=r"a\.docx: it holds no text"):
        read(saved(docx.Document()))


_DTD = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">%s]>"""


@pytest.mark.parametrize(
    "part", ["word/document.xml", "word/styles.xml", "[Content_Types].xml", "word/_rels/document.xml.rels"]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("declares", [b"", b'<!ENTITY x SYSTEM "file:///etc/passwd">'])
def test_any_part_that_declares_a_dtd_is_rejected(part: str, encoding: str, declares: bytes) -> None:
    """Entities are neither expanded nor silently dropped: the document is refused, in any encoding."""

    def change(xml: bytes) -> bytes:
        text = (_DTD % declares + xml.partition(b"?>")[2]).decode()
        return text.encode(encoding)

    with pytest.raises(DocumentRejected, match="declares a document type"):
        read(rewritten(simple(), part, change))


def test_a_part_in_an_encoding_that_hides_its_dtd_is_rejected() -> None:
    """XML in an encoding that the check cannot read never reaches the parser."""
    hidden = b'<?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE x+AD4-<x/>'
    with pytest.raises(DocumentRejected, match="not well-formed XML"):
        read(rewritten(simple(), "word/document.xml", lambda _: hidden))


def test_a_decompression_bomb_is_rejected_before_it_is_parsed() -> None:
    """An entry that unpacks to more than a hundred times its size stops the reading."""
    bomb = with_entries(simple(), {"word/media/image1.bin": bytes(3_000_000)})
    with pytest.raises(DocumentRejected, match="decompression bomb"):
        read(bomb)


def test_sizes_in_the_headers_are_not_believed() -> None:
    """An entry that declares ten bytes and holds millions is found out."""
    content = with_entries(simple(), {"word/media/x.bin": bytes(range(256)) * 2_000})
    size = (256 * 2_000).to_bytes(4, "little")
    at = content.rindex(size)
    lying = content[:at] + (10).to_bytes(4, "little") + content[at + 4 :]
    with pytest.raises(DocumentRejected, match="another size than the archive declares"):
        check_archive(lying, name="a.docx", needs="word/document.xml")


def test_too_many_entries_are_rejected() -> None:
    """An archive of thousands of entries is not opened."""
    with pytest.raises(DocumentRejected, match="entries; at most 2000"):
        read(with_entries(simple(), {f"x/{n}": b"" for n in range(2_001)}))


def test_the_sum_of_many_entries_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that are small by themselves are counted together."""
    monkeypatch.setattr("wenyuan.readers.container_check.MAX_UNPACKED", 600_000)
    noise = bytes(range(256)) * 700
    with pytest.raises(DocumentRejected, match="unpacks to more than"):
        read(with_entries(simple(), {f"x/{n}": noise for n in range(4)}))


def test_nested_archives_and_climbing_names_are_left_alone() -> None:
    """What the format does not ask for is never unpacked further, and no name becomes a path."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(900_000))
    nested = inner.getvalue()
    for _ in range(5):
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("inner.zip", nested)
        nested = inner.getvalue()
    content = with_entries(simple(), {"word/embeddings/x.zip": nested, "../../etc/evil": b"x", "/abs": b"x"})
    assert read(content).text == "Visible text."


@pytest.mark.parametrize("content", [b"PK\x03\x04 and no more", b"PK\x05\x06" + bytes(18)])
def test_a_damaged_archive_is_rejected(content: bytes) -> None:
    """A broken or empty container is refused with its reason."""
    with pytest.raises(DocumentRejected, match=r"damaged|another kind"):
        read(content)


def test_every_truncation_and_every_flipped_byte_is_read_or_rejected() -> None:
    """A broken file gives a document or a refusal, no other error."""
    whole = simple()
    step = len(whole) // 60
    for at in range(0, len(whole), step):
        for content in (whole[:at], whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]):
            try:
                read(content)
            except DocumentRejected as error:
                assert error.component == "a.docx"
