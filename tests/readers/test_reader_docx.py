"""Reading DOCX as Word shows it: numbers, hidden and deleted text, notes, cells and boxes."""

from __future__ import annotations

from typing import Any

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

from wenyuan.core.text.chunking import chunk
from word_files import blocks, read, rewritten, saved, with_entries

_LAW = (
    '<w:lvl w:ilvl="0"><w:numFmt w:val="chineseCountingThousand"/><w:lvlText w:val="第%1章"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="chineseCountingThousand"/>{restart}<w:lvlText w:val="第%2条"/></w:lvl>'
    '<w:lvl w:ilvl="2"><w:numFmt w:val="decimal"/><w:lvlRestart w:val="1"/><w:lvlText w:val="(%3)"/></w:lvl>'
)


def element(xml: str) -> Any:
    """Parsed, with Word's namespace declared."""
    tag, rest = xml[1:].replace("/>", " />", 1).replace(">", " >", 1).split(" ", 1)
    return parse_xml(f"<{tag} {nsdecls('w')} {rest}")


def with_body(package: Any, *parts: str) -> bytes:
    """The package saved with these elements at the end of its body."""
    body = package.element.body
    for part in parts:
        body.insert(len(body) - 1, element(part))
    return saved(package)


def numbered(*patterns: str, num: str = '<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>') -> Any:
    """A package with these patterns of numbers and no others."""
    package = docx.Document()
    numbering = package.part.numbering_part.element
    for child in list(numbering):
        numbering.remove(child)
    for xml in (*patterns, num):
        numbering.append(element(xml))
    return package


def law(restart: str = "") -> str:
    return f'<w:abstractNum w:abstractNumId="1">{_LAW.format(restart=restart)}</w:abstractNum>'


def line(level: int, text: str, *, mark: str = "", style: str = "") -> str:
    """A paragraph numbered at this level; an empty text was deleted with tracking."""
    run = f"<w:r><w:t>{text}</w:t></w:r>" if text else "<w:del><w:r><w:delText>旧文。</w:delText></w:r></w:del>"
    return (
        f'<w:p><w:pPr>{style}<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr>'
        f"{mark}</w:pPr>{run}</w:p>"
    )


@pytest.mark.parametrize(
    ("restart", "articles"),
    [
        ("", ["第一条", "第二条", "第一条"]),
        ('<w:lvlRestart w:val="0"/>', ["第一条", "第二条", "第三条"]),
        ('<w:lvlRestart w:val="1"/>', ["第一条", "第二条", "第一条"]),
    ],
)
def test_a_level_that_runs_on_keeps_its_count(restart: str, articles: list[str]) -> None:
    """Articles count through the chapters where Word's levels say so, else anew below each chapter."""
    package = numbered(law(restart))
    content = with_body(
        package, line(0, "总则"), line(1, "一句。"), line(1, "二句。"), line(0, "附则"), line(1, "三句。")
    )
    document = read(content)
    assert [block.label for block in document.blocks if block.kind == "clause"] == articles


def test_a_level_restarts_below_the_level_it_names() -> None:
    """A point that counts anew with each chapter runs on from one article to the next."""
    levels = (0, 1, 2, 1, 2, 0, 1, 2)
    content = with_body(numbered(law()), *(line(level, "文") for level in levels))
    assert [word for word in read(content).text.split() if word[0] == "("] == ["(1)", "(2)", "(1)"]


