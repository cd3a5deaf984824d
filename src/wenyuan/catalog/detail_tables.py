"""The table of what people say of documents in place of what their files say."""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.schema import ID, JSON, TEXT

detail_tables = sa.MetaData()

# By address, since numbers change when a document is read again. A row counts from the change at which it was made until the
# one at which another took its place, or it was taken back.
document_details = sa.Table(
    "document_details",
    detail_tables,
    sa.Column("detail_id", ID, primary_key=True, autoincrement=True),
    sa.Column("source_id", TEXT, nullable=False),
    sa.Column("uri", TEXT, nullable=False),  # of the document
    sa.Column(
        "said", JSON, nullable=False
    ),  # `core.document_details.StatedDetails.values`; empty where it was forgotten
    sa.Column(
        "read", JSON, nullable=False
    ),  # what its file says, see `details_as_json`; empty where it was forgotten
    sa.Column("reason", TEXT, nullable=False),
    sa.Column("actor", TEXT, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
    sa.Column("seq", ID, nullable=False),
    sa.Column("ended_seq", ID),
    sqlite_autoincrement=True,
)
sa.Index("document_details_uri", document_details.c.source_id, document_details.c.uri)
