"""Reading HTML: what a visitor of the page sees, and nothing else."""

from __future__ import annotations

import html
import re
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.readers.html import read_html


def read(page: str | bytes) -> Document:
    content = page.encode() if isinstance(page, str) else page
    (document,) = read_html(content, uri="file:///a.html", name="a.html")
    return document


def blocks(page: str) -> list[tuple[str, str]]:
    document = read(page)
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


def test_headings_paragraphs_lists_tables_and_code_become_blocks_in_order() -> None:
    """Each visible element is one block of its own kind, in the order of the page."""
    page = (
        "<h1>Guide</h1><p>First<br>second</p><ul><li>one<ul><li>deep</ul><li>two</ul>"
        "<table><tr><th>A<th>B<tr><td>1<td>2</table><pre>  x = 1\n    y</pre><h2>End</h2>text"
    )
    assert blocks(page) == [
        ("heading", "Guide"),
        ("paragraph", "First\nsecond"),
        ("list", "- one\n  - deep\n- two"),
        ("table", "A | B\n1 | 2"),
        ("code", "  x = 1\n    y"),
        ("heading", "End"),
        ("paragraph", "text"),
    ]
    levels = [(b.level, b.label) for b in read(page).blocks if b.kind == "heading"]
    assert levels == [(1, "Guide"), (2, "End")]


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>secret</script>",
        "<style>secret</style>",
        "<template><p>secret</p></template>",
        "<noscript>secret</noscript>",
        "<nav>secret</nav>",
        "<footer>secret</footer>",
        "<aside role=complementary>secret</aside>",
        "<!-- secret -->",
        "<p hidden>secret</p>",
        "<p style='color:red; DISPLAY : none'>secret</p>",
        "<p style='visibility:hidden'>secret</p>",
        "<p style='font-size: 0px'>secret</p>",
        "<b style='opacity:0'>secret</b>",
        "<div style='display:none'><p style='display:block; visibility:visible'>secret</div>",
        "<div style='visibility:hidden'><p style='font-size:16px'>secret</div>",
        "<div style='font-size:0'><p style='font-size:2em'>sec<b style='visibility:visible'>ret</b></div>",
        "<div style='font: 0/0 a'><h2>secret</h2><ul><li>secret</ul><table><tr><td>secret</table></div>",
        "<div style='color:red;/* old */visibility:hidden'><pre>secret</pre></div>",
        "<div aria-hidden='TRUE'>secret</div>",
        "<span aria-hidden=true class='material-icons'>secret</span>",
        "<ul><li hidden>secret</ul>",
        "<table><tr hidden><td>secret</table>",
        "<h1 hidden>secret</h1>",
    ],
)
def test_what_the_page_hides_is_left_out_and_noted(hidden: str) -> None:
    """Hidden elements, comments and page furniture leave no text, but a note."""
    document = read(f"<body><p>seen</p>{hidden}</body>")
    assert document.text == "seen"
    assert any(note.startswith("left out") for note in document.notes)


@pytest.mark.parametrize("style", ["opacity:0.5", "font-size:0.8em", "display:block"])
def test_styles_that_only_look_like_hiding_keep_their_text(style: str) -> None:
    """Half opacity and small print are visible."""
    assert read(f"<p style='{style}'>seen</p>").text == "seen"


@pytest.mark.parametrize(
    "page",
    [
        "<section style='font-size: 0px;'><p style='font-size:16px'>seen</p></section>",
        "<section style='font-size:0'><div><p style='font: bold 16px/1.5 serif'>seen</p></div></section>",
        "<div style='-webkit-backface-visibility:hidden;backface-visibility:hidden'><p>seen</p></div>",
        "<div style='visibility:hidden'><p style='visibility:visible'>seen</p></div>",
        "<table style='visibility:hidden'><tr><td style='visibility:visible'>seen</table>",
        "<p style='visibility:hidden; visibility:visible'>seen</p>",
    ],
)
def test_what_is_shown_within_a_hiding_element_is_read(page: str) -> None:
    """No size and no visibility are inherited, and end where an element says otherwise; nothing was left out."""
    document = read(page)
    assert (document.text, document.notes) == ("seen", ())


def test_only_the_hidden_part_of_an_element_is_left_out() -> None:
    """Text beside what is shown again stays hidden; the element counts once."""
    document = read("<p>a <span style='visibility:hidden'>x <b style='visibility:visible'>b</b> x</span> c</p>")
    assert (document.text, document.notes) == ("a b c", ("left out hidden elements (1)",))