def test_numbers_of_a_list_style_are_those_of_its_pattern() -> None:
    """A pattern that only names a style of lists counts with the pattern which the style stands for."""
    style = '<w:abstractNum w:abstractNumId="2"><w:numStyleLink w:val="Law"/></w:abstractNum>'
    pattern = law().replace("<w:lvl ", '<w:styleLink w:val="Law"/><w:lvl ', 1)
    package = numbered(style, pattern, num='<w:num w:numId="1"><w:abstractNumId w:val="2"/></w:num>')
    assert read(with_body(package, line(0, "总则"), line(1, "一句。"))).text == "第一章 总则\n\n第一条 一句。"


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("chineseCounting", "一 二 十 十一 二十"), ("chineseCountingThousand", "一 二 十 十一 二十"),
        ("japaneseCounting", "一 二 十 十一 二十"), ("ideographDigital", "一 二 一〇 一一 二〇"),
        ("taiwaneseDigital", "一 二 一〇 一一 二〇"), ("chineseLegalSimplified", "壹 贰 壹拾 壹拾壹 贰拾"),
        ("ideographTraditional", "甲 乙 癸 甲 癸"), ("ideographZodiac", "子 丑 酉 戌 未"),
        ("ideographEnclosedCircle", "㊀ ㊁ ㊉ 11 20"), ("decimalEnclosedCircle", "① ② ⑩ ⑪ ⑳"),
        ("decimalEnclosedCircleChinese", "① ② ⑩ ⑪ ⑳"), ("decimalEnclosedParen", "⑴ ⑵ ⑽ ⑾ ⒇"),
        ("decimalEnclosedFullstop", "⒈ ⒉ ⒑ ⒒ ⒛"), ("decimalFullWidth", "１ ２ １０ １１ ２０"),
        ("decimal", "1 2 10 11 20"), ("decimalZero", "01 02 10 11 20"), ("upperRoman", "I II X XI XX"),
        ("lowerRoman", "i ii x xi xx"), ("upperLetter", "A B J K T"), ("lowerLetter", "a b j k t"),
        ("ordinal", "1st 2nd 10th 11th 20th"), ("numberInDash", "- 1 - - 2 - - 10 - - 11 - - 20 -"), ("none", "    "),
    ],
)  # fmt: skip
def test_numbers_are_written_as_word_shows_them(form: str, written: str) -> None:
    """Chinese and Japanese numerals, digits, stems, circles, letters; what has no sign for a number is written in digits."""
    pattern = (
        f'<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="{form}"/>'
        '<w:lvlText w:val="%1|"/></w:lvl></w:abstractNum>'
    )
    document = read(with_body(numbered(pattern), *(line(0, "文") for _ in range(20))))
    marks = [text.partition("|")[0] for text in document.text.split("文")]
    assert " ".join(marks[at - 1].strip() for at in (1, 2, 10, 11, 20)) == written


def test_numbers_of_styles_are_inherited_and_stand_on_the_level_that_names_the_style() -> None:
    """A style may name its list only, or its level only, or be named by a level of the list; 0 takes the number away."""
    levels = (
        '<w:abstractNum w:abstractNumId="1">'
        '<w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/><w:pStyle w:val="Chapter"/><w:lvlText w:val="%1"/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:pStyle w:val="Part"/><w:lvlText w:val="%1.%2"/></w:lvl>'
        '<w:lvl w:ilvl="2"><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2.%3"/></w:lvl></w:abstractNum>'
    )
    package = numbered(levels)
    for name, based, numbering in (
        ("Chapter", "Normal", '<w:numId w:val="1"/>'),
        ("Part", "Normal", '<w:numId w:val="1"/>'),
        ("Point", "Part", '<w:ilvl w:val="2"/>'),
    ):
        package.styles.element.append(
            element(
                f'<w:style w:type="paragraph" w:styleId="{name}"><w:name w:val="{name}"/><w:basedOn w:val="{based}"/>'
                f"<w:pPr><w:numPr>{numbering}</w:numPr></w:pPr></w:style>"
            )
        )

    def styled(name: str, text: str, inner: str = "") -> str:
        return f'<w:p><w:pPr><w:pStyle w:val="{name}"/>{inner}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'

    content = with_body(
        package,
        styled("Chapter", "Rooms"),
        styled("Part", "Fees"),
        styled("Point", "Tax"),
        styled("Part", "Preface", '<w:numPr><w:numId w:val="0"/></w:numPr>'),
        styled("Part", "Keys"),
    )
    assert read(content).text.split("\n\n") == ["1 Rooms", "1.1 Fees", "1.1.a Tax", "Preface", "1.2 Keys"]


