"""The past as the catalog still has it: what became of a passage, and what was live at an earlier change.

Documents and passages are kept with the changes at which they came and went. The registry is not: what is said of
a source here is what holds now. Of a removed source no text is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.connect import reading
from wenyuan.catalog.rows import passage_of, source_of
from wenyuan.core.model import Passage
from wenyuan.core.ports import Deadline

__all__ = ["CatalogHistory", "first_within"]

_BATCH = 500


def _live_at(columns: Any, seq: int) -> sa.ColumnElement[bool]:
    return sa.and_(columns.seq <= seq, sa.or_(columns.removed_seq.is_(None), columns.removed_seq > seq))


class CatalogHistory:
    """Mixed into `CatalogReads`."""

    _reader: sa.Engine

    def passage_fate(self, passage_id: int) -> Mapping[str, Any]:
        """What became of a passage.

        Returns:
            ``state`` (``live``, ``removed``, or ``never``: then nothing else); ``source_id``, and ``source`` as it
            is registered now (None: not at all); ``document_uri`` (``""`` when it went with its source);
            ``added_seq``; ``removed_at`` in seconds since the epoch; ``effective_from`` and ``effective_until``
            of the document; ``replaced_by``, the live document of the same URI, or None: its ``document_id``,
            ``same_content``, ``effective_until``, and ``passage_id`` of the passage with the same text.
        """
        p, d, c = t.passages.c, t.documents.c, t.commits.c
        query = (
            sa.select(p.source_id, p.sha256, p.seq, p.removed_seq, c.at)
            .add_columns(d.uri, d.fingerprint, d.effective_from, d.effective_until)
            .join(t.documents, d.document_id == p.document_id)
            .outerjoin(t.commits, c.seq == p.removed_seq)
            .where(p.passage_id == passage_id)
        )
        with reading(self._reader, "looking up a passage") as connection:
            found = connection.execute(query).first()
            if found is None:
                return {"state": "never"}
            registered = sa.select(t.sources).where(t.sources.c.source_id == found.source_id)
            source = connection.execute(registered).mappings().first()
            heir = _replacement(connection, found) if found.removed_seq is not None and found.uri else None
        return {
            "state": "live" if found.removed_seq is None else "removed",
            "source_id": found.source_id,
            "source": None if source is None else source_of(source),
            "document_uri": found.uri,
            "added_seq": found.seq,
            "removed_at": found.at,
            "replaced_by": heir,
            "effective_from": _date(found.effective_from),
            "effective_until": _date(found.effective_until),
        }

    def passages_at(
        self, passage_ids: Sequence[int], seq: int, deadline: Deadline | None = None
    ) -> Mapping[int, Passage]:
        """Those of `passage_ids` that were live at a change, with what is said of their source now."""
        p, d, s = t.passages.c, t.documents.c, t.sources.c
        query = (
            sa.select(
                *(c for c in p if c.name not in t.INTERNAL),
                *(d.title, d.lead, d.language, d.collection, d.effective_from, d.effective_until, d.facets),
                *(s.trust, s.domain, s.copyright),
            )
            .join(t.documents, d.document_id == p.document_id)
            .join(t.sources, s.source_id == p.source_id)
            .where(_live_at(p, seq))
        )
        found: dict[int, Passage] = {}
        with reading(self._reader, "reading passages of the past", deadline) as connection:
            for at in range(0, len(passage_ids), _BATCH):
                part = query.where(p.passage_id.in_(passage_ids[at : at + _BATCH]))
                found.update((row["passage_id"], passage_of(row)) for row in connection.execute(part).mappings())
        return found

    def document_at(
        self, uri: str, seq: int, sources: Sequence[str] | None = None, deadline: Deadline | None = None
    ) -> tuple[int, str, str] | None:
        """(document id, source id, title) of what was live under a URI in these sources at a change; None for none."""
        d = t.documents.c
        query = sa.select(d.document_id, d.source_id, d.title).where(d.uri == uri, _live_at(d, seq))
        with reading(self._reader, "looking up a document of the past", deadline) as connection:
            return first_within(connection, query, sources)


def first_within(
    connection: sa.Connection, query: sa.Select[Any], sources: Sequence[str] | None
) -> tuple[int, str, str] | None:
    """The oldest document that a query of documents finds in some sources; None: in any that is registered."""
    d = t.documents.c
    within = sa.select(t.sources.c.source_id) if sources is None else sources  # each is a place in an index
    row = connection.execute(query.where(d.source_id.in_(within)).order_by(d.document_id).limit(1)).first()
    return None if row is None else (row[0], row[1], row[2])


def _replacement(connection: sa.Connection, gone: Any) -> Mapping[str, Any] | None:
    p, d = t.passages.c, t.documents.c
    same = sa.and_(d.source_id == gone.source_id, d.uri == gone.uri, d.removed_seq.is_(None))
    heir = connection.execute(sa.select(d.document_id, d.fingerprint, d.effective_until).where(same)).first()
    if heir is None:
        return None
    twin = sa.select(p.passage_id).where(p.document_id == heir.document_id, p.sha256 == gone.sha256).limit(1)
    return {
        "document_id": heir.document_id,
        "same_content": heir.fingerprint == gone.fingerprint,
        "effective_until": _date(heir.effective_until),
        "passage_id": connection.scalar(twin),
    }


def _date(ordinal: int | None) -> date | None:
    return date.fromordinal(ordinal) if ordinal else None
