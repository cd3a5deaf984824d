"""The layout of printed pages: columns, tables with and without rules, footnotes, hyphens; and geometry that is hostile."""

from __future__ import annotations

import pytest

from pdf_files import Line, grid, make_pdf, rules
from wenyuan.core.model import Document
from wenyuan.readers.pdf.reader import read_pdf

_LEFT = [
    "The first column tells how a service is",
    "asked, and what it answers when nothing",
    "was found that fits. Whoever reads it",
    "goes on below, since a column is read to",
    "its end before the next one is begun and",
]  # fmt: skip
_RIGHT = [
    "that is why this line follows the first",
    "column and not the line beside it. Here",
    "the sources are named one by one, each",
    "with the day on which it was read, and",
    "all of them can be looked up in a list.",
]  # fmt: skip


def read(content: bytes) -> Document:
    (document,) = read_pdf(content, uri="file:///a.pdf", name="a.pdf")
    return document


def texts(document: Document) -> list[str]:
    return [document.text[block.start : block.end] for block in document.blocks]


def columns(left: list[str], right: list[str], *, by_rows: bool, top: int = 700) -> list[Line]:
    """Two columns of lines, written column by column or row by row."""
    first: list[Line] = [(60, top - 14 * at, text) for at, text in enumerate(left)]
    second: list[Line] = [(320, top - 14 * at, text) for at, text in enumerate(right)]
    return [line for pair in zip(first, second, strict=True) for line in pair] if by_rows else first + second


@pytest.mark.parametrize("by_rows", [False, True])
def test_two_columns_are_read_one_after_the_other(by_rows: bool) -> None:
    """Whatever order the file has them in; a title over both comes first, what stands below both comes last."""
    page: list[Line] = [
        (60, 740, "A title that goes over both of the columns of this page and is long", 12),
        *columns(_LEFT, _RIGHT, by_rows=by_rows),
        (60, 560, "A line below that goes over both of the columns of this page, and is long.", 12),
    ]
    first, body, last = texts(read(make_pdf([page])))
    assert first.startswith("A title") and last.startswith("A line below")
    assert body == " ".join(_LEFT + _RIGHT)


@pytest.mark.parametrize("by_rows", [False, True])
def test_chinese_columns_are_read_one_after_the_other(by_rows: bool) -> None:
    """So are those of a Chinese page, joined without spaces."""
    left = ["知识服务是指向智能体提供可核查", "依据的服务。其内容由所有者负责", "并且更新到最近的版本，检索结果",
            "附有来源和日期，使用者可以逐条", "核对。本办法适用于各级机关和各"]  # fmt: skip
    right = ["类事业单位的知识服务活动，法律", "和行政法规另有规定的，从其规定", "执行。各单位应当指定专人负责知",
             "识服务的日常管理，并按年度公布", "检查的结果，接受社会各界的监督"]  # fmt: skip
    page = columns(left, right, by_rows=by_rows)
    assert texts(read(make_pdf([page], chinese=True))) == ["".join(left + right)]


def test_a_wide_title_is_no_measure_of_a_column_and_a_heading_below_both_comes_last() -> None:
    """Lines that fill their column are one paragraph, whatever stands above; what goes over both begins with its heading."""
    page: list[Line] = [
        (60, 722, "A title that is much wider than the first of the two columns, set above both", 12),
        *columns(_LEFT, _RIGHT, by_rows=False),
        (60, 610, "The heading below", 12),
        (60, 580, "A line below that goes over both of the columns of this page, and is long.", 12),
    ]
    found = texts(read(make_pdf([page])))
    assert found[1] == " ".join(_LEFT + _RIGHT)
    assert " ".join(found[2:]).startswith("The heading below A line below")


def test_cells_of_a_table_may_stand_close_in_a_row() -> None:
    """Where other rows have clear space between two columns, a narrow one is enough."""
    rows = [
        ("Item", "Price", "Remark"),
        ("Tea", "3.50", "hot"),
        ("Coffees", "4.20", "cold"),
        ("Cake", "5.00", "sweet"),
    ]
    page: list[Line] = [
        (x, 700 - 20 * at, text) for at, row in enumerate(rows) for x, text in zip((60, 113, 180), row, strict=True)
    ]
    assert texts(read(make_pdf([page]))) == ["\n".join(map(" | ".join, rows))]