def test_a_number_beyond_all_bounds_is_cut() -> None:
    """A list that begins at a milliard costs no more than another."""
    pattern = (
        '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:start w:val="1000000000"/>'
        '<w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1"/></w:lvl></w:abstractNum>'
    )
    assert read(with_body(numbered(pattern), line(0, "文"))).text.endswith("DCCLXVII 文")


@pytest.mark.parametrize("tag", ["del", "moveFrom"])
def test_a_deleted_paragraph_takes_no_number(tag: str) -> None:
    """Numbers are those of the text that is served: what was deleted with tracking is not counted."""
    deleted = line(1, "", mark=f'<w:rPr><w:{tag} w:id="1" w:author="a"/></w:rPr>')
    content = with_body(numbered(law()), line(1, "一句。"), deleted, line(1, "二句。"))
    assert read(content).text == "第一条 一句。\n\n第二条 二句。"


@pytest.mark.parametrize("typed", [True, False])
def test_articles_in_a_style_of_lists_are_articles(typed: bool) -> None:
    """Word gives numbered paragraphs the style "List Paragraph": articles keep address and chapter, points stay a list."""
    style = '<w:pStyle w:val="ListParagraph"/>'
    package = numbered(law())
    if typed:
        for text in ("第一章 总则", "第一条 一句。", "1. 甲", "2. 乙", "第二条 二句。"):
            package.add_paragraph(text, style="List Paragraph")
        content = saved(package)
    else:
        lines = [(0, "总则"), (1, "一句。"), (2, "甲"), (2, "乙"), (1, "二句。")]
        content = with_body(package, *(line(level, text, style=style) for level, text in lines))
    points = "1. 甲\n2. 乙" if typed else "(1) 甲\n(2) 乙"
    assert blocks(content) == [
        ("heading", "第一章 总则"),
        ("clause", "第一条 一句。"),
        ("list", points),
        ("clause", "第二条 二句。"),
    ]


def with_hiding_styles() -> Any:
    """A package with styles that hide: of characters, of paragraphs, and one of each that is based on them."""
    package = docx.Document()
    for kind in ("character", "paragraph"):
        for name, properties in (
            (f"{kind}-hides", "<w:rPr><w:vanish/></w:rPr>"),
            (f"{kind}-heir", f'<w:basedOn w:val="{kind}-hides"/>'),
            (f"{kind}-shows", f'<w:basedOn w:val="{kind}-hides"/><w:rPr><w:vanish w:val="0"/></w:rPr>'),
        ):
            package.styles.element.append(
                element(f'<w:style w:type="{kind}" w:styleId="{name}"><w:name w:val="{name}"/>{properties}</w:style>')
            )
    return package


@pytest.mark.parametrize(
    ("paragraph", "run", "shown"),
    [
        ("", '<w:rStyle w:val="character-hides"/>', False),
        ("", '<w:rStyle w:val="character-heir"/>', False),
        ("", '<w:rStyle w:val="character-shows"/>', True),
        ("", '<w:rStyle w:val="character-hides"/><w:vanish w:val="0"/>', True),
        ("paragraph-hides", "", False),
        ("paragraph-heir", "", False),
        ("paragraph-shows", "", True),
        ("paragraph-hides", '<w:rStyle w:val="character-shows"/>', True),
        ("paragraph-hides", '<w:vanish w:val="false"/>', True),
        ("no-such-style", '<w:rStyle w:val="no-such-style"/>', True),
    ],
)
def test_text_hidden_by_a_style_is_left_out(paragraph: str, run: str, *, shown: bool) -> None:
    """A run is hidden by itself, its style or its paragraph's, as the nearest of them says; the notes count it."""
    style = f'<w:pPr><w:pStyle w:val="{paragraph}"/></w:pPr>' if paragraph else ""
    secret = f"<w:p>{style}<w:r><w:rPr>{run}</w:rPr><w:t>底价</w:t></w:r></w:p>"
    document = read(with_body(with_hiding_styles(), secret, "<w:p><w:r><w:t>报价</w:t></w:r></w:p>"))
    assert document.text == ("底价\n\n报价" if shown else "报价")
    assert document.notes == (() if shown else ("left out hidden runs (1)",))


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"


