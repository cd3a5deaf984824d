"""How well the library answered questions whose answers are known, and the questions."""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.columns import ID, JSON, TEXT

__all__ = ["evaluations", "golden_sets", "tables"]

tables = sa.MetaData()

golden_sets = sa.Table(
    "golden_sets",
    tables,
    sa.Column("set_id", TEXT, primary_key=True),
    sa.Column("pairs", JSON, nullable=False),
)

evaluations = sa.Table(
    "evaluations",
    tables,
    sa.Column("evaluation_id", ID, primary_key=True, autoincrement=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("name", TEXT, nullable=False),
    sa.Column("set_id", TEXT, nullable=False),
    sa.Column("report", JSON, nullable=False),
    sa.Column("asked", JSON, nullable=False),
    sqlite_autoincrement=True,
)
sa.Index("evaluations_set", evaluations.c.set_id)
