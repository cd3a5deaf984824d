"""Tables → `Document`: XLSX, CSV and TSV. Every row is a passage of its own, an FAQ's with its question first."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import quote

from wenyuan.core.model import Document
from wenyuan.readers.archive import check_archive
from wenyuan.readers.assemble import Original, assemble, rejected, stem
from wenyuan.readers.decode import clean, decode
from wenyuan.readers.rows import Row, row_pieces

__all__ = ["read_csv", "read_tsv", "read_xlsx", "sheets_of", "values_of"]

_MAX_CELLS = 5_000_000
_XLSX_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_DELIMITERS = ",;\t|，；"
_SAMPLE_ROWS = 20


def read_xlsx(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a workbook: one document for each visible sheet that holds text.

    A workbook with several such sheets gives each its own URI, ``…?sheet=<name>``.

    Raises:
        DocumentRejected: it is no XLSX, encrypted, unpacks to too much, or holds no text.
    """
    full, hidden = sheets_of(content, name=name)
    notes = [f"left out the hidden sheet {sheet!r}" for sheet in hidden]
    documents = []
    for sheet, rows in full:
        pieces, remarks = row_pieces(rows, table=sheet)
        documents.append(
            assemble(
                pieces,
                Original(content, f"{uri}?sheet={quote(sheet)}" if len(full) > 1 else uri, name),
                title=sheet,
                media_type=_XLSX_TYPE,
                notes=[*notes, *remarks],
                metadata={"sheet": sheet},
            )
        )
    return tuple(documents)


def sheets_of(content: bytes, *, name: str) -> tuple[list[tuple[str, list[Row]]], list[str]]:
    """The visible sheets of a workbook that hold text, with their rows, and the names of the hidden ones.

    Raises:
        DocumentRejected: it is no XLSX, encrypted, unpacks to too much, or holds no text.
    """
    check_archive(content, name=name, needs="xl/workbook.xml")
    import python_calamine as calamine

    try:
        with calamine.CalamineWorkbook.from_filelike(io.BytesIO(content)) as book:
            shown, hidden = _sheet_names(book, calamine.SheetVisibleEnum.Visible, calamine.SheetTypeEnum.WorkSheet)
            sheets = [(sheet, _sheet_rows(book.get_sheet_by_name(sheet), name)) for sheet in shown]
    except calamine.CalamineError as error:
        raise rejected(f"it is damaged or encrypted: {error}", name) from error
    full = [(sheet, rows) for sheet, rows in sheets if rows]
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
    pieces, remarks = row_pieces(rows, table=table)
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


def _sheet_rows(sheet: Any, name: str) -> list[Row]:
    if sheet.total_height * sheet.total_width > _MAX_CELLS:
        raise rejected(f"the sheet {sheet.name!r} spans more than {_MAX_CELLS:,} cells", name)
    cells = [[_shown(value) for value in row] for row in sheet.to_python(skip_empty_area=False)]
    _fill_merged(cells, sheet.merged_cell_ranges or ())
    return [Row(number, row) for number, row in enumerate(cells, 1) if any(row)]


def _fill_merged(cells: list[list[str]], ranges: Iterable[tuple[tuple[int, int], tuple[int, int]]]) -> None:
    """Repeat a cell that was merged downwards in each of its rows, so that every row stands alone."""
    for (top, left), (bottom, _) in ranges:
        for row in range(top + 1, min(bottom + 1, len(cells))):
            if left < len(cells[row]) and any(cells[row]):
                cells[row][left] = cells[row][left] or cells[top][left]


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