@pytest.mark.parametrize(
    ("properties", "note"),
    [
        ("<w:hidden/>", ("left out hidden rows (1)",)),
        ('<w:del w:id="1" w:author="a"/>', ("left out deleted passages (1)",)),
        ('<w:hidden w:val="0"/>', ()),
    ],
)
def test_hidden_and_deleted_rows_are_left_out(properties: str, note: tuple[str, ...]) -> None:
    """No cell of such a row is read, nor repeated below where it is merged downwards."""
    begins, goes_on = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    content = with_body(
        docx.Document(),
        f"<w:tbl><w:tr>{cell('甲', begins)}{cell('1')}</w:tr>"
        f"<w:tr><w:trPr>{properties}</w:trPr>{cell('密', begins)}{cell('2')}</w:tr>"
        f"<w:tr>{cell('', goes_on)}{cell('3')}</w:tr><w:tr>{cell('丙')}{cell('4')}</w:tr></w:tbl>",
    )
    document = read(content)
    assert ("密" in document.text) is not bool(note)
    assert document.text.startswith("甲 | 1\n") and document.text.endswith("3\n丙 | 4")
    assert document.notes == note


@pytest.mark.parametrize("chapter", ["第一章 总则", "一、总体要求", "1. Scope", "Part 1 Scope"])
@pytest.mark.parametrize("styled", [True, False])
def test_a_numbered_part_is_not_the_title(chapter: str, *, styled: bool) -> None:
    """Its heading names the passages below it, and the file's name names the document."""
    package = docx.Document()
    package.add_paragraph("考勤管理办法")
    package.add_paragraph(chapter, style="Heading 1" if styled else None)
    package.add_paragraph("考勤按月汇总。")
    document = read(saved(package))
    assert document.title == "a"
    if styled:
        assert chunk(document)[-1].headings == (chapter,)
    package.add_heading("Attendance", 1)
    assert read(saved(package)).title == "Attendance"


def test_values_stay_under_their_columns() -> None:
    """An empty cell has its place in the row, unless nothing follows it; a row of empty cells is none."""
    rows = [["", "2022年", "2023年"], ["研发", "", "300万元"], ["差旅", "10万元", ""], ["", "", ""]]
    package = docx.Document()
    table = package.add_table(4, 3)
    for y, row in enumerate(rows):
        for x, text in enumerate(row):
            table.cell(y, x).text = text
    assert blocks(saved(package)) == [("table", "– | 2022年 | 2023年\n研发 | – | 300万元\n差旅 | 10万元")]


def with_footnotes(content: bytes, **notes: str) -> bytes:
    """The archive with these footnotes, by their ids."""
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"
    media = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    relation = f'<Relationship Id="rIdF" Type="{kind}" Target="footnotes.xml"/></Relationships>'
    override = f'<Override PartName="/word/footnotes.xml" ContentType="{media}"/></Types>'
    bodies = "".join(f'<w:footnote w:id="{key[1:]}">{body}</w:footnote>' for key, body in notes.items())
    separator = '<w:footnote w:type="separator" w:id="0"><w:p><w:r><w:t>—</w:t></w:r></w:p></w:footnote>'
    content = rewritten(content, "[Content_Types].xml", lambda xml: xml.replace(b"</Types>", override.encode()))
    content = rewritten(
        content,
        "word/_rels/document.xml.rels",
        lambda xml: xml.replace(b"</Relationships>", relation.encode()),
    )
    part = f"<w:footnotes {nsdecls('w')}>{separator}{bodies}</w:footnotes>"
    return with_entries(content, {"word/footnotes.xml": part.encode()})


def note(text: str, inner: str = "") -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r>{inner}</w:p>"


