"""Which library this is: an id among libraries that ask one another, and the place for which it was given."""

from __future__ import annotations

import hashlib
import hmac
import uuid
from contextlib import suppress
from dataclasses import dataclass

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database, StoragePlace
from wenyuan.catalog.format_upgrades import ADOPTED
from wenyuan.catalog.sql import translated
from wenyuan.core.errors import CatalogBusy, CatalogUnavailable

KEY_MARK = "pseudonym_key_mark"
"""Key in `library` of what tells the key of a library in a folder from every other key, and does not give it away."""


def mark_of(key: bytes) -> str:
    """What is recorded of a key, see `KEY_MARK`."""
    return hmac.new(key, b"mark", hashlib.sha256).hexdigest()[:32]


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """The library's id. A copied folder has the original's id until `renew_id`, and must not be mistaken for it."""

    database: Database

    def where(self) -> str:
        """The folder, or the server and schema, that holds the catalog."""
        return str(self.database.place)

    def library_id(self) -> str:
        """The id by which libraries that query one another know this one; a copy shares it until `renew_id`."""
        return self._identity("library_id")

    def names(self) -> tuple[str, ...]:
        """The current id, then former ones; data that belongs to this library carries one of them."""
        with self.database.reading("reading the library's ids") as connection:
            key, value = t.library.c.key, t.library.c.value
            former = connection.scalars(sa.select(value).where(key.startswith(t.FORMER)).order_by(key))
            return self.library_id(), *former

    def elsewhere(self) -> bool:
        """Whether the id was assigned at another location: this library was copied, moved to another disk or
        restored.

        False also for libraries of before this was recorded.
        """
        recorded = self._identity("library_file")
        return bool(recorded) and recorded != self.lies()

    def lies(self) -> str:
        """Identifies the library's location, to tell a copy from the original; equal on all servers of one library."""
        with self.database.reading("looking where the library lies") as connection:
            return self.database.place.identity(connection)

    def pseudonym_key(self) -> bytes:
        """The key for pseudonyms where all processes share it through the database; empty in a folder, which has it
        in a file.
        """
        return bytes.fromhex(self._identity(t.PSEUDONYMS))

    def key_mark(self) -> str:
        """What was recorded of the library's key in its file; empty where nothing was."""
        return self._identity(KEY_MARK)

    def mark_key(self, mark: str) -> None:
        """Record it, unless somebody is writing, or nothing can be written: the next process does."""
        with (
            suppress(CatalogBusy, CatalogUnavailable),
            self.database.writing(wait=0),
            translated("recording the library's key"),
            self.database.writer.begin() as connection,
        ):
            if connection.scalar(sa.select(t.library.c.key).where(t.library.c.key == KEY_MARK)) is None:
                connection.execute(t.library.insert(), {"key": KEY_MARK, "value": mark})

    def renew_key_mark(self, mark: str) -> tuple[int, int]:
        """Record another key: the identities of addresses that the former one made are forgotten. What has an address that
        is made without the key is found again by it.

        Returns:
            How many identities there were, and how many corrections in force are of documents with one.
        """
        a, c, key = t.addresses.c, t.corrections.c, t.library.c.key
        with self.database.changing("recording the library's key") as connection:
            count = connection.scalar(sa.select(sa.func.count()).select_from(t.addresses)) or 0
            theirs = sa.and_(a.source_id == c.source_id, a.uri == c.uri)
            held = sa.select(sa.func.count()).select_from(t.corrections.join(t.addresses, theirs))
            corrections = connection.scalar(held.where(c.undone_seq.is_(None))) or 0
            connection.execute(t.addresses.delete())
            newest = connection.scalar(sa.select(sa.func.max(t.documents.c.document_id))) or 0
            connection.execute(t.library.delete().where(key.in_((KEY_MARK, f"value/{ADOPTED}"))))
            connection.execute(
                t.library.insert(),
                [{"key": KEY_MARK, "value": mark}, {"key": f"value/{ADOPTED}", "value": str(newest)}],
            )
        return count, corrections

    def renew_id(self) -> str:
        """Give this library a new id and return it. Processes that have it open keep using the old one."""
        with self.database.changing("naming the library") as connection:
            return name_library(connection, self.database.place)

    def _identity(self, key: str) -> str:
        with self.database.reading("reading the library's id") as connection:
            return str(connection.scalar(sa.select(t.library.c.value).where(t.library.c.key == key)) or "")


def name_library(connection: sa.Connection, place: StoragePlace) -> str:
    """Store a new id, with the location it is assigned to."""
    name = uuid.uuid4().hex
    former = connection.scalar(sa.select(t.library.c.value).where(t.library.c.key == "library_id"))
    if former:
        connection.execute(t.library.insert(), {"key": t.FORMER + former, "value": former})
    for key, value in (("library_id", name), ("library_file", place.identity(connection))):
        connection.execute(t.library.delete().where(t.library.c.key == key))
        connection.execute(t.library.insert(), {"key": key, "value": value})
    return name
