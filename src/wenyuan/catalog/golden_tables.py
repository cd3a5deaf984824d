"""The table of questions whose answers people have shown, kept one by one."""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.schema import TEXT

golden_tables = sa.MetaData()

golden_questions = sa.Table(
    "golden_questions",
    golden_tables,
    sa.Column("digest", TEXT, primary_key=True),  # `core.gaps.digest_of` the question
    sa.Column("question", TEXT, nullable=False),
    sa.Column("answer", TEXT, nullable=False),  # address of a document or passage; "": it must not be answered
    sa.Column("actor", TEXT, nullable=False),
    sa.Column("origin", TEXT, nullable=False),  # by what it came here
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
)
