"""The numbered migrations that make an older library one of this version."""

from __future__ import annotations

from functools import partial

import sqlalchemy as sa

from wenyuan.catalog import schema


def _first_tables(connection: sa.Connection) -> None:
    schema.tables.create_all(connection)


def _with_column(connection: sa.Connection, table: str, name: str, kind: str) -> bool:
    """Adds a column where the table has none of that name; whether it had none."""
    if name in {column["name"] for column in sa.inspect(connection).get_columns(table)}:
        return False
    connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {name} {kind}"))
    return True


def _governance(connection: sa.Connection) -> None:
    """Adds what makes a source governed, and agents, keys and the state of sources."""
    texts = {"status": "in_force", "refresh_cycle": "never", "owner": "", "sensitivity": "public"}
    for name, default in texts.items():
        _with_column(connection, "sources", name, f"TEXT NOT NULL DEFAULT '{default}'")
    for name in ("supersedes", "tags"):
        _with_column(connection, "sources", name, "JSON NOT NULL DEFAULT '[]'")
    if _with_column(connection, "documents", "own_until", "INTEGER"):
        connection.execute(sa.text("UPDATE documents SET own_until = effective_until"))
    schema.tables.create_all(connection)


def _verified(connection: sa.Connection) -> None:
    """Adds which quotes were found in a document that the library holds."""
    _with_column(connection, "rule_evidences", "verified", "INTEGER NOT NULL DEFAULT 0")
    schema.unplaced.create(connection, checkfirst=True)


def _leads(connection: sa.Connection) -> None:
    """Adds the first words of documents that have no title; those that are held get them when they are read again."""
    _with_column(connection, "documents", "lead", "TEXT NOT NULL DEFAULT ''")


def _labels(connection: sa.Connection) -> None:
    """Adds the vectors of labels; passages that are held get them by `wenyuan reembed`, or when they are read again."""
    if _with_column(connection, "passages", "label_key", "TEXT"):
        schema.unlabelled.create(connection)


def _readings(connection: sa.Connection) -> None:
    """Adds how documents were read; those that are held get it when they are read again. And finds ends quickly."""
    schema.ending.create(connection, checkfirst=True)
    _with_column(connection, "passages", "recognised", "TEXT")
    schema.readings.create(connection, checkfirst=True)


def _corrections(connection: sa.Connection) -> None:
    """Adds what people correct of passages."""
    _with_column(connection, "passages", "corrected", "TEXT")
    schema.corrections.create(connection, checkfirst=True)


MIGRATIONS = (
    _first_tables, _governance, schema.rules_tables.create_all, schema.tuning_tables.create_all,
    partial(schema.cited.create, checkfirst=True), schema.profile_tables.create_all, schema.evaluation_tables.create_all,
    _verified, schema.synonym_tables.create_all, _leads, _labels, _readings, schema.listing_tables.create_all, _corrections,
)  # fmt: skip
"""Step n makes version n of version n − 1; steps are only ever added."""

SCHEMA_VERSION = len(MIGRATIONS)
