"""The system of record: what is not in here does not exist; indexes are derived from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from shlex import quote
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema
from wenyuan.catalog.documents import CatalogReads, batches
from wenyuan.catalog.governance import CatalogGovernance, CatalogIdentity, CatalogProfiles, name_library
from wenyuan.catalog.learning import CatalogEvaluations, CatalogSynonyms, CatalogTunings
from wenyuan.catalog.rows import Remembered, day, source_row, vector_rows
from wenyuan.catalog.rules.writes import CatalogNames, CatalogQuotes, CatalogRules, drop_evidence_of
from wenyuan.catalog.sql import insert_new, next_seq, now, reading, translated
from wenyuan.catalog.storage import Files, Place
from wenyuan.catalog.vectors import CatalogForgetting, CatalogVectors, forget_words
from wenyuan.core.errors import CatalogUnavailable, CatalogVersion, VectorsGone
from wenyuan.core.model import NewDocument, NewPassage, Source
from wenyuan.runtime import upgrade_command

# The catalog: the system of record. What is not in here does not exist; indexes are derived from it.


MOVING = "moving"
"""Of `library`, while one is moved here (see `catalog.backup`): whose rows come."""


class Catalog(
    CatalogIdentity,
    CatalogForgetting,
    CatalogGovernance,
    CatalogRules,
    CatalogQuotes,
    CatalogNames,
    CatalogTunings,
    CatalogProfiles,
    CatalogSynonyms,
    CatalogEvaluations,
    CatalogVectors,
    CatalogReads,
):
    """What a library holds, wherever that lies. Safe to share between threads."""

    def __init__(self, place: Place) -> None:
        self.folder = place.folder
        self._place = place
        self._writer, self._reader, self._claims = place.writer, place.reader, place.claims
        self._remembered = Remembered(place.version)

    # -- life ---------------------------------------------------------------------------------------

    @classmethod
    def create(cls, where: Path | Place) -> Catalog:
        """Make an empty library in a folder or at a place (made; must not hold one already)."""
        place = _place(where)
        place.make()
        catalog = cls(place)
        try:
            with catalog.writing(), translated("creating the library"), catalog._claims.begin() as connection:
                if sa.inspect(connection).get_table_names():
                    raise CatalogUnavailable(
                        f"there is a database in {place} already",
                        component="catalog",
                        hint="open it, or choose another folder or catalog.schema_name",
                    )
                make_tables(connection, 0, place)
        except BaseException:
            catalog.close()
            raise
        return catalog

    @classmethod
    def open(cls, where: Path | Place) -> Catalog:
        """Open an existing library; migrates an older one.

        Raises:
            CatalogUnavailable: there is none, or it cannot be read.
            CatalogVersion: it was written by a newer program.
        """
        place = _place(where)
        try:
            if not place.found():
                raise CatalogUnavailable(
                    f"there is no library in {place}",
                    component="catalog",
                    hint=f"wenyuan --library {quote(str(place.folder))} init",
                )
            catalog = cls(place)
            catalog._make_current()
        except BaseException:
            place.close()
            raise
        return catalog

    def _make_current(self) -> None:
        version = self._version()
        if version > schema.SCHEMA_VERSION:
            raise CatalogVersion(
                f"the library in {self._place} has format {version}, this program knows up to {schema.SCHEMA_VERSION}",
                component="catalog",
                hint=f"upgrade the program: {upgrade_command()}",
            )
        if version < schema.SCHEMA_VERSION:
            with self.writing():
                if version == 0:
                    self.check_not_emptied()  # asked again with the lock, and before the writer changes the file
                with translated("migrating the library"), self._claims.begin() as connection:
                    if self._number(connection) == version:  # else another process has done it meanwhile
                        make_tables(connection, version, self._place)

    def check_not_emptied(self) -> None:
        """CatalogUnavailable where there was a library, and its tables are gone; it only reads."""
        if self._version() == 0 and self._place.emptied():
            raise CatalogUnavailable(
                f"the library in {self._place} was emptied: its tables are gone, and what was made with them is there",
                component="catalog",
                hint="restore it from a backup; or choose another folder, or another catalog.schema_name",
            )

    def _version(self) -> int:
        """The number of the format; 0 when creating the library was interrupted before anything was stored."""
        with reading(self._reader, f"opening {self._place}") as connection:
            return self._number(connection)

    def _number(self, connection: sa.Connection) -> int:
        names = sa.inspect(connection).get_table_names()
        if not names:
            return 0
        number = None
        if "library" in names:
            number = connection.scalar(sa.select(schema.library.c.value).where(schema.library.c.key == "schema"))
        if number is None or not number.isdecimal():
            raise CatalogUnavailable(
                f"{self._place} is a database, but no library",
                component="catalog",
                hint="choose another folder, or another catalog.schema_name",
            )
        if connection.scalar(sa.select(sa.func.count()).where(schema.library.c.key == MOVING)):
            raise CatalogUnavailable(
                f"the library in {self._place} is not all there yet",
                component="catalog",
                hint="go on with moving it: wenyuan migrate --to … as before",
            )
        return int(number)

    def close(self) -> None:
        self._place.close()

    def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]:
        """Hold the library's writer lock (one writer per library; readers go on)."""
        return self._place.held(wait=wait)

    def taking_in(self, source_id: str, *, wait: float = 10.0) -> AbstractContextManager[None]:
        """Be the only one who takes a source in or removes it; in a folder, the only one who writes at all."""
        return self._place.held_source(source_id, wait=wait)

    def indexing(self, *, wait: float = 10.0) -> AbstractContextManager[None]:
        """Be the only one who writes to an index in the library's folder."""
        return self._place.held_index(wait=wait)

    # -- values of the library as a whole -------------------------------------------------------------

    def set_value(self, key: str, value: Any) -> None:
        with self.writing(), translated(f"writing {key!r}"), self._writer.begin() as connection:
            connection.execute(schema.library.delete().where(schema.library.c.key == "value/" + key))
            connection.execute(
                schema.library.insert(), {"key": "value/" + key, "value": json.dumps(value, ensure_ascii=False)}
            )

    # -- sources --------------------------------------------------------------------------------------

    def put_source(self, source: Source) -> None:
        """Add a source, or replace its description. It counts as a change: what is derived from it follows."""
        before = {s.source_id: s for s in self.sources()}.get(source.source_id)
        values = source_row(source)
        with self.writing(), translated("writing a source"), self._writer.begin() as connection:
            next_seq(connection, source.source_id)
            changed = connection.execute(
                schema.sources.update()
                .where(schema.sources.c.source_id == source.source_id)
                .values(**values, updated_at=now())
            )
            if changed.rowcount == 0:
                connection.execute(schema.sources.insert(), {**values, "created_at": now(), "updated_at": now()})
        if before != source:
            self.on_change("registry", "changed" if before else "added", source.source_id, before, source)

    def remove_source(self, source_id: str) -> int:
        """Remove a source with all that came from it; returns how many documents went.

        Texts, titles, names and vectors are overwritten in the file, not kept for a later look: removal may be
        an order. What stays are numbers, by which indexes learn of the removal. Rules that only it supported are
        retired.
        """
        before = self.source(source_id)
        with self.taking_in(source_id), self.writing():
            with translated("removing a source"), self._writer.begin() as connection:
                seq = next_seq(connection, source_id)
                gone = _retire(connection, seq, schema.documents.c.source_id == source_id)
                drop_evidence_of(connection, seq, source_id)
                _forget(connection, source_id)
            self._place.forget()
        self.on_change("registry", "removed", source_id, before, None)
        return gone

    # -- documents ------------------------------------------------------------------------------------

    def commit_documents(self, documents: Sequence[NewDocument], vectors: Mapping[str, Any]) -> int:
        """Store documents, each replacing the live one of the same source and URI; returns the commit's number.

        One transaction: a document is stored with all its passages and vectors, or not at all.

        Args:
            vectors: By vector key, (dim,) float32; those that are stored already may be left out.

        Raises:
            VectorsGone: one that was left out is not stored any more.
        """
        with self.writing(), translated("storing documents"), self._writer.begin() as connection:
            seq = next_seq(connection, documents[0].source_id)
            if vectors:
                connection.execute(insert_new(connection, schema.vectors), vector_rows(vectors))
            _check_vectors(connection, documents, vectors)
            for source_id, group in _by_source(documents).items():
                uris = [document.uri for document in group]
                for part in batches(uris):
                    d, f = schema.documents.c, schema.failures.c
                    _retire(connection, seq, sa.and_(d.source_id == source_id, d.uri.in_(part)))
                    connection.execute(schema.failures.delete().where(f.source_id == source_id, f.uri.in_(part)))
            first = _next_document(connection)
            numbered = list(enumerate(documents, start=first))
            connection.execute(
                schema.documents.insert(), [_document_row(doc, number, seq) for number, doc in numbered]
            )
            rows = [_passage_row(p, doc, number, seq) for number, doc in numbered for p in doc.passages]
            if rows:
                connection.execute(schema.passages.insert(), rows)
        return seq

    def retire_documents(self, source_id: str, document_ids: Sequence[int]) -> int:
        """Remove documents from what is searched; returns how many were live."""
        if not document_ids:
            return 0
        gone = 0
        with self.writing(), translated("retiring documents"), self._writer.begin() as connection:
            seq = next_seq(connection, source_id)
            for part in batches(document_ids):
                gone += _retire(
                    connection,
                    seq,
                    sa.and_(schema.documents.c.source_id == source_id, schema.documents.c.document_id.in_(part)),
                )
        return gone

    def amend_ends(self, source_id: str, ends: Mapping[int, date | None]) -> None:
        """Give live documents another last day, by document id: new rows, since rows are never rewritten."""
        if not ends:
            return
        d, p = schema.documents.c, schema.passages.c
        with self.writing(), translated("ending versions"), self._writer.begin() as connection:
            seq = next_seq(connection, source_id)
            for document_id, end in ends.items():
                own = (
                    connection.execute(sa.select(schema.documents).where(d.document_id == document_id))
                    .mappings()
                    .one()
                )
                passages = (
                    connection.execute(sa.select(schema.passages).where(p.document_id == document_id))
                    .mappings()
                    .all()
                )
                _retire(connection, seq, d.document_id == document_id)
                number = _next_document(connection)
                connection.execute(
                    schema.documents.insert(),
                    {**own, "document_id": number, "effective_until": day(end), "seq": seq, "removed_seq": None},
                )
                rows = [
                    {**{k: v for k, v in row.items() if k != "passage_id"}, "document_id": number, "seq": seq}
                    for row in passages
                ]
                connection.execute(schema.passages.insert(), rows)

    def record_failure(self, source_id: str, uri: str, code: str, reason: str) -> None:
        """Remember that a document could not be taken in; a live older version stays."""
        f = schema.failures
        with self.writing(), translated("recording a failure"), self._writer.begin() as connection:
            connection.execute(f.delete().where(f.c.source_id == source_id, f.c.uri == uri))
            connection.execute(
                f.insert(), {"source_id": source_id, "uri": uri, "code": code, "reason": reason, "at": now()}
            )

    def forget_failures(self, source_id: str, uris: Sequence[str]) -> None:
        """Failures of documents that are no longer in the source."""
        if not uris:
            return
        f = schema.failures.c
        with self.writing(), translated("clearing failures"), self._writer.begin() as connection:
            for part in batches(uris):
                connection.execute(schema.failures.delete().where(f.source_id == source_id, f.uri.in_(part)))


