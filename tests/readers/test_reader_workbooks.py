"""Reading ODS, XLSM and XLS: rows as from XLSX; hidden ones left out where the format tells them."""

from __future__ import annotations

import io

import openpyxl
import pytest

from compound_files import workbook_97
from package_files import opendocument
from wenyuan.core.errors import DocumentRejected
from wenyuan.readers.workbook import read_ods, read_xls, read_xlsx


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
    assert fees.fidelity and "this format does not tell them" in fees.fidelity.warnings[0]


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
