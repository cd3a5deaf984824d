"""The queue of batches that wait to be embedded, and who works at them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog.batch_tables import embedding_batches, source_runs, workers
from wenyuan.catalog.database import Database
from wenyuan.catalog.dialects import clock, insert_new
from wenyuan.core.embedding_batches import (
    ALIVE,
    LONGEST_LEASE,
    OUTAGES,
    PROGRAM,
    TRIES,
    BatchOutcome,
    EmbeddingBatch,
    RunState,
    WorkerState,
    is_older,
)
from wenyuan.core.errors import CatalogVersion, msg
from wenyuan.runtime.installation import upgrade_command
from wenyuan.runtime.processes import has_ended

_FORGOTTEN = 3_600.0  # seconds after which a worker that gave no sign is not listed any more
_B, _W, _R = embedding_batches.c, workers.c, source_runs.c


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingBatches:
    """Stores batches of texts until somebody has embedded them. None of this is a change of the library.

    A lease has a token of its own. Whoever gives vectors for a lease that ran out, or was taken over, is refused.
    """

    database: Database

    def put_batch(self, batch: EmbeddingBatch) -> None:
        """Put a batch into the queue, unless it is there: one that failed by its encoder waits again."""
        values = {
            "source_id": batch.source_id,
            "batch_key": batch.batch_key,
            "encoder": batch.encoder,
            "program": PROGRAM,
            "texts": json.dumps(batch.texts),
            "counted": batch.counted,
            **_FRESH,
        }
        own = sa.and_(_B.source_id == batch.source_id, _B.batch_key == batch.batch_key)
        with self.database.claiming("queueing a batch") as connection:
            connection.execute(embedding_batches.delete().where(own, _B.state == "failed", _B.outages >= OUTAGES))
            connection.execute(insert_new(connection, embedding_batches), values | {"at": clock(connection)})
            connection.execute(embedding_batches.update().where(own).values(program=PROGRAM))

    def take_batch(self, worker: str, encoder: str, lease: float, *, others: bool = False) -> EmbeddingBatch | None:
        """Lease the batch that has waited longest; None when none waits for this encoder.

        Args:
            others: Whether others are at work: then what this worker failed at last is theirs to try, for a worker whose encoder
                is broken would use up all tries before they have ended what they are at.

        Raises:
            CatalogVersion: it was put by a newer program than this one.
        """
        with self.database.claiming("leasing a batch") as connection:
            at = clock(connection)
            self._end_leases(connection, at)
            query = sa.select(_B.source_id, _B.batch_key, _B.program, _B.texts, _B.counted).where(
                _B.state == "waiting", _B.encoder == encoder
            )
            if others:
                query = query.where(sa.not_(sa.and_(_B.holder == worker, _B.tries + _B.outages > 0)))
            row = connection.execute(
                query.order_by(_B.at, _B.batch_key).limit(1).with_for_update(skip_locked=True)
            ).first()
            if row is None:
                return None
            if is_older(PROGRAM, row.program):
                raise CatalogVersion(
                    msg(
                        "the worker {name} is of version {own}, and source {source_id} is taken in by version {program}",
                        name=worker,
                        own=PROGRAM,
                        source_id=repr(row.source_id),
                        program=row.program,
                    ),
                    component="worker",
                    hint=msg("upgrade the program: {upgrade_command}", upgrade_command=upgrade_command()),
                )
            token = secrets.randbits(62) + 1
            leased = {"state": "leased", "holder": worker, "token": token, "until": at + lease}
            own = sa.and_(_B.source_id == row.source_id, _B.batch_key == row.batch_key)
            connection.execute(embedding_batches.update().where(own).values(**leased))
        return EmbeddingBatch(
            source_id=row.source_id,
            batch_key=row.batch_key,
            encoder=encoder,
            texts=tuple(json.loads(row.texts)),
            counted=row.counted,
            token=token,
        )

    def renew_lease(self, batch: EmbeddingBatch, lease: float) -> bool:
        """Extend a lease; False when it is another's by now."""
        with self.database.claiming("renewing a lease") as connection:
            return self._change(connection, batch, {"until": clock(connection) + lease})

    def give_vectors(self, batch: EmbeddingBatch, vectors: bytes) -> bool:
        """Store what was embedded; False, and nothing is stored, when the lease is another's by now."""
        done = {"state": "ready", "vectors": vectors, "reason": "", "code": ""}
        with self.database.claiming("storing a batch's vectors") as connection:
            return self._change(connection, batch, done)

    def give_back(self, batch: EmbeddingBatch, *, code: str = "", reason: str = "", outage: bool = False) -> bool:
        """End a lease without vectors; False when it is another's by now.

        Args:
            code: Of the error; ``""``: nothing failed, the worker was asked to stop.
            outage: Whether the encoder is to blame, and not the texts.
        """
        with self.database.claiming("giving a batch back") as connection:
            values: dict[str, Any] = {"code": code, "reason": reason, "state": "waiting"}
            if code:
                counter, most = (_B.outages, OUTAGES) if outage else (_B.tries, TRIES)
                values[counter.name] = counter + 1
                values["state"] = sa.case((counter + 1 >= most, "failed"), else_="waiting")
            return self._change(connection, batch, values)

    def batch_outcome(self, source_id: str, batch_key: str) -> BatchOutcome | None:
        """What has become of a batch; None when it is not there any more."""
        own = (_B.source_id == source_id, _B.batch_key == batch_key)
        columns = (_B.state, _B.vectors, _B.code, _B.reason)
        with self.database.reading("looking at a batch") as connection:
            row = connection.execute(sa.select(*columns).where(*own)).first()
        if row is None:
            return None
        return BatchOutcome(state=row.state, vectors=row.vectors or b"", code=row.code, reason=row.reason)

    def remove_batches(self, source_id: str, keys: Sequence[str] | None = None) -> None:
        """Remove batches of a source; all of them, without `keys`."""
        which = [_B.source_id == source_id] + ([] if keys is None else [_B.batch_key.in_(keys)])
        with self.database.reading("looking at batches") as connection:
            if connection.execute(sa.select(_B.batch_key).where(*which).limit(1)).first() is None:
                return
        with self.database.claiming("removing batches") as connection:
            connection.execute(embedding_batches.delete().where(*which))

    # who works

    def note_worker(self, state: WorkerState) -> None:
        """Store the sign of life of a worker, and forget those that have given none for an hour."""
        values = {
            "program": state.program, "encoder": state.encoder, "jobs": state.jobs, "batches": state.batches,
            "passages": state.passages, "rate": state.rate, "reason": state.reason,
        }  # fmt: skip
        with self.database.claiming("noting a worker") as connection:
            at = clock(connection)
            connection.execute(workers.delete().where(_W.seen < at - _FORGOTTEN))
            changed = connection.execute(workers.update().where(_W.name == state.name).values(**values, seen=at))
            if not changed.rowcount:
                connection.execute(workers.insert(), {**values, "name": state.name, "begun": at, "seen": at})

    def remove_worker(self, name: str) -> None:
        """Forget a worker that has ended."""
        with self.database.claiming("forgetting a worker") as connection:
            connection.execute(workers.delete().where(_W.name == name))

    def workers(self, *, alive: bool = True) -> tuple[WorkerState, ...]:
        """Those at work, by name; without `alive`, those of the last hour."""
        with self.database.reading("listing workers") as connection:
            at = clock(connection)
            rows = connection.execute(sa.select(workers).order_by(_W.name)).mappings().all()
        found = []
        for row in rows:
            values = dict(row)
            times = {
                "seconds": max(0.0, values["seen"] - values.pop("begun")),
                "silent": max(0.0, at - values.pop("seen")),
            }
            found.append(WorkerState(**values, **times))
        ahead = {row["name"] for row in rows if row["seen"] > at + ALIVE}  # the clock was set back since
        return tuple(
            one
            for one in found
            if not alive or (one.silent < ALIVE and one.name not in ahead and not has_ended(one.name))
        )

    def runs(self) -> tuple[RunState, ...]:
        """The runs that others work for, by source: those that go on, and those that broke off."""
        with self.database.reading("listing runs") as connection:
            at = clock(connection)
            rows = (
                connection.execute(sa.select(source_runs).where(_R.shared.is_(True)).order_by(_R.source_id))
                .mappings()
                .all()
            )
            counted = sa.select(_B.source_id, _B.state, sa.func.count()).group_by(_B.source_id, _B.state)
            counts = {(source_id, state): count for source_id, state, count in connection.execute(counted)}
        found = []
        for row in rows:
            names = ("source_id", "holder", "files", "files_total", "passages", "embedded")
            states = ("waiting", "leased", "failed")
            silent = max(0.0, at - row["seen"])
            found.append(
                RunState(
                    **{name: row[name] for name in names},
                    **{state: counts.get((row["source_id"], state), 0) for state in states},
                    seconds=row["seen"] - row["begun"],
                    silent=silent,
                    ended=silent > ALIVE or has_ended(row["holder"]),
                )
            )
        return tuple(found)

    def _end_leases(self, connection: sa.Connection, at: float) -> None:
        """Let batches wait again whose worker ended or gave no sign; after the last try they have failed."""
        leased = _B.state == "leased"
        holders = connection.scalars(sa.select(_B.holder).where(leased).distinct()).all()
        ended = [name for name in holders if has_ended(name)]
        ahead = _B.until > at + LONGEST_LEASE  # the clock was set back since
        over = sa.and_(leased, sa.or_(_B.until < at, ahead, _B.holder.in_(ended)))
        if connection.scalar(sa.select(sa.func.count()).where(over)):
            values = {
                "tries": _B.tries + 1, "token": 0, "code": "worker_ended", "reason": msg("its worker ended before it had answered"),
                "state": sa.case((_B.tries + 1 >= TRIES, "failed"), else_="waiting"),
            }  # fmt: skip
            connection.execute(embedding_batches.update().where(over).values(**values))

    def _change(self, connection: sa.Connection, batch: EmbeddingBatch, values: dict[str, Any]) -> bool:
        own = (_B.source_id == batch.source_id, _B.batch_key == batch.batch_key)
        mine = embedding_batches.update().where(*own, _B.state == "leased", _B.token == batch.token)
        return connection.execute(mine.values(**values)).rowcount == 1


_FRESH = {
    "state": "waiting", "holder": "", "token": 0, "until": 0.0, "tries": 0, "outages": 0, "code": "", "reason": "",
    "vectors": None,
}  # fmt: skip