def test_a_ruled_table_is_a_table_and_merged_cells_are_repeated() -> None:
    """Cells are what lies between the rules; one that covers several columns or rows stands in each of them."""
    xs, ys = [60.0, 160.0, 260.0, 360.0], [700.0, 680.0, 660.0, 640.0, 620.0]
    drawn = rules(
        *((x, 620, x, 700) for x in (60, 160, 360)), (260, 620, 260, 680),
        *((60, y, 360, y) for y in (700, 660, 640, 620)), (160, 680, 360, 680),
    )  # fmt: skip
    cells: list[Line] = [
        (64, 675, "部门"), (200, 685, "人数"), (164, 665, "2023年"), (264, 665, "2024年"),
        (64, 645, "法务部"), (164, 645, "12"), (264, 645, "15"), (64, 625, "行政部"), (264, 625, "9"),
    ]  # fmt: skip
    page = [(60, 740, "各部门的人数见下表："), *cells, (60, 590, "以上数字截至年末。")]
    document = read(make_pdf([page], chinese=True, drawn=[drawn]))
    assert texts(document) == [
        "各部门的人数见下表：",
        "部门 | 人数 | 人数\n部门 | 2023年 | 2024年\n法务部 | 12 | 15\n行政部 | – | 9",
        "以上数字截至年末。",
    ]
    assert [block.kind for block in document.blocks] == ["paragraph", "table", "paragraph"]
    assert document.fidelity is not None
    assert (document.fidelity.tables, document.fidelity.lost, document.fidelity.invented) == (1, 0, 0)
    told = [document.text[line.start : line.end] for line in document.lines]
    assert told.count("人数") == 2 and told.count("法务部") == 1
    assert len(xs) == 4 and len(ys) == 5


def test_words_that_run_over_a_rule_are_cut_there() -> None:
    """Cells whose words stand so close that they are one line of print are still two."""
    drawn = grid([60, 120, 180], [700, 680, 660])
    cells: list[Line] = [(62, 685, "甲乙丙丁"), (122, 685, "一二三四"), (62, 665, "金木"), (122, 665, "水火")]
    assert texts(read(make_pdf([cells], chinese=True, drawn=[drawn]))) == ["甲乙丙丁 | 一二三四\n金木 | 水火"]


def test_wrapped_cells_and_rows_without_rules_between() -> None:
    """Lines in a cell that had to be broken are one text; where no line had to be, each is a row of its own."""
    wrapped: list[Line] = [
        (64, 686, "Name"), (204, 686, "Duty"), (64, 666, "Legal"), (204, 666, "answers all questions of"),
        (204, 652, "the other departments"), (64, 632, "Sales"), (204, 632, "sells"),
    ]  # fmt: skip
    drawn = grid([60, 200, 345], [700, 680, 646, 626])
    assert texts(read(make_pdf([wrapped], drawn=[drawn]))) == [
        "Name | Duty\nLegal | answers all questions of the other departments\nSales | sells"
    ]
    loose: list[Line] = [
        (64, 686, "Name"), (204, 686, "Rooms"), (64, 666, "Ann"), (204, 666, "12"), (64, 652, "Ben"), (204, 652, "7"),
        (64, 638, "Cy"), (204, 638, "31"),
    ]  # fmt: skip
    drawn = grid([60, 200, 345], [700, 680, 630])
    assert texts(read(make_pdf([loose], drawn=[drawn]))) == ["Name | Rooms\nAnn | 12\nBen | 7\nCy | 31"]


def test_a_table_without_rules_is_found_by_its_columns() -> None:
    """Words that stand under each other, with clear space between; a cell may have a second line, a header two columns."""
    page: list[Line] = [
        (60, 700, "The numbers of guests are these:"),
        (200, 670, "Guests in the year"),
        (60, 655, "House"), (200, 655, "2023"), (280, 655, "2024"),
        (60, 635, "Seaview"), (200, 635, "120"), (280, 635, "135"),
        (60, 615, "Mountain"), (200, 615, "80"), (280, 615, "91"),
        (60, 601, "Inn"),
        (60, 581, "Station"), (200, 581, "300"), (280, 581, "288"),
        (60, 540, "They were counted at the end of each month by the houses themselves."),
    ]  # fmt: skip
    found = texts(read(make_pdf([page])))
    table = next(text for text in found if "|" in text)
    assert "House | 2023 | 2024\nSeaview | 120 | 135\n" in table
    assert table.endswith("Station | 300 | 288")
    assert found[-1].startswith("They were counted")
    rows = [["姓名", "部门", "电话"], ["张三", "法务部", "010-1"], ["李四", "行政部", "010-2"]]
    chinese: list[Line] = [
        (72 + 150 * j, 700 - 20 * i, text) for i, row in enumerate(rows) for j, text in enumerate(row)
    ]
    assert texts(read(make_pdf([chinese], chinese=True))) == [
        "姓名 | 部门 | 电话\n张三 | 法务部 | 010-1\n李四 | 行政部 | 010-2"
    ]


def test_lists_and_tables_of_contents_are_no_tables() -> None:
    """A mark before a text makes no column, and numbers of pages after dots make none."""
    listed: list[Line] = [
        line
        for at in range(4)
        for line in ((60, 700 - 20 * at, f"{at + 1}."), (90, 700 - 20 * at, f"Point {'abcd'[at]} of the list."))
    ]
    contents: list[Line] = [
        (60, 500 - 20 * at, f"{at + 1} Chapter {'abcd'[at]} . . . . . . . . . . . . . . . . {at}") for at in range(4)
    ]
    assert not any("|" in text for text in texts(read(make_pdf([listed + contents]))))


