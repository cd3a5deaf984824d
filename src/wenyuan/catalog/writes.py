"""Writes of documents: passages and vectors, and retirement."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.batch_tables import embedding_batches, source_runs
from wenyuan.catalog.database import Database
from wenyuan.catalog.detail_tables import document_details
from wenyuan.catalog.dialects import insert_new, next_seq
from wenyuan.catalog.document_readers import readers_committed
from wenyuan.catalog.documents import batches
from wenyuan.catalog.erasure import forget_words
from wenyuan.catalog.reader_tables import document_readers
from wenyuan.catalog.rows import context_text, corrected_text, day, reading_row, recognition_text, vector_rows
from wenyuan.catalog.sql import now
from wenyuan.catalog.stated_files import stated_files
from wenyuan.core.errors import VectorsGone
from wenyuan.core.model import NewDocument, NewPassage

# What is stored of documents, and what of them is ended or erased.


@dataclass(frozen=True, slots=True, eq=False)
class DocumentWrites:
    """Stores, retires and erases documents; each method is one transaction."""

    database: Database

    def commit_documents(self, documents: Sequence[NewDocument], vectors: Mapping[str, Any]) -> int:
        """Store documents, each replacing the live one of the same source and URI; returns the commit's number.

        One transaction: a document is stored with all its passages and vectors, or not at all.

        Args:
            vectors: By vector key, (dim,) float32; those that are stored already may be left out.

        Raises:
            VectorsGone: one that was left out is not stored any more.
        """
        with self.database.changing("storing documents") as connection:
            seq = next_seq(connection, documents[0].source_id)
            for keys in batches(list(vectors)):
                connection.execute(
                    insert_new(connection, t.vectors), vector_rows({key: vectors[key] for key in keys})
                )
            check_vectors(connection, [passage for document in documents for passage in document.passages], vectors)
            for source_id, group in _by_source(documents).items():
                uris = [document.uri for document in group]
                for part in batches(uris):
                    d, f = t.documents.c, t.failures.c
                    retire(connection, seq, sa.and_(d.source_id == source_id, d.uri.in_(part)))
                    connection.execute(t.failures.delete().where(f.source_id == source_id, f.uri.in_(part)))
            first = _next_document(connection)
            numbered = list(enumerate(documents, start=first))
            connection.execute(t.documents.insert(), [_document_row(doc, number, seq) for number, doc in numbered])
            for document_id, document in numbered:
                _insert_passages(connection, document, document_id, seq)
            if readings := [row for number, doc in numbered if (row := _reading_row(doc, number)) is not None]:
                connection.execute(t.readings.insert(), readings)
            for document in documents:
                note_lost(connection, seq, document.corrections, document.corrections_lost)
            for source_id, group in _by_source(documents).items():
                readers_committed(connection, seq, source_id, {document.uri: document.access for document in group})
        return seq

    def retire_documents(self, source_id: str, document_ids: Sequence[int]) -> int:
        """Remove documents from the searchable set; returns how many were live."""
        if not document_ids:
            return 0
        gone = 0
        with self.database.changing("retiring documents") as connection:
            seq = next_seq(connection, source_id)
            for part in batches(document_ids):
                gone += retire(
                    connection,
                    seq,
                    sa.and_(t.documents.c.source_id == source_id, t.documents.c.document_id.in_(part)),
                )
        return gone

    def amend_ends(self, source_id: str, ends: Mapping[int, date | None]) -> None:
        """Set another last day for live documents, by document id. Rows are never rewritten, so they are replaced."""
        if not ends:
            return
        with self.database.changing("ending versions") as connection:
            seq = next_seq(connection, source_id)
            for document_id, end in ends.items():
                replace_row(connection, seq, document_id, {"effective_until": day(end)})

    def record_failure(self, source_id: str, uri: str, code: str, reason: str) -> None:
        """Record that a document could not be ingested; a live older version stays."""
        f, uri = t.failures, self.failure_key(uri)
        with self.database.changing("recording a failure") as connection:
            connection.execute(f.delete().where(f.c.source_id == source_id, f.c.uri == uri))
            connection.execute(
                f.insert(), {"source_id": source_id, "uri": uri, "code": code, "reason": reason, "at": now()}
            )

    def failure_key(self, uri: str) -> str:
        """The address under which a failure is stored: shortened, where an index takes no key as long as it is."""
        most = self.database.place.longest_key
        if most is None or len(uri.encode()) <= most:
            return uri
        told = hashlib.sha256(uri.encode()).hexdigest()[:16]
        return f"{uri.encode()[: most - 20].decode(errors='ignore')}…{told}"

    def forget_failures(self, source_id: str, uris: Sequence[str]) -> None:
        """Delete the failures of documents that are no longer in the source."""
        if not uris:
            return
        f = t.failures.c
        with self.database.changing("clearing failures") as connection:
            for part in batches([self.failure_key(uri) for uri in uris]):
                connection.execute(t.failures.delete().where(f.source_id == source_id, f.uri.in_(part)))

    def forget_removed(self, source_id: str) -> int:
        """Erase the texts of a source's removed and replaced documents; returns how many documents those were.

        Nothing that is live changes, so it is no change of the library. An answer of the past that held one of
        them can be proven by its hash in the audit, but not be given again.
        """
        d, p = t.documents.c, t.passages.c
        gone = sa.and_(d.source_id == source_id, d.removed_seq.is_not(None))
        with self.database.writing():
            with self.database.changing("forgetting what was removed") as connection:
                told = sa.select(sa.func.count()).select_from(t.documents).where(gone, d.fingerprint != "")
                count = int(connection.scalar(told) or 0)
                if count:
                    words = sa.and_(p.source_id == source_id, p.document_id.in_(sa.select(d.document_id).where(gone)))
                    forget_words(connection, gone, words)
            self.database.place.forget()
        return count

    def forget_addresses(self, source_id: str, uris: Sequence[str]) -> int:
        """Erase the texts of removed and replaced documents with these addresses, as `forget_removed`; returns how many."""
        d, p = t.documents.c, t.passages.c
        count = 0
        with self.database.writing():
            with self.database.changing("forgetting what was removed") as connection:
                for part in batches(uris):
                    gone = sa.and_(d.source_id == source_id, d.removed_seq.is_not(None), d.uri.in_(part))
                    ids = connection.scalars(sa.select(d.document_id).where(gone)).all()
                    count += len(ids)
                    for some in batches(ids):
                        words = sa.and_(p.source_id == source_id, p.document_id.in_(some))
                        forget_words(connection, d.document_id.in_(some), words)
                    live = connection.scalars(
                        sa.select(d.uri).where(d.source_id == source_id, d.removed_seq.is_(None), d.uri.in_(part))
                    )
                    rest = sorted({*part} - {*live})
                    for told in (t.failures, document_readers):
                        here = sa.and_(told.c.source_id == source_id, told.c.uri.in_(rest))
                        connection.execute(told.delete().where(here))
            self.database.place.forget()
        return count


def replace_row(
    connection: sa.Connection,
    seq: int,
    document_id: int,
    values: Mapping[str, Any],
    keyed: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda row: {},
) -> int:
    """Put a row with other values in the place of a live document's from change `seq` on, with the same passages; returns its
    number.

    Args:
        values: By column.
        keyed: Gives what is changed of the row of a passage that is served.
    """
    d, r = t.documents.c, t.readings
    own = connection.execute(sa.select(t.documents).where(d.document_id == document_id)).mappings().one()
    passages = carried(connection, document_id)
    told = connection.execute(sa.select(r).where(r.c.document_id == document_id)).mappings().first()
    retire(connection, seq, d.document_id == document_id)
    number = _next_document(connection)
    row = {**own, **values, "document_id": number, "seq": seq, "removed_seq": None}
    connection.execute(t.documents.insert(), row)
    rows = [
        {**each, **(keyed(each) if live else {}), "document_id": number, "seq": seq, "removed_seq": None if live else seq}
        for each, live in passages
    ]  # fmt: skip
    if rows:
        connection.execute(t.passages.insert(), rows)
    if told is not None:
        connection.execute(r.insert(), {**told, "document_id": number})
    return number


def carried(connection: sa.Connection, document_id: int) -> list[tuple[dict[str, Any], bool]]:
    """The passages of a live document, without their ids, for a new row that takes them over; and whether each is
    served. Includes original passages that corrections replaced or excluded.
    """
    p = t.passages.c
    rows = connection.execute(
        sa.select(t.passages, t.documents.c.seq.label("begun"))
        .join(t.documents, t.documents.c.document_id == p.document_id)
        .where(p.document_id == document_id)
        .order_by(p.start, p.passage_id)
    ).mappings()
    found, cut = [], []
    for row in rows:
        plain = {name: value for name, value in row.items() if name not in ("passage_id", "begun")}
        if row["removed_seq"] is None:
            found.append((plain, True))
        elif row["corrected"] is None and row["seq"] == row["begun"]:
            cut.append(plain)
    served = {(row["start"], row["text"]) for row, _ in found if row["corrected"] is None}
    return found + [(row, False) for row in cut if (row["start"], row["text"]) not in served]


def note_lost(connection: sa.Connection, seq: int, counting: Sequence[int], lost: Sequence[int]) -> None:
    """Record, from change `seq` on, which corrections in force no longer find their text in the document."""
    c = t.corrections.c
    for ids, value in ((lost, seq), ([one for one in counting if one not in lost], None)):
        if ids:
            still = c.lost_seq.is_(None) if value else c.lost_seq.is_not(None)
            connection.execute(t.corrections.update().where(c.correction_id.in_(ids), still).values(lost_seq=value))


def check_vectors(connection: sa.Connection, passages: Sequence[NewPassage], given: Mapping[str, Any]) -> None:
    """VectorsGone where a passage's vector is neither given nor stored."""
    keys = {key for p in passages for key in (p.vector_key, p.label_key) if key}
    v = t.vectors.c.vector_key
    for part in batches(sorted(keys - given.keys())):
        held = set(connection.scalars(sa.select(v).where(v.in_(part))))
        if len(held) < len(part):
            raise VectorsGone("vectors were removed while documents with the same texts came in", component="catalog")


