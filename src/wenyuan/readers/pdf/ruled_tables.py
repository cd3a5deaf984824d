"""Ruled tables: cells formed by lines drawn on a page, and the words in each."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from wenyuan.readers.pdf.page import FIRST_WORD, PrintedLine, rows_of, units
from wenyuan.readers.pdf.strokes import Drawn, Stroke
from wenyuan.readers.pdf.tables import Table, TableCell, in_order

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
