"""Corrections by people, which are served in place of a passage's original text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.dialects import insert_new, next_seq
from wenyuan.catalog.documents import batches
from wenyuan.catalog.rows import context_of, corrected_of, recognition_of, vector_rows
from wenyuan.catalog.sql import now
from wenyuan.catalog.writes import carried, check_vectors, note_lost, passage_row
from wenyuan.core.corrections import Correction
from wenyuan.core.errors import NotFound, msg
from wenyuan.core.model import Corrected, NewPassage

# Corrections that people made to documents, and the passages served in their place.


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCorrection:
    """A correction as it is stored in the catalog.

    Attributes:
        uri: The document's URI.
        undone_at: Seconds since the epoch, as `at`; None: the correction is in force.
        lost: Whether the text it corrects is no longer in the document.
    """

    correction: Correction
    source_id: str
    uri: str
    reason: str
    at: float
    undone_by: str
    undone_at: float | None
    lost: bool


@dataclass(frozen=True, slots=True)
class CorrectedDocument:
    """A live document with its original passages, for applying corrections."""

    document_id: int
    source_id: str
    uri: str
    title: str
    lead: str
    passages: tuple[NewPassage, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Corrections:
    """Reads and stores corrections; each method from one snapshot, or one transaction."""

    database: Database

    def corrections(
        self, *, source_id: str | None = None, uri: str | None = None, before: int | None = None, limit: int = 100
    ) -> list[KeptCorrection]:
        """Corrections of a source or a document, including undone ones, newest first.

        Args:
            before: Only those with smaller ids.
        """
        c = t.corrections.c
        query = sa.select(t.corrections).order_by(c.correction_id.desc()).limit(limit)
        for column, value in ((c.source_id, source_id), (c.uri, uri)):
            query = query if value is None else query.where(column == value)
        query = query if before is None else query.where(c.correction_id < before)
        with self.database.reading("listing corrections") as connection:
            return [_kept(row) for row in connection.execute(query).mappings()]

    def correction(self, correction_id: int) -> KeptCorrection:
        """One correction by its id; NotFound when there is none."""
        query = sa.select(t.corrections).where(t.corrections.c.correction_id == correction_id)
        with self.database.reading("reading a correction") as connection:
            row = connection.execute(query).mappings().first()
        if row is None:
            raise NotFound(msg("there is no correction {number}", number=correction_id), hint="wenyuan corrections")
        return _kept(row)

    def counting_corrections(self, source_id: str, uri: str | None = None) -> Mapping[str, tuple[Correction, ...]]:
        """Corrections in force, by document URI, oldest first."""
        c = t.corrections.c
        query = sa.select(t.corrections).where(c.source_id == source_id, c.undone_seq.is_(None))
        query = query if uri is None else query.where(c.uri == uri)
        found: dict[str, tuple[Correction, ...]] = {}
        with self.database.reading("reading corrections") as connection:
            for row in connection.execute(query.order_by(c.correction_id)).mappings():
                found[row["uri"]] = (*found.get(row["uri"], ()), _kept(row).correction)
        return found

    def cut_document(self, document_id: int) -> CorrectedDocument | None:
        """A live document with its original passages, before any correction; None when there is none."""
        d = t.documents.c
        with self.database.reading("reading a document") as connection:
            row = connection.execute(
                sa.select(d.source_id, d.uri, d.title, d.lead).where(
                    d.document_id == document_id, d.removed_seq.is_(None)
                )
            ).first()
            if row is None:
                return None
            held = carried(connection, document_id)
        cut = sorted((one for one, _ in held if one["corrected"] is None), key=lambda one: one["start"])
        return CorrectedDocument(document_id, *row, tuple(map(stored_passage, cut)))

    def correct(
        self,
        document: CorrectedDocument,
        served: Callable[[int], tuple[Sequence[NewPassage], Sequence[int]]],
        vectors: Mapping[str, Any],
        *,
        made: tuple[Correction, str] | None = None,
        undone: tuple[int, str] | None = None,
    ) -> int:
        """Store a correction, or undo one, and replace the passages that are served; returns the correction's id.

        Args:
            served: Gives the passages that are served with the id of the new correction (0 for none), and the ids of those
                that are lost. Passages that are served already stay, with their numbers.
            vectors: By vector key, those that are not stored.

        Raises:
            VectorsGone: one that was left out is not stored any more.
        """
        c = t.corrections.c
        with self.database.changing("storing a correction") as connection:
            seq = next_seq(connection, document.source_id)
            number = 0 if made is None else _insert(connection, document, *made, seq)
            if undone is not None:
                values = {"undone_seq": seq, "undone_by": undone[1], "undone_at": now()}
                connection.execute(t.corrections.update().where(c.correction_id == undone[0]).values(values))
            passages, lost = served(number)
            if vectors:
                connection.execute(insert_new(connection, t.vectors), vector_rows(vectors))
            check_vectors(connection, passages, vectors)
            _serve(connection, seq, document, passages)
            counting = sa.select(c.correction_id).where(
                c.source_id == document.source_id, c.uri == document.uri, c.undone_seq.is_(None)
            )
            note_lost(connection, seq, list(connection.scalars(counting)), lost)
        return number

    def end_correction(self, correction_id: int, source_id: str, actor: str) -> None:
        """Undo a correction of a document that is no longer held; no passages change."""
        c = t.corrections.c
        with self.database.changing("undoing a correction") as connection:
            values = {"undone_seq": next_seq(connection, source_id), "undone_by": actor, "undone_at": now()}
            connection.execute(t.corrections.update().where(c.correction_id == correction_id).values(values))

    def reword_corrections(self, source_id: str, redacted: Callable[[str], str]) -> None:
        """Replace the texts of a source's corrections by redacted ones; the texts of undone corrections are erased."""
        c = t.corrections.c
        with self.database.changing("redacting corrections") as connection:
            rows = connection.execute(sa.select(t.corrections).where(c.source_id == source_id)).mappings().all()
            for row in rows:
                told = {**row["detail"]}
                if row["undone_seq"] is not None:
                    detail: dict[str, Any] = {}
                else:
                    words = {name: redacted(told[name]) for name in ("old", "following", "new") if told.get(name)}
                    questions = [redacted(one) for one in told.get("questions", ())]
                    detail = {**told, **words, "questions": questions}
                change = {"detail": detail, "reason": redacted(row["reason"]) if row["reason"] else ""}
                connection.execute(
                    t.corrections.update().where(c.correction_id == row["correction_id"]).values(change)
                )


