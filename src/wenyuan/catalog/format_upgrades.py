"""The steps by which the tables of an older library become those of this format."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema
from wenyuan.catalog.batch_tables import batch_tables
from wenyuan.catalog.conflict_tables import conflict_tables
from wenyuan.catalog.detail_tables import detail_tables
from wenyuan.catalog.dialects import create_missing
from wenyuan.catalog.erasure_tables import erasure_tables
from wenyuan.catalog.gap_tables import gap_decisions, gap_tables
from wenyuan.catalog.golden_tables import golden_tables
from wenyuan.catalog.group_tables import group_tables
from wenyuan.catalog.people_tables import people_tables
from wenyuan.catalog.reader_tables import reader_tables
from wenyuan.catalog.stated_files import stated_tables


def _with_column(connection: sa.Connection, column: sa.Column[Any], filled: str = "") -> bool:
    """Add a column unless its table has it, of the type that it has in a new one; returns whether it was added.

    Args:
        filled: What the rows that are there have in it, in SQL; needed where it may not be null.
    """
    table = column.table.name
    if column.name in {held["name"] for held in sa.inspect(connection).get_columns(table)}:
        return False
    kind = column.type.compile(dialect=connection.dialect)
    kind += "" if column.nullable else f" NOT NULL DEFAULT {filled}"
    connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {column.name} {kind}"))
    return True


def _governance(connection: sa.Connection) -> None:
    """Add the tables and columns for governed sources, agents, keys and source states."""
    texts = {"status": "in_force", "refresh_cycle": "never", "owner": "", "sensitivity": "public"}
    for name, default in {**texts, "supersedes": "[]", "tags": "[]"}.items():
        _with_column(connection, schema.sources.c[name], f"'{default}'")
    if _with_column(connection, schema.documents.c.own_until):
        connection.execute(sa.text("UPDATE documents SET own_until = effective_until"))
    create_missing(connection, schema.tables)


def _verified(connection: sa.Connection) -> None:
    """Add the flag for quotes that were found in a held document."""
    _with_column(connection, schema.evidences.c.verified, "0")
    schema.unplaced.create(connection, checkfirst=True)


def _leads(connection: sa.Connection) -> None:
    """Add the first words of untitled documents; held documents get them when they are read again."""
    _with_column(connection, schema.documents.c.lead, "''")


def _labels(connection: sa.Connection) -> None:
    """Add label vectors; held passages get them by `wenyuan reembed`, or when they are read again."""
    if _with_column(connection, schema.passages.c.label_key):
        schema.unlabelled.create(connection)


def _readings(connection: sa.Connection) -> None:
    """Add fidelity and printed lines of documents, which held ones get when read again; and an index for last days."""
    schema.ending.create(connection, checkfirst=True)
    _with_column(connection, schema.passages.c.recognised)
    schema.readings.create(connection, checkfirst=True)


def _corrections(connection: sa.Connection) -> None:
    """Add the tables of corrections, and the index for last days to libraries that were made without it."""
    schema.ending.create(connection, checkfirst=True)
    _with_column(connection, schema.passages.c.corrected)
    schema.corrections.create(connection, checkfirst=True)


def _context_sentences(connection: sa.Connection) -> None:
    """Adds what a language model says of where passages stand."""
    if _with_column(connection, schema.passages.c.context):
        schema.with_context.create(connection)
    schema.context_sentences.create(connection, checkfirst=True)


def _clauses_read(connection: sa.Connection) -> None:
    """Adds which clauses a language model has read for rules."""
    schema.clauses_read.create(connection, checkfirst=True)


def _looked_up(connection: sa.Connection) -> None:
    """Adds what titles are searched in, and addresses of listed entries, which held ones get when read again."""
    if connection.dialect.name == "sqlite":
        schema.named.create(connection, checkfirst=True)
    _with_column(connection, schema.entries.c.uri, "''")
    schema.entries_uri.create(connection, checkfirst=True)


ADOPTED = "addresses/adopted"
"""Value of a library that a former version made: up to which document id addresses have no row, though redaction changed
them.
"""


def _addresses(connection: sa.Connection) -> None:
    """Adds the addresses that redaction changed; a document that was read before takes the one that it has."""
    schema.addresses.create(connection, checkfirst=True)
    newest = connection.scalar(sa.select(sa.func.max(schema.documents.c.document_id))) or 0
    connection.execute(schema.library.insert(), {"key": f"value/{ADOPTED}", "value": str(newest)})


def _key_names(connection: sa.Connection) -> None:
    """Adds what people call keys; those that are there have no name."""
    _with_column(connection, schema.keys.c.name, "''")


def _named_places(connection: sa.Connection) -> None:
    """Adds where addresses name what their documents show to be values; held ones get it when read again."""
    _with_column(connection, schema.addresses.c.places, "'[]'")


def _gap_answers(connection: sa.Connection) -> None:
    """Adds days until which gaps are put off, and what answers gaps now."""
    _with_column(connection, gap_decisions.c.until)
    create_missing(connection, gap_tables)


MIGRATIONS: tuple[sa.MetaData | Callable[[sa.Connection], None], ...] = (
    schema.tables, _governance, schema.rules_tables, schema.tuning_tables,
    partial(schema.cited.create, checkfirst=True), schema.profile_tables, schema.evaluation_tables,
    _verified, schema.synonym_tables, _leads, _labels, _readings, schema.listing_tables, _corrections,
    _context_sentences, _clauses_read, schema.judge_tables, _looked_up, _addresses,
    _key_names, reader_tables, gap_tables, stated_tables, group_tables, erasure_tables, conflict_tables,
    people_tables, _named_places, golden_tables, _gap_answers, batch_tables, detail_tables,
)  # fmt: skip
"""Step n makes version n of version n − 1: tables that are added, or a change of those that are there, which the tables
of a new library have. Steps are only ever added.
"""

SCHEMA_VERSION = len(MIGRATIONS)
