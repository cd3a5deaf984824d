"""Stores what people say of documents in place of what their files say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.corrections import stored_passage
from wenyuan.catalog.database import Database
from wenyuan.catalog.detail_tables import document_details
from wenyuan.catalog.dialects import insert_new, next_seq
from wenyuan.catalog.rows import day, vector_rows
from wenyuan.catalog.sql import now
from wenyuan.catalog.writes import check_vectors, replace_row
from wenyuan.core.document_details import DocumentDetails, StatedDetails, details_as_json, details_of_json
from wenyuan.core.model import Facet, NewPassage

_VERSION = "version"
"""Beside what a file says: its number among the versions of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDetails:
    """What counts of what people said of a document.

    Attributes:
        read: What its file says.
        at: Seconds since the epoch.
        version: Of which version of its file it was said, counted from 1; 0 where that is not known.
    """

    said: StatedDetails
    read: DocumentDetails
    reason: str
    actor: str
    at: float
    version: int = 0

    def of_version(self, number: int) -> StatedDetails:
        """What of it holds for a version of the file: days are those of the version of which they were said."""
        return self.said.without_days() if 0 < self.version < number else self.said


@dataclass(frozen=True, slots=True, kw_only=True)
class DetailedDocument:
    """A live document with its details and the passages that are served.

    Attributes:
        own: Its details but for the end that a later version gave it.
    """

    document_id: int
    source_id: str
    uri: str
    lead: str
    own: DocumentDetails
    passages: tuple[NewPassage, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StoredDetails:
    """Reads and stores them; each method from one snapshot, or one transaction."""

    database: Database

    def stated_details(self, source_id: str) -> Mapping[str, KeptDetails]:
        """What people said of the documents of a source, by address."""
        c = document_details.c
        query = sa.select(document_details).where(c.source_id == source_id, c.ended_seq.is_(None))
        with self.database.reading("reading details of documents") as connection:
            return {row["uri"]: _kept(row) for row in connection.execute(query).mappings() if row["said"]}

    def kept_details(self, source_id: str, uri: str) -> KeptDetails | None:
        """What counts of what people said of a document; None where they said nothing."""
        c = document_details.c
        query = sa.select(document_details).where(c.source_id == source_id, c.uri == uri, c.ended_seq.is_(None))
        with self.database.reading("reading details of a document") as connection:
            row = connection.execute(query).mappings().first()
        return None if row is None or not row["said"] else _kept(row)

    def detailed_document(self, document_id: int) -> DetailedDocument | None:
        """A live document with its details; None where there is none."""
        d, p = t.documents.c, t.passages.c
        with self.database.reading("reading details of a document") as connection:
            row = connection.execute(
                sa.select(t.documents).where(d.document_id == document_id, d.removed_seq.is_(None))
            ).mappings().first()  # fmt: skip
            passages = connection.execute(
                sa.select(t.passages).where(p.document_id == document_id, p.removed_seq.is_(None)).order_by(p.start, p.passage_id)
            ).mappings().all()  # fmt: skip
        if row is None:
            return None
        own = DocumentDetails(
            title=row["title"], effective_from=_date(row["effective_from"]), effective_until=_date(row["own_until"]),
            tags=row["facets"],
        )  # fmt: skip
        return DetailedDocument(
            document_id=document_id, source_id=row["source_id"], uri=row["uri"], lead=row["lead"], own=own,
            passages=tuple(map(stored_passage, passages)),
        )  # fmt: skip

    def set_details(
        self,
        document: DetailedDocument,
        said: StatedDetails,
        read: DocumentDetails,
        *,
        keyed: Callable[[NewPassage], NewPassage],
        vectors: Mapping[str, Any],
        reason: str,
        actor: str,
        version: int = 0,
    ) -> int:
        """Store what somebody says of a document, and put a row with these details in the place of its own; returns its new number.

        Args:
            read: What its file says.
            keyed: Gives a passage the keys of its vectors under the new title.
            vectors: By vector key, those that are not stored.
            version: Of its file, of which it is said.

        Raises:
            VectorsGone: one that was left out is not stored any more.
        """
        c = document_details.c
        details = said.over(read)
        with self.database.changing("storing details of a document") as connection:
            seq = next_seq(connection, document.source_id)
            if vectors:
                connection.execute(insert_new(connection, t.vectors), vector_rows(vectors))
            check_vectors(connection, [keyed(one) for one in document.passages], vectors)
            of_it = sa.and_(c.source_id == document.source_id, c.uri == document.uri, c.ended_seq.is_(None))
            connection.execute(document_details.update().where(of_it).values(ended_seq=seq))
            if said.values:
                connection.execute(document_details.insert().values(
                    source_id=document.source_id, uri=document.uri, said=dict(said.values), read=_noted(read, version),
                    reason=reason, actor=actor, at=now(), seq=seq,
                ))  # fmt: skip

            def rekeyed(row: Mapping[str, Any]) -> Mapping[str, Any]:
                one = keyed(stored_passage(row))
                return {"vector_key": one.vector_key, "label_key": one.label_key}

            return replace_row(
                connection, seq, document.document_id,
                {
                    "title": details.title, "effective_from": day(details.effective_from),
                    "effective_until": day(details.effective_until), "own_until": day(details.effective_until),
                    "facets": dict(details.tags),
                },
                rekeyed,
            )  # fmt: skip

    def note_read(self, source_id: str, read: Mapping[str, DocumentDetails]) -> None:
        """Note what files say of themselves now, by address, where people say something else."""
        if not read:
            return
        c = document_details.c
        with self.database.changing("noting what files say") as connection:
            for uri, own in read.items():
                of_it = sa.and_(c.source_id == source_id, c.uri == uri, c.ended_seq.is_(None))
                row = connection.execute(sa.select(c.read).where(of_it)).first()
                version = 0 if row is None else row.read.get(_VERSION, 0)
                connection.execute(document_details.update().where(of_it).values(read=_noted(own, version)))

    def keep_with_version(self, source_id: str, uri: str, kept: KeptDetails, read: DocumentDetails) -> None:
        """Keep what was said of a document with the version of its file of which it was said, which has another address now."""
        with self.database.changing("keeping details of an earlier version") as connection:
            connection.execute(document_details.insert().values(
                source_id=source_id, uri=uri, said=dict(kept.said.values), read=_noted(read, kept.version),
                reason=kept.reason, actor=kept.actor, at=kept.at, seq=next_seq(connection, source_id),
            ))  # fmt: skip

    def reword_details(self, source_id: str, redacted: Callable[[str], str]) -> None:
        """Replace the words that people wrote by redacted ones; those that count no more are erased, and so is what files said."""
        c = document_details.c
        with self.database.changing("redacting details of documents") as connection:
            rows = connection.execute(sa.select(document_details).where(c.source_id == source_id)).mappings().all()
            for row in rows:
                counts = row["ended_seq"] is None and bool(row["said"])
                change = {
                    "said": _reworded(row["said"], redacted) if counts else {},
                    "read": {**row["read"], **_reworded(row["read"], redacted)} if counts else {},
                    "reason": redacted(row["reason"]) if row["reason"] and counts else "",
                }
                connection.execute(document_details.update().where(c.detail_id == row["detail_id"]).values(change))


def _kept(row: sa.RowMapping) -> KeptDetails:
    return KeptDetails(
        said=StatedDetails(row["said"]), read=details_of_json(row["read"]), reason=row["reason"], actor=row["actor"],
        at=row["at"], version=row["read"].get(_VERSION, 0),
    )  # fmt: skip


def _noted(read: DocumentDetails, version: int) -> dict[str, Any]:
    """What a file says, as it is stored."""
    return details_as_json(read) | ({_VERSION: version} if version else {})


def _reworded(values: Mapping[str, Any], redacted: Callable[[str], str]) -> dict[str, Any]:
    told = dict(values)
    if isinstance(told.get("title"), str):
        told["title"] = redacted(told["title"])
    if "tags" in told:
        told["tags"] = {redacted(name): _reworded_tag(value, redacted) for name, value in told["tags"].items()}
    return told


def _reworded_tag(value: Facet | None, redacted: Callable[[str], str]) -> Facet | None:
    return redacted(value) if isinstance(value, str) else value


def _date(ordinal: int | None) -> date | None:
    return None if ordinal is None else date.fromordinal(ordinal)
