"""CSV files of nodes or of statements; which of them it is, the header says."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.rules.book import Book, Tally
from wenyuan.core.rules.model import EntryPlace
from wenyuan.readers.decoding import clean, decode
from wenyuan.readers.rulebooks.entries import Writing
from wenyuan.readers.rulebooks.tables import NODES, SOURCES, STATEMENTS, TableLine, find_columns, heading, take_row

_PARTS = {"nodes": NODES, "statements": STATEMENTS, "sources": SOURCES}
_NEEDS = {"statements": ("src", "rel", "dst"), "nodes": ("kind", "name"), "sources": ("id", "title")}


def read_csv_book(content: bytes, *, file: str, pack: str) -> Book:
    """Read comma- or tab-separated values with a header row.

    Raises:
        DocumentRejected: it is no text, or not well-formed.
    """
    decoded = decode(content)
    text, cleaned = clean(decoded.text)
    writing = Writing(pack, file)
    for remark in (*decoded.notes, *cleaned):
        writing.note("cleaned", remark, EntryPlace(file))
    try:
        lines = list(_lines(text, file))
    except csv.Error as error:
        raise DocumentRejected(msg("it is not well-formed: {error}", error=error)) from error
    if not lines:
        writing.fault("bad_file", "it has no rows", EntryPlace(file))
        return writing.book()
    part = _part_of(lines[0])
    if not part:
        wanted = "; ".join(f"{name}: {', '.join(needed)}" for name, needed in _NEEDS.items())
        message = f"its header has the columns of no table ({wanted}); none of its rows is read"
        writing.fault("bad_file", message, lines[0].place)
        return writing.book()
    columns = find_columns(lines[0], _PARTS[part], writing)
    for line in lines[1:]:
        if columns.sound:
            take_row(line, columns, part, writing)
        elif part != "sources":
            writing.refused += Tally(**{part: 1})
    return writing.book()


def _lines(text: str, file: str) -> Iterator[TableLine]:
    first = text.partition("\n")[0]
    delimiter = max(",\t;，", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield TableLine([cell.strip() for cell in cells], EntryPlace(file, line))
        line = reader.line_num + 1


def _part_of(line: TableLine) -> str:
    """Which table (nodes, statements …) has all required columns in this header; ``""``: none."""
    seen = {heading(cell) for cell in line.cells}
    for part, needed in _NEEDS.items():
        words = ({heading(w) for w in (name, *_PARTS[part][name])} for name in needed)
        if all(seen & spelled for spelled in words):
            return part
    return ""
