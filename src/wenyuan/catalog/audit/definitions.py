"""The tables of the audit, apart from the catalog's, so that whoever only reads can be audited, too."""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.schema import ID, TEXT

tables = sa.MetaData()

audit = sa.Table(
    "audit",
    tables,
    sa.Column("seq", ID, primary_key=True, autoincrement=False),
    sa.Column("audit_id", TEXT, nullable=False, unique=True),
    sa.Column("at", sa.Float, nullable=False, index=True),  # seconds since the epoch
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("principal", TEXT, nullable=False),
    sa.Column("record", TEXT, nullable=False),  # canonical JSON, hashed as it stands
    sa.Column("prev_hash", TEXT, nullable=False),
    sa.Column("hash", TEXT, nullable=False),
    sa.Index("audit_kind", "kind", "seq"),
    sa.Index("audit_principal", "principal", "seq"),
)

# Queries are apart: they may be about a person, who may want them gone; the chain holds but a commitment to each.
queries = sa.Table(
    "audit_queries",
    tables,
    sa.Column("audit_id", TEXT, primary_key=True),
    sa.Column("at", sa.Float, nullable=False, index=True),
    sa.Column("salt", TEXT, nullable=False),
    sa.Column("query", TEXT),  # canonical JSON; null when queries are not kept
    sqlite_with_rowid=False,
)

# Where retention has cut the chain; the newest one counts.
cuts = sa.Table(
    "audit_cuts",
    tables,
    sa.Column("seq", ID, primary_key=True, autoincrement=False),
    sa.Column("hash", TEXT, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)

# The hashes of records whose content was erased, see `catalog.audit.tombstones`: rows are only ever added.
erased = sa.Table(
    "audit_erased",
    tables,
    sa.Column("seq", ID, primary_key=True, autoincrement=False),
    sa.Column("hash", TEXT, nullable=False),
    sa.Column("erasure_id", TEXT, nullable=False),
)

# What became of each question, see `catalog.audit.question_outcomes`.
asked = sa.Table(
    "audit_asked",
    tables,
    sa.Column("seq", ID, primary_key=True, autoincrement=False),
    sa.Column("slot", ID, nullable=False),  # of time, in `core.question_outcomes.SLOT` seconds since the epoch
    sa.Column("outcome", TEXT, nullable=False),
    sa.Column("agent", TEXT, nullable=False),
    sa.Column("source_id", TEXT, nullable=False),
    sa.Column("score", sa.Float, nullable=False),
    sa.Column("ms", sa.Float, nullable=False),
    sa.Index("audit_asked_when", "slot", "outcome", "agent", "source_id", "ms"),
    sa.Index("audit_asked_outcome", "outcome", "seq"),
    sa.Index("audit_asked_agent", "agent", "seq"),
    sa.Index("audit_asked_source", "source_id", "seq"),
)

# A log in its own file stores which library it belongs to; one beside the catalog's tables needs no such mark.
whose = sa.Table("audit_library", sa.MetaData(), sa.Column("library_id", TEXT, primary_key=True))