def _insert_passages(connection: sa.Connection, document: NewDocument, document_id: int, seq: int) -> None:
    """Insert the passages of a document, some at a time: rows and their parameters take several times their texts."""
    for part in batches(document.passages):
        rows = [passage_row(passage, document.source_id, document_id, seq) for passage in part]
        connection.execute(t.passages.insert(), rows)
    # What was corrected is kept as it was cut, and was never served: it came and went at the same change.
    for part in batches(document.originals):
        kept = [passage_row(passage, document.source_id, document_id, seq) for passage in part]
        connection.execute(t.passages.insert(), [{**row, "removed_seq": seq} for row in kept])


def _next_document(connection: sa.Connection) -> int:
    return int(connection.scalar(sa.select(sa.func.max(t.documents.c.document_id))) or 0) + 1


def retire(connection: sa.Connection, seq: int, which: sa.ColumnElement[bool]) -> int:
    """End documents and their passages at change `seq`; returns how many."""
    ids = list(
        connection.scalars(sa.select(t.documents.c.document_id).where(which, t.documents.c.removed_seq.is_(None)))
    )
    for part in batches(ids):
        connection.execute(t.documents.update().where(t.documents.c.document_id.in_(part)).values(removed_seq=seq))
        connection.execute(
            t.passages.update()
            .where(t.passages.c.document_id.in_(part), t.passages.c.removed_seq.is_(None))
            .values(removed_seq=seq)
        )
        connection.execute(t.readings.delete().where(t.readings.c.document_id.in_(part)))  # of what is live alone
    return len(ids)


