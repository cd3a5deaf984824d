"""Tunings and calibrations, as the catalog keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.dialects import next_seq
from wenyuan.catalog.schema import calibrations, feedback, tunings
from wenyuan.catalog.sql import now
from wenyuan.core.errors import NotFound
from wenyuan.core.learning_records import Judgement, KeptCalibration, KeptTuning
from wenyuan.core.ports import Deadline

if TYPE_CHECKING:
    from wenyuan.core.scoring.adapt import Tuning
    from wenyuan.core.scoring.risk import Calibration


# Tunings and feedback: what a library has learned from judged questions, and the judgements.


BATCH = 500


@dataclass(frozen=True, slots=True, eq=False)
class Tunings:
    """Tunings trained on judged questions. Adopting or undoing one is a change of the library: caches, indexes and
    audit records depend on it.
    """

    database: Database

    def adopt_tuning(self, tuning: Tuning, report: Mapping[str, Any], collection: Mapping[str, Any]) -> int:
        """Store a tuning in place of the active one, with the collection traits measured under it; returns its
        number.
        """
        row = {
            "created_at": now(),
            "encoder": tuning.encoder,
            "fingerprint": tuning.fingerprint,
            "map": None if tuning.map is None else tuning.map.to_bytes(),
            "weight": tuning.weight,
            "report": dict(report),
        }
        with self.database.changing("storing a tuning") as connection:
            seq = _end(connection)
            done = connection.execute(tunings.insert(), {**row, "seq": seq})
            _put_collection(connection, collection)
            (number,) = done.inserted_primary_key or (0,)
        return int(number)

    def undo_tuning(self, collection: Mapping[str, Any]) -> None:
        """End the active tuning; NotFound when there is none."""
        with self.database.changing("undoing a tuning") as connection:
            if connection.scalar(sa.select(sa.func.count()).where(tunings.c.undone_seq.is_(None))) == 0:
                raise NotFound("the library has no tuning", hint="wenyuan tune --golden FILE")
            _end(connection)
            _put_collection(connection, collection)

    def tunings(self) -> tuple[KeptTuning, ...]:
        """All tunings ever adopted, oldest first, without their query maps."""
        columns = [c for c in tunings.c if c.name != "map"]
        with self.database.reading("listing tunings") as connection:
            rows = connection.execute(sa.select(*columns).order_by(tunings.c.tuning_id)).mappings().all()
        return tuple(KeptTuning(**row) for row in rows)

    def tuning_at(self, seq: int, deadline: Deadline | None = None) -> Tuning | None:
        """The tuning that was active at change `seq`, or None.

        Raises:
            IndexCorrupt: its map is damaged.
        """
        c = tunings.c
        query = sa.select(c.weight, c.encoder, c.map).where(
            c.seq <= seq, sa.or_(c.undone_seq.is_(None), c.undone_seq > seq)
        )
        with self.database.reading("reading the tuning", deadline) as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        from wenyuan.core.scoring.adapt import QueryMap, Tuning

        learned = None if row.map is None else QueryMap.from_bytes(row.map)
        return Tuning(weight=row.weight, encoder=row.encoder, map=learned)

    # -- feedback -----------------------------------------------------------------------------------------

    def put_feedback(self, audit_id: str, judgements: Mapping[str, bool], actor: str) -> None:
        """Store an actor's judgements of parts of an answer, by ref; they replace that actor's earlier ones."""
        rows = [
            {"audit_id": audit_id, "ref": ref, "actor": actor, "good": good, "at": now()}
            for ref, good in judgements.items()
        ]
        f = feedback.c
        with self.database.changing("keeping feedback") as connection:
            for row in rows:
                same = sa.and_(f.audit_id == row["audit_id"], f.ref == row["ref"], f.actor == row["actor"])
                connection.execute(feedback.delete().where(same))
            connection.execute(feedback.insert(), rows)

    def feedback(self) -> tuple[Judgement, ...]:
        """All judgements, by answer, in the order in which they were made."""
        f = feedback.c
        with self.database.reading("reading feedback") as connection:
            rows = connection.execute(sa.select(feedback).order_by(f.audit_id, f.at, f.ref)).mappings().all()
        return tuple(Judgement(**row) for row in rows)


def _end(connection: sa.Connection) -> int:
    """End the active tuning, if any, at a new change; returns that change's number."""
    seq = next_seq(connection, "tuning")
    live = tunings.c.undone_seq.is_(None)
    connection.execute(tunings.update().where(live).values(undone_seq=seq, undone_at=now()))
    return seq


def _put_collection(connection: sa.Connection, collection: Mapping[str, Any]) -> None:
    connection.execute(t.library.delete().where(t.library.c.key == "value/floor"))
    value = json.dumps(dict(collection), ensure_ascii=False)
    connection.execute(t.library.insert(), {"key": "value/floor", "value": value})


@dataclass(frozen=True, slots=True, eq=False)
class Calibrations:
    """Calibrations of a judge. Adopting and undoing one is a change of the library, as with tunings."""

    database: Database

    def adopt_calibration(self, calibration: Calibration, report: Mapping[str, Any]) -> int:
        """Store a calibration in place of the current one; returns its number."""
        row = {"created_at": now(), "calibration": dict(calibration.stored()), "report": dict(report)}
        with self.database.changing("storing a calibration") as connection:
            seq = _end_calibration(connection)
            done = connection.execute(calibrations.insert(), {**row, "seq": seq})
            (number,) = done.inserted_primary_key or (0,)
        return int(number)

    def undo_calibration(self) -> None:
        """End the current calibration; NotFound when there is none."""
        with self.database.changing("undoing a calibration") as connection:
            if not connection.scalar(sa.select(sa.func.count()).where(calibrations.c.undone_seq.is_(None))):
                raise NotFound("the library has no calibrated judge", hint="wenyuan tune --judge --golden FILE")
            _end_calibration(connection)

    def calibration_at(self, seq: int, deadline: Deadline | None = None) -> KeptCalibration | None:
        """The calibration in effect at a change; None without one."""
        c = calibrations.c
        query = sa.select(calibrations).where(c.seq <= seq, sa.or_(c.undone_seq.is_(None), c.undone_seq > seq))
        with self.database.reading("reading the calibration", deadline) as connection:
            row = connection.execute(query).mappings().first()
        if row is None:
            return None
        from wenyuan.core.scoring.risk import calibration_of

        return KeptCalibration(**{**row, "calibration": calibration_of(row["calibration"])})


def _end_calibration(connection: sa.Connection) -> int:
    """End the current calibration, if there is one, at a new change; returns that change."""
    seq = next_seq(connection, "calibration")
    live = calibrations.c.undone_seq.is_(None)
    connection.execute(calibrations.update().where(live).values(undone_seq=seq, undone_at=now()))
    return seq
