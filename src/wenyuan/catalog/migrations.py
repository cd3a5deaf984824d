"""Numbered migrations that bring an older library's tables to the current version."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import sqlalchemy as sa

from wenyuan.catalog import schema
from wenyuan.catalog.sql import create_missing


def _tables(tables: sa.MetaData) -> Callable[[sa.Connection], None]:
    return partial(create_missing, tables=tables)


def _with_column(connection: sa.Connection, table: str, name: str, kind: str) -> bool:
    """Add a column unless the table has it; returns whether it was added."""
    if name in {column["name"] for column in sa.inspect(connection).get_columns(table)}:
        return False
    connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {name} {kind}"))
    return True


def _governance(connection: sa.Connection) -> None:
    """Add the tables and columns for governed sources, agents, keys and source states."""
    texts = {"status": "in_force", "refresh_cycle": "never", "owner": "", "sensitivity": "public"}
    for name, default in texts.items():
        _with_column(connection, "sources", name, f"TEXT NOT NULL DEFAULT '{default}'")
    for name in ("supersedes", "tags"):
        _with_column(connection, "sources", name, "JSON NOT NULL DEFAULT '[]'")
    if _with_column(connection, "documents", "own_until", "INTEGER"):
        connection.execute(sa.text("UPDATE documents SET own_until = effective_until"))
    create_missing(connection, schema.tables)


def _verified(connection: sa.Connection) -> None:
    """Add the flag for quotes that were found in a held document."""
    _with_column(connection, "rule_evidences", "verified", "INTEGER NOT NULL DEFAULT 0")
    schema.unplaced.create(connection, checkfirst=True)


def _leads(connection: sa.Connection) -> None:
    """Add the first words of untitled documents; held documents get them when they are read again."""
    _with_column(connection, "documents", "lead", "TEXT NOT NULL DEFAULT ''")


def _labels(connection: sa.Connection) -> None:
    """Add label vectors; held passages get them by `wenyuan reembed`, or when they are read again."""
    if _with_column(connection, "passages", "label_key", "TEXT"):
        schema.unlabelled.create(connection)


def _readings(connection: sa.Connection) -> None:
    """Add fidelity and printed lines of documents, which held ones get when read again; and an index for last days."""
    schema.ending.create(connection, checkfirst=True)
    _with_column(connection, "passages", "recognised", "TEXT")
    schema.readings.create(connection, checkfirst=True)


def _corrections(connection: sa.Connection) -> None:
    """Add the tables of corrections."""
    _with_column(connection, "passages", "corrected", "TEXT")
    schema.corrections.create(connection, checkfirst=True)


def _context_sentences(connection: sa.Connection) -> None:
    """Adds what a language model says of where passages stand."""
    if _with_column(connection, "passages", "context", "TEXT"):
        schema.with_context.create(connection)
    schema.context_sentences.create(connection, checkfirst=True)


def _clauses_read(connection: sa.Connection) -> None:
    """Adds which clauses a language model has read for rules."""
    schema.clauses_read.create(connection, checkfirst=True)


def _looked_up(connection: sa.Connection) -> None:
    """Adds what titles are searched in, and addresses of listed entries, which held ones get when read again."""
    if connection.dialect.name == "sqlite":
        schema.named.create(connection, checkfirst=True)
    _with_column(connection, "entries", "uri", "TEXT NOT NULL DEFAULT ''")
    schema.entries_uri.create(connection, checkfirst=True)


MIGRATIONS = (
    _tables(schema.tables), _governance, _tables(schema.rules_tables), _tables(schema.tuning_tables),
    partial(schema.cited.create, checkfirst=True), _tables(schema.profile_tables), _tables(schema.evaluation_tables),
    _verified, _tables(schema.synonym_tables), _leads, _labels, _readings, _tables(schema.listing_tables), _corrections,
    _context_sentences, _clauses_read, _tables(schema.judge_tables), _looked_up,
)  # fmt: skip
"""Step n makes version n of version n − 1; steps are only ever added."""

SCHEMA_VERSION = len(MIGRATIONS)
