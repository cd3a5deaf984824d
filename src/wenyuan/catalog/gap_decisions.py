"""What owners decided about questions that were not answered well, and what answers these now, as the catalog keeps it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Literal

import sqlalchemy as sa

from wenyuan.catalog.database import Database
from wenyuan.catalog.documents import batches
from wenyuan.catalog.gap_tables import gap_answers, gap_closings, gap_decisions
from wenyuan.catalog.sql import now
from wenyuan.catalog.typed_names import refuse_erased
from wenyuan.core.gaps import GapClosing, GapDecision, GapState, WrittenAnswer


@dataclass(frozen=True, slots=True, eq=False)
class GapDecisions:
    """Decisions by question. They change no answer, and so are no change of the library."""

    database: Database

    def gap_decisions(self) -> dict[str, GapDecision]:
        """All of them, by the digest of the question."""
        with self.database.reading("reading decisions on gaps") as connection:
            rows = connection.execute(sa.select(gap_decisions)).mappings().all()
        return {row["digest"]: _decision(row) for row in rows}

    def gap_closings(self) -> dict[str, GapClosing]:
        """What answers the questions that were gaps, by digest."""
        with self.database.reading("reading what answers gaps") as connection:
            rows = connection.execute(sa.select(gap_closings)).mappings().all()
        return {row["digest"]: GapClosing(**row) for row in rows}

    def keep_gap_closings(self, closings: Sequence[GapClosing]) -> None:
        """Keep what answers questions now, in the place of what did before."""
        with self.database.changing("keeping what answers gaps") as connection:
            for part in batches([one.digest for one in closings]):
                connection.execute(gap_closings.delete().where(gap_closings.c.digest.in_(part)))
            if closings:
                connection.execute(gap_closings.insert(), [asdict(one) for one in closings])

    def written_answers(self) -> tuple[WrittenAnswer, ...]:
        """The answers that people have written for gaps, oldest first."""
        with self.database.reading("reading written answers") as connection:
            rows = connection.execute(sa.select(gap_answers).order_by(gap_answers.c.at)).mappings().all()
        return tuple(WrittenAnswer(**{**row, "review_on": _day(row["review_on"])}) for row in rows)

    def keep_written_answer(self, one: WrittenAnswer) -> None:
        """Keep that somebody has answered a question, in the place of who did before."""
        refuse_erased(self.database, author=one.author)
        row = {**asdict(one), "review_on": one.review_on and one.review_on.toordinal()}
        with self.database.changing("keeping a written answer") as connection:
            connection.execute(gap_answers.delete().where(gap_answers.c.digest == one.digest))
            connection.execute(gap_answers.insert(), row)

    def decide_gap(
        self,
        digests: Sequence[str],
        state: GapState | Literal["answered"],
        note: str,
        actor: str,
        check: Callable[[GapDecision | None], None] = lambda _: None,
        until: date | None = None,
    ) -> None:
        """Decide about questions by their digests; ``open`` takes decisions back.

        Args:
            until: The day from which on it counts no more.
            check: Given the newest decision there is on any of them, raises where it must stay.
        """
        refuse_erased(self.database, note=note)
        rows = [
            {
                "digest": digest,
                "state": state,
                "note": note,
                "actor": actor,
                "at": now(),
                "until": until and until.toordinal(),
            }
            for digest in dict.fromkeys(digests)
        ]
        with self.database.changing("deciding about a gap") as connection:
            found: list[GapDecision] = []
            for part in batches([row["digest"] for row in rows]):
                query = sa.select(gap_decisions).where(gap_decisions.c.digest.in_(part))
                found += [_decision(row) for row in connection.execute(query).mappings()]
            check(max(found, key=lambda decision: decision.at, default=None))
            for part in batches([row["digest"] for row in rows]):
                connection.execute(gap_decisions.delete().where(gap_decisions.c.digest.in_(part)))
            if state != "open":
                connection.execute(gap_decisions.insert(), rows)
        said = {"state": state, "note": note} | ({} if until is None else {"until": until})
        self.database.on_change("gap", "changed", digests[0], None, said)


def _decision(row: Mapping[str, Any] | sa.RowMapping) -> GapDecision:
    return GapDecision(**{**row, "until": _day(row["until"])})


def _day(ordinal: int | None) -> date | None:
    return None if ordinal is None else date.fromordinal(ordinal)
