"""Which file each document was read from whose address says nothing of it: the line of the file stated another."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from wenyuan.catalog.database import Database
from wenyuan.catalog.documents import batches
from wenyuan.catalog.schema import TEXT

stated_tables = sa.MetaData()

stated_files = sa.Table(
    "stated_files",
    stated_tables,
    sa.Column("source_id", TEXT, primary_key=True),
    sa.Column("uri", TEXT, primary_key=True),
    sa.Column("file", TEXT, nullable=False),  # the stored address of the file
)


@dataclass(frozen=True, slots=True, eq=False)
class StatedFiles:
    """Files by the stored addresses of their documents, of documents with an address that their line stated."""

    database: Database

    def stated_files(self, source_id: str) -> Mapping[str, str]:
        """The file of each such document of a source."""
        s = stated_files.c
        query = sa.select(s.uri, s.file).where(s.source_id == source_id)
        with self.database.reading("reading the files of documents") as connection:
            return {row.uri: row.file for row in connection.execute(query)}

    def keep_stated_files(self, source_id: str, kept: Mapping[str, str], gone: Collection[str] = ()) -> None:
        """Store the files of documents, and forget those of the addresses in `gone`."""
        if not (kept or gone):
            return
        with self.database.changing("keeping the files of documents") as connection:
            for part in batches([*kept, *gone]):
                old = sa.and_(stated_files.c.source_id == source_id, stated_files.c.uri.in_(part))
                connection.execute(stated_files.delete().where(old))
            rows = [{"source_id": source_id, "uri": uri, "file": file} for uri, file in kept.items()]
            if rows:
                connection.execute(stated_files.insert(), rows)


def stated_in(uri: sa.ColumnElement[str], source_id: str, file: str) -> sa.ColumnElement[bool]:
    """Condition for the addresses that lines of a file stated."""
    s = stated_files.c
    return uri.in_(sa.select(s.uri).where(s.source_id == source_id, s.file == file))
