"""XLSX, XLSM, XLSB, XLS and ODS to one `Document` for each visible sheet; hidden rows and columns left out."""

from __future__ import annotations

import io
import itertools
import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple
from urllib.parse import quote
from xml.parsers import expat

from wenyuan.core.addresses import with_part
from wenyuan.core.errors import msg
from wenyuan.core.model import Document
from wenyuan.readers.archive import check_archive
from wenyuan.readers.assemble import Original, assemble, rejected, stem
from wenyuan.readers.binary_cells import shown_of_xls, shown_of_xlsb
from wenyuan.readers.delimited import read_csv
from wenyuan.readers.html import read_html
from wenyuan.readers.packages import transitional
from wenyuan.readers.table import Row, names_repeated, row_pieces
from wenyuan.readers.text import measured
from wenyuan.readers.xlsx_cells import CellStyles, ShownCells, says_value

# Finds hidden rows and columns of a sheet in the workbook's XML, since the cell parser does not report them.
#
# It is read piece by piece, and only after `archive.check_archive`, which bounds what it unpacks to.

_PIECE = 65_536
_MOST_SHOWN = 1_000
_MAX_ROWS, _MAX_COLUMNS = 1_048_576, 16_384
_TELLING = ("sheet", "row", "col", "autoFilter", "filterColumn", "Relationship")
_ROWS_OF = re.compile(r"\$?[A-Za-z]*\$?([0-9]{1,7}):\$?[A-Za-z]*\$?([0-9]{1,7})")


class Hidden(NamedTuple):
    """Rows and columns, counted from 0."""

    rows: frozenset[int] = frozenset()
    columns: frozenset[int] = frozenset()


class HiddenCells:
    """A workbook's hidden rows and columns, sheet by sheet.

    Raises:
        ValueError: its XML does not hold together.
        KeyError: it names a part that is not there.
    """

    def __init__(self, content: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(content))
        self._entries = {entry.lower(): entry for entry in self._archive.namelist()}
        parts = self._related("xl/workbook.xml")
        self.sheets = [parts[found["id"]] for name, found in self._elements("xl/workbook.xml") if name == "sheet"]
        """The part of each sheet, in the workbook's order."""

    def of(self, part: str) -> Hidden:
        """Rows and columns hidden by hand; rows that only a filter hides are not included."""
        if not self._says_hidden(part):
            return Hidden()
        rows: set[int] = set()
        steps: Counter[int] = Counter()
        number = 0
        for name, found in self._elements(part):
            hidden = found.get("hidden", "").strip() in ("1", "true")
            if name == "row":
                number = int(found.get("r", number + 1))
                if hidden and 0 < number <= _MAX_ROWS:
                    rows.add(number - 1)
            elif name == "col" and hidden:
                steps[min(int(found["min"]) - 1, _MAX_COLUMNS)] += 1
                steps[min(int(found["max"]), _MAX_COLUMNS)] -= 1
        depths = accumulate(steps[at] for at in range(_MAX_COLUMNS))
        columns = frozenset(at for at, depth in enumerate(depths) if depth > 0)
        for first, last in self._filtered(part) if rows else ():
            rows = {row for row in rows if not first <= row < last}
        return Hidden(frozenset(rows), columns)

    def _filtered(self, sheet: str) -> Iterator[tuple[int, int]]:
        """Row ranges below the headers of active filters, of the sheet and of its tables."""
        tables = [part for part in map(str.lower, self._related(sheet).values()) if "/tables/" in part]
        for part in (sheet, *filter(self._entries.__contains__, tables)):
            ref = ""
            for name, found in self._elements(part):
                if name == "autoFilter":
                    ref = found.get("ref", "")
                elif name == "filterColumn" and (rows := _ROWS_OF.fullmatch(ref)):
                    yield int(rows[1]), int(rows[2])
                    ref = ""

    def _related(self, part: str) -> dict[str, str]:
        """The parts that `part` refers to, by relation id."""
        folder, name = posixpath.split(part)
        rels = f"{folder}/_rels/{name}.rels"
        if rels.lower() not in self._entries:
            return {}
        return {
            found["Id"]: posixpath.normpath(posixpath.join("/", folder, found["Target"])).lstrip("/")
            for name, found in self._elements(rels)
            if name == "Relationship" and found.get("TargetMode") != "External"
        }

    def _says_hidden(self, part: str) -> bool:
        """Whether the word ``hidden`` occurs in a part at all: most sheets then need no parsing."""
        end = b""
        for piece in self._pieces(part):
            seen = end + piece.replace(b"\0", b"")  # UTF-16
            if b"hidden" in seen:
                return True
            end = seen[-8:]
        return False

    def _pieces(self, part: str) -> Iterator[bytes]:
        with self._archive.open(self._entries[part.lower()]) as stream:
            while piece := stream.read(_PIECE):
                yield piece

    def shown(self) -> CellStyles:
        """The formats of the cells of all sheets."""
        main = {posixpath.basename(part).lower(): part for part in self._related("xl/workbook.xml").values()}
        found = {key: main.get(key, "") for key in ("styles.xml", "sharedstrings.xml")}
        parts = {key: part if part.lower() in self._entries else "" for key, part in found.items()}
        early = any(
            name == "workbookPr" and said.get("date1904", "0") in ("1", "true")
            for name, said, _ in self.ended("xl/workbook.xml")
        )
        return CellStyles(self.ended, parts["styles.xml"], parts["sharedstrings.xml"], since_1904=early)

    def ended(self, part: str) -> Iterator[tuple[str, Mapping[str, str], str]]:
        """Local name, attributes and text of the elements of a part, as they end."""
        found: list[tuple[str, Mapping[str, str], str]] = []
        opened: list[dict[str, str]] = []
        text: list[str] = []

        def start(name: str, attributes: dict[str, str]) -> None:
            opened.append(attributes)
            text.clear()

        def end(name: str) -> None:
            found.append((_local(name), opened.pop(), "".join(text)))
            text.clear()

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text.append
        try:
            for piece in self._pieces(part):
                parser.Parse(piece, False)
                yield from found
                found.clear()
            parser.Parse(b"", True)
            yield from found
        except (expat.ExpatError, LookupError) as error:
            raise ValueError(
                msg("its part {part} is not well-formed XML: {error}", part=repr(part), error=error)
            ) from error

    def _elements(self, part: str) -> Iterator[tuple[str, dict[str, str]]]:
        """Name and attributes, without namespaces, of the elements that matter for hiding."""
        found: list[tuple[str, dict[str, str]]] = []

        def start(name: str, attributes: dict[str, str]) -> None:
            if name.endswith(_TELLING):  # millions are cells
                found.append((_local(name), attributes))

        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = start
        try:
            for piece in self._pieces(part):
                parser.Parse(piece, False)
                for name, attributes in found:
                    yield name, {_local(key): value for key, value in attributes.items()}
                found.clear()
            parser.Parse(b"", True)
        except (expat.ExpatError, LookupError) as error:  # the latter: an encoding it does not know
            raise ValueError(
                msg("its part {part} is not well-formed XML: {error}", part=repr(part), error=error)
            ) from error


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


