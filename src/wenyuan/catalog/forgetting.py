"""Forgetting for good: the words of what was removed are overwritten in the file. What stays are numbers, by which
indexes learn of the removal and by which an audit can say that something was there.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.connect import translated
from wenyuan.catalog.place import Place

__all__ = ["NAMES", "CatalogForgetting", "forget_words"]

NAMES = "name:"
"""Keys of vectors begin so that are of names in the rules graph: these come from no source."""

_OF_PASSAGES: Mapping[str, Any] = {
    "uri": "", "headings": [], "text": "", "sha256": "", "cell": None, "vector_key": None,
    "label_key": None,
}  # fmt: skip
_OF_DOCUMENTS: Mapping[str, Any] = {
    "uri": "", "title": "", "lead": "", "fingerprint": "", "facets": {}, "notes": []
}  # fmt: skip


class CatalogForgetting:
    """Mixed into `Catalog`."""

    _place: Place
    _writer: sa.Engine

    if TYPE_CHECKING:

        def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...

    def forget_removed(self, source_id: str) -> int:
        """Overwrite what is left of the removed and replaced documents of a source; returns how many those were.

        Nothing that is live changes, so it is no change of the library. An answer of the past that held one of
        them can be proven by its hash in the audit, but not be given again.
        """
        d, p = t.documents.c, t.passages.c
        gone = sa.and_(d.source_id == source_id, d.removed_seq.is_not(None))
        with self.writing():
            with translated("forgetting what was removed"), self._writer.begin() as connection:
                told = sa.select(sa.func.count()).select_from(t.documents).where(gone, d.fingerprint != "")
                count = int(connection.scalar(told) or 0)
                if count:
                    forget_words(connection, gone, sa.and_(p.source_id == source_id, p.removed_seq.is_not(None)))
            self._place.forget()
        return count


def forget_words(
    connection: sa.Connection, documents: sa.ColumnElement[bool], passages: sa.ColumnElement[bool]
) -> None:
    """Overwrite the words of documents and passages, and delete the vectors that no live passage has."""
    p = t.passages.c
    connection.execute(t.passages.update().where(passages).values(dict(_OF_PASSAGES)))
    connection.execute(t.documents.update().where(documents).values(dict(_OF_DOCUMENTS)))
    key = t.vectors.c.vector_key
    unused = [
        key.not_in(sa.select(own).where(p.removed_seq.is_(None), own.is_not(None)))
        for own in (p.vector_key, p.label_key)
    ]
    connection.execute(t.vectors.delete().where(*unused, key.not_like(f"{NAMES}%")))
