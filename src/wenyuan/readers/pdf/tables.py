"""Tables of a PDF: rows of cells with printed lines, continuation over pages, and output as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from wenyuan.core.fidelity import Line
from wenyuan.core.redaction.columns import ColumnKinds
from wenyuan.readers.assemble import EMPTY_CELL, Piece
from wenyuan.readers.pdf.page import PrintedLine, rows_of
from wenyuan.readers.pdf.paragraphs import joined

_BETWEEN = " | "
_NUMERIC = re.compile(r"[\s\d０-９.,，%％+\-–—−/:：()（）¥￥$€£]+")
_LABEL = 4  # lines of a cell that says what all columns or rows are that it spans, at most
_SAME_COLUMN = 6.0  # points by which the edges of columns may differ from page to page


@dataclass(frozen=True, slots=True, eq=False)
class TableCell:
    """The lines of a cell from top to bottom. A cell that spans columns or rows is repeated in each of them, if it is short."""

    lines: tuple[PrintedLine, ...] = ()

    @property
    def text(self) -> str:
        return joined(self.lines).text if self.lines else ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, or its part on one page.

    Attributes:
        rows: All of the same length.
        edges: Where its columns begin, and where the last one ends, in points.
        ruled: Whether lines are drawn between its cells.
    """

    page: int
    rows: tuple[tuple[TableCell, ...], ...]
    edges: tuple[float, ...]
    top: float
    bottom: float
    ruled: bool

    @property
    def lines(self) -> Iterator[PrintedLine]:
        """The lines of all cells, each once."""
        seen: set[int] = set()
        for row in self.rows:
            for cell in row:
                if id(cell) not in seen:
                    seen.add(id(cell))
                    yield from cell.lines

    def goes_on(self, after: Table) -> bool:
        """Whether `after`, on the next page with no text between, has the same columns and so continues it."""
        return (
            after.page == self.rows_page + 1
            and len(after.edges) == len(self.edges)
            and all(abs(a - b) <= _SAME_COLUMN for a, b in zip(self.edges, after.edges, strict=True))
        )

    @property
    def rows_page(self) -> int:
        """The page of the last row."""
        return max((line.page for cell in self.rows[-1] for line in cell.lines), default=self.page)

    def with_more(self, after: Table) -> Table:
        """The table with its continuation appended; the header is repeated where the continuation does not print it."""
        head = self.rows[: _header_rows(self)]
        repeated = () if _texts(after.rows[: len(head)]) == _texts(head) else head
        return replace(self, rows=self.rows + repeated + after.rows)


def _texts(rows: Sequence[Sequence[TableCell]]) -> list[list[str]]:
    return [[cell.text for cell in row] for row in rows]


def _header_rows(table: Table) -> int:
    """Number of header rows: 0, unless the first row has only words above cells of which many are numbers."""
    first, below = table.rows[0], table.rows[1:]
    if not all(cell.text and not _NUMERIC.fullmatch(cell.text) for cell in first):
        return 0
    if not any(cell.text and _NUMERIC.fullmatch(cell.text) for row in below for cell in row):
        return 0
    rows = 1
    while rows < len(table.rows) - 1 and any(cell in table.rows[rows - 1] for cell in table.rows[rows]):
        rows += 1  # a cell of the header covers this row, too
    spread = len(set(map(id, first))) < len(first)
    return max(rows, 2) if spread and len(table.rows) > 2 else rows


def table_piece(table: Table) -> tuple[Piece, str]:
    """A table as a piece, one line per row; and the text in it that is not printed on the page."""
    writing = _Writing(table.page)
    for row in table.rows:
        if any(cell.lines for cell in row):
            writing.write(row)
    place = table.page
    piece = Piece("table", writing.text, page=place, anchor=f"page={place}", inner=tuple(writing.turns),
                  cells=writing.cells, lines=writing.lines)  # fmt: skip
    return piece, "".join(writing.added)


class _Writing:
    """Writes a table as text, row by row.

    Attributes:
        added: Signs between cells, signs for empty ones, what was written before of a merged one.
        turns: Where the text goes on on another page.
    """

    def __init__(self, page: int) -> None:
        self.text = ""
        self.added: list[str] = []
        self.lines: list[Line] = []
        self.cells: list[tuple[int, int, str]] = []
        self.turns: list[tuple[int, str]] = []
        self._page = page
        self._written: set[int] = set()
        self._kinds = ColumnKinds()

    def write(self, row: Sequence[TableCell]) -> None:
        """Write a non-empty row; a cell that spans all columns is a title within the table, written once. A row that has nothing
        but long cells of before is left out.
        """
        if all(self._is_long_again(cell) for cell in row if cell.lines):
            return
        self.text += "\n" if self.text else ""
        shown = {at: cell.text for at, cell in enumerate(row) if cell.lines and not self._is_long_again(cell)}
        page = min(line.page for cell in row for line in cell.lines)
        if page > self._page:
            self._page = page
            self.turns.append((len(self.text), f"page={page}"))
        told = self._kinds.of(shown)
        last = 0 if len(set(map(id, row))) == 1 else max(shown)
        for at, cell in enumerate(row[: last + 1]):
            self.text += _BETWEEN if at else ""
            self.added.append(_BETWEEN if at else "")
            start = len(self.text)
            self._write(cell)
            if at in told:
                self.cells.append((start, len(self.text), told[at]))

    def _write(self, cell: TableCell) -> None:
        if not cell.lines or self._is_long_again(cell):
            self.text += EMPTY_CELL
            self.added.append(EMPTY_CELL)
            return
        paragraph = joined(cell.lines)
        start = len(self.text)
        self.lines += (line._replace(start=start + line.start, end=start + line.end) for line in paragraph.lines)
        self.text += paragraph.text
        self.added.append(paragraph.text if id(cell) in self._written else "")
        self._written.add(id(cell))

    def _is_long_again(self, cell: TableCell) -> bool:
        """Whether a cell is no label of what it spans, and was written before: said once it is said."""
        return id(cell) in self._written and len(cell.lines) > _LABEL


def in_order(lines: Sequence[PrintedLine]) -> tuple[PrintedLine, ...]:
    """The lines of a cell in reading order."""
    return tuple(line for row in rows_of(lines) for line in row)
