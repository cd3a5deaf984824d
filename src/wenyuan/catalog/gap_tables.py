"""The tables of what owners decided about questions that were not answered well, and of what answers these now."""

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
    sa.Column("until", sa.Integer),  # ordinal of the day from which on it counts no more
)

gap_closings = sa.Table(
    "gap_closings",
    gap_tables,
    sa.Column("digest", TEXT, primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("audit_id", TEXT, nullable=False),
    sa.Column("source_id", TEXT, nullable=False),
    sa.Column("uri", TEXT, nullable=False),
    sa.Column("title", TEXT, nullable=False),
    sa.Column("score", sa.Float, nullable=False),
)

gap_answers = sa.Table(
    "gap_answers",
    gap_tables,
    sa.Column("digest", TEXT, primary_key=True),
    sa.Column("question", TEXT, nullable=False),
    sa.Column("source_id", TEXT, nullable=False),
    sa.Column("uri", TEXT, nullable=False),
    sa.Column("author", TEXT, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("review_on", sa.Integer),  # ordinal of a day
)
