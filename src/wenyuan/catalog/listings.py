"""What connectors listed in the last run over a source, so that the next run fetches only what has changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.documents import batches
from wenyuan.catalog.origins import wholes
from wenyuan.core.connectors import Entry


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
            for condition in (e.uri.in_(wholes(uri)), stated):
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
