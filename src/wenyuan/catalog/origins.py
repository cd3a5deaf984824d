"""Which file each document was read from, and what connectors listed where they read it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.documents import CONTENT_AT, batches
from wenyuan.catalog.storage import Database
from wenyuan.core.connectors import Entry

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
        if row is None:
            return None
        number, source_id, uri, title, content, begins, ends = row
        return Origin(
            document_id=number, source_id=source_id, uri=uri, title=title, content=content,
            effective_from=date.fromordinal(begins) if begins else date.min,
            effective_until=date.fromordinal(ends) if ends else date.max,
        )  # fmt: skip

    def file_held(self, source_id: str, file: str, marks: Sequence[str]) -> bool:
        """Whether some live document read from this file, or from a part of it, ever had a passage with one of these
        marks.

        Original passages that corrections changed or excluded count too: the file still contains their text.
        """
        d, p = t.documents.c, t.passages.c
        marked = sa.or_(*(p.text.contains(mark, autoescape=True) for mark in marks))
        query = sa.select(p.passage_id).join(t.documents, d.document_id == p.document_id)
        query = query.where(d.source_id == source_id, _of_file(d.uri, file), d.removed_seq.is_(None), marked)
        with self.database.reading("reading a document") as connection:
            return connection.execute(query.limit(1)).first() is not None

    def file_excluded(self, source_id: str, file: str) -> bool:
        """Whether a correction excludes something read from this file from answers."""
        c = t.corrections.c
        query = sa.select(c.correction_id).where(
            c.source_id == source_id, _of_file(c.uri, file), c.action == "exclude", c.undone_seq.is_(None)
        )
        with self.database.reading("reading corrections") as connection:
            return connection.execute(query.limit(1)).first() is not None


def _wholes(uri: str) -> list[str]:
    """The addresses of which one can be a part: it, and what stands before each mark that a part may begin with."""
    return [uri, *(uri[: mark.start()] for mark in list(re.finditer("[?&#]", uri))[-_MOST_MARKS:])]


def _of_file(uri: sa.ColumnElement[str], file: str) -> sa.ColumnElement[bool]:
    """Condition for the addresses of a file and its parts (``?entry=…``, ``#…``), as ranges that an index supports."""
    parts = (sa.and_(uri >= file + mark, uri < file + chr(ord(mark) + 1)) for mark in "?#")
    return sa.or_(uri == file, *parts)


# What connectors listed in the last run over a source, so that the next run fetches only what has changed.


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """An entry as it was listed and read in the last run.

    Attributes:
        how: In which way it was read; the first part of the fingerprints of its documents.
        documents: The URIs of its documents; none where it could not be read.
    """

    entry: Entry
    how: str
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Listings:
    """Last listed entries of sources that are read through connectors."""

    database: Database

    def listed(self, source_id: str) -> Mapping[str, Remembered]:
        """The entries of a source, by key."""
        e = t.entries.c
        query = sa.select(e.entry, e.how, e.documents).where(e.source_id == source_id).order_by(e.key)
        with self.database.reading("reading what was listed") as connection:
            rows = connection.execute(query).all()
        found = (Remembered(entry=Entry(**entry), how=how, documents=tuple(uris)) for entry, how, uris in rows)
        return {one.entry.key: one for one in found}

    def listed_for(self, source_id: str, uri: str) -> Entry | None:
        """The entry that a document was read from, by the document's URI; None where none is remembered."""
        e = t.entries.c
        query = sa.select(e.entry, e.documents).where(e.source_id == source_id)
        stated = sa.type_coerce(e.documents, sa.Text).contains(json.dumps(uri), autoescape=True)
        with self.database.reading("reading what was listed") as connection:
            # Most lie at the entry's own address or at a part of it; only of those that state another one all are read.
            for condition in (e.uri.in_(_wholes(uri)), stated):
                with connection.execute(query.where(condition)) as rows:
                    for entry, uris in rows:
                        if uri in uris:
                            return Entry(**entry)
        return None

    def keep_listed(self, source_id: str, entries: Sequence[Remembered]) -> None:
        """Store entries, each replacing the one with its key."""
        if not entries:
            return
        with self.database.changing("keeping what was listed") as connection:
            _forget(connection, source_id, [one.entry.key for one in entries])
            connection.execute(
                t.entries.insert(),
                [
                    {
                        "source_id": source_id,
                        "key": one.entry.key,
                        "entry": asdict(one.entry),
                        "how": one.how,
                        "documents": list(one.documents),
                        "uri": one.entry.uri,
                    }
                    for one in entries
                ],
            )

    def forget_listed(self, source_id: str, keys: Sequence[str]) -> None:
        """Delete entries by key: gone from the source, or to be read again."""
        if keys:
            with self.database.changing("forgetting what was listed") as connection:
                _forget(connection, source_id, keys)


def _forget(connection: sa.Connection, source_id: str, keys: Sequence[str]) -> None:
    for part in batches(keys):
        connection.execute(t.entries.delete().where(t.entries.c.source_id == source_id, t.entries.c.key.in_(part)))
