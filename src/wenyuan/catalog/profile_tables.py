"""What kinds of tasks are about, as operators say it."""

from __future__ import annotations

import sqlalchemy as sa

__all__ = ["profiles", "tables"]

tables = sa.MetaData()

_Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

# A profile counts from the change at which it was registered until the one at which it was replaced or removed.
profiles = sa.Table(
    "task_profiles",
    tables,
    sa.Column("number", _Id, primary_key=True, autoincrement=True),
    sa.Column("profile_id", sa.Text, nullable=False),
    sa.Column("definition", sa.JSON, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
    sa.Column("seq", _Id, nullable=False),
    sa.Column("removed_seq", _Id),
    sqlite_autoincrement=True,
)