def _place(where: Path | Place) -> Place:
    return Files(where) if isinstance(where, Path) else where


def make_tables(connection: sa.Connection, version: int, place: Place) -> None:
    """Bring the tables from one version to the current one; 0: make them."""
    for step in schema.MIGRATIONS[version:]:
        step(connection)
    connection.execute(schema.library.delete().where(schema.library.c.key == "schema"))
    connection.execute(schema.library.insert(), {"key": "schema", "value": str(schema.SCHEMA_VERSION)})
    if version == 0:
        name_library(connection, place)
        place.begin(connection)


def _check_vectors(connection: sa.Connection, documents: Sequence[NewDocument], given: Mapping[str, Any]) -> None:
    passages = (passage for document in documents for passage in document.passages)
    keys = {key for p in passages for key in (p.vector_key, p.label_key) if key}
    v = schema.vectors.c.vector_key
    for part in batches(sorted(keys - given.keys())):
        held = set(connection.scalars(sa.select(v).where(v.in_(part))))
        if len(held) < len(part):
            raise VectorsGone("vectors were removed while documents with the same texts came in", component="catalog")


def _next_document(connection: sa.Connection) -> int:
    return int(connection.scalar(sa.select(sa.func.max(schema.documents.c.document_id))) or 0) + 1


def _retire(connection: sa.Connection, seq: int, which: sa.ColumnElement[bool]) -> int:
    ids = list(
        connection.scalars(
            sa.select(schema.documents.c.document_id).where(which, schema.documents.c.removed_seq.is_(None))
        )
    )
    for part in batches(ids):
        connection.execute(
            schema.documents.update().where(schema.documents.c.document_id.in_(part)).values(removed_seq=seq)
        )
        connection.execute(
            schema.passages.update()
            .where(schema.passages.c.document_id.in_(part), schema.passages.c.removed_seq.is_(None))
            .values(removed_seq=seq)
        )
    return len(ids)


def _forget(connection: sa.Connection, source_id: str) -> None:
    p, d, f, s = schema.passages, schema.documents, schema.failures, schema.sources
    forget_words(connection, d.c.source_id == source_id, p.c.source_id == source_id)
    connection.execute(f.delete().where(f.c.source_id == source_id))
    connection.execute(schema.source_state.delete().where(schema.source_state.c.source_id == source_id))
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


def _passage_row(passage: NewPassage, document: NewDocument, document_id: int, seq: int) -> dict[str, Any]:
    return {
        "document_id": document_id,
        "source_id": document.source_id,
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
        "seq": seq,
        "removed_seq": None,
    }
