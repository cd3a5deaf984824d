"""Writes of documents: passages and vectors, retirement, change of encoder, and erasure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.documents import batches
from wenyuan.catalog.rows import (
    context_of,
    context_text,
    corrected_text,
    day,
    questions_of,
    reading_row,
    recognition_text,
    vector_rows,
)
from wenyuan.catalog.sql import insert_new, next_seq, now
from wenyuan.catalog.storage import Database
from wenyuan.core.errors import VectorsGone, msg
from wenyuan.core.model import (
    NewDocument,
    NewPassage,
    embedded_text,
    heading_text,
    indexed_headings,
    label_text,
    shown_title,
)
from wenyuan.core.text.summaries import label_as_embedded, with_lead

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
            if vectors:
                connection.execute(insert_new(connection, t.vectors), vector_rows(vectors))
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
            rows = [passage_row(p, doc.source_id, number, seq) for number, doc in numbered for p in doc.passages]
            # What was corrected is kept as it was cut, and was never served: it came and went at the same change.
            kept = [passage_row(p, doc.source_id, number, seq) for number, doc in numbered for p in doc.originals]
            rows += [{**row, "removed_seq": seq} for row in kept]
            if rows:
                connection.execute(t.passages.insert(), rows)
            if readings := [row for number, doc in numbered if (row := _reading_row(doc, number)) is not None]:
                connection.execute(t.readings.insert(), readings)
            for document in documents:
                note_lost(connection, seq, document.corrections, document.corrections_lost)
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
        d = t.documents.c
        with self.database.changing("ending versions") as connection:
            seq = next_seq(connection, source_id)
            for document_id, end in ends.items():
                own = connection.execute(sa.select(t.documents).where(d.document_id == document_id)).mappings().one()
                passages = carried(connection, document_id)
                r = t.readings
                told = connection.execute(sa.select(r).where(r.c.document_id == document_id)).mappings().first()
                retire(connection, seq, d.document_id == document_id)
                number = _next_document(connection)
                connection.execute(
                    t.documents.insert(),
                    {**own, "document_id": number, "effective_until": day(end), "seq": seq, "removed_seq": None},
                )
                rows = [
                    {**row, "document_id": number, "seq": seq, "removed_seq": None if live else seq}
                    for row, live in passages
                ]
                if rows:
                    connection.execute(t.passages.insert(), rows)
                if told is not None:
                    connection.execute(r.insert(), {**told, "document_id": number})

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
    for told in (t.entries, t.addresses):
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


# Vectors of another encoder for what a library holds. They are stored beside the old ones, whose place they take in one
# transaction: until then the library is unchanged, and an interruption loses no vectors.


_AT_ONCE = 1_000  # passages read, and given their new keys, at once


KeyOf = Callable[[str], str]
"""Gives the key under which the vector of a text is stored."""


def _not_embedded(_text: str) -> str:
    """Of a library without vectors."""
    return ""


class _Text(NamedTuple):
    """A live passage with the texts to embed: its own, and its label, which may be ``""``."""

    passage_id: int
    text: str
    label: str


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Vectors of passages, and re-embedding with another encoder."""

    database: Database

    def embedded_after(
        self, passage_id: int, limit: int, was: KeyOf = _not_embedded
    ) -> Sequence[tuple[int, str, str]]:
        """Live passages by rising id, those above `passage_id`: id, text and label as embedded.

        Args:
            was: Embedded text → the key of its vector that is stored.
        """
        with self.database.reading("reading texts") as connection:
            return _texts(connection, passage_id, limit, was)

    def keep_vectors(self, vectors: Mapping[str, Any]) -> None:
        """Store vectors by key, (dim,) float32, in preparation of `change_encoder`."""
        with self.database.changing("storing vectors") as connection:
            connection.execute(insert_new(connection, t.vectors), vector_rows(vectors))

    def change_encoder(self, encoder: Mapping[str, Any], before: str, key_of: KeyOf, was: KeyOf) -> int:
        """Switch all live passages to their vectors of another encoder, and delete the old ones; returns the number
        of passages.

        One transaction. What was measured with the old vectors is forgotten; the value ``reembedded`` says that what is
        derived must follow. No passage and no change number is another, so audit, feedback and rules stay as they are.

        Args:
            encoder: Its fingerprint.
            before: The key of the former one's.
            key_of, was: Embedded text → its vector key, and that of the former encoder.

        Raises:
            VectorsGone: there are passages without such a vector; nothing was changed.
        """
        p, v, c = t.passages.c, t.vectors.c.vector_key, t.library.c.key
        live = p.removed_seq.is_(None)
        given = 0
        with self.database.changing("changing the encoder") as connection:
            give = (
                t.passages.update()
                .where(p.passage_id == sa.bindparam("own"))
                .values(vector_key=sa.bindparam("key"), label_key=sa.bindparam("label"))
            )
            for part in _pages(connection, was):
                keys = [
                    {"own": one.passage_id, "key": key_of(one.text), "label": key_of(one.label) if one.label else ""}
                    for one in part
                ]
                connection.execute(give, keys)
                given += len(part)
            stored = sa.and_(
                sa.select(sa.literal(1)).where(v == p.vector_key).exists(),
                sa.or_(p.label_key == "", sa.select(sa.literal(1)).where(v == p.label_key).exists()),
            )
            lacking = connection.scalar(sa.select(sa.func.count()).select_from(t.passages).where(live, ~stored))
            if lacking:
                raise VectorsGone(
                    msg("{lacking} passages came or changed while the library was embedded anew", lacking=lacking),
                    component="catalog",
                    hint="stop who takes sources in, and go on: wenyuan reembed",
                )
            # An exact replay embeds what is not live any more by itself.
            connection.execute(t.passages.update().where(~live).values(vector_key=None, label_key=None))
            connection.execute(t.vectors.delete().where(*_unused()))
            said = {"encoder": encoder, "reembedded": {"from": before}}
            connection.execute(t.library.delete().where(c.in_([f"value/{name}" for name in (*said, "floor")])))
            rows = [
                {"key": f"value/{name}", "value": json.dumps(one, ensure_ascii=False)} for name, one in said.items()
            ]
            connection.execute(t.library.insert(), rows)
        return given

    def renew_stamps(self, source_id: str, before: str, after: str) -> int:
        """Replace the reading stamp `before` of live documents by `after`; returns how many."""
        d = t.documents.c
        ours = sa.and_(d.source_id == source_id, d.removed_seq.is_(None), d.fingerprint.startswith(f"{before}:"))
        stamp = sa.literal(after) + sa.func.substr(d.fingerprint, len(before) + 1)
        with self.database.changing("writing how documents were read") as connection:
            changed = connection.execute(t.documents.update().where(ours).values(fingerprint=stamp))
        return changed.rowcount


