"""The tables of those who embed together: batches of texts, who works, and which process takes a source in."""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.schema import TEXT

batch_tables = sa.MetaData()

embedding_batches = sa.Table(
    "embedding_batches",
    batch_tables,
    sa.Column("source_id", TEXT, primary_key=True),
    sa.Column("batch_key", TEXT, primary_key=True),  # hash of the encoder and of the texts' vector keys
    sa.Column("at", sa.Float, nullable=False),  # when it was put, by the database's clock; the oldest is taken first
    sa.Column("encoder", TEXT, nullable=False),  # key of its fingerprint
    sa.Column("program", TEXT, nullable=False),  # `core.embedding_batches.PROGRAM` of who put it
    sa.Column("texts", TEXT, nullable=False),  # JSON: what is embedded, redacted; passages, then labels
    sa.Column("counted", sa.Integer, nullable=False),  # how many of them are passages
    sa.Column("state", TEXT, nullable=False),  # waiting, leased, ready, failed
    sa.Column("holder", TEXT, nullable=False),
    sa.Column("token", sa.BigInteger, nullable=False),  # of the lease: another one each time
    sa.Column("until", sa.Float, nullable=False),  # end of the lease, by the database's clock
    sa.Column(
        "tries", sa.Integer, nullable=False
    ),  # leases that ended without vectors, for which the texts may be to blame
    sa.Column("outages", sa.Integer, nullable=False),  # those for which the encoder was to blame
    sa.Column("code", TEXT, nullable=False),
    sa.Column("reason", TEXT, nullable=False),
    sa.Column("vectors", sa.LargeBinary),  # float32, in the order of the texts
)

workers = sa.Table(
    "workers",
    batch_tables,
    sa.Column("name", TEXT, primary_key=True),
    sa.Column("program", TEXT, nullable=False),
    sa.Column("encoder", TEXT, nullable=False),
    sa.Column("jobs", sa.Integer, nullable=False),
    sa.Column("begun", sa.Float, nullable=False),  # by the database's clock, as all times here
    sa.Column("seen", sa.Float, nullable=False),
    sa.Column("batches", sa.Integer, nullable=False),
    sa.Column("passages", sa.Integer, nullable=False),
    sa.Column("rate", sa.Float, nullable=False),  # passages a second, of the last minute
    sa.Column("reason", TEXT, nullable=False),  # why it does nothing, or what failed last
)

source_runs = sa.Table(
    "source_runs",
    batch_tables,
    sa.Column("source_id", TEXT, primary_key=True),
    sa.Column("token", sa.BigInteger, nullable=False),  # of the run that may write; another one for each
    sa.Column("holder", TEXT, nullable=False),
    sa.Column("begun", sa.Float, nullable=False),
    sa.Column("seen", sa.Float, nullable=False),
    sa.Column("files", sa.Integer, nullable=False),
    sa.Column("files_total", sa.Integer, nullable=False),
    sa.Column("passages", sa.Integer, nullable=False),
    sa.Column("embedded", sa.Integer, nullable=False),
    sa.Column("shared", sa.Boolean, nullable=False),  # whether others embed for it
)