def test_notes_stand_with_the_text_that_refers_to_them() -> None:
    """A note follows its clause, not the last one; one whose reference was deleted with tracking is not read."""

    def refers(to: int) -> str:
        return f'<w:r><w:footnoteReference w:id="{to}"/></w:r>'

    content = with_body(
        docx.Document(),
        note("第一条 每晚四百元", refers(5) + "<w:r><w:t>。</w:t></w:r>"),
        note("第二条 另行规定。", f'<w:del w:id="9" w:author="a">{refers(6)}</w:del>'),
        f"<w:tbl><w:tr><w:tc>{note('高铁', refers(2) + refers(5) + refers(404))}</w:tc></w:tr></w:tbl>",
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>附则</w:t></w:r>' + refers(7) + "</w:p>",
        note("第三条 自发布之日起施行。"),
    )
    content = with_footnotes(
        content, n2=note("二等座。", refers(2)), n5=note("北京六百元。"), n6=note("可坐头等舱。"), n7=note("修订。")
    )
    document = read(content)
    assert [document.text[b.start : b.end] for b in document.blocks] == [
        "第一条 每晚四百元[1]。",
        "[1] 北京六百元。",
        "第二条 另行规定。",
        "高铁[2][1]",
        "[2] 二等座。[2]",
        "附则",
        "[3] 修订。",
        "第三条 自发布之日起施行。",
    ]
    assert document.notes == ("left out deleted passages (1), notes that no text refers to (1)",)


def test_a_text_box_is_read_once_and_on_its_own_lines() -> None:
    """Its words do not run into those around it, and its copy for old programs is left out, in cells, too."""
    old, new = "http://schemas.openxmlformats.org/markup-compatibility/2006", "urn:box"
    box = f"<w:txbxContent>{note('内部资料')}</w:txbxContent>"
    run = (
        f'<w:r><mc:AlternateContent xmlns:mc="{old}"><mc:Choice><x:box xmlns:x="{new}">{box}</x:box></mc:Choice>'
        f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r>"
    )
    content = with_body(
        docx.Document(),
        f"<w:p>{run}<w:r><w:t>应当招标。</w:t></w:r></w:p>",
        f"<w:tbl><w:tr>{cell('流程')}<w:tc><w:p>{run}<w:r><w:t>见图</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
    )
    assert read(content).text == "内部资料\n应当招标。\n\n流程 | 内部资料 见图"


def test_the_record_says_what_of_a_file_is_in_its_text() -> None:
    """Headers, footers and hidden words are lost, and said; numbers and merged cells are not invented."""
    package = numbered(law())
    package.sections[0].header.paragraphs[0].text = "内部资料 严禁外传"
    package.sections[0].footer.paragraphs[0].text = "第1页"
    table = package.add_table(2, 2)
    table.cell(0, 0).merge(table.cell(1, 0)).text = "甲"
    table.cell(0, 1).text, table.cell(1, 1).text = "乙", "丙"
    hidden = "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>暗</w:t></w:r></w:p>"
    document = read(with_body(package, line(1, "一句。"), line(1, "二句。"), hidden))
    assert document.text.endswith("甲 | 乙\n甲 | 丙\n\n第一条 一句。\n\n第二条 二句。")
    fidelity = document.fidelity
    assert fidelity is not None
    assert (fidelity.tables, fidelity.invented, fidelity.lost) == (1, 0, len("内部资料严禁外传第1页暗"))
    assert fidelity.warnings == ("headers and footers are not read (12 characters)",)


def test_deleted_words_are_no_words_of_the_file() -> None:
    """What was taken out with tracking is not lost, what was put in is read."""
    changed = (
        '<w:p><w:ins w:id="1" w:author="a"><w:r><w:t>新的。</w:t></w:r></w:ins>'
        '<w:del w:id="2" w:author="a"><w:r><w:delText>旧的。</w:delText></w:r></w:del></w:p>'
    )
    document = read(with_body(docx.Document(), changed))
    assert document.text == "新的。"
    assert document.fidelity is not None
    assert (document.fidelity.source_characters, document.fidelity.lost) == (3, 0)


def test_formulas_are_read_as_their_letters() -> None:
    """Their marks stand in the text where the formula stands."""
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    formula = f'<m:oMath xmlns:m="{math}"><m:r><m:t>E=mc</m:t></m:r></m:oMath>'
    content = with_body(docx.Document(), f"<w:p><w:r><w:t>公式</w:t></w:r>{formula}</w:p>")
    assert read(content).text == "公式E=mc"
