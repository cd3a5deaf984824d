"""Which file each document was read from, and what connectors listed where they read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.documents import CONTENT_AT
from wenyuan.catalog.stated_files import stated_in

_MOST_MARKS = 20  # of the parts of an address


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The file a live document was read from.

    Attributes:
        effective_from, effective_until: Its period of validity; the earliest and latest possible day where it has
            none.
        content: Hexadecimal SHA-256 of the file, where the document is all that the file holds; else of the document.
    """

    document_id: int
    source_id: str
    uri: str
    title: str
    content: str
    effective_from: date
    effective_until: date


@dataclass(frozen=True, slots=True, eq=False)
class Origins:
    """Looks up the file of a document, by document id or by address."""

    database: Database

    def origin(self, document_id: int) -> Origin | None:
        """The origin of a live document; None when there is none with that id."""
        d = t.documents.c
        columns = (
            d.document_id, d.source_id, d.uri, d.title, sa.func.substr(d.fingerprint, CONTENT_AT), d.effective_from,
            d.effective_until,
        )  # fmt: skip
        query = sa.select(*columns).where(d.document_id == document_id, d.removed_seq.is_(None))
        with self.database.reading("reading a document") as connection:
            row = connection.execute(query).first()
        hidden = self.database.hidden()
        if row is None or (hidden is not None and hidden.hides(document_id)):
            return None
        number, source_id, uri, title, content, begins, ends = row
        return Origin(
            document_id=number, source_id=source_id, uri=uri, title=title, content=content,
            effective_from=date.fromordinal(begins) if begins else date.min,
            effective_until=date.fromordinal(ends) if ends else date.max,
        )  # fmt: skip

    def source_of_document(self, document_id: int) -> str | None:
        """The source of a live document; None where there is none with that id, or it is hidden.

        Asked before anything else is read of what a caller names: so what is another's costs what is not there does.
        """
        d, hidden = t.documents.c, self.database.hidden()
        query = sa.select(d.source_id).where(d.document_id == document_id, d.removed_seq.is_(None))
        with self.database.reading("reading a document") as connection:
            source_id: str | None = connection.scalar(query)
        return None if hidden is not None and hidden.hides(document_id) else source_id

    def source_of_passage(self, passage_id: int) -> str | None:
        """The source of a live passage, as `source_of_document`."""
        p, hidden = t.passages.c, self.database.hidden()
        query = sa.select(p.source_id, p.document_id).where(p.passage_id == passage_id, p.removed_seq.is_(None))
        with self.database.reading("reading a passage") as connection:
            row = connection.execute(query).first()
        source_id, document_id = ("", 0) if row is None else (str(row[0]), int(row[1]))
        return None if row is None or (hidden is not None and hidden.hides(document_id)) else source_id

    def source_of_ended_passage(self, passage_id: int) -> str | None:
        """The source of a passage that was removed; None where there is none with that id, or its address is hidden."""
        p, d, hidden = t.passages.c, t.documents.c, self.database.hidden()
        query = sa.select(p.source_id, d.uri).join(t.documents, d.document_id == p.document_id)
        with self.database.reading("reading a passage") as connection:
            row = connection.execute(query.where(p.passage_id == passage_id, p.removed_seq.is_not(None))).first()
        source_id, uri = ("", "") if row is None else (str(row[0]), str(row[1]))
        return None if row is None or (hidden is not None and hidden.hides_address(source_id, uri)) else source_id

    def file_held(self, source_id: str, file: str, marks: Sequence[str]) -> bool:
        """Whether some live document read from this file, or from a part of it, ever had a passage with one of these
        marks.

        Original passages that corrections changed or excluded count too: the file still contains their text.
        """
        d, p = t.documents.c, t.passages.c
        marked = sa.or_(*(p.text.contains(mark, autoescape=True) for mark in marks))
        query = sa.select(p.passage_id).join(t.documents, d.document_id == p.document_id)
        query = query.where(
            d.source_id == source_id, _of_file(d.uri, source_id, file), d.removed_seq.is_(None), marked
        )
        with self.database.reading("reading a document") as connection:
            return connection.execute(query.limit(1)).first() is not None

    def file_hidden(self, source_id: str, file: str) -> bool:
        """Whether something read from this file is hidden from the caller."""
        d, hidden = t.documents.c, self.database.hidden()
        if hidden is None:
            return False
        query = sa.select(d.document_id).where(
            d.source_id == source_id, _of_file(d.uri, source_id, file), d.removed_seq.is_(None)
        )
        with self.database.reading("reading a document") as connection:
            return any(map(hidden.hides, connection.scalars(query)))

    def file_excluded(self, source_id: str, file: str) -> bool:
        """Whether a correction excludes something read from this file from answers."""
        c = t.corrections.c
        query = sa.select(c.correction_id).where(
            c.source_id == source_id, _of_file(c.uri, source_id, file), c.action == "exclude", c.undone_seq.is_(None)
        )
        with self.database.reading("reading corrections") as connection:
            return connection.execute(query.limit(1)).first() is not None


def wholes(uri: str) -> list[str]:
    """The addresses of which one can be a part: it, and what stands before each mark that a part may begin with."""
    return [uri, *(uri[: mark.start()] for mark in list(re.finditer("[?&#]", uri))[-_MOST_MARKS:])]


def _of_file(uri: sa.ColumnElement[str], source_id: str, file: str) -> sa.ColumnElement[bool]:
    """Condition for the addresses of a file and its parts (``?entry=…``, ``#…``), as ranges that an index supports, and
    for those that its lines stated.
    """
    parts = (sa.and_(uri >= file + mark, uri < file + chr(ord(mark) + 1)) for mark in "?#")
    return sa.or_(uri == file, *parts, stated_in(uri, source_id, file))
