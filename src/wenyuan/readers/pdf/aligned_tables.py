"""Tables without drawn rules: rows of words aligned in columns, with clear space between them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from wenyuan.core.text.structure import opening
from wenyuan.readers.pdf.page import FIRST_WORD, PrintedLine, part, units
from wenyuan.readers.pdf.strokes import Frame, Stroke
from wenyuan.readers.pdf.tables import Table, TableCell

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
