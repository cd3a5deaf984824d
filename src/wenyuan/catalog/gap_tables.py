"""The table of what owners decided about questions that were not answered well."""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.schema import TEXT

gap_tables = sa.MetaData()

gap_decisions = sa.Table(
    "gap_decisions",
    gap_tables,
    sa.Column("digest", TEXT, primary_key=True),  # `core.gaps.digest_of` the question
    sa.Column("state", TEXT, nullable=False),
    sa.Column("note", TEXT, nullable=False),
    sa.Column("actor", TEXT, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
)
