"""The table of people whom an issuer has told."""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.schema import TEXT

people_tables = sa.MetaData()

# Records name people by id; what the id stands for is kept here alone, so that it can be erased.
people = sa.Table(
    "people",
    people_tables,
    sa.Column("person_id", TEXT, primary_key=True),  # `core.person.person_id`
    sa.Column("issuer", TEXT, nullable=False),
    sa.Column("subject", TEXT, nullable=False),
    sa.Column("name", TEXT, nullable=False),
    sa.Column("first_seen", sa.Float, nullable=False),  # seconds since the epoch
    sa.Column("named_at", sa.Float, nullable=False),  # since when the name is this one
)
