"""Statements that contradict one another and what owners decided about them, as the catalog keeps them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.conflict_tables import conflict_decisions, conflicts
from wenyuan.catalog.database import Database
from wenyuan.catalog.documents import batches
from wenyuan.catalog.sql import now
from wenyuan.catalog.typed_names import refuse_erased
from wenyuan.core.conflicts.record import ConflictDecision, ConflictState, StoredConflict


@dataclass(frozen=True, slots=True, eq=False)
class ConflictRecords:
    """Conflicts by id, those by passage, and decisions. They are derived from passages, and so are no change of the library."""

    database: Database

    def conflicts(self) -> Mapping[str, StoredConflict]:
        """All that were found, by their ids; a passage of one may be gone."""
        return self.database.remembered.get("conflicts", self._conflicts)

    def conflicts_by_passage(self) -> Mapping[int, Sequence[StoredConflict]]:
        """The conflicts of each passage that is in any."""
        return self.database.remembered.get("conflicts by passage", self._by_passage)

    def conflicts_version(self) -> str:
        """Another text whenever conflicts or decisions about them are others: what was found under another one is found anew."""
        return self.database.remembered.get("version of conflicts", self._version)

    def conflict_decisions(self) -> Mapping[str, ConflictDecision]:
        """All decisions, by the ids of conflicts, those that are gone included."""
        return self.database.remembered.get("conflict decisions", self._decisions)

    def keep_conflicts(self, found: Sequence[StoredConflict], compared: Sequence[int]) -> None:
        """Keep what was found of passages that were compared, in the place of what was known of these."""
        with self.database.changing("keeping conflicts") as connection:
            for part in batches(list(compared)):
                connection.execute(
                    conflicts.delete().where(
                        sa.or_(conflicts.c.first_passage.in_(part), conflicts.c.second_passage.in_(part))
                    )
                )
            for part in batches([one.conflict_id for one in found]):
                connection.execute(conflicts.delete().where(conflicts.c.conflict_id.in_(part)))
            if found:
                connection.execute(conflicts.insert(), [asdict(one) for one in found])

    def remove_conflicts(self, ids: Sequence[str]) -> None:
        """Forget conflicts of passages that are gone; decisions about them stay."""
        with self.database.changing("removing conflicts") as connection:
            for part in batches(list(ids)):
                connection.execute(conflicts.delete().where(conflicts.c.conflict_id.in_(part)))

    def decide_conflict(
        self,
        conflict_id: str,
        state: ConflictState,
        note: str,
        actor: str,
        check: Callable[[ConflictDecision | None], None] = lambda _: None,
    ) -> None:
        """Decide about a conflict; ``open`` takes a decision back.

        Args:
            check: Given the decision that there is, raises where it must stay.
        """
        refuse_erased(self.database, note=note)
        row = {"conflict_id": conflict_id, "state": state, "note": note, "actor": actor, "at": now()}
        with self.database.changing("deciding about a conflict") as connection:
            query = sa.select(conflict_decisions).where(conflict_decisions.c.conflict_id == conflict_id)
            held = connection.execute(query).mappings().first()
            check(None if held is None else ConflictDecision(**held))
            connection.execute(conflict_decisions.delete().where(conflict_decisions.c.conflict_id == conflict_id))
            if state != "open":
                connection.execute(conflict_decisions.insert(), row)
        self.database.on_change("conflict", "changed", conflict_id, None, {"state": state, "note": note})

    def passages_beginning(self, after: date, upto: date) -> Sequence[int]:
        """Live passages that are in force from a day on with ``after < day <= upto``, by their document or their source."""
        p, d, s = t.passages.c, t.documents.c, t.sources.c
        days = after.toordinal(), upto.toordinal()
        query = (
            sa.select(p.passage_id)
            .join(t.documents, d.document_id == p.document_id)
            .join(t.sources, s.source_id == p.source_id)
            .where(
                p.removed_seq.is_(None),
                sa.or_(*(sa.and_(c > days[0], c <= days[1]) for c in (d.effective_from, s.effective_from))),
            )
        )
        with self.database.reading("reading what is in force from now on") as connection:
            return list(connection.scalars(query))

    def _conflicts(self) -> Mapping[str, StoredConflict]:
        with self.database.reading("reading conflicts") as connection:
            rows = connection.execute(sa.select(conflicts)).mappings().all()
        return {row["conflict_id"]: StoredConflict(**row) for row in rows}

    def _decisions(self) -> Mapping[str, ConflictDecision]:
        with self.database.reading("reading decisions on conflicts") as connection:
            rows = connection.execute(sa.select(conflict_decisions)).mappings().all()
        return {row["conflict_id"]: ConflictDecision(**row) for row in rows}

    def _by_passage(self) -> Mapping[int, Sequence[StoredConflict]]:
        found: dict[int, list[StoredConflict]] = {}
        for one in self.conflicts().values():
            for number in {one.first_passage, one.second_passage}:
                found.setdefault(number, []).append(one)
        return found

    def _version(self) -> str:
        decided = [(one.conflict_id, one.state, one.at) for one in self.conflict_decisions().values()]
        places = [(one.conflict_id, one.first_passage, one.second_passage) for one in self.conflicts().values()]
        return hashlib.sha256(repr((sorted(places), sorted(decided))).encode()).hexdigest()[:16]
