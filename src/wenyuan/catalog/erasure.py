"""Erasure.

The texts of removed rows are overwritten in the file. Numbers stay, by which indexes learn of the removal and audit
records can refer to what was removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t

NAMES = "name:"
"""Keys of vectors begin so that are of names in the rules graph: these come from no source."""

_OF_PASSAGES: Mapping[str, Any] = {
    "uri": "", "headings": [], "text": "", "sha256": "", "cell": None, "vector_key": None,
    "label_key": None, "recognised": None, "corrected": None, "context": None,
}  # fmt: skip
_OF_DOCUMENTS: Mapping[str, Any] = {
    "uri": "", "title": "", "lead": "", "fingerprint": "", "facets": {}, "notes": []
}  # fmt: skip


def forget_words(
    connection: sa.Connection, documents: sa.ColumnElement[bool], passages: sa.ColumnElement[bool]
) -> None:
    """Erase the texts of documents and passages, and delete vectors that no live passage uses."""
    connection.execute(t.passages.update().where(passages).values(dict(_OF_PASSAGES)))
    connection.execute(t.documents.update().where(documents).values(dict(_OF_DOCUMENTS)))
    connection.execute(t.vectors.delete().where(*unused(), t.vectors.c.vector_key.not_like(f"{NAMES}%")))


def unused() -> list[sa.ColumnElement[bool]]:
    """Conditions for vectors that no live passage uses, for its text or for its label."""
    p, key = t.passages.c, t.vectors.c.vector_key
    return [
        key.not_in(sa.select(own).where(p.removed_seq.is_(None), own.is_not(None)))
        for own in (p.vector_key, p.label_key)
    ]
