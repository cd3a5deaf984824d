"""Finds hidden rows and columns of a sheet in the workbook's XML, since the cell parser does not report them.

It is read piece by piece, and only after `archive.check_archive`, which bounds what it unpacks to.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple
from xml.parsers import expat

from wenyuan.core.messages import msg

_PIECE = 65_536
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
    height: int = 0
    width: int = 0

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
            self.cell = 0
            if said.get("visibility") == "collapse":
                self.rows.update(range(first, self.row))
        elif kind == "table-column":
            first, self.column = self.column, min(self.column + _repeated(said, "columns"), _MAX_COLUMNS)
            if said.get("visibility") == "collapse":
                self.columns.update(range(first, self.column))
        elif kind in ("table-cell", "covered-table-cell"):
            self.cell = min(self.cell + _repeated(said, "columns"), _MAX_COLUMNS)
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

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
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
        depth -= _local(name) == "table"

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.EndElementHandler = start, end
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
