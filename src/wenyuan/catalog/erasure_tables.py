"""The tables of erasures: what was erased, what must not come back, and what must not be erased."""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.schema import JSON, TEXT

erasure_tables = sa.MetaData()

# Whom or what an erasure is about is kept as keyed hashes (`core.redaction.erased_values`). Where a document or a source
# lies is kept in clear only until the erasure is done.
erasures = sa.Table(
    "erasures",
    erasure_tables,
    sa.Column("erasure_id", TEXT, primary_key=True),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("target", JSON, nullable=False),
    sa.Column("reference", TEXT, nullable=False),  # what the owner calls the request for it
    sa.Column("actor", TEXT, nullable=False),
    sa.Column("begun_at", sa.Float, nullable=False),  # seconds since the epoch
    sa.Column("done_at", sa.Float),
    sa.Column("step", TEXT, nullable=False),  # the one that comes next
    sa.Column("problem", TEXT, nullable=False),  # why the last attempt did not come to its end
    sa.Column("report", JSON, nullable=False),  # what the steps say; at the end the certificate
)

erasure_holds = sa.Table(
    "erasure_holds",
    erasure_tables,
    sa.Column("hold_id", TEXT, primary_key=True),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("target", JSON, nullable=False),
    sa.Column("reason", TEXT, nullable=False),
    sa.Column("actor", TEXT, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("lifted_by", TEXT, nullable=False),
    sa.Column("lifted_at", sa.Float),
)

# Files, by the stored addresses of what was read from them, that hold what was erased: nobody is given them, and of uploaded
# ones the file is deleted. What was read of them stays.
withheld_files = sa.Table(
    "withheld_files",
    erasure_tables,
    sa.Column("source_id", TEXT, primary_key=True),
    sa.Column("uri", TEXT, primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
)
