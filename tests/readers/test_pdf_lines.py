"""Where the lines of a PDF stand on its pages, and how many of its characters were read."""

from __future__ import annotations

import pytest

from pdf_files import Line, make_pdf
from wenyuan.core.model import Document
from wenyuan.readers.assemble import Original, Piece
from wenyuan.readers.pdf.paragraphs import paragraphs
from wenyuan.readers.pdf.reader import document_of, flowing, read_pdf
from wenyuan.readers.pdf.recognised_page import printed

_PAGE: list[Line] = [
    (72, 700, "The knowledge service answers with fragments that are exam-"),
    (72, 686, "ined, each of them with an address and the hash of its text."),
    (72, 600, "Another paragraph."),
]


def read(content: bytes) -> Document:
    (document,) = read_pdf(content, uri="file:///a.pdf", name="a.pdf")
    return document


def told(document: Document) -> list[tuple[int, str]]:
    return [(line.page, document.text[line.start : line.end]) for line in document.lines]


def test_each_printed_line_has_its_words_its_page_and_its_place() -> None:
    """Offsets follow the joining of lines: the hyphen that was undone is on no line."""
    document = read(make_pdf([_PAGE, [(72, 100, "Last page.")]]))
    assert told(document) == [
        (1, "The knowledge service answers with fragments that are exam"),
        (1, "ined, each of them with an address and the hash of its text."),
        (1, "Another paragraph."),
        (2, "Last page."),
    ]
    left, top, right, bottom = document.lines[0].box
    assert left == pytest.approx(72 / 595, abs=0.01)
    assert top < 1 - 700 / 842 < bottom
    assert left < right <= 1
    assert {line.confidence for line in document.lines} == {None}


def test_lines_follow_what_is_cleaned_out_of_the_text() -> None:
    """A character that cannot be seen leaves the text, and the offsets behind it move."""
    page: list[Line] = [(72, 700, "知识\u200b服务\u200b提供依据"), (72, 500, "另一段\u200b文字")]
    document = read(make_pdf([page], chinese=True))
    assert told(document) == [(1, "知识服务提供依据"), (1, "另一段文字")]


def test_characters_are_counted_on_both_sides() -> None:
    """What was taken out of the text, running heads but for the first included, is lost; nothing is invented by joining lines."""
    pages: list[list[Line]] = [
        [(72, 810, "ACME Safety Manual"), (72, 700, f"Text {at}.")] for at in ("one", "two", "three")
    ]
    fidelity = read(make_pdf(pages)).fidelity
    assert fidelity is not None
    assert (fidelity.pages, fidelity.ocr_pages, fidelity.invented) == (3, 0, 0)
    assert fidelity.lost == 2 * len("ACMESafetyManual")
    assert fidelity.warnings == ("running heads, feet and page numbers are left out (32 characters)",)
    assert fidelity.source_characters == fidelity.read_characters + fidelity.lost
    whole = read(make_pdf([_PAGE])).fidelity
    assert whole is not None
    assert whole.lost == 1  # the hyphen


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_turned_page_has_its_lines_where_they_are_shown(turn: int) -> None:
    """The place is that on the page as it is shown: a turned one has its first line at another edge."""
    content = make_pdf([[(72, 700, "Only line")]]).replace(b"/Type /Page ", b"/Type /Page /Rotate %d " % turn)
    (line,) = read(content).lines
    middle = (line.box[0] + line.box[2]) / 2, (line.box[1] + line.box[3]) / 2
    across, down = 97 / 595, 1 - 704 / 842
    expected = {0: (across, down), 90: (1 - down, across), 180: (1 - across, 1 - down), 270: (down, 1 - across)}
    assert middle == pytest.approx(expected[turn], abs=0.03)


