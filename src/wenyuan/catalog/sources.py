"""Sources: which there are, and how each of them is doing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.dialects import insert_new, next_seq
from wenyuan.catalog.document_readers import apply_patterns
from wenyuan.catalog.rows import source_of, source_row
from wenyuan.catalog.rules.writes import drop_evidence_of
from wenyuan.catalog.sql import now
from wenyuan.catalog.typed_names import refuse_erased
from wenyuan.catalog.writes import forget_source, retire
from wenyuan.core.errors import NotFound, msg
from wenyuan.core.model import Source
from wenyuan.core.ports import Deadline
from wenyuan.core.source_readers import READERS
from wenyuan.core.sources import LONGEST_CLAIM, SourceState
from wenyuan.runtime.processes import has_ended


@dataclass(frozen=True, slots=True, eq=False)
class SourceRegistry:
    """The registered sources, and the state of each: when it was last read, and which worker is reading it."""

    database: Database

    def sources(self, deadline: Deadline | None = None) -> tuple[Source, ...]:
        with self.database.reading("listing sources", deadline) as connection:
            rows = connection.execute(sa.select(t.sources).order_by(t.sources.c.source_id)).mappings().all()
        return tuple(source_of(row) for row in rows)

    def registered_at(self) -> Mapping[str, float]:
        """When each source was registered: seconds since the epoch, by its id."""
        with self.database.reading("listing sources") as connection:
            rows = connection.execute(sa.select(t.sources.c.source_id, t.sources.c.created_at)).all()
        return {name: float(since) for name, since in rows}

    def source(self, source_id: str) -> Source:
        """A source by its id; NotFound when there is none."""
        with self.database.reading("reading a source") as connection:
            row = (
                connection.execute(sa.select(t.sources).where(t.sources.c.source_id == source_id)).mappings().first()
            )
        if row is None:
            raise NotFound(
                msg("there is no source {source_id}", source_id=repr(source_id)), hint="wenyuan source list"
            )
        return source_of(row)

    def put_source(self, source: Source) -> None:
        """Add a source, or replace its description. This is a change of the library: derived data is updated."""
        before = {s.source_id: s for s in self.sources()}.get(source.source_id)
        values = source_row(source)
        if before is None or (before.title, before.owner, before.tags) != (source.title, source.owner, source.tags):
            refuse_erased(self.database, title=source.title, owner=source.owner, tags=source.tags)
        with self.database.changing("writing a source") as connection:
            seq = next_seq(connection, source.source_id)
            changed = connection.execute(
                t.sources.update().where(t.sources.c.source_id == source.source_id).values(**values, updated_at=now())
            )
            if changed.rowcount == 0:
                connection.execute(t.sources.insert(), {**values, "created_at": now(), "updated_at": now()})
            if (before and before.settings.get(READERS)) != source.settings.get(READERS) or (
                before and before.path != source.path
            ):
                apply_patterns(connection, seq, source)
        if before != source:
            self.database.on_change("registry", "changed" if before else "added", source.source_id, before, source)

    def remove_source(self, source_id: str) -> int:
        """Remove a source and everything ingested from it; returns the number of removed documents.

        Texts, titles, names and vectors are overwritten in the file, not kept for a later look: removal may be
        an order. What stays are numbers, by which indexes learn of the removal. Rules that only it supported are
        retired.
        """
        before = self.source(source_id)
        with self.database.place.held_source(source_id), self.database.writing():
            with self.database.changing("removing a source") as connection:
                seq = next_seq(connection, source_id)
                gone = retire(connection, seq, t.documents.c.source_id == source_id)
                drop_evidence_of(connection, seq, source_id)
                forget_source(connection, source_id)
            self.database.place.forget()
        self.database.on_change("registry", "removed", source_id, before, None)
        return gone

    # -- how they are doing ---------------------------------------------------------------------------

    def source_states(self) -> Mapping[str, SourceState]:
        """State by source id; a source that was never read is absent. Claims of dead processes on this machine are
        left out.
        """
        with self.database.reading("reading the state of sources") as connection:
            rows = connection.execute(sa.select(t.source_state)).mappings().all()
        states = [SourceState(**row) for row in rows]
        return {
            s.source_id: replace(s, claimed_by="", claimed_until=None) if has_ended(s.claimed_by) else s
            for s in states
        }

    def put_source_state(self, state: SourceState) -> None:
        """Store a source's state. This is no change of the library: nothing derived depends on it."""
        values = {name: getattr(state, name) for name in SourceState.__slots__}
        with self.database.claiming("writing the state of a source", 10.0) as connection:
            connection.execute(t.source_state.delete().where(t.source_state.c.source_id == state.source_id))
            connection.execute(t.source_state.insert(), values)

    def claim_source(
        self, source_id: str, worker: str, until: float, *, due_by: float | None = None, wait: float = 10.0
    ) -> bool:
        """Claim a source for a refresh; False when another worker holds it or, with `due_by`, when it is not due.

        Atomic: of several workers that try at once, one gets it, and the others do not wait for it.

        Args:
            wait: Seconds to wait for the writer of a library in a folder; then CatalogBusy.
        """
        s, at = t.source_state.c, now()
        held = s.claimed_until.between(at, at + LONGEST_CLAIM)  # as `SourceState.held_by`
        free = [s.source_id == source_id, sa.or_(s.claimed_by == "", s.claimed_by == worker, sa.not_(held))]
        if due_by is not None:
            free.append(s.next_refresh <= due_by)
        fresh = SourceState(source_id=source_id)
        with self.database.claiming("claiming a source", wait) as connection:
            values = {name: getattr(fresh, name) for name in SourceState.__slots__}
            connection.execute(insert_new(connection, t.source_state), values)
            by = connection.scalar(sa.select(s.claimed_by).where(s.source_id == source_id)) or ""
            if has_ended(by):
                free[1] = sa.or_(free[1], s.claimed_by == by)
            mine = sa.select(s.source_id).where(*free).with_for_update(skip_locked=True)
            if connection.scalar(mine) is None:
                return False
            claimed = {"claimed_by": worker, "claimed_until": until}
            connection.execute(t.source_state.update().where(s.source_id == source_id).values(**claimed))
        return True

    def let_go(self, source_id: str, worker: str, /, *, wait: float = 10.0, **values: Any) -> bool:
        """Release a worker's claim and store the source's state; False when the worker no longer holds the claim."""
        s = t.source_state.c
        mine = t.source_state.update().where(s.source_id == source_id, s.claimed_by == worker)
        with self.database.claiming("writing the state of a source", wait) as connection:
            done = connection.execute(mine.values(claimed_by="", claimed_until=None, **values))
        return done.rowcount == 1
