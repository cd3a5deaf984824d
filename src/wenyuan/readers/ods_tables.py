"""Tables of OpenDocument, whose rows and cells say how often they are repeated."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from wenyuan.core.errors import msg
from wenyuan.readers.hidden_cells import MAX_COLUMNS, MAX_ROWS, Hidden, local
from wenyuan.readers.xlsx_cells import ShownCells, says_value

_MOST_SHOWN = 1_000


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
            first, self.row = self.row, min(self.row + _repeated(said, "rows"), MAX_ROWS)
            self.began = first
            self.cell = 0
            if said.get("visibility") == "collapse":
                self.rows.update(range(first, self.row))
        elif kind == "table-column":
            first, self.column = self.column, min(self.column + _repeated(said, "columns"), MAX_COLUMNS)
            if said.get("visibility") == "collapse":
                self.columns.update(range(first, self.column))
        elif kind in ("table-cell", "covered-table-cell"):
            self.first, self.cell = self.cell, min(self.cell + _repeated(said, "columns"), MAX_COLUMNS)
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
        kind = local(name)
        said = {local(key): value for key, value in attributes.items()}
        if kind == "table":
            depth += 1
            if depth == 1:
                found.append(TableOfOds(said.get("name", "")))
        elif depth == 1:
            found[-1].take(kind, said)

    def end(name: str) -> None:
        nonlocal depth
        if depth == 1 and local(name) == "p":
            found[-1].say("".join(text))
        depth -= local(name) == "table"

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
