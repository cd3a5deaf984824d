"""Which stored address each true address has, where redaction changes what is stored of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.detail_tables import document_details
from wenyuan.catalog.documents import batches
from wenyuan.core.redaction.named_places import NamedPlace


@dataclass(frozen=True, slots=True)
class StoredAddress:
    """An address as it is stored.

    Attributes:
        base: The true address as redaction leaves it, which another one may have in common with it.
        uri: The stored address: `base`, with a mark where another true address of the source has it.
        places: Where it names values that its documents showed to be some, and which rules alone do not find in it.
    """

    base: str
    uri: str
    places: tuple[NamedPlace, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class StoredAddresses:
    """Reads and stores the addresses of a source by identity: a keyed hash of the true address, which is not stored."""

    database: Database

    def addresses(self, source_id: str) -> Mapping[str, StoredAddress]:
        """The stored addresses of a source, by identity."""
        a = t.addresses.c
        query = sa.select(a.identity, a.base, a.uri, a.places).where(a.source_id == source_id)
        with self.database.reading("reading addresses") as connection:
            return {
                identity: StoredAddress(base, uri, tuple(NamedPlace(*place) for place in places))
                for identity, base, uri, places in connection.execute(query)
            }

    def address_identity(self, source_id: str, uri: str) -> str | None:
        """The identity of what has a stored address in a source; None where redaction changed nothing of it."""
        a = t.addresses.c
        query = sa.select(a.identity).where(a.source_id == source_id, a.uri == uri)
        with self.database.reading("reading addresses") as connection:
            identity: str | None = connection.scalar(query)
        return identity

    def keep_addresses(
        self,
        source_id: str,
        kept: Mapping[str, StoredAddress],
        gone: Sequence[str] = (),
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        """Store addresses by identity, and delete those of the identities in `gone`.

        Args:
            renamed: Former stored address → the present one: corrections and details of the document follow it.
        """
        if not (kept or gone or renamed):
            return
        a = t.addresses.c
        with self.database.changing("keeping addresses") as connection:
            for part in batches([*kept, *gone]):
                connection.execute(t.addresses.delete().where(a.source_id == source_id, a.identity.in_(part)))
            rows = [
                {
                    "source_id": source_id, "identity": identity, "base": one.base, "uri": one.uri,
                    "places": [list(place) for place in one.places],
                }
                for identity, one in kept.items()
            ]  # fmt: skip
            if rows:
                connection.execute(t.addresses.insert(), rows)
            for former, present in (renamed or {}).items():
                for table in (t.corrections, document_details):
                    c = table.c
                    moved = table.update().where(c.source_id == source_id, c.uri == former)
                    connection.execute(moved.values(uri=present))
