"""CSV and TSV to a `Document`: every row is a passage of its own, an FAQ's with its question first."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator

from wenyuan.core.errors import msg
from wenyuan.core.model import Document
from wenyuan.readers.assemble import (
    Original,
    assemble,
    rejected,
    stem,
)
from wenyuan.readers.decoding import clean, decode
from wenyuan.readers.table import Row, names_repeated, row_pieces
from wenyuan.readers.text import measured

_DELIMITERS = ",;\t|，；"
_SAMPLE_ROWS = 20
_SEPARATOR = re.compile(r"\s*\"?sep=(.)\"?[ \t]*(?:\n|\Z)", re.IGNORECASE)
"""The first line by which a file tells spreadsheets its delimiter."""


def read_csv(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read delimited values; the delimiter (comma, ``;``, tab, ``|``, full-width comma) is detected from the rows.

    Raises:
        DocumentRejected: it is no text, a quote is never closed, or it holds no rows.
    """
    return _read_values(content, uri=uri, name=name, delimiter=None, media_type="text/csv")


def read_tsv(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read tab-separated values; see `read_csv`."""
    return _read_values(content, uri=uri, name=name, delimiter="\t", media_type="text/tab-separated-values")


def _read_values(
    content: bytes, *, uri: str, name: str, delimiter: str | None, media_type: str
) -> tuple[Document, ...]:
    rows, notes = values_of(content, name=name, delimiter=delimiter)
    table = stem(name)
    pieces, remarks = row_pieces(rows, table=table, anchor="row={}".format)  # RFC 7111
    document = assemble(
        pieces, Original(content, uri, name), title=table, media_type=media_type, notes=[*notes, *remarks]
    )
    own = (cell for row in rows for cell in row.cells)
    return (measured(document, own, added=names_repeated(rows)),)


def values_of(content: bytes, *, name: str, delimiter: str | None = None) -> tuple[list[Row], list[str]]:
    """The rows of a text file, and notes.

    Args:
        delimiter: None to find it from the rows.

    Raises:
        DocumentRejected: it is no text, or a quote is never closed.
    """
    decoded = decode(content)
    text, cleaned = clean(decoded.text)
    if stated := _SEPARATOR.match(text):
        delimiter = stated[1]
        text = "\n" + text[stated.end() :]  # lines keep their numbers
    delimiter = delimiter or _delimiter(text)
    try:
        try:
            rows = list(_rows_of(text, delimiter))
        except csv.Error:  # people write: "name" and more, without a mark around all of it
            rows = list(_rows_of(_quoted(text, delimiter), delimiter))
    except csv.Error as error:
        raise rejected(msg("it is not well-formed: {error}", error=error), name) from error
    return rows, [*decoded.notes, *cleaned]


def _quoted(text: str, delimiter: str) -> str:
    """The text with fields that begin with a quotation of their own (``"a" and b``) quoted as a whole."""
    mark = re.escape(delimiter)
    quoted, more = r'"(?:[^"]|"")*+"', rf"[^{mark}\r\n]"
    fields = re.compile(rf"(?:\A|(?<=[{mark}\r\n]))(?:(?P<field>{quoted}{more}++)|{quoted})")
    return fields.sub(lambda m: m[0] if m["field"] is None else '"' + m["field"].replace('"', '""') + '"', text)


def _rows_of(text: str, delimiter: str) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    for number, cells in enumerate(reader, 1):
        if any(cell.strip() for cell in cells):
            yield Row(number, [cell.strip() for cell in cells], line)
        line = reader.line_num + 1


def _delimiter(text: str) -> str:
    """The delimiter that splits the first rows into the most columns, with equal counts in most rows."""

    def regularity(delimiter: str) -> tuple[float, int]:
        try:
            rows = list(itertools.islice(csv.reader(io.StringIO(text), delimiter=delimiter), _SAMPLE_ROWS))
        except csv.Error:
            return 0.0, 0
        widths = [len(row) for row in rows if row]
        if not widths or widths[0] < 2:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    best = max(_DELIMITERS, key=regularity)
    return best if regularity(best)[1] else ","
