"""Tables → `Document`: XLSX, CSV and TSV. Every row is a passage of its own, an FAQ's with its question first."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from wenyuan.core.model import Document
from wenyuan.readers.archive import check_archive
from wenyuan.readers.assemble import Original, assemble, rejected, stem
from wenyuan.readers.decode import clean, decode
from wenyuan.readers.hidden_cells import Hidden, HiddenCells
from wenyuan.readers.rows import Row, row_pieces

__all__ = ["read_csv", "read_tsv", "read_xlsx", "sheets_of", "values_of"]

_MAX_CELLS = 5_000_000
_XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_DELIMITERS = ",;\t|，；"
_SAMPLE_ROWS = 20


class SheetRows(NamedTuple):
    """A sheet that holds text, and notes on what is hidden in it."""

    name: str
    rows: list[Row]
    notes: tuple[str, ...] = ()


def read_xlsx(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a workbook: one document for each visible sheet that holds text.

    A workbook with several such sheets gives each its own URI, ``…?sheet=<name>``.

    Raises:
        DocumentRejected: it is no XLSX, encrypted, unpacks to too much, or holds no text.
    """
    full, hidden = sheets_of(content, name=name, hidden_cells=False)
    notes = [f"left out the hidden sheet {sheet!r}" for sheet in hidden]
    documents = []
    for sheet, rows, left_out in full:
        pieces, remarks = row_pieces(rows, table=sheet, anchor=partial(_cell, sheet))
        documents.append(
            assemble(
                pieces,
                Original(content, f"{uri}?sheet={quote(sheet)}" if len(full) > 1 else uri, name),
                title=sheet,
                media_type=_XLSX_TYPE,
                notes=[*notes, *left_out, *remarks],
                metadata={"sheet": sheet},
            )
        )
    return tuple(documents)


def _cell(sheet: str, row: int) -> str:
    """The first cell of a row as spreadsheets open it: ``FAQ!A5``, ``'Fees 2024'!A5``."""
    plain = sheet.replace("_", "x").isalnum() and not sheet[0].isdigit()
    name = sheet if plain else "'" + sheet.replace("'", "''") + "'"
    return f"{name}!A{row}"


def sheets_of(content: bytes, *, name: str, hidden_cells: bool = True) -> tuple[list[SheetRows], list[str]]:
    """The visible sheets of a workbook that hold text, with their rows, and the names of the hidden ones.

    Args:
        hidden_cells: Whether hidden rows and columns are read; rows that a filter hides are in any case.

    Raises:
        DocumentRejected: it is no XLSX, encrypted, unpacks to too much, or holds no text.
    """
    check_archive(content, name=name, needs="xl/workbook.xml")
    import python_calamine as calamine

    try:
        with calamine.CalamineWorkbook.from_filelike(io.BytesIO(content)) as book:
            shown, hidden = _sheet_names(book, calamine.SheetVisibleEnum.Visible, calamine.SheetTypeEnum.WorkSheet)
            of_sheet = {} if hidden_cells else _hidden_cells(content, book, shown)
            sheets = [
                _sheet_rows(book.get_sheet_by_name(sheet), of_sheet.get(sheet, Hidden()), name) for sheet in shown
            ]
    except calamine.CalamineError as error:
        raise rejected(f"it is damaged or encrypted: {error}", name) from error
    except (ValueError, KeyError) as error:
        raise rejected(f"it is damaged: {error}", name) from error
    full = [sheet for sheet in sheets if sheet.rows]
    if not full:
        raise rejected("none of its visible sheets holds text", name)
    return full, hidden


