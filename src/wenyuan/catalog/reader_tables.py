"""The tables of who may read which document, and of whose eyes a key has."""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.schema import ID, JSON, TEXT

reader_tables = sa.MetaData()

# Each distinct list once; lists never change.
access_lists = sa.Table(
    "access_lists",
    reader_tables,
    sa.Column("list_id", ID, primary_key=True, autoincrement=False),  # given by us
    sa.Column("digest", TEXT, nullable=False, unique=True),  # of the list as it is written
    sa.Column("definition", JSON, nullable=False),  # `core.principals.AccessList.written`
)

# Which list stands for what lies at an address, by where it comes from: all of them count. An address may have one
# before it has a document. A list that is taken back leaves a row without a list, by which readers learn of it.
document_readers = sa.Table(
    "document_readers",
    reader_tables,
    sa.Column("source_id", TEXT, primary_key=True),
    sa.Column("uri", TEXT, primary_key=True),
    sa.Column("origin", TEXT, primary_key=True),
    sa.Column("list_id", ID),
    sa.Column("note", TEXT, nullable=False),  # why nobody may, where the list could not be read
    sa.Column("actor", TEXT, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
    sa.Column("seq", ID, nullable=False),
)
sa.Index("document_readers_seq", document_readers.c.seq)

key_principals = sa.Table(
    "key_principals",
    reader_tables,
    sa.Column("key_id", TEXT, primary_key=True),
    sa.Column("user", TEXT, nullable=False),
    sa.Column("groups", JSON, nullable=False),
)
