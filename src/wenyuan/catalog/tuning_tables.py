"""What was learned from judged questions, and the judgements that callers gave of answers."""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.columns import ID, JSON, TEXT

__all__ = ["feedback", "tables", "tunings"]

tables = sa.MetaData()

# A tuning counts from the change at which it was adopted until the one at which it was undone or replaced.
tunings = sa.Table(
    "tunings",
    tables,
    sa.Column("tuning_id", ID, primary_key=True, autoincrement=True),
    sa.Column("seq", ID, nullable=False),
    sa.Column("undone_seq", ID),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("undone_at", sa.Float),
    sa.Column("encoder", TEXT, nullable=False),  # key of the encoder's fingerprint
    sa.Column("fingerprint", TEXT, nullable=False),
    sa.Column("map", sa.LargeBinary),  # see `core.adapt.QueryMap.to_bytes`; null: vectors are used as they are
    sa.Column("weight", sa.Float, nullable=False),
    sa.Column("report", JSON, nullable=False),
    sqlite_autoincrement=True,
)

# Who said of which part of an audited answer that it was right or wrong. The last word of a caller counts.
feedback = sa.Table(
    "feedback",
    tables,
    sa.Column("audit_id", TEXT, primary_key=True),
    sa.Column("ref", TEXT, primary_key=True),
    sa.Column("actor", TEXT, primary_key=True),
    sa.Column("good", sa.Boolean, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)
