"""Cells, rows and columns of workbooks that nobody sees are left out and named; what is seen is never lost."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import openpyxl
import pytest
from openpyxl.styles import Font, PatternFill

from wenyuan.core.model import Document
from wenyuan.readers.workbook import read_xlsx
from word_files import rewritten

OTHER = "Complaints need no answer at all."


def workbook(change: Callable[[Any], object], second: object = OTHER) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Question", "Answer", "Note"])
    sheet.append(["When?", second, "seen"])
    sheet.append(["Who?", "the owner", "seen"])
    change(sheet)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def read(change: Callable[[Any], object], second: object = OTHER) -> Document:
    (document,) = read_xlsx(workbook(change, second), uri="file:///a.xlsx", name="a.xlsx")
    return document


def white(sheet: Any) -> None:
    sheet["B2"].font = Font(color="FFFFFFFF")


def no_format(sheet: Any) -> None:
    sheet["B2"].number_format = ";;;"


def on_white(sheet: Any) -> None:
    white(sheet)
    sheet["B2"].fill = PatternFill("solid", fgColor="FFFFFFFF")


def on_blue(sheet: Any) -> None:
    white(sheet)
    sheet["B2"].fill = PatternFill("solid", fgColor="FF1F3864")


def in_a_table(sheet: Any) -> None:
    from openpyxl.worksheet.table import Table, TableStyleInfo

    white(sheet)
    table = Table(displayName="Fees", ref="A1:C3")
    table.tableStyleInfo = TableStyleInfo(name="TableStyleMedium9", showRowStripes=True)
    sheet.add_table(table)


@pytest.mark.parametrize("second", [OTHER, 4711])
@pytest.mark.parametrize("change", [white, no_format, on_white])
def test_a_cell_that_shows_nothing_is_left_out_and_named(change: Callable[[Any], object], second: object) -> None:
    """White on white, or in a format that shows nothing, whether it holds text or a number; its neighbours stay."""
    document = read(change, second)
    assert str(second) not in document.text
    assert "seen" in document.text
    said = "cells that do not show what they hold are left out: 1 (B2)"
    assert said in document.notes
    assert document.fidelity is not None
    assert said in document.fidelity.warnings
    assert document.fidelity.lost >= 4


@pytest.mark.parametrize("change", [lambda _: None, on_blue])
def test_a_cell_that_is_seen_is_read(change: Callable[[Any], object]) -> None:
    """White letters on a dark ground are the usual head of a table."""
    document = read(change)
    assert OTHER in document.text
    assert document.notes == ()


def test_white_text_in_a_styled_table_is_read_and_named() -> None:
    """The style of a table may lay something dark under it."""
    document = read(in_a_table)
    assert OTHER in document.text
    assert document.fidelity is not None
    assert document.fidelity.warnings == ("white text is read, since what lies under it is not known: B2",)


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        (b'<row r="2"', b'<row r="2" ht="0" customHeight="1"', "left out 1 hidden row"),
        (b"<sheetData>", b'<cols><col min="2" max="2" width="0"/></cols><sheetData>', "left out 1 hidden column"),
        (b"<sheetFormatPr", b'<sheetFormatPr zeroHeight="1"', "left out 1 hidden row"),
        (b'<row r="2"', b'<row r="2" ht="15"', ""),
    ],
)
def test_rows_and_columns_without_a_size_are_hidden(old: bytes, new: bytes, note: str) -> None:
    """A row of height 0 and a column of width 0 are as hidden as those that say so; so is a row without a height in a sheet whose rows have none."""
    content = rewritten(workbook(lambda _: None), "xl/worksheets/sheet1.xml", lambda part: part.replace(old, new))
    if b"zeroHeight" in new:
        shown = [(b'<row r="1"', b'<row r="1" ht="15"'), (b'<row r="3"', b'<row r="3" ht="15"')]
        for before, after in shown:
            content = rewritten(
                content, "xl/worksheets/sheet1.xml", lambda part, x=before, y=after: part.replace(x, y)
            )
    (document,) = read_xlsx(content, uri="file:///a.xlsx", name="a.xlsx")
    assert (OTHER in document.text) == (not note)
    assert document.notes == ((note,) if note else ())
