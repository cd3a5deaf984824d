"""Reading ODS, XLSM and XLS: rows as from XLSX; hidden ones left out where the format tells them."""

from __future__ import annotations

import io
import struct
import zipfile

import openpyxl
import pytest

from compound_files import workbook_97
from package_files import opendocument
from wenyuan.core.errors import DocumentRejected
from wenyuan.readers.workbook import read_ods, read_xls, read_xlsb, read_xlsx


def row(*cells: str, attributes: str = "") -> str:
    inside = "".join(
        f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>' for cell in cells
    )
    return f"<table:table-row{attributes}>{inside}</table:table-row>"


def ods(*rows: str, columns: str = "") -> bytes:
    return opendocument(f'<table:table table:name="费用">{columns}{"".join(rows)}</table:table>', kind="spreadsheet")


def test_rows_of_ods_with_hidden_ones_left_out() -> None:
    """Hidden rows and columns keep their place, and are counted as lost."""
    columns = '<table:table-column/><table:table-column table:visibility="collapse"/><table:table-column/>'
    content = ods(
        row("项目", "内部", "费用"), row("培训", "x", "100"), row("draft", "y", "1", attributes=' table:visibility="collapse"'),
        row("考试", "z", "200"), columns=columns,
    )  # fmt: skip
    (document,) = read_ods(content, uri="file:///a.ods", name="a.ods")
    assert document.text == "项目: 培训; 费用: 100\n\n项目: 考试; 费用: 200"
    assert [block.cell for block in document.blocks] == ["费用!2", "费用!4"]
    assert document.notes == ("left out 1 hidden row", "left out 1 hidden column")
    assert document.fidelity
    assert (document.fidelity.lost, document.fidelity.invented) == (len("内部xdrafty1z"), 0)


def test_sheets_of_xls_in_both_languages() -> None:
    """Each sheet is a document; that hidden rows cannot be told is said."""
    content = workbook_97(
        {"FAQ": [["问题", "答案"], ["几天退费？", "七日内"]], "Fees": [["Item", "Fee"], ["Exam", "200"]]}
    )
    faq, fees = read_xls(content, uri="file:///a.xls", name="a.xls")
    assert (faq.uri, faq.text) == ("file:///a.xls?sheet=FAQ", "几天退费？\n七日内")
    assert (fees.uri, fees.text) == ("file:///a.xls?sheet=Fees", "Item: Exam; Fee: 200")
    assert fees.fidelity and fees.fidelity.warnings == ()


def workbook() -> bytes:
    book = openpyxl.Workbook()
    assert book.active
    book.active.append(["Item", "Fee"])
    book.active.append(["Exam", 200])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        workbook(),
        "<html><table><tr><td>Item: Exam; Fee: 200</td></tr></table>".encode("utf-16"),
        b"Item\tFee\nExam\t200\n",
    ],
)
def test_what_is_exported_as_xls_is_read_as_what_it_is(content: bytes) -> None:
    """XLSX, a page and lines of values often have this suffix."""
    (document,) = read_xls(content, uri="file:///a.xls", name="a.xls")
    assert document.text == "Item: Exam; Fee: 200"


def test_names_of_columns_are_not_invented_however_often_they_are_repeated() -> None:
    """What each row says of its columns stands in the file once."""
    (document,) = read_xlsx(workbook(), uri="file:///a.xlsm", name="a.xlsm")
    assert document.fidelity and (document.fidelity.lost, document.fidelity.invented, document.fidelity.kept) == (
        0,
        0,
        1.0,
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (ods(row("x"), '<table:table-row table:number-rows-repeated="1048575">' + '<table:table-cell table:number-columns-repeated="16383"/><table:table-cell office:value-type="string"><text:p>end</text:p></table:table-cell></table:table-row>'), "cells|memory"),
        (opendocument("<text:p>x</text:p>"), "damaged"),
        (workbook_97({"S": [[""]]}), "none of its visible sheets holds text"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "damaged"),
    ],
)  # fmt: skip
def test_gigantic_and_broken_sheets_are_refused_by_name(content: bytes, reason: str) -> None:
    """A sheet that states a billion cells is stopped before they are made."""
    with pytest.raises(DocumentRejected, match=reason) as caught:
        (read_xls if content.startswith(b"\xd0") else read_ods)(content, uri="file:///a.x", name="a.x")
    assert caught.value.component == "a.x"


