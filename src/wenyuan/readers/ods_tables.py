"""Tables of OpenDocument, whose rows and cells say how often they are repeated."""

from __future__ import annotations

import bisect
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from wenyuan.core.errors import msg
from wenyuan.readers.hidden_cells import MAX_COLUMNS, MAX_ROWS, Hidden, local
from wenyuan.readers.ods_looks import CellLooks
from wenyuan.readers.xlsx_cells import ShownCells, says_value

_MOST_SHOWN = 1_000
_CELLS = ("table-cell", "covered-table-cell")
_LETTERS = ("span", "a")
_SPACES = ("s", "tab", "line-break")
_DRAWN = ("shapes", "frame", "custom-shape", "rect", "ellipse", "polygon", "path", "g")
_BESIDE = ("annotation", *_DRAWN)
"""What has texts that are none of a cell."""
_COLOURING = ("conditional-format", *_DRAWN)
"""What of a sheet may lie under a cell, or give it a colour that its style does not tell."""


@dataclass
class TableOfOds:
    """A sheet of an ODS file: hidden rows and columns, the extent of its text, and what its cells show."""

    name: str
    looks: CellLooks
    rows: set[int] = field(default_factory=set)
    columns: set[int] = field(default_factory=set)
    row: int = 0  # rows, columns, cells of the row that came before
    column: int = 0
    cell: int = 0
    first: int = 0
    began: int = 0
    typed: bool = False
    value: str = ""
    style: str = ""
    of_row: str = ""
    of_columns: list[tuple[int, str]] = field(default_factory=list)  # the column behind the last one, the style
    letters: list[str] = field(default_factory=list)  # styles of the paragraph and the spans that are open
    seen: list[str] = field(default_factory=list)  # of the cell
    unseen: bool = False
    coloured: bool = False
    covered: list[tuple[range, range, str]] = field(
        default_factory=list
    )  # cells with text that nobody sees, and the rest
    shown: ShownCells = field(default_factory=lambda: ShownCells({}, []))
    height: int = 0
    width: int = 0

    def write(self, text: str) -> None:
        """Take letters of a paragraph of a cell."""
        if not self.letters:
            return
        if not text.isspace() and self.looks.hides(self.style, tuple(self.letters)):
            self.unseen = True
        else:
            self.seen.append(text)

    def say(self) -> None:
        """Take the text of a cell as it is shown; one that is repeated too often to be read cell by cell is left as it is."""
        text = "".join(self.seen).strip()
        if text and self.typed and self.value and not says_value(text, self.value):
            text = f"{text} ({self.value})"
        rows, cells = range(max(self.began, self.row - _MOST_SHOWN), self.row), range(self.first, self.cell)
        if len(cells) > _MOST_SHOWN:
            return
        if self.unseen:
            self.coloured |= self.looks.depends(self.style)
            self.covered.append((rows, cells, text))
        elif self.typed and text:
            self._show(rows, cells, text)

    def _show(self, rows: range, cells: range, text: str) -> None:
        for row in rows:
            self.shown.texts.setdefault(row, []).extend((at, text) for at in cells)

    def settle(self) -> None:
        """At the end of the sheet: text that nobody sees is left out, unless something may lie under it."""
        places = [f"{_letters_of(cells[0])}{rows[0] + 1}" for rows, cells, _ in self.covered if rows and cells]
        if self.coloured:
            self.shown = self.shown._replace(white=places)
            return
        for rows, cells, text in self.covered:
            self._show(rows, cells, text)
        self.shown = self.shown._replace(unseen=places)

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
            self.of_row = said.get("default-cell-style-name", "")
            if said.get("visibility") == "collapse":
                self.rows.update(range(first, self.row))
        elif kind == "table-column":
            first, self.column = self.column, min(self.column + _repeated(said, "columns"), MAX_COLUMNS)
            self.of_columns.append((self.column, said.get("default-cell-style-name", "")))
            if said.get("visibility") == "collapse":
                self.columns.update(range(first, self.column))
        elif kind in _CELLS:
            self.first, self.cell = self.cell, min(self.cell + _repeated(said, "columns"), MAX_COLUMNS)
            self.typed = said.get("value-type", "string") not in ("string", "boolean")
            self.value = said.get("value") or said.get("date-value", "").removesuffix("T00:00:00")
            self.style = said.get("style-name") or self.of_row or self._of_column(self.first)
            self.seen, self.unseen, self.letters = [], False, []
        elif kind == "p":
            self.height, self.width = max(self.height, self.row), max(self.width, self.cell)
            if self.seen or self.unseen:
                self.seen.append("\n")
            self.letters = [said.get("style-name", "")]
        elif kind in _SPACES and self.letters:
            self.seen.append("\n" if kind == "line-break" else " ")
        elif kind in _LETTERS and self.letters:
            self.letters.append(said.get("style-name", ""))

    def end(self, kind: str) -> None:
        """An element ends."""
        if kind == "p":
            self.letters = []
        elif kind in _LETTERS and self.letters:
            self.letters.pop()
        elif kind in _CELLS:
            self.say()

    def _of_column(self, at: int) -> str:
        number = bisect.bisect_right(self.of_columns, at, key=lambda each: each[0])
        return self.of_columns[number][1] if number < len(self.of_columns) else ""


