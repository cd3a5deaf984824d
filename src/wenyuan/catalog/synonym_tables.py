"""What people say for what documents say, as operators enter it."""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.columns import ID, TEXT

__all__ = ["synonyms", "tables"]

tables = sa.MetaData()

# An entry counts from the change at which it was entered until the one at which it was replaced or removed.
synonyms = sa.Table(
    "synonyms",
    tables,
    sa.Column("number", ID, primary_key=True, autoincrement=True),
    sa.Column("term", TEXT, nullable=False),
    sa.Column("synonym", TEXT, nullable=False),
    sa.Column("both", sa.Boolean, nullable=False),
    sa.Column("actor", TEXT, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
    sqlite_autoincrement=True,
)
sa.Index("synonyms_seq", synonyms.c.seq)
sa.Index("synonyms_removed", synonyms.c.removed_seq)
