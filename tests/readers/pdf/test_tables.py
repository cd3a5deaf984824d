"""Cells of tables of PDF files that span rows or columns: a label is said in each, a text once."""

from __future__ import annotations

import pytest

from wenyuan.readers.pdf.page import PrintedLine
from wenyuan.readers.pdf.tables import Table, TableCell, table_piece


def cell(*texts: str) -> TableCell:
    lines = (
        PrintedLine(text, 1, left=10.0, right=90.0, bottom=100.0 - at, height=8.0) for at, text in enumerate(texts)
    )
    return TableCell(tuple(lines))


def written(*rows: tuple[TableCell, ...]) -> str:
    edges = tuple(100.0 * at for at in range(len(rows[0]) + 1))
    piece, _ = table_piece(Table(page=1, rows=rows, edges=edges, top=200.0, bottom=0.0, ruled=True))
    return piece.text


def test_a_label_is_said_in_each_row_that_it_spans() -> None:
    """A short cell says what each of its rows is."""
    year = cell("Year 2024")
    assert written((year, cell("pumps")), (year, cell("valves"))) == "Year 2024 | pumps\nYear 2024 | valves"


@pytest.mark.parametrize("lines", [5, 12])
def test_a_text_is_said_once(lines: int) -> None:
    """A cell of many lines holds a text of its own; what is said once is not given as if it were said in each row."""
    text = cell(*(f"Line {at} of the customer" for at in range(lines)))
    shown = written((cell("Customer"), text), (cell("Order"), text), (text, text))
    assert shown.count("Line 4 of the customer") == 1
    assert shown.split("\n")[1:] == ["Order"]
