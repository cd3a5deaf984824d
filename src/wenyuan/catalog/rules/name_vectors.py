"""Vectors of the names of nodes, kept beside those of passages: by what was embedded with which model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.documents import batches
from wenyuan.catalog.erasure import NAMES
from wenyuan.catalog.rows import unpack_vector, vector_rows
from wenyuan.core.errors import CatalogUnavailable


@dataclass(frozen=True, slots=True, eq=False)
class StoredNameVectors:
    """Embedding vectors of node names."""

    database: Database

    def name_vectors(self, keys: Sequence[str]) -> Mapping[str, Any]:
        """The stored vectors among `keys`, (dim,) float32 by key. A damaged one counts as missing."""
        v = t.vectors.c
        found: dict[str, Any] = {}
        with self.database.reading("reading the vectors of names") as connection:
            for part in batches([NAMES + key for key in keys]):
                query = sa.select(v.vector_key, v.vector, v.crc).where(v.vector_key.in_(part))
                for key, raw, crc in connection.execute(query):
                    try:
                        found[key.removeprefix(NAMES)] = unpack_vector(raw, crc, 0)
                    except CatalogUnavailable:
                        continue
        return found

    def keep_name_vectors(self, vectors: Mapping[str, Any], *, wanted: Collection[str] | None = None) -> None:
        """Store vectors by key. This is no change of the library: results do not depend on whether they are stored.

        Args:
            wanted: The keys of all names there are now; the vectors of others go.
        """
        v = t.vectors
        rows = vector_rows({NAMES + key: vector for key, vector in vectors.items()})
        with self.database.changing("keeping the vectors of names") as connection:
            for part in batches([row["vector_key"] for row in rows]):
                connection.execute(v.delete().where(v.c.vector_key.in_(part)))
            if rows:
                connection.execute(v.insert(), rows)
            if wanted is not None:
                names = sa.select(v.c.vector_key).where(v.c.vector_key.startswith(NAMES))
                keep = {NAMES + key for key in wanted}
                for part in batches([key for key in connection.scalars(names) if key not in keep]):
                    connection.execute(v.delete().where(v.c.vector_key.in_(part)))