def _serve(connection: sa.Connection, seq: int, document: CorrectedDocument, passages: Sequence[NewPassage]) -> None:
    """Make these the served passages of a document from change `seq` on; those already served keep their rows."""
    p = t.passages.c
    live = sa.select(p.passage_id, p.text, p.start, p.end, p.corrected)
    live = live.where(p.document_id == document.document_id, p.removed_seq.is_(None))
    wanted = Counter(map(_key, passages))
    gone: list[int] = []
    for row in connection.execute(live).all():
        key = (row.text, row.start, row.end, corrected_of(row.corrected))
        if wanted[key]:
            wanted[key] -= 1
        else:
            gone.append(row.passage_id)
    for part in batches(gone):
        connection.execute(t.passages.update().where(p.passage_id.in_(part)).values(removed_seq=seq))
    rows = []
    for one in passages:
        if wanted[_key(one)]:
            wanted[_key(one)] -= 1
            rows.append(passage_row(one, document.source_id, document.document_id, seq))
    if rows:
        connection.execute(t.passages.insert(), rows)


def _key(one: NewPassage) -> tuple[str, int, int, Corrected | None]:
    return one.text, one.start, one.end, one.corrected


def _insert(
    connection: sa.Connection, document: CorrectedDocument, correction: Correction, reason: str, seq: int
) -> int:
    detail = {
        name: value
        for name, value in asdict(correction).items()
        if name not in ("correction_id", "action", "actor") and value not in ("", 0, ())
    }
    made = connection.execute(
        t.corrections.insert().values(
            source_id=document.source_id, uri=document.uri, action=correction.action, detail=detail, reason=reason,
            actor=correction.actor, at=now(), seq=seq, undone_by="",
        )
    )  # fmt: skip
    key = made.inserted_primary_key
    assert key is not None
    return int(key[0])


def _kept(row: sa.RowMapping) -> KeptCorrection:
    told = row["detail"]
    correction = Correction(
        correction_id=row["correction_id"],
        action=row["action"],
        actor=row["actor"],
        old=told.get("old", ""),
        start=told.get("start", 0),
        following=told.get("following", ""),
        new=told.get("new", ""),
        at=told.get("at", 0),
        questions=tuple(told.get("questions", ())),
    )
    return KeptCorrection(
        correction=correction, source_id=row["source_id"], uri=row["uri"], reason=row["reason"], at=row["at"],
        undone_by=row["undone_by"], undone_at=row["undone_at"], lost=row["lost_seq"] is not None,
    )  # fmt: skip


def stored_passage(row: Mapping[str, Any] | sa.RowMapping) -> NewPassage:
    """A passage of its row as it was stored."""
    plain = ("uri", "text", "sha256", "start", "end", "page", "line", "cell", "vector_key", "label_key")
    return NewPassage(
        **{name: row[name] for name in plain},
        headings=tuple(row["headings"]),
        recognition=recognition_of(row["recognised"]),
        corrected=corrected_of(row["corrected"]),
        context=context_of(row["context"]),
    )