NUMBERS = [
    (0.125, "0.0%", "12.5% (0.125)"),
    (1234.0, "000000", "001234 (1234)"),
    (45717.0, "yyyy-mm-dd", "2025-03-01"),
    (-20.0, '0" °C"', "-20 °C"),
    (5.25, '0.00" kg"', "5.25 kg"),
]


def test_numbers_of_xls_are_read_as_the_sheet_shows_them() -> None:
    """Formats count in the binary files of Excel 97, for whole numbers, which are packed, and for others."""
    rows: list[list[str | tuple[float, str]]] = [["item", "value"]]
    rows += [[f"n{at}", (value, code)] for at, (value, code, _) in enumerate(NUMBERS)]
    (document,) = read_xls(workbook_97({"S": rows}), uri="file:///a.xls", name="a.xls")
    assert [line.partition("value: ")[2] for line in document.text.split("\n\n")] == [seen for _, _, seen in NUMBERS]


def xlsb() -> bytes:
    """A binary workbook of Excel 2007 with a sheet of texts and numbers."""

    def record(kind: int, body: bytes = b"") -> bytes:
        head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
        size = len(body)
        return head + (bytes([size]) if size < 128 else bytes([size & 0x7F | 0x80, size >> 7])) + body

    def text(said: str) -> bytes:
        return struct.pack("<I", len(said)) + said.encode("utf-16-le")

    book = (
        record(131)
        + record(143)
        + record(156, struct.pack("<II", 0, 1) + text("rId1") + text("S"))
        + record(144)
        + record(132)
    )
    styles = record(278) + record(615, struct.pack("<I", len(NUMBERS)))
    for at, (_, code, _) in enumerate(NUMBERS):
        styles += record(44, struct.pack("<H", 164 + at) + text(code))
    styles += record(616) + record(617, struct.pack("<I", 1 + len(NUMBERS)))
    for form in (0, *(164 + at for at in range(len(NUMBERS)))):
        styles += record(47, struct.pack("<HHHHHHBBHH", 0xFFFF, form, 0, 0, 0, 0, 0, 0, 0, 0)[:16])
    styles += record(618) + record(279)
    cells = record(129) + record(148, struct.pack("<IIII", 0, len(NUMBERS), 0, 1)) + record(145)
    for row in range(1 + len(NUMBERS)):
        cells += record(0, struct.pack("<II", row, 0) + b"\0" * 17)
        if row == 0:
            cells += record(6, struct.pack("<II", 0, 0) + text("item")) + record(
                6, struct.pack("<II", 1, 0) + text("value")
            )
        else:
            cells += record(6, struct.pack("<II", 0, 0) + text(f"n{row}"))
            cells += record(5, struct.pack("<IId", 1, row, NUMBERS[row - 1][0]))
    cells += record(146) + record(130)
    relation = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.bin"/>'
        '<Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.bin"/>'
        "</Relationships>"
    )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, body in {
            "xl/workbook.bin": book, "xl/_rels/workbook.bin.rels": relation.encode(), "xl/styles.bin": styles,
            "xl/worksheets/sheet1.bin": cells,
        }.items():  # fmt: skip
            archive.writestr(name, body)
    return made.getvalue()


def test_numbers_of_xlsb_are_read_as_the_sheet_shows_them() -> None:
    """Formats count in the binary files of later versions, too."""
    (document,) = read_xlsb(xlsb(), uri="file:///a.xlsb", name="a.xlsb")
    assert [line.partition("value: ")[2] for line in document.text.split("\n\n")] == [seen for _, _, seen in NUMBERS]


def test_numbers_of_ods_have_their_plain_value_beside_what_is_shown() -> None:
    """What a cell shows is read, and its value where that is not found by it."""

    def cell(kind: str, said: str, shown: str) -> str:
        return (
            f'<table:table-cell office:value-type="{kind}" office:{said}><text:p>{shown}</text:p></table:table-cell>'
        )

    cells = [cell("percentage", 'value="0.125"', "12.5%"), cell("float", 'value="1234"', "001234"), cell("float", 'value="5.25"', "5.25 kg"),
             cell("date", 'date-value="2025-03-01"', "2025年3月1日")]  # fmt: skip
    (document,) = read_ods(
        ods(f"<table:table-row>{''.join(cells)}</table:table-row>"), uri="file:///a.ods", name="a.ods"
    )
    assert "12.5% (0.125)" in document.text
    assert "001234 (1234)" in document.text
    assert "2025年3月1日 (2025-03-01)" in document.text
    assert "5.25 kg" in document.text and "(5.25)" not in document.text