def forget_source(connection: sa.Connection, source_id: str) -> None:
    """Erase the texts of a removed source, and delete everything else stored about it."""
    p, d, f, s = t.passages, t.documents, t.failures, t.sources
    forget_words(connection, d.c.source_id == source_id, p.c.source_id == source_id)
    connection.execute(f.delete().where(f.c.source_id == source_id))
    beside = (
        t.entries,
        t.addresses,
        document_readers,
        stated_files,
        embedding_batches,
        source_runs,
        document_details,
    )
    for told in beside:
        connection.execute(told.delete().where(told.c.source_id == source_id))
    connection.execute(t.source_state.delete().where(t.source_state.c.source_id == source_id))
    connection.execute(t.corrections.delete().where(t.corrections.c.source_id == source_id))
    connection.execute(t.context_sentences.delete().where(t.context_sentences.c.source_id == source_id))
    connection.execute(s.delete().where(s.c.source_id == source_id))


def _by_source(documents: Sequence[NewDocument]) -> Mapping[str, list[NewDocument]]:
    groups: dict[str, list[NewDocument]] = {}
    for document in documents:
        groups.setdefault(document.source_id, []).append(document)
    return groups


def _document_row(document: NewDocument, number: int, seq: int) -> dict[str, Any]:
    return {
        "document_id": number,
        "source_id": document.source_id,
        "uri": document.uri,
        "title": document.title,
        "lead": document.lead,
        "fingerprint": document.fingerprint,
        "media_type": document.media_type,
        "language": document.language,
        "collection": document.collection,
        "effective_from": day(document.effective_from),
        "effective_until": day(document.effective_until),
        "own_until": day(document.effective_until),
        "facets": dict(document.facets),
        "notes": list(document.notes),
        "ingested_at": now(),
        "seq": seq,
        "removed_seq": None,
    }


def _reading_row(document: NewDocument, number: int) -> dict[str, Any] | None:
    told = reading_row(document.fidelity, document.lines, document.uncertain)
    return None if told is None else {"document_id": number, **told}


def passage_row(passage: NewPassage, source_id: str, document_id: int, seq: int) -> dict[str, Any]:
    """A row of the table of passages, live from change `seq` on."""
    return {
        "document_id": document_id,
        "source_id": source_id,
        "uri": passage.uri,
        "headings": list(passage.headings),
        "text": passage.text,
        "sha256": passage.sha256,
        "start": passage.start,
        "end": passage.end,
        "page": passage.page,
        "line": passage.line,
        "cell": passage.cell,
        "vector_key": passage.vector_key,
        "label_key": passage.label_key,
        "recognised": recognition_text(passage.recognition),
        "corrected": corrected_text(passage.corrected),
        "context": context_text(passage.context),
        "seq": seq,
        "removed_seq": None,
    }