class _SheetReader:
    """Reads the sheets of a spreadsheet from the elements of its parts, the styles first."""

    def __init__(self) -> None:
        self.found: list[TableOfOds] = []
        self.looks = CellLooks()
        self._depth = 0  # a table may stand in a cell of another
        self._beside = 0

    def style(self, name: str, attributes: dict[str, str]) -> None:
        """An element of the part of styles begins."""
        self.looks.start(local(name), {local(key): value for key, value in attributes.items()})

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element of the content begins."""
        kind = local(name)
        if not self._depth and kind != "table":
            self.style(name, attributes)
            return
        said = {local(key): value for key, value in attributes.items()}
        self._beside += kind in _BESIDE
        if kind == "table":
            self._depth += 1
            if self._depth == 1:
                self.found.append(TableOfOds(said.get("name", ""), self.looks))
        elif self._depth == 1 and not self._beside:
            self.found[-1].take(kind, said)
        if kind in _COLOURING:
            self.found[-1].coloured = True

    def end(self, name: str) -> None:
        kind = local(name)
        if not self._depth:
            self.looks.end(kind)
        elif kind == "table":
            if self._depth == 1:
                self.found[-1].settle()
            self._depth -= 1
        elif self._depth == 1 and not self._beside:
            self.found[-1].end(kind)
        self._beside -= bool(self._depth) and kind in _BESIDE

    def write(self, text: str) -> None:
        if self._depth == 1 and not self._beside:
            self.found[-1].write(text)


def tables_of_ods(content: bytes) -> list[TableOfOds]:
    """The sheets of a spreadsheet, in order.

    Raises:
        ValueError: its XML is not well-formed.
        KeyError: it has no ``content.xml``.
    """
    reader = _SheetReader()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for part in ("styles.xml", "content.xml"):
            if part == "content.xml" or part in archive.namelist():
                _parse(archive, part, reader)
    return reader.found


def _parse(archive: zipfile.ZipFile, part: str, reader: _SheetReader) -> None:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    if part == "content.xml":
        parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
        parser.CharacterDataHandler = reader.write
    else:
        parser.StartElementHandler = reader.style
        parser.EndElementHandler = lambda name: reader.looks.end(local(name))
    try:
        with archive.open(part) as stream:
            parser.ParseFile(stream)
    except expat.ExpatError as error:
        raise ValueError(
            msg("its part {part} is not well-formed XML: {error}", part=repr(part), error=error)
        ) from error


def _letters_of(column: int) -> str:
    """The name of a column, counted from 0: ``A``, ``AB``."""
    name, number = "", column + 1
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def _repeated(said: Mapping[str, str], what: str) -> int:
    stated = said.get(f"number-{what}-repeated", "1")
    return int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 9 else 1
