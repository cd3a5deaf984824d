"""What owners decided about questions that were not answered well, as the catalog keeps it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from wenyuan.catalog.database import Database
from wenyuan.catalog.documents import batches
from wenyuan.catalog.gap_tables import gap_decisions
from wenyuan.catalog.sql import now
from wenyuan.core.gaps import GapDecision, GapState


@dataclass(frozen=True, slots=True, eq=False)
class GapDecisions:
    """Decisions by question. They change no answer, and so are no change of the library."""

    database: Database

    def gap_decisions(self) -> dict[str, GapDecision]:
        """All of them, by the digest of the question."""
        with self.database.reading("reading decisions on gaps") as connection:
            rows = connection.execute(sa.select(gap_decisions)).mappings().all()
        return {row["digest"]: GapDecision(**row) for row in rows}

    def decide_gap(
        self,
        digests: Sequence[str],
        state: GapState,
        note: str,
        actor: str,
        check: Callable[[GapDecision | None], None] = lambda _: None,
    ) -> None:
        """Decide about questions by their digests; ``open`` takes decisions back.

        Args:
            check: Given the newest decision there is on any of them, raises where it must stay.
        """
        rows = [
            {"digest": digest, "state": state, "note": note, "actor": actor, "at": now()}
            for digest in dict.fromkeys(digests)
        ]
        with self.database.changing("deciding about a gap") as connection:
            found: list[GapDecision] = []
            for part in batches([row["digest"] for row in rows]):
                query = sa.select(gap_decisions).where(gap_decisions.c.digest.in_(part))
                found += [GapDecision(**row) for row in connection.execute(query).mappings()]
            check(max(found, key=lambda decision: decision.at, default=None))
            for part in batches([row["digest"] for row in rows]):
                connection.execute(gap_decisions.delete().where(gap_decisions.c.digest.in_(part)))
            if state != "open":
                connection.execute(gap_decisions.insert(), rows)
        self.database.on_change("gap", "changed", digests[0], None, {"state": state, "note": note})