def test_line_breaks_of_the_source_part_latin_words_only() -> None:
    """A source line break is a space between Latin words and nothing between Chinese characters."""
    assert read("<p>知识\n  服务 for\nagents\n使用</p>").text == "知识服务 for agents 使用"


def test_entities_are_decoded_and_their_hidden_characters_removed() -> None:
    """Entities give the characters that they name; a zero-width one is removed with a note."""
    document = read("<p>A&amp;B &#x6587;&#28170;&nbsp;x&#8203;y</p>")
    assert document.text == "A&B 文渊 xy"
    assert any("zero-width" in note for note in document.notes)


@pytest.mark.parametrize(
    ("encoding", "label"), [("gbk", "gb2312"), ("big5", "big5"), ("utf-8", "utf-8"), ("cp1252", "iso-8859-1")]
)
def test_the_declared_encoding_is_believed_when_it_fits(encoding: str, label: str) -> None:
    """A page is decoded by its own meta element."""
    text = "café “quoted”" if encoding == "cp1252" else "繁體中文知識"  # in GBK as well
    page = f'<meta http-equiv="Content-Type" content="text/html; charset={label}"><p>{text}</p>'
    assert read(page.encode(encoding)).text == text


@pytest.mark.parametrize("label", ["utf-16", "UTF-16LE", "utf-16be"])
def test_a_declaration_that_can_be_read_is_not_in_utf_16(label: str) -> None:
    """A page whose own bytes are ASCII-like and that says UTF-16 is UTF-8, as in every browser."""
    document = read(f"<meta charset={label}><p>Annual leave is five days. 年假五天。</p>")
    assert (document.text, document.notes) == ("Annual leave is five days. 年假五天。", ())


@pytest.mark.parametrize("name", ["a.xhtml", "a.html"])
def test_self_closing_elements_of_xhtml_are_closed(name: str) -> None:
    """What ends in itself in XML does not swallow the page after it."""
    start = "" if name == "a.xhtml" else '<?xml version="1.0" encoding="UTF-8"?>\n'
    page = (
        f'{start}<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a.js" /></head>'
        '<body><h1>一</h1><canvas id="c"/><iframe src="x"/><div style="display:none"/><p>正<br/>文</p></body></html>'
    )
    (document,) = read_html(page.encode(), uri=f"file:///{name}", name=name)
    assert document.text == "一\n\n正\n文"


def test_a_wrong_declaration_is_noted_and_the_bytes_decide() -> None:
    """Bytes that do not fit the declared encoding are decoded by what they are."""
    page = "<meta charset=utf-8><p>知识服务的内容，是我们的。</p>".encode("gb18030")
    document = read(page)
    assert document.text == "知识服务的内容，是我们的。"
    assert any("declares the encoding utf-8" in note for note in document.notes)


def test_a_byte_order_mark_wins_over_the_declaration() -> None:
    """UTF-16 with its mark is read as such whatever the meta element says."""
    assert read("<meta charset=gbk><p>文渊</p>".encode("utf-16")).text == "文渊"


def test_merged_cells_reach_into_the_rows_they_span() -> None:
    """A cell that spans rows is repeated, so that each row can stand alone."""
    page = "<table><caption>表</caption><tr><td rowspan=2>甲<td>一<tr><td>二<tr><td colspan=2>合</table>"
    assert blocks(page) == [("table", "表\n甲 | 一\n甲 | 二\n合")]


def test_an_empty_cell_keeps_its_place() -> None:
    """A value stays below its own header; nothing stands for what is missing at a row's end or in a whole column."""
    years = (
        "<table><tr><th>项目<th>2022<th>2023<th>2024"
        "<tr><td>研发费用<td><td>&nbsp;<td>300万元<tr><td>合计<td>1<td><td></table>"
    )
    assert blocks(years) == [("table", "项目 | 2022 | 2023 | 2024\n研发费用 | – | – | 300万元\n合计 | 1")]
    corner = (
        "<table><tr><td><th>甲<th>乙<tr><th rowspan=2>一<td><td>2<tr><td colspan=2><tr><td colspan=2><td>3</table>"
    )
    assert blocks(corner) == [("table", "– | 甲 | 乙\n一 | – | 2\n一\n– | – | 3")]
    assert blocks("<table><tr><td><td>a<td><td>b<tr><td><td><td><tr><td><td>c<td><td>d</table>") == [
        ("table", "a | b\nc | d")
    ]


