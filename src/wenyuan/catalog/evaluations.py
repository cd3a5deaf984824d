"""Evaluations that are kept, with the questions, so that the same can be asked again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog.database import Database
from wenyuan.catalog.schema import evaluations, golden_sets
from wenyuan.core.errors import NotFound, msg
from wenyuan.core.evaluation_records import AskedQuestion, Evaluation, WholeEvaluation
from wenyuan.core.learning_records import QuestionAddress

_REPORT = ("questions", "unknown", "examples", "figures", "bins", "made_of", "seconds", "places")


@dataclass(frozen=True, slots=True, eq=False)
class Evaluations:
    """Stored evaluations of retrieval quality. They are no changes of the library: no answer depends on them."""

    database: Database

    def keep_evaluation(
        self, kept: Evaluation, pairs: Iterable[QuestionAddress], asked: Iterable[AskedQuestion]
    ) -> int:
        """Store an evaluation, and its golden set unless it is stored already; returns its number."""
        told = asdict(kept)
        row = {name: told[name] for name in ("at", "name", "set_id")}
        row |= {"report": {name: told[name] for name in _REPORT}, "asked": [asdict(one) for one in asked]}
        same = sa.select(sa.func.count()).where(golden_sets.c.set_id == kept.set_id)
        with self.database.changing("keeping an evaluation") as connection:
            if not connection.scalar(same):
                connection.execute(golden_sets.insert(), {"set_id": kept.set_id, "pairs": [asdict(p) for p in pairs]})
            done = connection.execute(evaluations.insert(), row)
            (number,) = done.inserted_primary_key or (0,)
        return int(number)

    def evaluations(self, limit: int = 50, before: int | None = None) -> tuple[Evaluation, ...]:
        """The latest evaluations, newest first; with `before`, those with lower numbers."""
        c = evaluations.c
        query = sa.select(*(column for column in c if column.name != "asked"))
        if before is not None:
            query = query.where(c.evaluation_id < before)
        with self.database.reading("listing evaluations") as connection:
            rows = connection.execute(query.order_by(c.evaluation_id.desc()).limit(limit)).mappings().all()
        return tuple(_evaluation(dict(row)) for row in rows)

    def evaluation(self, evaluation_id: int) -> WholeEvaluation:
        """One evaluation with all its details; NotFound when there is none of that number."""
        query = sa.select(evaluations).where(evaluations.c.evaluation_id == evaluation_id)
        with self.database.reading("reading an evaluation") as connection:
            row = connection.execute(query).mappings().first()
        if row is None:
            raise _none(evaluation_id)
        asked = [AskedQuestion(**one) for one in row["asked"]]
        return WholeEvaluation(
            evaluation=_evaluation(dict(row)),
            asked=tuple(one for one in asked if not one.vain),
            in_vain=tuple(one for one in asked if one.vain),
        )

    def golden_set(self, set_id: str) -> tuple[QuestionAddress, ...]:
        """The questions and expected answers of a golden set; NotFound when it is not stored."""
        query = sa.select(golden_sets.c.pairs).where(golden_sets.c.set_id == set_id)
        with self.database.reading("reading a golden set") as connection:
            pairs = connection.scalar(query)
        if pairs is None:
            raise NotFound(msg("there is no golden set {set_id}", set_id=repr(set_id)), hint="wenyuan eval --runs")
        return tuple(QuestionAddress(**{**pair, "otherwise": tuple(pair["otherwise"])}) for pair in pairs)

    def remove_evaluation(self, evaluation_id: int) -> None:
        """Remove an evaluation, and its golden set unless another one uses it; NotFound when there is none of that
        number.
        """
        c = evaluations.c
        with self.database.changing("removing an evaluation") as connection:
            if not connection.execute(evaluations.delete().where(c.evaluation_id == evaluation_id)).rowcount:
                raise _none(evaluation_id)
            used = sa.select(c.set_id)
            connection.execute(golden_sets.delete().where(golden_sets.c.set_id.not_in(used)))


def _none(evaluation_id: int) -> NotFound:
    return NotFound(
        msg("there is no evaluation {evaluation_id}", evaluation_id=evaluation_id), hint="wenyuan eval --runs"
    )


def _evaluation(row: Mapping[str, Any]) -> Evaluation:
    from wenyuan.core.scoring.evaluation import Bin
    from wenyuan.core.scoring.reliability import reliability_of

    report = {"places": {}} | row["report"]
    return Evaluation(
        evaluation_id=row["evaluation_id"],
        at=row["at"],
        name=row["name"],
        set_id=row["set_id"],
        **{
            **{name: report[name] for name in _REPORT},
            "places": {name: reliability_of(one) for name, one in report["places"].items()},
            "bins": tuple(Bin(**one) for one in report["bins"]),
            "examples": tuple((address, where) for address, where in report["examples"]),
        },
    )