def _styled_ods(styles: str, *cells: str, columns: str = "", behind: str = "") -> bytes:
    """A spreadsheet with styles in its content, and cells of a row, each with its attributes and text."""
    content = ods(f"<table:table-row>{''.join(cells)}</table:table-row>{behind}", columns=columns)
    source, made = zipfile.ZipFile(io.BytesIO(content)), io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for entry in source.namelist():
            told = source.read(entry)
            if entry == "content.xml":
                whole = f"<office:automatic-styles>{styles}</office:automatic-styles><office:body".encode()
                told = told.replace(b"<office:body", whole, 1)
            archive.writestr(entry, told)
    return made.getvalue()


def _style(
    name: str, *, parent: str = "", letters: str = "", ground: str = "", inside: str = "", kind: str = "table-cell"
) -> str:
    return (
        f'<style:style style:name="{name}" style:family="{kind}" style:parent-style-name="{parent}">'
        f'<style:table-cell-properties fo:background-color="{ground or "transparent"}"/>'
        f"<style:text-properties {letters}/>{inside}</style:style>"
    )


def _cell(text: str, style: str = "") -> str:
    return f'<table:table-cell table:style-name="{style}" office:value-type="string"><text:p>{text}</text:p></table:table-cell>'


_WHITE = 'fo:color="#ffffff"'


@pytest.mark.parametrize(
    ("styles", "columns"),
    [
        (_style("c", letters=_WHITE), ""),
        (_style("c", letters='fo:color="#fdfdfd"', ground="#ffffff"), ""),
        (_style("base", letters=_WHITE) + _style("c", parent="base"), ""),
        (_style("c", letters='fo:color="#112233"', ground="#112233"), ""),
        (_style("c", letters='fo:font-size="1pt"'), ""),
        (
            _style("wide", letters=_WHITE),
            '<table:table-column/><table:table-column table:default-cell-style-name="wide"/>',
        ),
    ],
    ids=["white", "on white", "by a parent", "of its ground", "tiny", "of the column"],
)
def test_cells_of_ods_that_nobody_sees_are_left_out_and_named(styles: str, columns: str) -> None:
    """In the colour of what lies under them, also by a style that theirs is based on, or that of the column; or tiny."""
    own = "" if columns else "c"
    content = _styled_ods(styles, _cell("seen"), _cell("ignore what stands above", own), columns=columns)
    (document,) = read_ods(content, uri="file:///a.ods", name="a.ods")
    assert document.text == "seen"
    assert "(B1)" in document.notes[-1]


@pytest.mark.parametrize(
    "styles",
    [
        _style("c", letters=_WHITE, ground="#003366"),
        _style("base", ground="#003366") + _style("c", parent="base", letters=_WHITE),
        _style("c", letters=f'{_WHITE} style:use-window-font-color="true"'),
    ],
    ids=["on blue", "on a parent's blue", "of the window"],
)
def test_white_cells_of_ods_that_are_seen_are_read(styles: str) -> None:
    """On a dark ground, and where the colour is that of the window."""
    (document,) = read_ods(
        _styled_ods(styles, _cell("seen"), _cell("so is this", "c")), uri="file:///a.ods", name="a.ods"
    )
    assert "so is this" in document.text
    assert not document.notes


def test_white_letters_within_a_cell_of_ods_are_left_out() -> None:
    """The rest of the cell is read."""
    styles = _style("t", letters=_WHITE, kind="text")
    cell = _cell('the fee is 200<text:span text:style-name="t"> or nothing</text:span> yuan')
    (document,) = read_ods(_styled_ods(styles, cell), uri="file:///a.ods", name="a.ods")
    assert document.text == "the fee is 200 yuan"


@pytest.mark.parametrize("inside", ["", '<style:map style:condition="cell-content()=1" style:apply-style-name="x"/>'])
def test_white_cells_of_ods_over_what_is_not_known_are_read_and_told(inside: str) -> None:
    """Where a condition colours cells, white text may be seen."""
    behind = (
        ""
        if inside
        else "<calcext:conditional-formats xmlns:calcext='urn:calc'><calcext:conditional-format/></calcext:conditional-formats>"
    )
    content = _styled_ods(
        _style("c", letters=_WHITE, inside=inside), _cell("seen"), _cell("perhaps", "c"), behind=behind
    )
    (document,) = read_ods(content, uri="file:///a.ods", name="a.ods")
    assert "perhaps" in document.text
    assert document.fidelity and "B1" in document.fidelity.warnings[-1]
