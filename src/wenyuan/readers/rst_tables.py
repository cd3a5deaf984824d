"""Tables that reStructuredText draws with signs: grids of ``+---+``, and columns below ``====  ====``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from wenyuan.readers.markup import Spanning

GRID = re.compile(r"\+(?:[-=]{1,}\+)+\s*\Z")
SIMPLE = re.compile(r"={2,}(?:[ \t]+={2,})+\s*\Z|={2,}\s*\Z")
_SPANS = re.compile(r"-+(?:[ \t]+-+)*\s*\Z")
_RUN = re.compile(r"[=-]+")
_FILLER = "\ufdd9"
_MAX_COLUMNS = 200


def grid_rows(lines: Sequence[str], inline: Callable[[str], str]) -> list[list[Spanning]]:
    """The rows of a grid; a cell may cover several rows or columns."""
    wide = [_padded(line) for line in lines]
    edges = sorted({at for line in wide if GRID.match(line) for at, char in enumerate(line) if char == "+"})[
        : _MAX_COLUMNS + 1
    ]
    grid = _Grid(edges)
    for line in wide:
        grid.take(line)
    cells = grid.cells
    rows: list[list[Spanning]] = [[] for _ in range(max((cell.row for cell in cells), default=-1) + 1)]
    for cell in sorted(cells, key=lambda each: (each.row, each.column)):
        rows[cell.row].append(Spanning(inline(_text(cell.lines)), cell.down, cell.across))
    return rows


class _Cell:
    def __init__(self, row: int, column: int, across: int) -> None:
        self.row, self.column, self.across = row, column, across
        self.down = 1
        self.lines: list[str] = []


class _Grid:
    """Gathers the cells of a grid line by line.

    Args:
        edges: The places at which any rule of the grid has a corner.
    """

    def __init__(self, edges: Sequence[int]) -> None:
        self.cells: list[_Cell] = []
        self._edges = edges
        self._columns = range(len(edges) - 1)
        self._open: dict[int, _Cell] = {}  # by each column that it covers
        self._row = -1

    def take(self, line: str) -> None:
        ruled = [at for at in self._columns if _is_rule(line, self._edges[at], self._edges[at + 1])]
        if not ruled:
            self._text(line)
            return
        self._row += 1
        for column in ruled:
            if (cell := self._open.get(column)) is not None:
                for covered in range(cell.column, cell.column + cell.across):
                    self._open.pop(covered, None)
        for cell in {id(each): each for each in self._open.values()}.values():
            cell.down += 1
        if len(ruled) < len(self._columns):
            self._text(line)

    def _text(self, line: str) -> None:
        """The text of a line goes to its cells; where none is open, one begins."""
        column = 0
        while column < len(self._columns):
            left, right = self._edges[column], self._edges[column + 1]
            cell = self._open.get(column)
            if cell is None and _is_rule(line, left, right):
                column += 1
                continue
            if cell is None:
                across = 1
                while column + across < len(self._columns) and line[self._edges[column + across] :][:1] not in "|+":
                    across += 1
                cell = _Cell(max(self._row, 0), column, across)
                self.cells.append(cell)
                self._open |= dict.fromkeys(range(column, column + across), cell)
            cell.lines.append(line[left + 1 : self._edges[cell.column + cell.across]])
            column = cell.column + cell.across


def _is_rule(line: str, left: int, right: int) -> bool:
    part = line[left + 1 : right]
    return bool(part) and (set(part) <= {"-"} or set(part) <= {"="}) and line[left] in "+|"


def simple_rows(lines: Sequence[str], inline: Callable[[str], str]) -> list[list[Spanning]]:
    """The rows of a simple table, of its first to its last border."""
    wide = [_padded(line) for line in lines]
    columns = [(run.start(), run.end()) for run in _RUN.finditer(wide[0])][:_MAX_COLUMNS]
    rows: list[list[list[str]]] = []
    spans: list[list[tuple[int, int]]] = []
    fresh = True
    for line in wide[1:]:
        if SIMPLE.match(line) or (_SPANS.match(line) and line.startswith("-")):
            if "-" in line and rows:
                spans[-1] = [(run.start(), run.end()) for run in _RUN.finditer(line)]
            fresh = True
            continue
        if not line.strip():
            fresh = True
            continue
        first = line[slice(*columns[0])].strip()
        if first or fresh or not rows:
            rows.append([])
            spans.append(columns)
        fresh = False
        rows[-1].append([line])
    made = []
    for row, places in zip(rows, spans, strict=True):
        cells = []
        for number, (left, _) in enumerate(places):
            right = places[number + 1][0] if number + 1 < len(places) else None
            across = max(1, sum(left <= start and (right is None or start < right) for start, _ in columns))
            cells.append(Spanning(inline(_text([line[0][left:right] for line in row])), 1, across))
        made.append(cells)
    return made


def _padded(line: str) -> str:
    """A line in which each sign takes as many places as it has columns on a screen."""
    if line.isascii():
        return line
    return "".join(char + _FILLER if unicodedata.east_asian_width(char) in "WF" else char for char in line)


def _text(lines: Sequence[str]) -> str:
    """The text of a cell: its lines as one, items of lists apart."""
    found = [line.replace(_FILLER, "").strip() for line in lines]
    text = ""
    for line in found:
        if not line:
            continue
        between = "" if not text or (text[-1] >= "\u2e80" and line[0] >= "\u2e80") else " "
        text += between + line.removeprefix("| ")
    return "" if text == "\\" else text
