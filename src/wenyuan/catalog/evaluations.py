"""Evaluations that are kept, with the questions, so that the same can be asked again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from wenyuan.catalog.connect import reading, translated
from wenyuan.catalog.evaluation_tables import evaluations, golden_sets
from wenyuan.core.errors import NotPermitted
from wenyuan.core.evaluated import AskedQuestion, Evaluation, WholeEvaluation
from wenyuan.core.learned import Pair
from wenyuan.core.measures import Bin

__all__ = ["CatalogEvaluations"]

_REPORT = ("questions", "unknown", "examples", "figures", "bins", "made_of", "seconds")


class CatalogEvaluations:
    """Mixed into `Catalog`. They are no changes of the library: no answer depends on them."""

    _reader: sa.Engine
    _writer: sa.Engine

    if TYPE_CHECKING:

        def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...

    def keep_evaluation(self, kept: Evaluation, pairs: Iterable[Pair], asked: Iterable[AskedQuestion]) -> int:
        """Store one, and its questions where they are not yet kept; returns its number."""
        told = asdict(kept)
        row = {name: told[name] for name in ("at", "name", "set_id")}
        row |= {"report": {name: told[name] for name in _REPORT}, "asked": [asdict(one) for one in asked]}
        same = sa.select(sa.func.count()).where(golden_sets.c.set_id == kept.set_id)
        with self.writing(), translated("keeping an evaluation"), self._writer.begin() as connection:
            if not connection.scalar(same):
                connection.execute(golden_sets.insert(), {"set_id": kept.set_id, "pairs": [asdict(p) for p in pairs]})
            done = connection.execute(evaluations.insert(), row)
            (number,) = done.inserted_primary_key or (0,)
        return int(number)

    def evaluations(self, limit: int = 50, before: int | None = None) -> tuple[Evaluation, ...]:
        """The last ones, newest first; with `before`, those with lower numbers."""
        c = evaluations.c
        query = sa.select(*(column for column in c if column.name != "asked"))
        if before is not None:
            query = query.where(c.evaluation_id < before)
        with reading(self._reader, "listing evaluations") as connection:
            rows = connection.execute(query.order_by(c.evaluation_id.desc()).limit(limit)).mappings().all()
        return tuple(_evaluation(dict(row)) for row in rows)

    def evaluation(self, evaluation_id: int) -> WholeEvaluation:
        """One, whole; NotPermitted when there is none of that number."""
        query = sa.select(evaluations).where(evaluations.c.evaluation_id == evaluation_id)
        with reading(self._reader, "reading an evaluation") as connection:
            row = connection.execute(query).mappings().first()
        if row is None:
            raise _none(evaluation_id)
        return WholeEvaluation(
            evaluation=_evaluation(dict(row)), asked=tuple(AskedQuestion(**asked) for asked in row["asked"])
        )

    def golden_set(self, set_id: str) -> tuple[Pair, ...]:
        """The questions and answers of a set; NotPermitted when it is not kept."""
        query = sa.select(golden_sets.c.pairs).where(golden_sets.c.set_id == set_id)
        with reading(self._reader, "reading a golden set") as connection:
            pairs = connection.scalar(query)
        if pairs is None:
            raise NotPermitted(f"there is no golden set {set_id!r}", hint="wenyuan eval --runs")
        return tuple(Pair(**{**pair, "otherwise": tuple(pair["otherwise"])}) for pair in pairs)

    def remove_evaluation(self, evaluation_id: int) -> None:
        """Remove one, and its questions where no other has them; NotPermitted when there is none of that number."""
        c = evaluations.c
        with self.writing(), translated("removing an evaluation"), self._writer.begin() as connection:
            if not connection.execute(evaluations.delete().where(c.evaluation_id == evaluation_id)).rowcount:
                raise _none(evaluation_id)
            used = sa.select(c.set_id)
            connection.execute(golden_sets.delete().where(golden_sets.c.set_id.not_in(used)))


def _none(evaluation_id: int) -> NotPermitted:
    return NotPermitted(f"there is no evaluation {evaluation_id}", hint="wenyuan eval --runs")


def _evaluation(row: Mapping[str, Any]) -> Evaluation:
    report = {name: row["report"][name] for name in _REPORT}
    return Evaluation(
        evaluation_id=row["evaluation_id"],
        at=row["at"],
        name=row["name"],
        set_id=row["set_id"],
        **{
            **report,
            "bins": tuple(Bin(**one) for one in report["bins"]),
            "examples": tuple((address, where) for address, where in report["examples"]),
        },
    )