def test_a_table_that_arranges_the_page_is_no_table() -> None:
    """Layout tables dissolve; the table within is kept."""
    page = "<table><tr><td><h1>T</h1><p>a</p><td><table><tr><td>1<td>2</table></table>"
    assert blocks(page) == [("heading", "T"), ("paragraph", "a"), ("table", "1 | 2")]
    index = "<table><tr><td><ul><li>A<ul><li>a</ul><li>B</ul><td><dl><dt>C<dd>c</dl></table>"
    assert blocks(index) == [("list", "- A\n  - a\n- B"), ("paragraph", "C: c")]


def test_what_stands_apart_in_a_cell_is_no_phrase() -> None:
    """A list in a cell of a table with rows stays in its row; its items are told apart, as they are on the page."""
    page = "<table><tr><th>Who<th>What<tr><td>A<td><ul><li>one thing<li>another</ul><tr><td>B<br>C<td>x</table>"
    assert blocks(page) == [("table", "Who | What\nA | one thing  another\nB  C | x")]


def test_clauses_in_paragraphs_open_sections() -> None:
    """Numbered clauses are found in paragraphs and behind line breaks."""
    document = read(
        "<h1>办法</h1><p>第一章 总则</p><p>第一条 为了规范管理，制定本办法。<br>第二条 本办法适用于本市。</p>"
    )
    found = [(block.kind, block.label) for block in document.blocks]
    assert found == [("heading", "办法"), ("heading", "第一章 总则"), ("clause", "第一条"), ("clause", "第二条")]
    levels = [block.level for block in document.blocks]
    assert levels[0] < levels[1] < levels[2] == levels[3]


def test_title_language_and_facets_come_from_the_page() -> None:
    """The title element, the language's primary tag and the author are taken over."""
    document = read("<html lang=zh-CN><head><title> 投诉\n指南 </title><meta name=Author content=文渊></head><p>x")
    assert (document.title, document.language, document.metadata["author"]) == ("投诉 指南", "zh", "文渊")
    assert read("<h1>Only <i>heading</i></h1><p>x").title == "Only heading"
    assert read("<p>x").title == "a"


@pytest.mark.parametrize("page", ["<p> </p>", "<script>x</script>", "<nav>menu</nav>", "<body hidden>x</body>"])
def test_a_page_without_visible_text_is_rejected(page: str) -> None:
    """No text is a refusal that names the document, never an empty document."""
    with pytest.raises(DocumentRejected, match=r"a\.html: .*no visible text"):
        read(page)


def test_elements_nested_as_deep_as_browsers_take_them_are_read() -> None:
    """Depth does not exhaust the stack; what lies deeper than any browser shows is refused, since each level costs all below it."""
    assert read("<div>" * 600 + "deep").text == "deep"
    assert "deep" in read("<ul><li>" * 300 + "deep").text
    with pytest.raises(DocumentRejected, match="nested too deeply"):
        read("<div>" * 601 + "deep")


@given(st.text(alphabet=st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1))
@example("0\u115f")
@example("\u3164")
def test_visible_text_survives_unchanged(text: str) -> None:
    """The text of a paragraph is the document's text, character by character, but for letters that cannot be seen."""
    visible = re.sub("[\u3164\u115f\u1160\uffa0]", "", text)
    page = f"<!doctype html><meta charset=utf-8><pre>{html.escape(text)}</pre>"
    if visible:
        assert read(page).text == visible
    else:
        with pytest.raises(DocumentRejected):
            read(page)


_SCRAPS = st.sampled_from(
    "<p> </p> <ul> <li> </ul> <ol start=-1> <table> <tr> <td rowspan=3> <td colspan=9> </table> <h2> </h2> "
    "<pre> </pre> <br> <caption> <div hidden> </div> <!-- --> &#0; &nbsp; 第一条 文 a "
    "<svg> </svg> <select> <a href".split()
)


@given(st.lists(st.one_of(_SCRAPS, st.text(string.printable, max_size=3)), max_size=40))
def test_no_markup_breaks_the_reader(parts: list[str]) -> None:
    """Any soup of tags gives a document whose blocks cover its text, or a refusal."""
    try:
        document = read(" ".join(parts))
    except DocumentRejected:
        return
    assert document.text.strip()
