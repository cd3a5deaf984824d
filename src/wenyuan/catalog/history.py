"""Reads of documents that were, and of their texts at their end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.documents import CONTENT_AT


@dataclass(frozen=True, slots=True, kw_only=True)
class PastDocument:
    """A document that is or was held.

    Attributes:
        content: Digest of what was read.
        seq: The change at which it was added.
        removed_seq, removed_at: The change at which it was removed, and when (seconds since the epoch); None: it is live.
    """

    document_id: int
    source_id: str
    uri: str
    title: str
    content: str
    effective_from: date | None
    effective_until: date | None
    ingested_at: float
    seq: int
    removed_seq: int | None
    removed_at: float | None


@dataclass(frozen=True, slots=True, eq=False)
class PastDocuments:
    """Reads documents with those that were removed, as long as their texts are kept."""

    database: Database

    def past_document(self, document_id: int) -> PastDocument | None:
        """A document, live or removed; None where there is none, or its texts were erased."""
        with self.database.reading("reading a document") as connection:
            row = connection.execute(_query().where(t.documents.c.document_id == document_id)).mappings().first()
        return None if row is None else _past(row)

    def past_documents(self, source_id: str, uri: str, containing: str) -> list[PastDocument]:
        """The documents that a source has or had under an address, or under any that contains some text."""
        d = t.documents.c
        which = sa.or_(d.uri == uri, d.uri.contains(containing, autoescape=True))
        query = _query().where(d.source_id == source_id, which).order_by(d.document_id)
        with self.database.reading("reading the history of a document") as connection:
            return [_past(row) for row in connection.execute(query).mappings()]

    def removed_texts(self, after: int, upto: int) -> frozenset[tuple[str, str, str]]:
        """Source, address of the document and digest of the text of the passages that were removed between two changes."""
        p, d = t.passages.c, t.documents.c
        query = (
            sa.select(p.source_id, d.uri, p.sha256)
            .join(t.documents, d.document_id == p.document_id)
            .where(p.removed_seq > after, p.removed_seq <= upto)
        )
        with self.database.reading("reading what was removed") as connection:
            return frozenset((row[0], row[1], row[2]) for row in connection.execute(query))

    def past_texts(self, one: PastDocument) -> list[tuple[tuple[str, ...], str]]:
        """Headings and text of a document's passages, in their order; of one that was removed, as they were last."""
        p = t.passages.c
        query = (
            sa.select(p.headings, p.text)
            .where(p.document_id == one.document_id, p.removed_seq.is_not_distinct_from(one.removed_seq))
            .order_by(p.start, p.passage_id)
        )
        with self.database.reading("reading the history of a document") as connection:
            return [(tuple(headings), text) for headings, text in connection.execute(query)]


def _query() -> sa.Select[Any]:
    d, c = t.documents.c, t.commits.c
    return (
        sa.select(t.documents, c.at.label("removed_at"))
        .outerjoin(t.commits, c.seq == d.removed_seq)
        .where(d.fingerprint != "")
    )


def _past(row: Mapping[str, Any] | sa.RowMapping) -> PastDocument:
    begins, ends = row["effective_from"], row["effective_until"]
    return PastDocument(
        document_id=row["document_id"],
        source_id=row["source_id"],
        uri=row["uri"],
        title=row["title"],
        content=row["fingerprint"][CONTENT_AT - 1 :],
        effective_from=date.fromordinal(begins) if begins else None,
        effective_until=date.fromordinal(ends) if ends else None,
        ingested_at=row["ingested_at"],
        seq=row["seq"],
        removed_seq=row["removed_seq"],
        removed_at=row["removed_at"],
    )
