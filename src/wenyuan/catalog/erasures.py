"""Erasures, legal holds and withheld files, as the catalog keeps them."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog.database import Database
from wenyuan.catalog.dialects import insert_new
from wenyuan.catalog.documents import batches
from wenyuan.catalog.erased_texts import ErasedTexts
from wenyuan.catalog.erasure_tables import erasure_holds, erasures, withheld_files
from wenyuan.catalog.sql import now
from wenyuan.catalog.typed_names import refuse_erased
from wenyuan.core.erasure import STEPS, Erasure, ErasureTarget, Hold, target_of
from wenyuan.core.errors import NotFound, msg
from wenyuan.core.redaction.erased_values import ErasedValue


@dataclass(frozen=True, slots=True, eq=False)
class StoredErasures:
    """Reads and writes what is known of erasures. None of it is a change of the library."""

    database: Database

    def begin_erasure(self, target: ErasureTarget, reference: str, actor: str, report: Mapping[str, Any]) -> str:
        """Store an erasure that is about to begin: from now on what it is about is not taken in any more; returns its id."""
        erasure_id = f"e-{secrets.token_hex(8)}"
        row = {
            "erasure_id": erasure_id, "kind": target.kind, "target": target.stored(), "reference": reference,
            "actor": actor, "begun_at": now(), "done_at": None, "step": STEPS[0], "problem": "", "report": dict(report),
        }  # fmt: skip
        with self.database.changing("beginning an erasure") as connection:
            connection.execute(erasures.insert(), row)
        return erasure_id

    def note_erasure(
        self,
        erasure_id: str,
        step: str,
        report: Mapping[str, Any],
        *,
        problem: str = "",
        target: ErasureTarget | None = None,
        done_at: float | None = None,
    ) -> None:
        """Store how an erasure gets on: which step comes next, what those before said, and why it cannot go on."""
        values: dict[str, Any] = {"step": step, "report": dict(report), "problem": problem, "done_at": done_at}
        if target is not None:
            values["target"] = target.stored()
        with self.database.changing("going on with an erasure") as connection:
            connection.execute(erasures.update().where(erasures.c.erasure_id == erasure_id).values(**values))

    def erasures(self, *, unfinished: bool = False) -> list[Erasure]:
        """All erasures, the newest first; or those that did not come to their end."""
        query = sa.select(erasures).order_by(erasures.c.begun_at.desc(), erasures.c.erasure_id)
        if unfinished:
            query = query.where(erasures.c.step != STEPS[-1])
        with self.database.reading("listing erasures") as connection:
            return [_erasure(row) for row in connection.execute(query).mappings()]

    def erasure(self, erasure_id: str) -> Erasure:
        """One erasure; NotFound when there is none."""
        query = sa.select(erasures).where(erasures.c.erasure_id == erasure_id)
        with self.database.reading("reading an erasure") as connection:
            row = connection.execute(query).mappings().first()
        if row is None:
            raise NotFound(
                msg("there is no erasure {erasure_id}", erasure_id=repr(erasure_id)), hint="wenyuan forget list"
            )
        return _erasure(row)

    def erased_values(self) -> tuple[ErasedValue, ...]:
        """The values of all persons that were erased, or are being erased: they must not come back."""
        return self.database.remembered.get(("erased values",), self._erased_values)

    def _erased_values(self) -> tuple[ErasedValue, ...]:
        query = sa.select(erasures.c.target).where(erasures.c.kind == "person").order_by(erasures.c.erasure_id)
        with self.database.reading("reading what was erased") as connection:
            found = [value for (target,) in connection.execute(query) for value in target_of("person", target).values]
        return tuple(dict.fromkeys(found))

    def erased_identities(self) -> frozenset[str]:
        """The identities of documents that were erased, or are being erased: they must not come back."""
        return self.database.remembered.get(("erased identities",), self._erased_identities)

    def _erased_identities(self) -> frozenset[str]:
        query = sa.select(erasures.c.target)
        with self.database.reading("reading what was erased") as connection:
            return frozenset(one for (target,) in connection.execute(query) for one in target["identities"])

    @property
    def in_folder(self) -> bool:
        """Whether the tables lie in the library's folder."""
        return self.database.reader.dialect.name == "sqlite"

    @property
    def texts(self) -> ErasedTexts:
        """Finds and takes out what a person left in the tables."""
        return ErasedTexts(self.database)

    def put_hold(self, target: ErasureTarget, reason: str, actor: str) -> Hold:
        """Store a hold."""
        refuse_erased(self.database, reason=reason)
        hold = Hold(hold_id=f"h-{secrets.token_hex(8)}", target=target, reason=reason, actor=actor, at=now())
        row = {
            "hold_id": hold.hold_id, "kind": target.kind, "target": target.stored(), "reason": reason, "actor": actor,
            "at": hold.at, "lifted_by": "", "lifted_at": None,
        }  # fmt: skip
        with self.database.changing("holding something") as connection:
            connection.execute(erasure_holds.insert(), row)
        return hold

    def lift_hold(self, hold_id: str, actor: str) -> Hold:
        """Lift a hold; NotFound where none of that id stands."""
        h = erasure_holds.c
        with self.database.changing("lifting a hold") as connection:
            lifted = erasure_holds.update().where(h.hold_id == hold_id, h.lifted_at.is_(None))
            if connection.execute(lifted.values(lifted_by=actor, lifted_at=now())).rowcount != 1:
                raise NotFound(msg("there is no hold {hold_id}", hold_id=repr(hold_id)), hint="wenyuan forget holds")
        return next(one for one in self.holds(lifted=True) if one.hold_id == hold_id)

    def holds(self, *, lifted: bool = False) -> list[Hold]:
        """The holds that stand, the newest first; or also those that were lifted."""
        h = erasure_holds.c
        query = sa.select(erasure_holds).order_by(h.at.desc(), h.hold_id)
        query = query if lifted else query.where(h.lifted_at.is_(None))
        with self.database.reading("listing holds") as connection:
            rows = connection.execute(query).mappings().all()
        return [
            Hold(**{**{name: row[name] for name in row if name != "kind"}, "target": target_of(row["kind"], row["target"])})
            for row in rows
        ]  # fmt: skip

    def withheld(self, source_id: str) -> frozenset[str]:
        """The addresses of a source's files that are given to nobody."""
        query = sa.select(withheld_files.c.uri).where(withheld_files.c.source_id == source_id)
        with self.database.reading("reading withheld files") as connection:
            return frozenset(connection.scalars(query))

    def withhold(self, source_id: str, uris: Collection[str], free: Sequence[str] = ()) -> None:
        """Withhold files from now on, and give `free` again."""
        w = withheld_files.c
        if not uris and not free:
            return
        rows = [{"source_id": source_id, "uri": uri, "at": now()} for uri in sorted(uris)]
        with self.database.changing("withholding files") as connection:
            for part in batches(sorted(free)):
                connection.execute(withheld_files.delete().where(w.source_id == source_id, w.uri.in_(part)))
            if rows:
                connection.execute(insert_new(connection, withheld_files), rows)


def _erasure(row: sa.RowMapping) -> Erasure:
    plain = {name: row[name] for name in row if name not in ("kind", "target")}
    return Erasure(**plain, target=target_of(row["kind"], row["target"]))
