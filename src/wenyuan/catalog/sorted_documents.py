"""Lists of held documents over all sources, chosen by how they were read, and sorted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.documents import batches
from wenyuan.catalog.readings import HeldDocument, held_documents, in_state, named_so
from wenyuan.core.document_choice import DocumentChoice
from wenyuan.core.ports import Deadline

_UNKNOWN = 2.0  # stands for a score that is not known, behind all others
_BACKWARDS = ("newest", "effective")


@dataclass(frozen=True, slots=True, eq=False)
class SortedDocuments:
    """Lists of held documents; each page from one snapshot."""

    database: Database

    def sorted_documents(
        self,
        sources: Sequence[str],
        choice: DocumentChoice,
        *,
        today: date,
        after: tuple[Any, int] | None = None,
        limit: int = 50,
        deadline: Deadline | None = None,
    ) -> list[tuple[HeldDocument, Any]]:
        """Held documents of `sources` in an order, each with what it is sorted by, from the one after `after` on.

        Args:
            after: What the last one of the page before is sorted by, and its id.

        Raises:
            EngineTimeout: the deadline passed.
        """
        found: list[tuple[HeldDocument, Any]] = []
        hidden = self.database.hidden(deadline)
        with self.database.reading("listing documents", deadline) as connection:
            while room := limit - len(found):
                rows = connection.execute(_chosen(sources, choice, today, after).limit(room)).all()
                held = {
                    one.document_id: one
                    for part in batches([row.document_id for row in rows])
                    for one in held_documents(connection, part, today)
                }
                found += [
                    (held[row.document_id], row.value)
                    for row in rows
                    if row.document_id in held and (hidden is None or not hidden.hides(row.document_id))
                ]
                if len(rows) < room:
                    break
                after = rows[-1].value, rows[-1].document_id
        return found


def _chosen(
    sources: Sequence[str], choice: DocumentChoice, today: date, after: tuple[Any, int] | None
) -> sa.Select[Any]:
    d, r = t.documents.c, t.readings.c
    value: sa.ColumnElement[Any] = {
        "address": d.uri,
        "title": d.title,
        "newest": d.ingested_at,
        "oldest": d.ingested_at,
        "fidelity": sa.func.coalesce(r.score, _UNKNOWN),
        "effective": sa.func.coalesce(d.effective_from, 0),
    }[choice.sort]
    query = sa.select(d.document_id, value.label("value")).where(d.removed_seq.is_(None), d.source_id.in_(sources))
    if choice.sort == "fidelity" or choice.fidelity_below is not None:
        query = query.outerjoin(t.readings, r.document_id == d.document_id)
    query = query.where(*_conditions(choice, today))
    backwards = choice.sort in _BACKWARDS
    if after is not None:
        at, number = after
        beyond, further = (value < at, d.document_id < number) if backwards else (value > at, d.document_id > number)
        query = query.where(sa.or_(beyond, sa.and_(value == at, further)))
    order = (value.desc(), d.document_id.desc()) if backwards else (value, d.document_id)
    return query.order_by(*order)


def _conditions(choice: DocumentChoice, today: date) -> list[sa.ColumnElement[bool]]:
    d, r = t.documents.c, t.readings.c
    made: list[sa.ColumnElement[bool]] = []
    if choice.words:
        made.append(named_so(choice.words))
    if choice.state is not None:
        made.append(in_state(choice.state, today.toordinal()))
    if "/" in choice.kind:
        made.append(d.media_type == choice.kind.lower())
    elif choice.kind:
        ending = "." + choice.kind.lower().removeprefix(".")
        made.append(sa.or_(d.uri.iendswith(ending, autoescape=True), d.uri.icontains(ending + "?", autoescape=True)))
    if choice.fidelity_below is not None:
        made.append(r.score < choice.fidelity_below)
    if choice.read_since is not None:
        made.append(d.ingested_at >= choice.read_since)
    if choice.read_until is not None:
        made.append(d.ingested_at < choice.read_until)
    return made
