"""Vectors of the names of nodes, kept beside those of passages: by what was embedded with which model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.connect import reading, translated
from wenyuan.catalog.forgetting import NAMES
from wenyuan.catalog.rows import unpack_vector, vector_rows
from wenyuan.catalog.rules_merge import pieces
from wenyuan.core.errors import CatalogUnavailable

__all__ = ["CatalogNames"]


class CatalogNames:
    """Mixed into `Catalog`."""

    _reader: sa.Engine
    _writer: sa.Engine

    if TYPE_CHECKING:

        def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...

    def name_vectors(self, keys: Sequence[str]) -> Mapping[str, Any]:
        """Those of the vectors that are kept, (dim,) float32 by key. A damaged one counts as missing."""
        v = t.vectors.c
        found: dict[str, Any] = {}
        with reading(self._reader, "reading the vectors of names") as connection:
            for part in pieces([NAMES + key for key in keys]):
                query = sa.select(v.vector_key, v.vector, v.crc).where(v.vector_key.in_(part))
                for key, raw, crc in connection.execute(query):
                    try:
                        found[key.removeprefix(NAMES)] = unpack_vector(raw, crc, 0)
                    except CatalogUnavailable:
                        continue
        return found

    def keep_name_vectors(self, vectors: Mapping[str, Any], *, wanted: Collection[str] | None = None) -> None:
        """Keep vectors by key. No change of the library: nothing that is found differs.

        Args:
            wanted: The keys of all names there are now; the vectors of others go.
        """
        v = t.vectors
        rows = vector_rows({NAMES + key: vector for key, vector in vectors.items()})
        with self.writing(), translated("keeping the vectors of names"), self._writer.begin() as connection:
            for part in pieces([row["vector_key"] for row in rows]):
                connection.execute(v.delete().where(v.c.vector_key.in_(part)))
            if rows:
                connection.execute(v.insert(), rows)
            if wanted is not None:
                names = sa.select(v.c.vector_key).where(v.c.vector_key.startswith(NAMES))
                keep = {NAMES + key for key in wanted}
                for part in pieces([key for key in connection.scalars(names) if key not in keep]):
                    connection.execute(v.delete().where(v.c.vector_key.in_(part)))