def _pages(connection: sa.Connection, was: KeyOf) -> Iterator[list[_Text]]:
    after = 0
    while part := _texts(connection, after, _AT_ONCE, was):
        yield part
        after = part[-1].passage_id


def _texts(connection: sa.Connection, after: int, limit: int, was: KeyOf) -> list[_Text]:
    p, d = t.passages.c, t.documents.c
    query = (
        sa.select(p.passage_id, p.label_key, d.title, d.lead, p.headings, p.cell, p.text, p.corrected, p.context)
        .join(t.documents, d.document_id == p.document_id)
        .where(p.removed_seq.is_(None), p.passage_id > after)
        .order_by(p.passage_id)
        .limit(limit)
    )
    return [
        _Text(
            number,
            embedded_text(heading_text(shown_title(title, cell, text), headings), with_lead(lead, text, questions)),
            label if lead else label_as_embedded(label, text, known, was),
        )
        for number, known, title, lead, own, cell, text, told, said in connection.execute(query)
        for questions in [questions_of(told)]
        for headings in [indexed_headings(own, context_of(said))]
        for label in [label_text(shown_title(title, cell, text), headings, lead, questions)]
    ]


# Erasure: the texts of removed rows are overwritten in the file. Numbers stay, by which
# indexes learn of the removal and audit records can refer to what was removed.


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
    connection.execute(t.vectors.delete().where(*_unused(), t.vectors.c.vector_key.not_like(f"{NAMES}%")))


def _unused() -> list[sa.ColumnElement[bool]]:
    """Conditions for vectors that no live passage uses, for its text or for its label."""
    p, key = t.passages.c, t.vectors.c.vector_key
    return [
        key.not_in(sa.select(own).where(p.removed_seq.is_(None), own.is_not(None)))
        for own in (p.vector_key, p.label_key)
    ]
