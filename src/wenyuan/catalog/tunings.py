"""Tunings and feedback: what a library has learned from judged questions, and the judgements."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.connect import now, reading, translated
from wenyuan.catalog.dialect import next_seq
from wenyuan.catalog.tuning_tables import feedback, tunings
from wenyuan.core.adapt import QueryMap, Tuning
from wenyuan.core.errors import NotPermitted
from wenyuan.core.learned import Judgement, KeptTuning
from wenyuan.core.ports import Deadline

__all__ = ["CatalogTunings"]

_BATCH = 500


class CatalogTunings:
    """Mixed into `Catalog`. Adopting and undoing are changes of the library: caches, indexes and audits see them."""

    _reader: sa.Engine
    _writer: sa.Engine

    if TYPE_CHECKING:

        def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...

    def adopt_tuning(self, tuning: Tuning, report: Mapping[str, Any], collection: Mapping[str, Any]) -> int:
        """Store a tuning in place of the one that counts, with what the library is like under it; returns its number."""
        row = {
            "created_at": now(),
            "encoder": tuning.encoder,
            "fingerprint": tuning.fingerprint,
            "map": None if tuning.map is None else tuning.map.to_bytes(),
            "weight": tuning.weight,
            "report": dict(report),
        }
        with self.writing(), translated("storing a tuning"), self._writer.begin() as connection:
            seq = _end(connection)
            done = connection.execute(tunings.insert(), {**row, "seq": seq})
            _put_collection(connection, collection)
            (number,) = done.inserted_primary_key or (0,)
        return int(number)

    def undo_tuning(self, collection: Mapping[str, Any]) -> None:
        """End the tuning that counts; NotPermitted when there is none."""
        with self.writing(), translated("undoing a tuning"), self._writer.begin() as connection:
            if connection.scalar(sa.select(sa.func.count()).where(tunings.c.undone_seq.is_(None))) == 0:
                raise NotPermitted("the library has no tuning", hint="wenyuan tune --golden FILE")
            _end(connection)
            _put_collection(connection, collection)

    def tunings(self) -> tuple[KeptTuning, ...]:
        """All that were ever adopted, oldest first, without their maps."""
        columns = [c for c in tunings.c if c.name != "map"]
        with reading(self._reader, "listing tunings") as connection:
            rows = connection.execute(sa.select(*columns).order_by(tunings.c.tuning_id)).mappings().all()
        return tuple(KeptTuning(**row) for row in rows)

    def tuning_at(self, seq: int, deadline: Deadline | None = None) -> Tuning | None:
        """The tuning that counts at a change.

        Raises:
            IndexCorrupt: its map is damaged.
        """
        c = tunings.c
        query = sa.select(c.weight, c.encoder, c.map).where(
            c.seq <= seq, sa.or_(c.undone_seq.is_(None), c.undone_seq > seq)
        )
        with reading(self._reader, "reading the tuning", deadline) as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        learned = None if row.map is None else QueryMap.from_bytes(row.map)
        return Tuning(weight=row.weight, encoder=row.encoder, map=learned)

    # -- feedback -----------------------------------------------------------------------------------------

    def put_feedback(self, audit_id: str, judgements: Mapping[str, bool], actor: str) -> None:
        """Keep what somebody says of parts of an answer, by their refs; it replaces what the same one said before."""
        rows = [
            {"audit_id": audit_id, "ref": ref, "actor": actor, "good": good, "at": now()}
            for ref, good in judgements.items()
        ]
        f = feedback.c
        with self.writing(), translated("keeping feedback"), self._writer.begin() as connection:
            for row in rows:
                same = sa.and_(f.audit_id == row["audit_id"], f.ref == row["ref"], f.actor == row["actor"])
                connection.execute(feedback.delete().where(same))
            connection.execute(feedback.insert(), rows)

    def feedback(self) -> tuple[Judgement, ...]:
        """All judgements, by answer, in the order in which they were given."""
        f = feedback.c
        with reading(self._reader, "reading feedback") as connection:
            rows = connection.execute(sa.select(feedback).order_by(f.audit_id, f.at, f.ref)).mappings().all()
        return tuple(Judgement(**row) for row in rows)

    # -- where an address leads -----------------------------------------------------------------------------

    def passages_of(self, uris: Iterable[str]) -> Mapping[str, Mapping[int, Sequence[int]]]:
        """Of addresses of live documents or passages: document → its passages that are meant. Others are absent."""
        p, d = t.passages.c, t.documents.c
        base = sa.select(p.passage_id, p.document_id).where(p.removed_seq.is_(None)).order_by(p.passage_id)
        whole = base.add_columns(d.uri).join(t.documents, d.document_id == p.document_id)
        wanted = list(dict.fromkeys(uris))
        found: dict[str, dict[int, list[int]]] = {}
        with reading(self._reader, "looking up addresses") as connection:
            for at in range(0, len(wanted), _BATCH):
                part = wanted[at : at + _BATCH]
                rows = [
                    *connection.execute(whole.where(d.uri.in_(part))),
                    *connection.execute(base.add_columns(p.uri).where(p.uri.in_(part))),
                ]
                for passage_id, document_id, uri in rows:
                    held = found.setdefault(uri, {}).setdefault(document_id, [])
                    if passage_id not in held:
                        held.append(passage_id)
        return found


def _end(connection: sa.Connection) -> int:
    """End the tuning that counts, if there is one, at a new change; returns that change."""
    seq = next_seq(connection, "tuning")
    live = tunings.c.undone_seq.is_(None)
    connection.execute(tunings.update().where(live).values(undone_seq=seq, undone_at=now()))
    return seq


def _put_collection(connection: sa.Connection, collection: Mapping[str, Any]) -> None:
    connection.execute(t.library.delete().where(t.library.c.key == "value/floor"))
    value = json.dumps(dict(collection), ensure_ascii=False)
    connection.execute(t.library.insert(), {"key": "value/floor", "value": value})
