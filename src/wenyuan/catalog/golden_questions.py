"""Questions whose answers people have shown, kept one by one, for evaluations and tuning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from wenyuan.catalog.database import Database
from wenyuan.catalog.documents import batches
from wenyuan.catalog.golden_tables import golden_questions
from wenyuan.core.learning_records import GoldenQuestion


@dataclass(frozen=True, slots=True, eq=False)
class GoldenQuestions:
    """Golden questions by the digest of the question, each once. No answer depends on them."""

    database: Database

    def golden_questions(self) -> tuple[GoldenQuestion, ...]:
        """All of them, oldest first."""
        query = sa.select(golden_questions).order_by(golden_questions.c.at, golden_questions.c.digest)
        with self.database.reading("reading golden questions") as connection:
            return tuple(GoldenQuestion(**row) for row in connection.execute(query).mappings())

    def keep_golden_questions(self, kept: Sequence[GoldenQuestion]) -> None:
        """Keep questions, each in the place of the one of equal words."""
        rows = {one.digest: asdict(one) for one in kept}
        self._replace(list(rows), list(rows.values()))

    def remove_golden_questions(self, digests: Sequence[str]) -> None:
        """Forget questions; what is not there is passed over."""
        self._replace(digests, [])

    def _replace(self, digests: Sequence[str], rows: Sequence[dict[str, object]]) -> None:
        with self.database.changing("keeping golden questions") as connection:
            for part in batches(list(digests)):
                connection.execute(golden_questions.delete().where(golden_questions.c.digest.in_(part)))
            if rows:
                connection.execute(golden_questions.insert(), list(rows))