def read_csv(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read comma-separated values (also with ``;``, tab, ``|`` or full-width commas, found from the rows).

    Raises:
        DocumentRejected: it is no text, a quote is never closed, or it holds no rows.
    """
    return _read_values(content, uri=uri, name=name, delimiter=None, media_type="text/csv")


def read_tsv(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read tab-separated values; see `read_csv`."""
    return _read_values(content, uri=uri, name=name, delimiter="\t", media_type="text/tab-separated-values")


def _read_values(
    content: bytes, *, uri: str, name: str, delimiter: str | None, media_type: str
) -> tuple[Document, ...]:
    rows, notes = values_of(content, name=name, delimiter=delimiter)
    table = stem(name)
    pieces, remarks = row_pieces(rows, table=table, anchor="row={}".format)  # RFC 7111
    return (
        assemble(
            pieces,
            Original(content, uri, name),
            title=table,
            media_type=media_type,
            notes=[*notes, *remarks],
        ),
    )


def values_of(content: bytes, *, name: str, delimiter: str | None = None) -> tuple[list[Row], list[str]]:
    """The rows of a text file, and notes.

    Args:
        delimiter: None to find it from the rows.

    Raises:
        DocumentRejected: it is no text, or a quote is never closed.
    """
    decoded = decode(content)
    text, cleaned = clean(decoded.text)
    try:
        rows = list(_rows_of(text, delimiter or _delimiter(text)))
    except csv.Error as error:
        raise rejected(f"it is not well-formed: {error}", name) from error
    return rows, [*decoded.notes, *cleaned]


def _rows_of(text: str, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    for number, cells in enumerate(reader, 1):
        if any(cell.strip() for cell in cells):
            yield Row(number, [cell.strip() for cell in cells], line)
        line = reader.line_num + 1


def _delimiter(text: str) -> str:
    """The one that cuts the first rows into the most columns, equally many in most rows."""

    def regularity(delimiter: str) -> tuple[float, int]:
        try:
            rows = list(itertools.islice(csv.reader(io.StringIO(text), delimiter=delimiter), _SAMPLE_ROWS))
        except csv.Error:
            return 0.0, 0
        widths = [len(row) for row in rows if row]
        if not widths or widths[0] < 2:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    best = max(_DELIMITERS, key=regularity)
    return best if regularity(best)[1] else ","


def _sheet_names(book: Any, visible: Any, worksheet: Any) -> tuple[list[str], list[str]]:
    sheets = [sheet for sheet in book.sheets_metadata if sheet.typ == worksheet]
    return (
        [sheet.name for sheet in sheets if sheet.visible == visible],
        [sheet.name for sheet in sheets if sheet.visible != visible],
    )


def _hidden_cells(content: bytes, book: Any, shown: list[str]) -> dict[str, Hidden]:
    cells = HiddenCells(content)
    parts = zip((sheet.name for sheet in book.sheets_metadata), cells.sheets, strict=True)
    return {name: cells.of(part) for name, part in parts if name in shown}


def _sheet_rows(sheet: Any, hidden: Hidden, name: str) -> SheetRows:
    if sheet.total_height * sheet.total_width > _MAX_CELLS:
        raise rejected(f"the sheet {sheet.name!r} spans more than {_MAX_CELLS:,} cells", name)
    cells = [[_shown(value) for value in row] for row in sheet.to_python(skip_empty_area=False)]
    _fill_merged(cells, sheet.merged_cell_ranges or (), hidden.columns)
    notes = _leave_out(cells, hidden)
    return SheetRows(sheet.name, [Row(number, row) for number, row in enumerate(cells, 1) if any(row)], notes)


def _leave_out(cells: list[list[str]], hidden: Hidden) -> tuple[str, ...]:
    """Empty the hidden rows and columns, so that all others keep their addresses; notes on those that held text."""
    width = max(map(len, cells), default=0)
    columns = [at for at in hidden.columns if at < width]  # all those beside a table are often hidden
    counts = {
        "row": sum(any(row) for at, row in enumerate(cells) if at in hidden.rows),
        "column": sum(any(row[at] for row in cells if at < len(row)) for at in columns),
    }
    for number, row in enumerate(cells):
        for at in range(len(row)) if number in hidden.rows else columns:
            if at < len(row):
                row[at] = ""
    return tuple(
        f"left out {count} hidden {what}{'s' if count > 1 else ''}" for what, count in counts.items() if count
    )


def _fill_merged(
    cells: list[list[str]],
    ranges: Iterable[tuple[tuple[int, int], tuple[int, int]]],
    hidden: frozenset[int],
) -> None:
    """Repeat a cell that was merged downwards in each of its rows, so that every row stands alone.

    Where its column is hidden, it is shown in the next one that it covers.
    """
    for (top, left), (bottom, right) in ranges:
        shown = next((at for at in range(left, right + 1) if at not in hidden), left)
        for row in range(top, min(bottom + 1, len(cells))):
            if max(left, shown) < len(cells[row]) and any(cells[row]):
                cells[row][shown] = cells[row][shown] or cells[top][left]


def _shown(value: object) -> str:
    """A cell's value as text: whole numbers without ``.0``, dates in ISO 8601."""
    match value:
        case bool():
            return str(value).upper()
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case datetime() if value.time() == time():
            return value.date().isoformat()
        case datetime():
            return value.isoformat(sep=" ", timespec="seconds")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
    return str(value).strip()
