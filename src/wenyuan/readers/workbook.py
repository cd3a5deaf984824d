"""XLSX, XLSM, XLSB, XLS and ODS to one `Document` for each visible sheet; hidden rows and columns left out."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from wenyuan.core.addresses import with_part
from wenyuan.core.errors import msg
from wenyuan.core.model import Document
from wenyuan.readers.assemble import Original, assemble, rejected, stem
from wenyuan.readers.container_check import check_archive
from wenyuan.readers.delimited import read_csv
from wenyuan.readers.hidden_cells import Hidden, HiddenCells
from wenyuan.readers.html import read_html
from wenyuan.readers.ods_tables import tables_of_ods
from wenyuan.readers.packages import transitional
from wenyuan.readers.table import Row, names_repeated, row_pieces
from wenyuan.readers.text import measured
from wenyuan.readers.xls_cells import shown_of_xls
from wenyuan.readers.xlsb_cells import shown_of_xlsb
from wenyuan.readers.xlsx_cells import ShownCells

# Finds hidden rows and columns of a sheet in the workbook's XML, since the cell parser does not report them.
#
# It is read piece by piece, and only after `container_check.check_archive`, which bounds what it unpacks to.


# Of OpenDocument: rows and columns are listed in order, each with how often it is repeated, as are cells.


_MAX_CELLS = 5_000_000
_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_XLSB = "application/vnd.ms-excel.sheet.binary.macroEnabled.12"
_XLS = "application/vnd.ms-excel"
_ODS = "application/vnd.oasis.opendocument.spreadsheet"

Hiding = Callable[[bytes, str], Callable[[Any, Sequence[str]], Mapping[str, tuple[Hidden, ShownCells | None]]]]
"""What looks at a file, its bytes and its name, before its cells are read; and then finds the hidden rows and columns, and what cells show, by
the name of the sheet: of the workbook, and of the sheets that are shown."""


class SheetRows(NamedTuple):
    """A sheet with text, and notes on its hidden parts.

    Attributes:
        own: All text of its cells, hidden ones included.
        repeated: Merged cells, as often as they are repeated.
    """

    name: str
    rows: list[Row]
    notes: tuple[str, ...] = ()
    own: str = ""
    repeated: str = ""
    warnings: tuple[str, ...] = ()


def read_xlsx(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a workbook: one document for each visible sheet that holds text. Its macros are never run.

    A workbook with several such sheets gives each its own URI, ``…?sheet=<name>``.

    Raises:
        DocumentRejected: it is no XLSX, encrypted, unpacks to too much, or holds no text.
    """
    return _documents(sheets_of(content, name=name, hiding=_hidden_of_xlsx), Original(content, uri, name), _XLSX)


