"""What kinds of tasks are about, as operators say it."""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.columns import ID, JSON, TEXT

__all__ = ["profiles", "tables"]

tables = sa.MetaData()

# A profile counts from the change at which it was registered until the one at which it was replaced or removed.
profiles = sa.Table(
    "task_profiles",
    tables,
    sa.Column("number", ID, primary_key=True, autoincrement=True),
    sa.Column("profile_id", TEXT, nullable=False),
    sa.Column("definition", JSON, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
    sqlite_autoincrement=True,
)
