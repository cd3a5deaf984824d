"""Reads for people who maintain documents: lists, reading quality, and passages with their place on the page."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import quote

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.rows import context_of, corrected_of, fidelity_of, recognition_of, unpack_lines
from wenyuan.core.fidelity import Fidelity, Line, Recognition
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.model import ContextSentence, Corrected, DocumentState, Facet
from wenyuan.core.ports import Deadline

_FULL_WIDTH = {ord(" "): "\u3000"} | {code: code + 0xFEE0 for code in range(0x21, 0x7F)}

# Documents and passages, as they were read.


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDocument:
    """A document in a list: a held one, or one that could not be ingested (`document_id` is 0).

    Attributes:
        state: Validity on the day asked; ``superseded``: a later version ended it; ``failed``: nothing of it is held.
        fidelity: None where its reader measures none.
        tags: Its facets.
        corrections: Number in force; `corrections_lost`: how many of those no longer find their text.
        failure: Code and reason, where its file could not be read the last time; an older version may be held.
    """

    document_id: int
    source_id: str
    uri: str
    title: str
    state: DocumentState
    media_type: str = ""
    language: str = ""
    collection: str = ""
    ingested_at: float | None = None
    effective_from: date | None = None
    effective_until: date | None = None
    passages: int = 0
    corrections: int = 0
    corrections_lost: int = 0
    notes: tuple[str, ...] = ()
    tags: Mapping[str, Facet] = field(default_factory=dict)
    fidelity: Fidelity | None = None
    failure: tuple[str, str] | None = None


class PlacedPassage(NamedTuple):
    """A passage of a document with its place in the file."""

    passage_id: int
    source_id: str
    uri: str
    headings: tuple[str, ...]
    text: str
    start: int
    end: int
    page: int | None
    line: int | None
    cell: str | None
    recognition: Recognition | None
    corrected: Corrected | None
    context: ContextSentence | None


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """Reads about held documents; each method from one snapshot."""

    database: Database

    def listed_documents(
        self,
        sources: Sequence[str],
        *,
        today: date,
        state: DocumentState | None = None,
        words: str = "",
        after: tuple[str, str] | None = None,
        limit: int = 50,
        deadline: Deadline | None = None,
    ) -> list[HeldDocument]:
        """Documents of `sources`, ordered by source and address, from the one after `after` on.

        Args:
            words: Text that title or address must contain; ASCII letters match in either case, and in a title, signs in
                either width.
            after: Source and address.

        Raises:
            EngineTimeout: the deadline passed: words and states are looked for in each document in turn.
        """
        found: list[HeldDocument] = []
        hidden = self.database.hidden(deadline)
        with self.database.reading("listing documents", deadline) as connection:
            for source_id in sorted(sources):
                if after is not None and source_id < after[0]:
                    continue
                behind = after[1] if after is not None and source_id == after[0] else None
                while room := limit - len(found):
                    some = _of_source(connection, source_id, today, state, words, behind, room)
                    found += (one for one in some if hidden is None or not _hides(hidden, one))
                    if len(some) < room:
                        break
                    behind = some[-1].uri
                if len(found) >= limit:
                    break
        return found

    def held_document(self, document_id: int, today: date) -> HeldDocument | None:
        """A held document; None when there is none with that id."""
        d, f = t.documents.c, t.failures.c
        query = _live_documents_select().where(d.document_id == document_id, d.removed_seq.is_(None))
        with self.database.reading("reading a document") as connection:
            row = connection.execute(query).mappings().first()
            # Asked of what is not there, too: it takes as long as what is another's.
            source_id, uri = ("", "") if row is None else (row["source_id"], row["uri"])
            failed = sa.select(f.code, f.reason).where(f.source_id == source_id, f.uri == uri)
            failure = connection.execute(failed).first()
        hidden = self.database.hidden()
        if row is None or (hidden is not None and hidden.hides(document_id)):
            return None
        return _document_reading(row, today, None if failure is None else (failure[0], failure[1]))

    def passages_of_document(
        self, document_id: int, *, after: int = 0, limit: int = 50
    ) -> tuple[list[PlacedPassage], bool]:
        """Live passages of a document in order, from the one after `after` on, and whether more follow."""
        p = t.passages.c
        live = sa.and_(p.document_id == document_id, p.removed_seq.is_(None))
        query = sa.select(
            p.passage_id,
            p.source_id,
            p.uri,
            p.headings,
            p.text,
            p.start,
            p.end,
            p.page,
            p.line,
            p.cell,
            p.recognised,
            p.corrected,
            p.context,
        ).where(live)
        with self.database.reading("reading a document") as connection:
            if after:
                at = connection.execute(
                    sa.select(p.start, p.passage_id).where(p.passage_id == after, p.document_id == document_id)
                ).first()
                if at is not None:
                    same = sa.and_(p.start == at[0], p.passage_id > at[1])
                    query = query.where(sa.or_(p.start > at[0], same))
            rows = connection.execute(query.order_by(p.start, p.passage_id).limit(limit + 1)).all()
        hidden = self.database.hidden()
        if hidden is not None and hidden.hides(document_id):
            return [], False
        told = [
            PlacedPassage(
                *row[:3],
                tuple(row.headings),
                *row[4:10],
                recognition_of(row.recognised),
                corrected_of(row.corrected),
                context_of(row.context),
            )
            for row in rows[:limit]
        ]
        return told, len(rows) > limit

    def chars_up_to(self, document_id: int, passage_id: int) -> int:
        """How many characters the live passages of a document have, up to and with the one of this id; 0 without it."""
        p = t.passages.c
        query = sa.select(sa.func.coalesce(sa.func.sum(sa.func.length(p.text)), 0))
        query = query.where(p.document_id == document_id, p.removed_seq.is_(None))
        with self.database.reading("measuring a document") as connection:
            at = connection.execute(
                sa.select(p.start, p.passage_id).where(p.passage_id == passage_id, p.document_id == document_id)
            ).first()
            if at is None:
                return 0
            same = sa.and_(p.start == at[0], p.passage_id <= at[1])
            return int(connection.execute(query.where(sa.or_(p.start < at[0], same))).scalar_one())

    def document_lines(self, document_id: int, start: int, end: int) -> list[Line]:
        """The printed lines that overlap ``text[start:end]`` of a document."""
        r = t.readings.c
        with self.database.reading("reading where lines stand") as connection:
            packed = connection.scalar(sa.select(r.lines).where(r.document_id == document_id))
        hidden = self.database.hidden()
        if hidden is not None and hidden.hides(document_id):
            return []
        return [] if packed is None else unpack_lines(packed, start, end)

    def worst_read(self, most: int) -> list[tuple[str, str, float]]:
        """Live documents with the lowest fidelity: source, address and score, worst first."""
        d, r = t.documents.c, t.readings.c
        worst = sa.select(r.document_id, r.score).where(r.score.is_not(None)).order_by(r.score, r.document_id)
        few = worst.limit(most).subquery()  # of live documents, as all readings are
        query = sa.select(d.source_id, d.uri, few.c.score).join(few, d.document_id == few.c.document_id)
        query = query.order_by(few.c.score, few.c.document_id)
        with self.database.reading("looking for documents that were read badly") as connection:
            return [(source_id, uri, float(score)) for source_id, uri, score in connection.execute(query)]


def _hides(hidden: HiddenDocuments, one: HeldDocument) -> bool:
    if one.document_id:
        return hidden.hides(one.document_id)
    return hidden.hides_address(one.source_id, one.uri)


def _live_documents_select() -> sa.Select[Any]:
    d, p, r = t.documents.c, t.passages.c, t.readings.c
    count = (
        sa.select(sa.func.count())
        .select_from(t.passages)
        .where(p.document_id == d.document_id, p.removed_seq.is_(None))
        .correlate(t.documents)
        .scalar_subquery()
    )
    c = t.corrections.c
    made = (
        sa.select(sa.func.count())
        .select_from(t.corrections)
        .where(c.source_id == d.source_id, c.uri == d.uri, c.undone_seq.is_(None))
        .correlate(t.documents)
    )
    told = (made.scalar_subquery().label("corrections"),
            made.where(c.lost_seq.is_not(None)).scalar_subquery().label("corrections_lost"))  # fmt: skip
    columns = (d.document_id, d.source_id, d.uri, d.title, d.media_type, d.language, d.collection, d.ingested_at,
               d.effective_from, d.effective_until, d.own_until, d.notes, d.facets, r.fidelity, count.label("passages"), *told)  # fmt: skip
    return sa.select(*columns).outerjoin(t.readings, r.document_id == d.document_id)


def _of_source(
    connection: sa.Connection,
    source_id: str,
    today: date,
    state: DocumentState | None,
    words: str,
    behind: str | None,
    limit: int,
) -> list[HeldDocument]:
    """Documents and failures of one source by address, each read through an index on it.

    Which documents they are is asked first, of the columns that `schema.named` holds.
    """
    d, f = t.documents.c, t.failures.c
    meant = sa.select(d.document_id).where(d.source_id == source_id, d.removed_seq.is_(None))
    meant = meant.order_by(d.uri).limit(limit)
    failed = sa.select(f.uri, f.code, f.reason).where(f.source_id == source_id).order_by(f.uri)
    if behind is not None:
        meant, failed = meant.where(d.uri > behind), failed.where(f.uri > behind)
    if words:
        meant = meant.where(named_so(words))
    if state is not None:
        meant = meant.where(in_state(state, today.toordinal()))
    numbers = [] if state == "failed" else connection.scalars(meant).all()
    held = _live_documents_select().where(d.document_id.in_(numbers)).order_by(d.uri)
    rows = connection.execute(held).mappings().all() if numbers else []
    names = [row["uri"] for row in rows]
    reasons = {row.uri: (row.code, row.reason) for row in connection.execute(failed.where(f.uri.in_(names)))}
    told = [_document_reading(row, today, reasons.get(row["uri"])) for row in rows]
    if state in (None, "failed"):
        live = sa.exists().where(d.source_id == f.source_id, d.uri == f.uri, d.removed_seq.is_(None))
        lost = failed.where(~live)
        lost = lost.where(_addressed(f.uri, words)) if words else lost
        told += [
            HeldDocument(
                document_id=0, source_id=source_id, uri=row.uri, title="", state="failed", failure=(row.code, row.reason)
            )
            for row in connection.execute(lost.limit(limit))
        ]  # fmt: skip
    return sorted(told, key=lambda one: one.uri)[:limit]


def named_so(words: str) -> sa.ColumnElement[bool]:
    """Condition: the title or the address of a held document contains `words`."""
    d = t.documents.c
    return sa.or_(*(_holds(d.title, form) for form in _widths(words)), _addressed(d.uri, words))


def held_documents(connection: sa.Connection, numbers: Sequence[int], today: date) -> list[HeldDocument]:
    """The held documents of these ids, in no order."""
    d, f = t.documents.c, t.failures.c
    query = _live_documents_select().where(d.document_id.in_(numbers))
    rows = connection.execute(query).mappings().all() if numbers else []
    failed = sa.select(f.source_id, f.uri, f.code, f.reason).where(f.uri.in_([row["uri"] for row in rows]))
    reasons = {(one.source_id, one.uri): (one.code, one.reason) for one in connection.execute(failed)}
    return [_document_reading(row, today, reasons.get((row["source_id"], row["uri"]))) for row in rows]


def _holds(column: sa.ColumnElement[str], words: str) -> sa.ColumnElement[bool]:
    return column.icontains(words, autoescape=True)


def _widths(words: str) -> set[str]:
    """A text as it was typed, in half width, and (beside Chinese) in full width: ``（试行）`` is ``(试行)``."""
    half = unicodedata.normalize("NFKC", words)
    return {words, half} if half.isascii() else {words, half, half.translate(_FULL_WIDTH)}


def _addressed(column: sa.ColumnElement[str], words: str) -> sa.ColumnElement[bool]:
    """Condition: an address contains `words`, literally or percent-encoded as in a file URI."""
    escaped = quote(words, errors="surrogateescape")
    found = _holds(column, words)
    return found if escaped == words else sa.or_(found, _holds(column, escaped))


def in_state(state: DocumentState, today: int) -> sa.ColumnElement[bool]:
    """Condition: a held document is in a state on a day."""
    d = t.documents.c
    begun = sa.or_(d.effective_from.is_(None), d.effective_from <= today)
    over = sa.and_(d.effective_until.is_not(None), d.effective_until < today)
    ended_by_another = sa.or_(d.own_until.is_(None), d.own_until != d.effective_until)
    meant = {
        "live": sa.and_(begun, ~sa.func.coalesce(over, sa.false())),
        "not_yet": ~begun,
        "expired": sa.and_(begun, over, ~ended_by_another),
        "superseded": sa.and_(begun, over, ended_by_another),
    }
    return meant[state] if state in meant else sa.false()


def _state(row: sa.RowMapping, today: int) -> DocumentState:
    if row["effective_from"] is not None and row["effective_from"] > today:
        return "not_yet"
    if row["effective_until"] is None or row["effective_until"] >= today:
        return "live"
    return "expired" if row["own_until"] == row["effective_until"] else "superseded"


def _document_reading(row: sa.RowMapping, today: date, failure: tuple[str, str] | None) -> HeldDocument:
    plain = (
        "document_id",
        "source_id",
        "uri",
        "title",
        "media_type",
        "language",
        "collection",
        "ingested_at",
        "passages",
        "corrections",
        "corrections_lost",
    )
    return HeldDocument(
        **{name: row[name] for name in plain},
        state=_state(row, today.toordinal()),
        effective_from=_date(row["effective_from"]),
        effective_until=_date(row["effective_until"]),
        notes=tuple(row["notes"]),
        tags=row["facets"],
        fidelity=fidelity_of(row["fidelity"]),
        failure=failure,
    )


def _date(ordinal: int | None) -> date | None:
    return None if ordinal is None else date.fromordinal(ordinal)