def read_ods(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read an OpenDocument spreadsheet; see `read_xlsx`."""
    found = sheets_of(content, name=name, needs="content.xml", hiding=_hidden_of_ods)
    return _documents(found, Original(content, uri, name), _ODS)


def read_xlsb(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a binary workbook of Excel 2007 and later; see `read_xlsx`."""
    found = sheets_of(content, name=name, needs="xl/workbook.bin", hiding=_told_by(shown_of_xlsb))
    return _documents(found, Original(content, uri, name), _XLSB)


def read_xls(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a workbook of Excel 97 to 2003; see `read_xlsx`.

    What many programs export under this name is read as what it is: XLSX, a page with a table, or lines of values.
    """
    if content.startswith(b"PK"):
        return read_xlsx(content, uri=uri, name=name)
    if not content.startswith(b"\xd0\xcf\x11\xe0"):
        page = b"<" in content[:1_024].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")[:1]
        return (read_html if page else read_csv)(content, uri=uri, name=name)
    found = sheets_of(content, name=name, needs="", hiding=_told_by(shown_of_xls))
    return _documents(found, Original(content, uri, name), _XLS)


def _documents(found: tuple[list[SheetRows], list[str]], original: Original, media_type: str) -> tuple[Document, ...]:
    full, hidden = found
    notes = [f"left out the hidden sheet {sheet!r}" for sheet in hidden]
    documents = []
    for sheet, rows, left_out, own, repeated, told in full:
        pieces, remarks = row_pieces(rows, table=sheet, anchor=partial(_cell, sheet))
        uri = with_part(original.uri, f"sheet={quote(sheet)}") if len(full) > 1 else original.uri
        document = assemble(
            pieces,
            Original(original.content, uri, original.name),
            title=sheet if len(full) > 1 else stem(original.name),
            media_type=media_type,
            notes=[*notes, *left_out, *remarks],
            metadata={"sheet": sheet},
        )
        documents.append(measured(document, own, added=[repeated, *names_repeated(rows)], pages=1, warnings=told))
    return tuple(documents)


def _cell(sheet: str, row: int) -> str:
    """Address of a row's first cell in spreadsheet notation: ``FAQ!A5``, ``'Fees 2024'!A5``."""
    plain = sheet.replace("_", "x").isalnum() and not sheet[0].isdigit()
    name = sheet if plain else "'" + sheet.replace("'", "''") + "'"
    return f"{name}!A{row}"


def sheets_of(
    content: bytes, *, name: str, needs: str = "xl/workbook.xml", hiding: Hiding | None = None
) -> tuple[list[SheetRows], list[str]]:
    """The visible sheets with text and their rows, and the names of the hidden sheets.

    Args:
        needs: The entry that makes a ZIP container this kind of workbook; ``""`` for a file that is none.
        hiding: What finds hidden rows and columns, which are left out then; rows that a filter hides are read in any case.

    Raises:
        DocumentRejected: it is no such workbook, encrypted, unpacks to too much, or holds no text.
    """
    if needs:
        check_archive(content, name=name, needs=needs)
        content = transitional(content)
    import python_calamine as calamine

    try:
        hides = hiding(content, name) if hiding else None
        with calamine.CalamineWorkbook.from_filelike(io.BytesIO(content)) as book:
            shown, hidden = _sheet_names(book, calamine.SheetVisibleEnum.Visible, calamine.SheetTypeEnum.WorkSheet)
            of_sheet = hides(book, shown) if hides else {}
            sheets = [
                _sheet_rows(book.get_sheet_by_name(sheet), of_sheet.get(sheet, (Hidden(), None)), name)
                for sheet in shown
            ]
    except calamine.CalamineError as error:
        raise rejected(msg("it is damaged or encrypted: {error}", error=error), name) from error
    except (ValueError, KeyError) as error:
        raise rejected(msg("it is damaged: {error}", error=error), name) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of calamine, over what it did not expect
            raise
        raise rejected(msg("it is damaged: {error}", error=error), name) from error
    full = [sheet for sheet in sheets if sheet.rows]
    if not full:
        raise rejected("none of its visible sheets holds text", name)
    return full, hidden


def _sheet_names(book: Any, visible: Any, worksheet: Any) -> tuple[list[str], list[str]]:
    sheets = [sheet for sheet in book.sheets_metadata if sheet.typ == worksheet]
    return (
        [sheet.name for sheet in sheets if sheet.visible == visible],
        [sheet.name for sheet in sheets if sheet.visible != visible],
    )


def _hidden_of_xlsx(
    content: bytes, _name: str
) -> Callable[[Any, Sequence[str]], Mapping[str, tuple[Hidden, ShownCells | None]]]:
    cells = HiddenCells(content)

    def of(book: Any, shown: Sequence[str]) -> Mapping[str, tuple[Hidden, ShownCells | None]]:
        parts = zip((sheet.name for sheet in book.sheets_metadata), cells.sheets, strict=True)
        styles = cells.shown()
        return {name: (cells.of(part), styles.of(cells.ended(part))) for name, part in parts if name in shown}

    return of


def _told_by(read: Callable[[bytes], Sequence[tuple[Hidden, ShownCells]]]) -> Hiding:
    """What binary workbooks hide, and what their cells show."""

    def of_file(
        content: bytes, _name: str
    ) -> Callable[[Any, Sequence[str]], Mapping[str, tuple[Hidden, ShownCells | None]]]:
        cells = read(content)

        def of(book: Any, _shown: Sequence[str]) -> Mapping[str, tuple[Hidden, ShownCells | None]]:
            names = (sheet.name for sheet in book.sheets_metadata)
            return dict(zip(names, cells, strict=False))

        return of

    return of_file


def _hidden_of_ods(
    content: bytes, name: str
) -> Callable[[Any, Sequence[str]], Mapping[str, tuple[Hidden, ShownCells | None]]]:
    tables = tables_of_ods(content)
    for table in tables:
        _check_size(table.name, table.cells, name)
    found = {table.name: (table.hidden, table.shown) for table in tables}
    return lambda _book, _shown: found


def _check_size(sheet: str, cells: int, name: str) -> None:
    if cells > _MAX_CELLS:
        raise rejected(
            msg("the sheet {name} spans more than {max_cells} cells", name=repr(sheet), max_cells=f"{_MAX_CELLS:,}"),
            name,
        )


def _sheet_rows(sheet: Any, told: tuple[Hidden, ShownCells | None], name: str) -> SheetRows:
    hidden, shown = told
    _check_size(sheet.name, sheet.total_height * sheet.total_width, name)
    cells = [[_value_text(value) for value in row] for row in sheet.to_python(skip_empty_area=False)]
    unseen: list[str] = []
    for number, texts in shown.texts.items() if shown else ():
        for at, text in texts:
            if number < len(cells) and at < len(cells[number]):
                unseen.append(cells[number][at] if not text else "")
                cells[number][at] = text
    own = "\n".join(filter(None, [*unseen, *itertools.chain.from_iterable(cells)]))
    repeated = _fill_merged(cells, sheet.merged_cell_ranges or (), hidden.columns)
    notes = (*_leave_out(cells, hidden), *_unseen(shown))
    rows = [Row(number, row) for number, row in enumerate(cells, 1) if any(row)]
    return SheetRows(sheet.name, rows, notes, own, "\n".join(repeated), (*_unseen(shown), *_told(shown)))


def _unseen(shown: ShownCells | None) -> tuple[str, ...]:
    """A note on the cells that show nothing of what they hold."""
    if shown is None or not shown.unseen:
        return ()
    places = ", ".join(shown.unseen[:20])
    return (
        msg(
            "cells that do not show what they hold are left out: {count} ({places})",
            count=len(shown.unseen),
            places=places,
        ),
    )


def _told(shown: ShownCells | None) -> tuple[str, ...]:
    """What is to be said of a sheet's cells."""
    if shown is None or not shown.white:
        return _uncalculated(shown)
    places = ", ".join(shown.white[:20])
    white = msg("white text is read, since what lies under it is not known: {places}", places=places)
    return (*_uncalculated(shown), white)


def _uncalculated(shown: ShownCells | None) -> tuple[str, ...]:
    if shown is None or not shown.uncalculated:
        return ()
    places = ", ".join(shown.uncalculated[:20])
    return (
        msg(
            "formulas without a value, since no program has calculated them: {count} ({places})",
            count=len(shown.uncalculated),
            places=places,
        ),
    )


def _leave_out(cells: list[list[str]], hidden: Hidden) -> tuple[str, ...]:
    """Empty the hidden rows and columns, so that other cells keep their addresses; returns notes on those with text."""
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
) -> list[str]:
    """Repeat vertically merged cells in each of their rows; returns the repeated texts.

    Where its column is hidden, it is shown in the next one that it covers.
    """
    repeated = []
    for (top, left), (bottom, right) in ranges:
        shown = next((at for at in range(left, right + 1) if at not in hidden), left)
        for row in range(top, min(bottom + 1, len(cells))):
            if max(left, shown) < len(cells[row]) and any(cells[row]) and not cells[row][shown]:
                cells[row][shown] = cells[top][left]
                repeated.append(cells[top][left])
    return repeated


def _value_text(value: object) -> str:
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
