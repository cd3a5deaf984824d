"""Which library this is: an id among libraries that ask one another, and the place for which it was given."""

from __future__ import annotations

import uuid
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.connect import reading, translated
from wenyuan.catalog.place import Place

__all__ = ["CatalogIdentity", "name_library"]


class CatalogIdentity:
    """Mixed into `Catalog`. A copied folder has the id of the original, and each would take the other for itself."""

    _place: Place
    _reader: sa.Engine
    _writer: sa.Engine

    if TYPE_CHECKING:

        def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...

    def where(self) -> str:
        """The folder, or the schema of a server, in which the record lies."""
        return str(self._place)

    def library_id(self) -> str:
        """What this library is called among libraries that ask one another; a copy has the same until `renew_id`."""
        return self._identity("library_id")

    def names(self) -> tuple[str, ...]:
        """The id, then earlier ones: by one of them goes what belongs to this library."""
        with reading(self._reader, "reading the library's ids") as connection:
            key, value = t.library.c.key, t.library.c.value
            former = connection.scalars(sa.select(value).where(key.startswith(t.FORMER)).order_by(key))
            return self.library_id(), *former

    def elsewhere(self) -> bool:
        """Whether the id was given for another place: this one is a copy, or was moved to another disk or restored.

        False also for libraries of before this was recorded.
        """
        recorded = self._identity("library_file")
        return bool(recorded) and recorded != self.lies()

    def lies(self) -> str:
        """What tells where this library lies from where a copy of it does; other servers of it say the same."""
        with reading(self._reader, "looking where the library lies") as connection:
            return self._place.identity(connection)

    def pseudonym_key(self) -> bytes:
        """What makes pseudonyms, where all who redact share it; empty in a folder, which has it in a file."""
        return bytes.fromhex(self._identity(t.PSEUDONYMS))

    def renew_id(self) -> str:
        """Give this library an id of its own; returns it. Processes that have it open go on with the old one."""
        with self.writing(), translated("naming the library"), self._writer.begin() as connection:
            return name_library(connection, self._place)

    def _identity(self, key: str) -> str:
        with reading(self._reader, "reading the library's id") as connection:
            return str(connection.scalar(sa.select(t.library.c.value).where(t.library.c.key == key)) or "")


def name_library(connection: sa.Connection, place: Place) -> str:
    """Write a new id, and for which place it is."""
    name = uuid.uuid4().hex
    former = connection.scalar(sa.select(t.library.c.value).where(t.library.c.key == "library_id"))
    if former:
        connection.execute(t.library.insert(), {"key": t.FORMER + former, "value": former})
    for key, value in (("library_id", name), ("library_file", place.identity(connection))):
        connection.execute(t.library.delete().where(t.library.c.key == key))
        connection.execute(t.library.insert(), {"key": key, "value": value})
    return name