# Of OpenDocument: rows and columns are listed in order, each with how often it is repeated, as are cells.


@dataclass
class TableOfOds:
    """A sheet of an ODS file: hidden rows and columns, and the extent of its text."""

    name: str
    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    row: int = 0  # rows, columns, cells of the row that came before
    column: int = 0
    cell: int = 0
    first: int = 0
    began: int = 0
    typed: bool = False
    value: str = ""
    shown: ShownCells = field(default_factory=lambda: ShownCells({}, []))
    height: int = 0
    width: int = 0

    def say(self, text: str) -> None:
        """Take the text of a cell as it is shown; one that is repeated too often to be read cell by cell is left as it is."""
        text = text.strip()
        if text and self.value and not says_value(text, self.value):
            text = f"{text} ({self.value})"
        if self.typed and text and self.cell - self.first <= _MOST_SHOWN:
            for row in range(max(self.began, self.row - _MOST_SHOWN), self.row):
                self.shown.texts.setdefault(row, []).extend((at, text) for at in range(self.first, self.cell))

    @property
    def hidden(self) -> Hidden:
        """Rows and columns hidden by hand; rows that a filter hides are not included."""
        return Hidden(frozenset(self.rows), frozenset(self.columns))

    @property
    def cells(self) -> int:
        return self.height * self.width

    def take(self, kind: str, said: Mapping[str, str]) -> None:
        """Process a row, a column, a cell, or a paragraph, which is text of the last cell."""
        if kind == "table-row":
            first, self.row = self.row, min(self.row + _repeated(said, "rows"), _MAX_ROWS)
            self.began = first
            self.cell = 0
            if said.get("visibility") == "collapse":
                self.rows.update(range(first, self.row))
        elif kind == "table-column":
            first, self.column = self.column, min(self.column + _repeated(said, "columns"), _MAX_COLUMNS)
            if said.get("visibility") == "collapse":
                self.columns.update(range(first, self.column))
        elif kind in ("table-cell", "covered-table-cell"):
            self.first, self.cell = self.cell, min(self.cell + _repeated(said, "columns"), _MAX_COLUMNS)
            self.typed = said.get("value-type", "string") not in ("string", "boolean")
            self.value = said.get("value") or said.get("date-value", "").removesuffix("T00:00:00")
        elif kind == "p":
            self.height, self.width = max(self.height, self.row), max(self.width, self.cell)


