"""The arrangement of a page: columns, bands, notes, in reading order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from wenyuan.readers.pdf.aligned_tables import aligned_tables, pieces_of
from wenyuan.readers.pdf.page import PrintedLine, PrintedPage, rows_of, units
from wenyuan.readers.pdf.ruled_tables import ruled_tables
from wenyuan.readers.pdf.strokes import Stroke
from wenyuan.readers.pdf.tables import Table

# Reading order of a page: columns between full-width elements; finds tables and footnotes.

_LEAST_LINES = 3  # in each of two columns
_CLEAR = 0.7  # space between columns, of a line's height
_OVERLAP = 0.4  # of the shorter column, beside the other
_SWITCHES = 0.2  # of the lines: how often the file may change between columns that it has one after the other
_FULL, _WORDS, _FULL_LINES = (
    0.7,
    8.0,
    4,
)  # of lines in columns that the file has row by row: how full, how wide, how many
_MOST_HEADINGS, _APART = 2, 0.6  # lines; of a line's height
_DEPTH = 4  # of columns within columns
_SMALL = 0.93  # letters of a footnote, of those of the text
_NOTE = re.compile(r"(?:[*†‡§]{1,3}|[①-⑳]|注[0-9]*[:：]?|[\[〔（(]?[0-9]{1,3}[\]〕）)]?)[.、]?\s*[^\s0-9.,%，。]")


@dataclass(frozen=True, slots=True)
class Note:
    """The lines of a footnote."""

    lines: tuple[PrintedLine, ...]


Item = PrintedLine | Table | Note


@dataclass(frozen=True, slots=True)
class _Spot:
    """An element to be ordered: a line, a part of one, or a table; `at` is its position in the file, `whole` the
    complete line.
    """

    thing: PrintedLine | Table
    at: float
    left: float
    right: float
    bottom: float
    top: float
    whole: PrintedLine | None = None


def arranged(page: PrintedPage, lines: Sequence[PrintedLine], letters: float) -> list[Item]:
    """The elements of a page in reading order, with footnotes at the end of their column.

    Args:
        lines: Those of its lines that are text.
        letters: The usual height of the document's lines, in points.
    """
    lines = _downwards(lines)
    places = {id(line): at for at, line in enumerate(lines)}
    spots: list[_Spot] = []
    rest = list(lines)

    def take(table: Table, taken: Iterable[PrintedLine]) -> None:
        ids = set(map(id, taken))
        at = min(places[each] for each in ids) - 0.5
        spots.append(_Spot(table, at, table.edges[0], table.edges[-1], table.bottom, table.top))
        rest[:] = [line for line in rest if id(line) not in ids]

    for table in ruled_tables(rest, page.drawn, page.number):
        if inside := [line for line in rest if _is_inside(line, table)]:
            take(table, inside)
    found = list(rest)
    for table, span in aligned_tables(found, page.frame, page.drawn.across, least=3):
        take(table, found[span.start : span.stop])
    for line in rest:
        parts = pieces_of(line, page.frame) if line.placed else [line]
        for number, part in enumerate(parts):
            at = places[id(line)] + number / len(parts)
            spots.append(_Spot(part, at, part.left, part.right, part.bottom, part.top, line))
    return _ordered(sorted(spots, key=lambda spot: spot.at), page, letters, _DEPTH)


def _downwards(lines: Sequence[PrintedLine]) -> Sequence[PrintedLine]:
    """Lines in file order, or sorted top to bottom where the file runs upwards, as pdfium gives rotated pages."""
    steps = [a.bottom - b.bottom for a, b in pairwise(line for line in lines if line.placed)]
    if 2 * sum(step < 0 for step in steps) <= len(steps):
        return lines
    return [line for row in rows_of([line for line in lines if line.placed]) for line in row] + [
        line for line in lines if not line.placed
    ]


def _is_inside(line: PrintedLine, table: Table) -> bool:
    x, y = (line.left + line.right) / 2, line.bottom + line.height / 2
    return line.placed and table.bottom < y < table.top and table.edges[0] - 1 < x < table.edges[-1] + 1


def _ordered(spots: list[_Spot], page: PrintedPage, letters: float, depth: int) -> list[Item]:
    edge = _gutter(spots) if depth else None
    if edge is None:
        return _column(spots, page, letters)
    found: list[Item] = []
    for band in _bands(spots, edge):
        left = [spot for spot in band if _side(spot, edge) < 0]
        right = [spot for spot in band if _side(spot, edge) > 0]
        if left and right:
            for side in (left, right):
                inner = _ordered(side, page, letters, depth - 1)
                found += [
                    replace(item, column=1 + int(min(spot.left for spot in side)))
                    if isinstance(item, PrintedLine) and not item.column
                    else item
                    for item in inner
                ]
        else:
            found += _column(band, page, letters)
    return found


def _side(spot: _Spot, edge: float) -> int:
    """-1 left of the x `edge`, 1 right of it, 0 across it."""
    if spot.left >= edge - 1:
        return 1
    return -1 if spot.right <= edge - _CLEAR * min(spot.top - spot.bottom, 12.0) else 0


def _bands(spots: Sequence[_Spot], edge: float) -> list[list[_Spot]]:
    """Split a page from top to bottom into full-width elements and two-column areas, each in file order."""
    bands: list[list[_Spot]] = []
    over = False
    for spot in sorted(spots, key=lambda each: (-each.top, each.at)):
        is_over = _side(spot, edge) == 0
        if not bands or is_over != over:
            bands.append([])
            over = is_over
        bands[-1].append(spot)
    for at in range(len(bands) - 1, 0, -1):
        if _side(bands[at][0], edge) == 0 and (heading := _headings(bands[at - 1], edge)):
            bands[at - 1] = [spot for spot in bands[at - 1] if spot not in heading]
            bands[at] = heading + bands[at]
    return [sorted(band, key=lambda each: each.at) for band in bands if band]


def _headings(band: Sequence[_Spot], edge: float) -> list[_Spot]:
    """The last lines of the left column that stand apart below both columns: the heading of the full-width element
    that follows.
    """
    left = [spot for spot in band if _side(spot, edge) < 0]
    right = [spot for spot in band if _side(spot, edge) > 0]
    if not left or not right:
        return []
    end = min(spot.bottom for spot in right)
    below = [spot for spot in left if spot.top <= end]
    above = [spot for spot in left if spot.top > end]
    if not below or not above or len(below) > _MOST_HEADINGS:
        return []
    apart = min(spot.bottom for spot in above) - below[0].top
    return below if apart > _APART * (below[0].top - below[0].bottom) else []


def _gutter(spots: Sequence[_Spot]) -> float | None:
    """The x at which the right one of two columns begins; None for a single column."""
    lines = [spot for spot in spots if spot.whole and spot.right > spot.left]
    edges = Counter(round(spot.left / 2) for spot in lines)
    best: tuple[int, float] = (0, 0.0)
    for near, count in edges.most_common(12):
        if count + edges[near - 1] + edges[near + 1] < _LEAST_LINES:
            continue
        edge = min(spot.left for spot in lines if abs(round(spot.left / 2) - near) <= 1)
        held = sum(len(band) for band in _bands(spots, edge) if _are_columns(band, edge))
        best = max(best, (held, edge))
    return best[1] if best[0] else None


def _are_columns(band: Sequence[_Spot], edge: float) -> bool:
    left = [spot for spot in band if _side(spot, edge) < 0]
    right = [spot for spot in band if _side(spot, edge) > 0]
    if min(len(left), len(right)) < _LEAST_LINES:
        return False
    tops, bottoms = zip(
        *((max(s.top for s in side), min(s.bottom for s in side)) for side in (left, right)), strict=True
    )
    shorter = min(top - bottom for top, bottom in zip(tops, bottoms, strict=True))
    if min(tops) - max(bottoms) < _OVERLAP * shorter:
        return False
    sides = [_side(spot, edge) for spot in band]
    switches = sum(a != b for a, b in pairwise(sides))
    if switches <= max(1, _SWITCHES * min(len(left), len(right))):
        return True
    return all(map(_is_full, (left, right)))


def _is_full(side: Sequence[_Spot]) -> bool:
    """Whether the lines of each column on one side fill it, as running text does."""
    lines = sorted((s for s in side if isinstance(s.thing, PrintedLine)), key=lambda s: s.left)
    columns: list[list[_Spot]] = []
    for line in lines:
        if columns and line.left - columns[-1][0].left <= 2 * (line.top - line.bottom):
            columns[-1].append(line)
        else:
            columns.append([line])
    for column in columns:
        left, right = column[0].left, max(line.right for line in column)
        filled = median((line.right - line.left) / (right - left) for line in column)
        wide = median(units(line.thing.text) for line in column if isinstance(line.thing, PrintedLine))
        if len(column) < _FULL_LINES or filled < _FULL or wide < _WORDS:
            return False
    return bool(columns)


def _column(spots: Sequence[_Spot], page: PrintedPage, letters: float) -> list[Item]:
    """One column in file order, with its two-column tables found and its footnotes last."""
    things = _whole(spots)
    flow: list[PrintedLine | Table] = []
    lines: list[PrintedLine] = []

    def settle() -> None:
        at = 0
        for table, taken in aligned_tables(lines, page.frame, page.drawn.across, least=2):
            flow.extend(lines[at : taken.start])
            flow.append(table)
            at = taken.stop
        flow.extend(lines[at:])
        lines.clear()

    for thing in things:
        if isinstance(thing, Table):
            settle()
            flow.append(thing)
        else:
            lines.append(thing)
    settle()
    notes = _notes(flow, page.drawn.across, letters)
    ids = {id(line) for note in notes for line in note.lines}
    return [thing for thing in flow if id(thing) not in ids] + notes


def _whole(spots: Sequence[_Spot]) -> list[PrintedLine | Table]:
    """Rejoin parts of a line that are still neighbours."""
    counts = Counter(id(spot.whole) for spot in spots if spot.whole)
    found: list[PrintedLine | Table] = []
    at = 0
    while at < len(spots):
        spot = spots[at]
        same = 1
        while at + same < len(spots) and spot.whole and spots[at + same].whole is spot.whole:
            same += 1
        if spot.whole and same == counts[id(spot.whole)] and _is_all_of(spots[at : at + same], spot.whole):
            found.append(spot.whole)
        else:
            found += [each.thing for each in spots[at : at + same]]
        at += same
    return found


def _is_all_of(parts: Sequence[_Spot], whole: PrintedLine) -> bool:
    return (parts[0].left, parts[-1].right) == (whole.left, whole.right)


def _notes(flow: Sequence[PrintedLine | Table], across: Sequence[Stroke], letters: float) -> list[Note]:
    """Remove the footnotes from a column: its last lines, starting at a note mark in small type or below a short
    rule.
    """
    below = sorted((each for each in flow if isinstance(each, Table) or each.placed), key=lambda each: each.bottom)
    tail: list[PrintedLine] = []
    for thing in below:
        if isinstance(thing, Table):
            break
        tail.append(thing)
    tail.reverse()
    start = _first_note(tail, across, letters)
    if start is None:
        return []
    notes: list[list[PrintedLine]] = []
    for line in tail[start:]:
        if _NOTE.match(line.text) or not notes:
            notes.append([line])
        else:
            notes[-1].append(line)
    return [Note(tuple(lines)) for lines in notes]


def _first_note(tail: Sequence[PrintedLine], across: Sequence[Stroke], letters: float) -> int | None:
    """Index of the first footnote line among a column's lines from top to bottom; None without any."""
    small = len(tail)
    while small and tail[small - 1].height < _SMALL * letters:
        small -= 1
    for at, line in enumerate(tail):
        if not at or not _NOTE.match(line.text):
            continue
        if 0 < small <= at or _is_parted(tail[at - 1], line, tail, across):
            return at
    return None


def _is_parted(
    above: PrintedLine, line: PrintedLine, column: Iterable[PrintedLine], across: Sequence[Stroke]
) -> bool:
    """Whether a short rule at the left separates two lines."""
    left, right = min(each.left for each in column), max(each.right for each in column)
    return any(
        line.top - line.height / 4 <= stroke.at <= above.bottom + above.height / 4
        and abs(stroke.start - left) <= line.height
        and stroke.end - stroke.start <= 0.6 * (right - left)
        for stroke in across
    )
