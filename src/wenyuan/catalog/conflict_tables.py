"""The tables of statements that contradict one another, and of what owners decided about them. No text is kept in them."""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.schema import TEXT

conflict_tables = sa.MetaData()

conflicts = sa.Table(
    "conflicts",
    conflict_tables,
    sa.Column("conflict_id", TEXT, primary_key=True),  # `core.conflicts.record.conflict_id`
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("first_passage", sa.BigInteger, nullable=False, index=True),
    sa.Column("first_start", sa.Integer, nullable=False),  # in the passage's text
    sa.Column("first_end", sa.Integer, nullable=False),
    sa.Column("second_passage", sa.BigInteger, nullable=False, index=True),
    sa.Column("second_start", sa.Integer, nullable=False),
    sa.Column("second_end", sa.Integer, nullable=False),
)

conflict_decisions = sa.Table(
    "conflict_decisions",
    conflict_tables,
    sa.Column("conflict_id", TEXT, primary_key=True),
    sa.Column("state", TEXT, nullable=False),
    sa.Column("note", TEXT, nullable=False),
    sa.Column("actor", TEXT, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
)
