"""What connectors listed in the last run over a source, so that the next run fetches only what has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.documents import batches
from wenyuan.catalog.storage import Database
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
