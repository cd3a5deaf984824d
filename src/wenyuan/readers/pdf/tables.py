"""Tables of a PDF: rows of cells with printed lines, continuation over pages, and output as text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from wenyuan.core.fidelity import Line
from wenyuan.core.redaction.names import Columns
from wenyuan.core.text.structure import opening
from wenyuan.readers.assemble import EMPTY_CELL, Piece
from wenyuan.readers.pdf.page import FIRST_WORD, PrintedLine, part, rows_of, units
from wenyuan.readers.pdf.paragraphs import joined
from wenyuan.readers.pdf.strokes import Drawn, Frame, Stroke

_BETWEEN = " | "
_NUMERIC = re.compile(r"[\s\d０-９.,，%％+\-–—−/:：()（）¥￥$€£]+")
_SAME_COLUMN = 6.0  # points by which the edges of columns may differ from page to page


@dataclass(frozen=True, slots=True, eq=False)
class TableCell:
    """The lines of a cell from top to bottom. A cell that spans columns or rows is repeated in each of them."""

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
        self._kinds = Columns()

    def write(self, row: Sequence[TableCell]) -> None:
        """Write a non-empty row; a cell that spans all columns is a title within the table, written once."""
        self.text += "\n" if self.text else ""
        shown = {at: cell.text for at, cell in enumerate(row) if cell.lines}
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
        if not cell.lines:
            self.text += EMPTY_CELL
            self.added.append(EMPTY_CELL)
            return
        paragraph = joined(cell.lines)
        start = len(self.text)
        self.lines += (line._replace(start=start + line.start, end=start + line.end) for line in paragraph.lines)
        self.text += paragraph.text
        self.added.append(paragraph.text if id(cell) in self._written else "")
        self._written.add(id(cell))


def in_order(lines: Sequence[PrintedLine]) -> tuple[PrintedLine, ...]:
    """The lines of a cell in reading order."""
    return tuple(line for row in rows_of(lines) for line in row)


# Ruled tables: cells formed by lines drawn on a page, and the words in each.

_NEAR_CORNER = 3.5  # points within which lines meet
_SIDE = 8.0  # points by which lines go beyond the last that crosses them, where a side is open
_MOST_CELLS = 20_000
_FILLED = 0.3  # of the cells of a table, at least: a chart has lines, too
_MOST_LINES_IN_CELL = 12.0  # mean: what holds more is a frame around a text


def ruled_tables(lines: Sequence[PrintedLine], drawn: Drawn, page: int) -> list[Table]:
    """The ruled tables of a page, in no particular order."""
    found = []
    for across, down in _joined(drawn):
        table = _table(lines, across, down, page)
        if table:
            found.append(table)
    return found


def _joined(drawn: Drawn) -> Iterator[tuple[list[Stroke], list[Stroke]]]:
    """Groups of lines that cross or touch: horizontal and vertical ones."""
    owner = list(range(len(drawn.across) + len(drawn.down)))

    def root(at: int) -> int:
        while owner[at] != at:
            owner[at] = owner[owner[at]]
            at = owner[at]
        return at

    for i, h in enumerate(drawn.across):
        for j, v in enumerate(drawn.down, len(drawn.across)):
            if (
                h.start - _NEAR_CORNER <= v.at <= h.end + _NEAR_CORNER
                and v.start - _NEAR_CORNER <= h.at <= v.end + _NEAR_CORNER
            ):
                owner[root(i)] = root(j)
    groups: defaultdict[int, tuple[list[Stroke], list[Stroke]]] = defaultdict(lambda: ([], []))
    for at, stroke in enumerate((*drawn.across, *drawn.down)):
        groups[root(at)][at >= len(drawn.across)].append(stroke)
    yield from (group for group in groups.values() if group[0] and group[1])


def _axis(at: Sequence[float], reach: Sequence[float]) -> list[float]:
    """Column or row edges: positions of lines, and ends of crossing lines that extend beyond the outermost."""
    edges: list[float] = []
    for place in sorted(at):
        if not edges or place - edges[-1] > _NEAR_CORNER:
            edges.append(place)
    low, high = min(reach), max(reach)
    return [low] * (edges[0] - low > _SIDE) + edges + [high] * (high - edges[-1] > _SIDE)


def _table(lines: Sequence[PrintedLine], across: Sequence[Stroke], down: Sequence[Stroke], page: int) -> Table | None:
    xs = _axis([v.at for v in down], [x for h in across for x in (h.start, h.end)])
    ys = _axis([h.at for h in across], [y for v in down for y in (v.start, v.end)])
    columns, bands = len(xs) - 1, len(ys) - 1
    if columns < 2 or bands < 1 or columns * bands > _MOST_CELLS:
        return None
    owner = _areas(xs, ys, across, down)
    inside: defaultdict[int, list[PrintedLine]] = defaultdict(list)
    for line in lines:
        x, y = (line.left + line.right) / 2, line.bottom + line.height / 2
        if line.placed and xs[0] < x < xs[-1] and ys[0] < y < ys[-1]:
            inside[owner[(bisect_right(ys, y) - 1) * columns + bisect_right(xs, x) - 1]].append(line)
    areas = set(owner)
    held = sum(map(len, inside.values()))
    if len(inside) < max(2, _FILLED * len(areas)) or held > _MOST_LINES_IN_CELL * len(inside):
        return None
    rows: list[tuple[TableCell, ...]] = []
    made: dict[int, TableCell] = {}
    for band in reversed(range(bands)):
        owners = owner[band * columns : (band + 1) * columns]
        alone = all(owner.count(each) == owners.count(each) for each in set(owners))
        rows += (alone and _unruled_rows(owners, inside, xs)) or [
            tuple(made.setdefault(each, TableCell(in_order(inside[each]))) for each in owners)
        ]
    rows = [row for row in rows if any(cell.lines for cell in row)]
    if len({id(cell) for row in rows for cell in row if cell.lines}) < 2:
        return None
    return Table(page, tuple(rows), tuple(xs), ys[-1], ys[0], ruled=True)


def _areas(xs: Sequence[float], ys: Sequence[float], across: Sequence[Stroke], down: Sequence[Stroke]) -> list[int]:
    """For each grid field, from the bottom, the number of the cell that covers it."""
    columns = len(xs) - 1
    owner = list(range(columns * (len(ys) - 1)))

    def root(at: int) -> int:
        while owner[at] != at:
            at = owner[at]
        return at

    beside = [[s for s in down if abs(s.at - x) <= _NEAR_CORNER] for x in xs]
    below = [[s for s in across if abs(s.at - y) <= _NEAR_CORNER] for y in ys]

    def parted(strokes: Sequence[Stroke], between: float) -> bool:
        return any(s.start <= between <= s.end for s in strokes)

    for row, (low, high) in enumerate(pairwise(ys)):
        for column, (left, right) in enumerate(pairwise(xs)):
            at = row * columns + column
            if column and not parted(beside[column], (low + high) / 2):
                owner[root(at)] = root(at - 1)
            if row and not parted(below[row], (left + right) / 2):
                owner[root(at)] = root(at - columns)
    return [root(at) for at in range(len(owner))]


def _unruled_rows(
    owners: Sequence[int], inside: dict[int, list[PrintedLine]], xs: Sequence[float]
) -> list[tuple[TableCell, ...]]:
    """Rows of a band without rules between them: each begins in the first column and no line had to be split."""
    rows = rows_of([line for each in dict.fromkeys(owners) for line in inside.get(each, ())])
    if len(rows) < 2 or len(set(owners)) < 2:
        return []
    cells: list[dict[int, list[PrintedLine]]] = []
    for row in rows:
        by_owner: dict[int, list[PrintedLine]] = {}
        for line in row:
            owner = next(each for each in owners if any(line is one for one in inside[each]))
            by_owner.setdefault(owner, []).append(line)
        cells.append(by_owner)
    if any(len(row) < 2 or owners[0] not in row for row in cells):
        return []
    ends = {owner: xs[at + 1] for at, owner in enumerate(owners)}
    for above, below in pairwise(cells):
        for owner in above.keys() & below.keys():
            if not _had_room(above[owner][-1], below[owner][0], ends[owner]):
                return []
    return [tuple(_shared(row, owners)) for row in cells]


def _had_room(above: PrintedLine, below: PrintedLine, edge: float) -> bool:
    word = FIRST_WORD.match(below.text)
    return edge - above.right > (units(word[0]) if word else 1.0) * below.em + above.em


def _shared(row: dict[int, list[PrintedLine]], owners: Sequence[int]) -> Iterator[TableCell]:
    made = {owner: TableCell(tuple(row.get(owner, ()))) for owner in set(owners)}
    yield from (made[owner] for owner in owners)


# Tables without drawn rules: rows of words aligned in columns, with clear space between them.

_CELL_GAP = 0.9  # of a line's height: no space of a justified text is as wide
_GUTTER = 0.6  # clear space between columns, of a line's height, where there are three; where two, `_PAIR_GUTTER`
_PAIR_GUTTER = 1.0
_LEAST_ROWS = 3
_MOST_ROWS = 150
_OTHER_SIZE = 0.1  # of a line's height: a heading among rows
_MOST_ALONE = 2  # rows in a row that stand in the first column alone
_FAR = 3.0  # lines' heights from row to row
_PROSE_UNITS, _PROSE_FILLED = 10.0, 0.75
_MARK = re.compile(
    r"[•●○■□▪◆◇※·–—\-*+]|[（(]?[0-9A-Za-z一二三四五六七八九十]{1,3}[.)）、．]?|[0-9]+(?:\.[0-9]+)+\.?|[①-⑳]"
)
_LEADER = re.compile(r"(?:[.·…]\s?){4,}|(?:\. ){3,}")

_PAGE_NUMBER = re.compile("[0-9ivxlcIVXLC]{1,4}")

_Row = list[PrintedLine]


class _Fit(NamedTuple):
    """Rows matched to columns.

    Attributes:
        rows: Those that were given, with parts cut where they run over two columns.
        columns: Where each begins and ends.
        places: For each row, for each of its parts, the first and the last column that it covers.
    """

    rows: list[_Row]
    columns: list[tuple[float, float]]
    places: list[list[tuple[int, int]]]


def pieces_of(line: PrintedLine, frame: Frame) -> list[PrintedLine]:
    """Split a line at gaps wider than any space in running text."""
    if line.fixed:
        return [line]
    gaps = [gap for gap in line.gaps if gap.left - gap.right > _CELL_GAP * line.height]
    starts, ends = [0, *(gap.end for gap in gaps)], [*(gap.start for gap in gaps), len(line.text)]
    return [part(line, frame, start, end) for start, end in zip(starts, ends, strict=True)]


def aligned_tables(
    lines: Sequence[PrintedLine], frame: Frame, across: Sequence[Stroke], *, least: int
) -> Iterator[tuple[Table, range]]:
    """Tables among lines in file order, each with the range of lines that it uses.

    Args:
        across: Horizontal lines that are drawn: between two of them two rows are enough.
        least: How many columns a table has.
    """
    rows, spans = _rows(lines, frame)
    at = 0
    while at < len(rows):
        if len(rows[at]) < 2:
            at += 1
            continue
        end, fit = _run(rows, at, frame)
        if fit and _is_table(fit, across, least):
            yield _made(fit), range(spans[at].start, spans[end - 1].stop)
            at = end
        else:
            at += 1 if fit is None else max(1, end - at - 1)


def _rows(lines: Sequence[PrintedLine], frame: Frame) -> tuple[list[_Row], list[range]]:
    """Consecutive lines at the same height, split into parts; and the range of lines of each row."""
    rows: list[_Row] = []
    spans: list[range] = []
    for at, line in enumerate(lines):
        last = rows[-1][-1] if rows else None
        if last and line.placed and abs(last.bottom - line.bottom) < line.height / 3 and last.right < line.left:
            rows[-1] += pieces_of(line, frame)
            spans[-1] = range(spans[-1].start, at + 1)
        else:
            rows.append(pieces_of(line, frame))
            spans.append(range(at, at + 1))
    return [_unmarked(row) for row in rows], spans


def _unmarked(row: _Row) -> _Row:
    """A row without the gap between a list bullet and its text."""
    return row[1:] if len(row) == 2 and _MARK.fullmatch(row[0].text) else row


def _run(rows: Sequence[_Row], start: int, frame: Frame) -> tuple[int, _Fit | None]:
    """The longest run of rows from `start` on that align in the same columns; the last one must fill more than the
    first column.
    """
    best, fit = start + 1, None
    for end in range(start + 2, min(len(rows), start + _MOST_ROWS) + 1):
        row, above = rows[end - 1], rows[end - 2]
        drop = above[0].bottom - row[0].bottom
        if not (row[0].placed and 0 < drop <= _FAR * max(row[0].height, above[0].height)):
            break
        found = _fit(rows[start:end], frame)
        if found is None or (len(row) == 1 and abs(row[0].height - above[0].height) > _OTHER_SIZE * above[0].height):
            break
        if len(row) > 1 or found.places[-1][0][0]:
            best, fit = end, found
        elif end - best > _MOST_ALONE:
            break
    return best, fit


def _fit(rows: Sequence[_Row], frame: Frame) -> _Fit | None:
    """Columns that all rows align in, derived from the rows with the most common number of parts; None without any."""
    counts = Counter(len(row) for row in rows if len(row) > 1)
    usual = max(counts, key=lambda count: (counts[count], count))
    columns: list[tuple[float, float]] = []
    for part_ in sorted((each for row in rows if len(row) == usual for each in row), key=lambda each: each.left):
        if columns and part_.left < columns[-1][1]:
            columns[-1] = columns[-1][0], max(columns[-1][1], part_.right)
        else:
            columns.append((part_.left, part_.right))
    if len(columns) != usual:
        return None
    places = []
    cut = [[piece for each in row for piece in _parted(each, columns, frame)] for row in rows]
    for row in cut:
        place = _place(row, columns)
        if place is None:
            return None
        places.append(place)
    return _Fit(cut, columns, places)


def _parted(line: PrintedLine, columns: Sequence[tuple[float, float]], frame: Frame) -> list[PrintedLine]:
    """A part of a row, split at spaces that coincide with column boundaries where these are narrow."""
    edges = [left for left, _ in columns[1:]]
    gaps = [gap for gap in line.gaps if any(gap.right < edge + 1 and gap.left > edge - 1 for edge in edges)]
    if not gaps:
        return [line]
    starts, ends = [0, *(gap.end for gap in gaps)], [*(gap.start for gap in gaps), len(line.text)]
    return [part(line, frame, start, end) for start, end in zip(starts, ends, strict=True)]


def _place(row: _Row, columns: Sequence[tuple[float, float]]) -> list[tuple[int, int]] | None:
    """First and last column of each part of a row; None where two parts share a column or a part is in none."""
    found: list[tuple[int, int]] = []
    for each in row:
        over = [at for at, (left, right) in enumerate(columns) if each.left < right and left < each.right]
        if not over:
            near = min(range(len(columns)), key=lambda at: abs(columns[at][0] - each.left))
            if abs(columns[near][0] - each.left) > each.height and abs(columns[near][1] - each.right) > each.height:
                return None
            over = [near]
        if found and over[0] <= found[-1][1]:
            return None
        found.append((over[0], over[-1]))
    if len(row) == 1 and found[0][0] != found[0][1]:
        return None  # a line of text that follows
    return found


def _is_table(fit: _Fit, across: Sequence[Stroke], least: int) -> bool:
    rows, columns = fit.rows, fit.columns
    full = [row for row in rows if len(row) > 1]
    height = median(each.height for row in rows for each in row)
    if len(columns) < least or len(full) < (2 if _between_rules(rows, across) else _LEAST_ROWS):
        return False
    clear = _PAIR_GUTTER if len(columns) == 2 else _GUTTER
    if min(right[0] - left[1] for left, right in pairwise(columns)) < clear * height:
        return False
    if sum(bool(_LEADER.search(each.text)) for row in rows for each in row) * 3 > len(full) or _is_contents(full):
        return False
    return not _is_prose(fit)


def _is_contents(rows: Sequence[_Row]) -> bool:
    """Whether it is a table of contents: numbered lines with a page number at the end."""
    return all(opening(row[0].text) and _PAGE_NUMBER.fullmatch(row[-1].text) for row in rows)


def _is_prose(fit: _Fit) -> bool:
    """Whether each column is running text whose lines fill the column."""
    for at, (left, right) in enumerate(fit.columns):
        alone = [each for row, places in zip(fit.rows, fit.places, strict=True)
                 for each, place in zip(row, places, strict=True) if place == (at, at)]  # fmt: skip
        if not alone:
            return False
        filled = median((each.right - each.left) / (right - left) for each in alone)
        if filled < _PROSE_FILLED or median(units(each.text) for each in alone) < _PROSE_UNITS:
            return False
    return True


def _between_rules(rows: Sequence[_Row], across: Sequence[Stroke]) -> bool:
    """Whether a rule is drawn directly above the first row and another directly below the last."""
    first, last = rows[0], rows[-1]
    left, right = min(row[0].left for row in rows), max(row[-1].right for row in rows)

    def ruled(low: float, high: float) -> bool:
        return any(low <= s.at <= high and s.start <= left + 6 and s.end >= right - 6 for s in across)

    height = first[0].height
    return ruled(first[0].top - height / 2, first[0].top + height) and ruled(
        last[0].bottom - height, last[0].bottom + height / 2
    )


def _made(fit: _Fit) -> Table:
    """The table; rows that only continue the cells above are merged with them."""
    cells: list[list[list[PrintedLine]]] = []
    shared: list[list[int]] = []
    rows = fit.rows
    usual = _usual_drop(fit)
    for number, (row, places) in enumerate(zip(rows, fit.places, strict=True)):
        if cells and _only_goes_on(rows[number - 1], row, places, usual, fit.columns, cells[-1]):
            for each, (first, last) in zip(row, places, strict=True):
                for at in range(first, last + 1):
                    cells[-1][at].append(each)
            continue
        cells.append([[] for _ in fit.columns])
        shared.append(list(range(len(fit.columns))))
        for each, (first, last) in zip(row, places, strict=True):
            for at in range(first, last + 1):
                cells[-1][at].append(each)
                shared[-1][at] = first
    made = []
    for texts, owners in zip(cells, shared, strict=True):
        by_owner = {at: TableCell(tuple(texts[at])) for at in dict.fromkeys(owners)}
        made.append(tuple(by_owner[at] for at in owners))
    edges = (*(left for left, _ in fit.columns), fit.columns[-1][1])
    first_line, last_line = rows[0][0], rows[-1][0]
    return Table(first_line.page, tuple(made), edges, first_line.top, last_line.bottom, ruled=False)


def _usual_drop(fit: _Fit) -> float:
    """Usual distance between consecutive lines that both begin in the first column."""
    drops = [
        above[0].bottom - below[0].bottom
        for (above, _), (below, place) in pairwise(zip(fit.rows, fit.places, strict=True))
        if place[0][0] == 0 and len(below) > 1
    ]
    return median(drops) if drops else 0.0


def _only_goes_on(
    above: _Row,
    row: _Row,
    places: Sequence[tuple[int, int]],
    usual: float,
    columns: Sequence[tuple[float, float]],
    cells: Sequence[Sequence[PrintedLine]],
) -> bool:
    """Whether a row is a wrapped second line of the cells above: closer than rows are, or without a first cell below
    a full cell.
    """
    if any(not cells[first] for first, _ in places) or (len(row) > 1 and places[0][0] == 0):
        return False
    if above[0].bottom - row[0].bottom < 0.85 * usual or places[0][0] == 0:
        return above[0].bottom - row[0].bottom < 0.85 * usual
    for each, (first, last) in zip(row, places, strict=True):
        word = FIRST_WORD.match(each.text)
        need = (units(word[0]) if word else 1.0) * each.em
        if columns[last][1] - cells[first][-1].right > need + each.em:
            return False
    return True
