"""Workbooks: one sheet for each kind of node, named by the kind, and a sheet ``关系`` (``relations``).

Also read, where they are there: ``来源`` (``sources``). The sheet ``说明`` (``notes``) is for people.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.rules.book import Book, Tally
from wenyuan.core.rules.model import EntryPlace
from wenyuan.core.rules.names import folded
from wenyuan.readers.container_check import check_archive
from wenyuan.readers.rulebooks.entries import Writing
from wenyuan.readers.rulebooks.tables import (
    NODES,
    SOURCES,
    STATEMENTS,
    TableColumns,
    TableLine,
    find_columns,
    take_row,
)

RELATION_SHEETS = ("关系", "relations", "statements", "rules", "规则", "relation")
SOURCE_SHEETS = ("来源", "sources", "source")
NOTES_SHEETS = ("说明", "notes", "readme", "help")
LISTS_SHEET = "_lists"
"""The hidden sheet of a template whose columns are the choices of its drop-downs."""
_MAX_CELLS = 2_000_000


def read_excel(content: bytes, *, file: str, pack: str) -> Book:
    """Read a workbook.

    Raises:
        DocumentRejected: it is no XLSX, damaged, encrypted, or unpacks to too much.
    """
    check_archive(content, name=file, needs="xl/workbook.xml")
    import python_calamine as calamine

    writing = Writing(pack, file)
    try:
        with calamine.CalamineWorkbook.from_filelike(io.BytesIO(content)) as book:
            shown = [s for s in book.sheets_metadata if s.typ == calamine.SheetTypeEnum.WorkSheet]
            for sheet in shown:
                if sheet.visible == calamine.SheetVisibleEnum.Visible:
                    _sheet(book.get_sheet_by_name(sheet.name), writing)
                elif sheet.name != LISTS_SHEET:
                    writing.note(
                        "unread_sheet",
                        msg("the hidden sheet {name} is not read", name=repr(sheet.name)),
                        EntryPlace(file),
                    )
    except calamine.CalamineError as error:
        raise DocumentRejected(msg("it is damaged or encrypted: {error}", error=error)) from error
    if not any(folded(sheet.name) in RELATION_SHEETS for sheet in shown):
        names = ", ".join(sheet.name for sheet in shown)
        message = msg(
            "the sheet {relation_sheets} ({relation_sheets2}) is missing; there are: {names}",
            relation_sheets=repr(RELATION_SHEETS[0]),
            relation_sheets2=RELATION_SHEETS[1],
            names=names,
        )
        writing.fault("missing_sheet", message, EntryPlace(file))
    return writing.book()


def _sheet(sheet: Any, writing: Writing) -> None:
    name = folded(sheet.name)
    if name in NOTES_SHEETS:
        return
    if sheet.total_height * sheet.total_width > _MAX_CELLS:
        raise DocumentRejected(
            msg(
                "the sheet {name} spans more than {max_cells} cells",
                name=repr(sheet.name),
                max_cells=f"{_MAX_CELLS:,}",
            )
        )
    lines = list(_sheet_lines(sheet, writing.file))
    if not lines:
        return
    if name in RELATION_SHEETS:
        part, fields = "statements", STATEMENTS
    elif name in SOURCE_SHEETS:
        part, fields = "sources", SOURCES
    else:
        part, fields = "nodes", NODES
    columns = find_columns(lines[0], fields, writing)
    _rows(sheet, lines, columns, part, writing)


def _rows(sheet: Any, lines: Sequence[TableLine], columns: TableColumns, part: str, writing: Writing) -> None:
    kind = sheet.name.strip() if part == "nodes" and "kind" not in columns.fields else ""
    merged = _merged_rows(sheet, writing)
    sound = columns.sound and _number(lines[0]) not in merged
    for line in lines[1:]:
        if sound and _number(line) not in merged:
            take_row(line, columns, part, writing, kind)
        elif part != "sources":
            writing.refused += Tally(**{part: 1})


def _merged_rows(sheet: Any, writing: Writing) -> set[int]:
    """The rows (1-based) touched by merged cells, whose other cells have no certain meaning."""
    rows: set[int] = set()
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        cells = f"{_letters(left)}{top + 1}:{_letters(right)}{bottom + 1}"
        message = msg(
            "the cells {cells} are merged; split them and fill each row. These rows are not read", cells=cells
        )
        writing.fault("merged_cells", message, EntryPlace(writing.file, cell=f"{sheet.name}!{cells}"))
        rows.update(range(top + 1, bottom + 2))
    return rows


def _number(line: TableLine) -> int:
    return int(line.place.cell.rpartition("!")[2])


def _letters(column: int) -> str:
    """``0`` → ``A``, ``26`` → ``AA``."""
    letters, column = "", column + 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def _sheet_lines(sheet: Any, file: str) -> Iterator[TableLine]:
    for number, row in enumerate(sheet.to_python(skip_empty_area=False), 1):
        cells = [_cell_text(value) for value in row]
        if any(cells):
            yield TableLine(cells, EntryPlace(file, cell=f"{sheet.name}!{number}"))


def _cell_text(value: object) -> str:
    match value:
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case datetime():
            return value.date().isoformat()
        case date():
            return value.isoformat()
        case None:
            return ""
    return str(value).strip()