@pytest.mark.parametrize("again", [False, True])
def test_a_table_that_goes_on_on_the_next_page_is_one(again: bool) -> None:
    """Its header stands above both parts, whether it is printed again or not; the second part knows its page."""
    head: list[list[str]] = [["House", "Guests"]]
    first, second = [["Seaview", "120"], ["Station", "300"]], [["Mountain", "80"]]
    pages, drawn = [], []
    for rows, top in ((head + first, 120.0), (head * again + second, 780.0)):
        lines: list[Line] = [
            (64 + 140 * j, int(top) - 14 - 20 * i, text) for i, row in enumerate(rows) for j, text in enumerate(row)
        ]
        pages.append(lines)
        drawn.append(grid([60, 200, 345], [top - 20 * i for i in range(len(rows) + 1)]))
    pages[0].insert(0, (60, 700, "The guests of the houses are these:"))
    pages[1].append((60, 600, "They were counted by the houses."))
    document = read(make_pdf(pages, drawn=drawn))
    table = document.blocks[1]
    assert texts(document)[1] == "House | Guests\nSeaview | 120\nStation | 300\nHouse | Guests\nMountain | 80"
    assert table.page == 1
    assert [anchor for _, anchor in table.inner] == ["page=2"]
    assert document.fidelity is not None
    assert (document.fidelity.tables, document.fidelity.invented) == (1, 0)


def test_footnotes_come_after_the_paragraph_that_goes_on_over_the_page() -> None:
    """They do not stand in the middle of a sentence, and the sentence is whole."""
    first: list[Line] = [
        (60, 700, "The service names the source of every answer1 and the day on which it was"),
        (60, 90, "1 A source is what someone is responsible for.", 9),
        (60, 78, "2 See the list at the end.", 9),
    ]
    second: list[Line] = [
        (60, 760, "last read, so that whoever doubts it can look it up2 without any help."),
        (60, 700, "It ends."),
    ]
    assert texts(read(make_pdf([first, second]))) == [
        "The service names the source of every answer1 and the day on which it was last read, so that whoever doubts "
        "it can look it up2 without any help.",
        "1 A source is what someone is responsible for.",
        "2 See the list at the end.",
        "It ends.",
    ]


def test_footnotes_below_a_rule_may_be_as_large_as_the_text() -> None:
    """A short rule at the left parts them; Chinese notes have marks of their own."""
    first: list[Line] = [
        (60, 700, "本办法所称的知识服务①，是指向智能体提供可核查依据的并且"),
        (60, 90, "①服务包括检索和核对。"),
    ]
    second: list[Line] = [(60, 760, "由所有者负责的服务。")]
    assert texts(read(make_pdf([first, second], chinese=True, drawn=[rules((60, 108, 160, 108)), b""]))) == [
        "本办法所称的知识服务①，是指向智能体提供可核查依据的并且由所有者负责的服务。",
        "①服务包括检索和核对。",
    ]


def test_a_hyphen_that_belongs_to_its_word_stays() -> None:
    """A word that is written with it elsewhere keeps it at a line's end; one that is written without loses it."""
    page: list[Line] = [
        (60, 700, "The well-known service is known for its long and for its well-"),
        (60, 686, "known answers, of which the knowledge of the service and of knowl-"),
        (60, 672, "edge is a part."),
    ]
    (text,) = texts(read(make_pdf([page])))
    assert "its well-known answers" in text and "of knowledge is a part" in text


def test_a_page_with_more_drawings_than_are_looked_at_is_read_without_them() -> None:
    """A hundred thousand objects cost no more than some, and the record says so."""
    page: list[Line] = [(60, 700, "Text of a map."), (60, 640, "More text.")]
    document = read(make_pdf([page], drawn=[rules((10, 10, 20, 20)) * 1 + b" 5 5 m 6 6 l S" * 100_000]))
    assert texts(document) == ["Text of a map.", "More text."]
    assert document.fidelity is not None
    assert [warning for warning in document.fidelity.warnings if "pages 1" in warning]


@pytest.mark.parametrize(
    "drawn",
    [
        grid([60.0 + at for at in range(0, 480, 2)], [700.0 - at for at in range(0, 480, 2)]),
        grid([60, 60, 60], [700, 700]),
        b"q 1 0 0 0 0 0 cm 60 60 100 100 re S Q",
        b"-1e30 -1e30 1e31 1e31 re S 0 0 0 0 re f",
    ],
)
def test_strange_drawings_leave_the_text_as_it_is(drawn: bytes) -> None:
    """Grids without cells, areas without size and coordinates beyond all bounds."""
    page: list[Line] = [(60, 720, "Text that stands above."), (60, 100, "Text that stands below.")]
    assert sorted(texts(read(make_pdf([page], drawn=[drawn])))) == [
        "Text that stands above.",
        "Text that stands below.",
    ]