def test_lines_that_run_upwards_are_joined_as_others_are() -> None:
    """Text that is set sideways on an upright page is read in its own direction, and marked where it is shown."""
    content = make_pdf([_PAGE]).replace(b"1 0 0 1 72 700 Tm", b"0 1 -1 0 200 72 Tm")
    content = content.replace(b"1 0 0 1 72 686 Tm", b"0 1 -1 0 214 72 Tm").replace(
        b"1 0 0 1 72 600 Tm", b"0 1 -1 0 300 72 Tm"
    )
    document = read(content)
    assert [document.text[block.start : block.end] for block in document.blocks] == [
        "The knowledge service answers with fragments that are examined, each of them with an address and the hash "
        "of its text.",
        "Another paragraph.",
    ]
    left, top, right, bottom = document.lines[0].box
    assert right - left < 0.04 < 0.3 < bottom - top
    assert bottom == pytest.approx(1 - 72 / 842, abs=0.01)


def test_recognised_lines_become_paragraphs_as_printed_ones_do() -> None:
    """Lines that were recognised in an image take the place of a text layer, and keep how sure each character is."""
    rows = [
        [
            {
                "text": text,
                "sure": [0.9] * len(text),
                "box": [0.1, top, 0.9, top + 0.02],
                "place": [60, 842 * top, 535, 842 * top + 17],
            }
        ]
        for text, top in (("为了规范知识服务的管理，提高检索的准确性和可核", 0.20), ("查性，制定本办法。", 0.23))
    ]
    page = printed({"size": [595, 842], "upright": 0, "rows": rows}, 1)
    (paragraph,) = paragraphs(page.lines)
    assert paragraph.text == "为了规范知识服务的管理，提高检索的准确性和可核查性，制定本办法。"
    assert [line.confidence for line in paragraph.lines] == [pytest.approx(0.9)] * 2
    assert paragraph.printed[1][2].sure == (0.9,) * 9


def test_a_number_that_was_not_read_surely_is_marked_even_where_its_line_has_no_place() -> None:
    """A line off the page that is shown has no box on it; its digits are no surer for that."""
    row = [
        {
            "text": "第13条",
            "sure": [0.99, 0.5, 0.99, 0.99],
            "box": [0.0, 0.2, 0.0, 0.22],
            "place": [-80, 168, -2, 185],
        }
    ]
    page = printed({"size": [595, 842], "upright": 0, "rows": [row]}, 1)
    document = document_of(
        [page], Original(b"x", "file:///a.png", "a.png"), media_type="image/png", notes=(), metadata={}
    )
    assert [(document.text[one.start : one.end], one.kind) for one in document.uncertain] == [("第13条", "clause")]


def _recognised(rows: list[list[tuple[float, float, str]]]) -> list[Piece]:
    """What was recognised row by row, as its blocks: left, right and text; boxes are a little higher on every other row."""
    told = [
        [
            {"text": text, "sure": [0.99] * len(text),
             "place": (left, 100 + 16 * at, right, 112 + 16 * at + at % 2),
             "box": (left / 595, (100 + 16 * at) / 842, right / 595, (112 + 16 * at) / 842)}
            for left, right, text in row
        ]
        for at, row in enumerate(rows)
    ]  # fmt: skip
    page = printed({"size": (595.0, 842.0), "rows": told}, 1)
    return flowing([page], [page.lines]).pieces


def test_columns_and_tables_are_found_among_recognised_lines() -> None:
    """As among printed ones: nothing but their places tells."""
    left = ["The first column tells how it is", "asked and what it answers when", "nothing was found that would fit",
            "and goes on in the second column"]  # fmt: skip
    right = ["which is read after it and tells", "the day on which a source is read", "by whom it is looked after and in",
             "which list all of them are named"]  # fmt: skip
    (piece,) = _recognised([[(60, 250, a), (320, 510, b)] for a, b in zip(left, right, strict=True)])
    assert piece.text == " ".join(left + right)
    rows = [["姓名", "部门", "电话"], ["张三", "法务部", "010-1"], ["李四", "行政部", "010-2"]]
    (piece,) = _recognised(
        [[(60 + 150 * at, 60 + 150 * at + 12 * len(text), text) for at, text in enumerate(row)] for row in rows]
    )
    assert (piece.kind, piece.text) == ("table", "姓名 | 部门 | 电话\n张三 | 法务部 | 010-1\n李四 | 行政部 | 010-2")
    assert [line.confidence for line in piece.lines] == [pytest.approx(0.99, abs=0.01)] * 9