def tables_of_ods(content: bytes) -> list[TableOfOds]:
    """The sheets of a spreadsheet, in order.

    Raises:
        ValueError: its XML is not well-formed.
        KeyError: it has no ``content.xml``.
    """
    found: list[TableOfOds] = []
    depth = 0  # a table may stand in a cell of another

    text: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        text.clear()
        kind = _local(name)
        said = {_local(key): value for key, value in attributes.items()}
        if kind == "table":
            depth += 1
            if depth == 1:
                found.append(TableOfOds(said.get("name", "")))
        elif depth == 1:
            found[-1].take(kind, said)

    def end(name: str) -> None:
        nonlocal depth
        if depth == 1 and _local(name) == "p":
            found[-1].say("".join(text))
        depth -= _local(name) == "table"

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text.append
    try:
        with zipfile.ZipFile(io.BytesIO(content)).open("content.xml") as stream:
            parser.ParseFile(stream)
    except expat.ExpatError as error:
        raise ValueError(
            msg("its part {part} is not well-formed XML: {error}", part="'content.xml'", error=error)
        ) from error
    return found


def _repeated(said: Mapping[str, str], what: str) -> int:
    stated = said.get(f"number-{what}-repeated", "1")
    return int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 9 else 1


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
    """Read a binary workbook of Excel 2007 and later; see `read_xlsx`. Hidden rows and columns are read, too."""
    found = sheets_of(content, name=name, needs="xl/workbook.bin", hiding=_shown_by(shown_of_xlsb))
    return _documents(found, Original(content, uri, name), _XLSB, warnings=[_all_cells()])


def read_xls(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a workbook of Excel 97 to 2003; see `read_xlsx`. Hidden rows and columns are read, too.

    What many programs export under this name is read as what it is: XLSX, a page with a table, or lines of values.
    """
    if content.startswith(b"PK"):
        return read_xlsx(content, uri=uri, name=name)
    if not content.startswith(b"\xd0\xcf\x11\xe0"):
        page = b"<" in content[:1_024].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")[:1]
        return (read_html if page else read_csv)(content, uri=uri, name=name)
    found = sheets_of(content, name=name, needs="", hiding=_shown_by(shown_of_xls))
    return _documents(found, Original(content, uri, name), _XLS, warnings=[_all_cells()])


def _all_cells() -> str:
    return msg("hidden rows and columns are read like all others: this format does not tell them")


def _documents(
    found: tuple[list[SheetRows], list[str]], original: Original, media_type: str, warnings: Sequence[str] = ()
) -> tuple[Document, ...]:
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
        documents.append(
            measured(document, own, added=[repeated, *names_repeated(rows)], pages=1, warnings=[*warnings, *told])
        )
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


def _shown_by(read: Callable[[bytes], Sequence[ShownCells]]) -> Hiding:
    """What cells of binary workbooks show, which do not tell what is hidden."""

    def of_file(
        content: bytes, _name: str
    ) -> Callable[[Any, Sequence[str]], Mapping[str, tuple[Hidden, ShownCells | None]]]:
        cells = read(content)

        def of(book: Any, _shown: Sequence[str]) -> Mapping[str, tuple[Hidden, ShownCells | None]]:
            names = (sheet.name for sheet in book.sheets_metadata)
            return {name: (Hidden(), found) for name, found in zip(names, cells, strict=False)}

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
    cells = [[_shown(value) for value in row] for row in sheet.to_python(skip_empty_area=False)]
    for number, texts in shown.texts.items() if shown else ():
        for at, text in texts:
            if number < len(cells) and at < len(cells[number]):
                cells[number][at] = text
    own = "\n".join(filter(None, itertools.chain.from_iterable(cells)))
    repeated = _fill_merged(cells, sheet.merged_cell_ranges or (), hidden.columns)
    notes = _leave_out(cells, hidden)
    rows = [Row(number, row) for number, row in enumerate(cells, 1) if any(row)]
    return SheetRows(sheet.name, rows, notes, own, "\n".join(repeated), _uncalculated(shown))


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
