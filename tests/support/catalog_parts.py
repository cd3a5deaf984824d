"""What the tests of the catalog share."""

from __future__ import annotations

import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pysqlite3.dbapi2 as driver
import pytest
import sqlalchemy as sa

from engine_laws import document
from wenyuan.catalog import Catalog, schema
from wenyuan.catalog.database import StoragePlace
from wenyuan.catalog.every_table import ALL
from wenyuan.catalog.postgres import Server
from wenyuan.core.model import Source
from wenyuan.core.ports import Deadline

BOTH = pytest.mark.parametrize("place", ["files", "server"], indirect=True)
"""What holds of a catalog in a folder, and of one on PostgreSQL."""


def on_server(database: str, folder: Path) -> Server:
    """Room for a library in a schema of its own."""
    return Server(folder, database, schema=f"library_{secrets.token_hex(6)}", sessions=4)


_AGAIN: list[Server] = []


def again(place: Path | StoragePlace) -> Path | StoragePlace:
    """The same place once more, as another server or worker would name it."""
    if isinstance(place, Server):
        _AGAIN.append(Server(place.folder, dsn_of(place), schema=place.schema, sessions=4))
        return _AGAIN[-1]
    return place if isinstance(place, Path) else place.folder


def dsn_of(server: Server) -> str:
    from psycopg.conninfo import make_conninfo

    return make_conninfo(**server._parameters)


def dropped(server: Server) -> None:
    import psycopg

    for one in (server, *_AGAIN):
        one.close()
    _AGAIN.clear()
    with psycopg.connect(dsn_of(server), autocommit=True) as connection:
        connection.execute("SET client_min_messages TO error")
        connection.execute(f"DROP SCHEMA IF EXISTS {server.schema} CASCADE")


@contextmanager
def new_catalog(where: Path | StoragePlace) -> Iterator[Catalog]:
    """A catalog with two empty sources."""
    made = Catalog.create(where)
    for name in ("s1", "s2"):
        made.put_source(Source(source_id=name))
    yield made
    made.close()


def put(catalog: Catalog, *numbers: int, source: str = "s1", text: str | None = None, **more: Any) -> int:
    made = [document(n, source=source, text=text, **more) for n in numbers]
    return catalog.commit_documents([d for d, _ in made], {k: v for _, found in made for k, v in found.items()})


@contextmanager
def raw(catalog: Catalog) -> Iterator[Any]:
    """The database without our code, but by our driver: two copies of SQLite in one process see no locks."""
    connection = driver.connect(str(catalog.folder / "catalog.db"), isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def tables_of(connection: sa.Connection) -> dict[str, Any]:
    """Of each table: its columns, keys and indexes, as the database has them; without what fills a column by itself."""
    told = sa.inspect(connection)
    return {
        table: {
            "columns": {one["name"]: (repr(one["type"]), one["nullable"]) for one in told.get_columns(table)},
            "key": told.get_pk_constraint(table)["constrained_columns"],
            "refers": told.get_foreign_keys(table),
            "indexes": {
                one["name"]: (
                    one["column_names"],
                    one["unique"],
                    sorted(f"{k} {v}" for k, v in one["dialect_options"].items()),
                )
                for one in told.get_indexes(table)
            },
        }
        for table in told.get_table_names()
    }


def make_first(connection: sa.Connection) -> None:
    """Take away what the steps of `catalog.format_upgrades` have added since the first format, but for the tables of rules."""
    t = schema
    for index in (t.named, t.ending, t.cited, t.unplaced, t.unlabelled, t.with_context):
        connection.exec_driver_sql(f"DROP INDEX IF EXISTS {index.name}")
    later = [t.readings, t.corrections, t.context_sentences, t.clauses_read, t.agents, t.keys, t.source_state]
    for tables in set(ALL) - {t.tables, t.rules_tables}:
        later += tables.sorted_tables
    for table in later:
        connection.exec_driver_sql(f"DROP TABLE {table.name}")
    s, d, p = t.sources.c, t.documents.c, t.passages.c
    for column in (s.status, s.refresh_cycle, s.owner, s.sensitivity, s.supersedes, s.tags, d.own_until, d.lead,
                   p.label_key, p.recognised, p.corrected, p.context, t.evidences.c.verified):  # fmt: skip
        connection.exec_driver_sql(f"ALTER TABLE {column.table.name} DROP COLUMN {column.name}")
    connection.exec_driver_sql("UPDATE library SET value = '1' WHERE key = 'schema'")


def texts(catalog: Catalog) -> dict[int, str]:
    return {c.passage_id: c.row.text for c in catalog.changes(0, catalog.seq()) if c.row is not None}


def soon(seconds: float = 30.0) -> Deadline:
    return Deadline(time.monotonic() + seconds, time.monotonic)


def script(source: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", source, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
