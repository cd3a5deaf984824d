"""The few places where SQL differs between SQLite and PostgreSQL; all other statements are shared."""

from __future__ import annotations

import functools
import importlib
import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

from wenyuan.catalog import schema as t
from wenyuan.catalog.sql import now


def _spoken(name: str) -> Any:
    """SQLAlchemy's module for ``sqlite`` or ``postgresql``: a library needs one of them, and the second takes long to load."""
    return importlib.import_module(f"sqlalchemy.dialects.{name}")


_LOCK = sa.text("SELECT pg_catalog.pg_advisory_xact_lock(:number)")


def next_seq(connection: sa.Connection, label: str) -> int:
    """Add a change to the library; returns its number, the former one plus one.

    Only the transaction that holds the library writes (`Place.writer`), so numbers have no gaps and rise in the order
    of commits. Were that ever broken, two transactions would give the same number, and the second would fail.
    """
    c = t.commits.c
    seq = int(connection.scalar(sa.select(sa.func.max(c.seq))) or 0) + 1
    connection.execute(t.commits.insert(), {"seq": seq, "at": now(), "source_id": label})
    return seq


def create_missing(connection: sa.Connection, tables: sa.MetaData) -> None:
    """Create the tables that are not there, with their indexes; as ``MetaData.create_all``, which asks for each table
    by itself and compiles its statements anew for each database.
    """
    present = set(sa.inspect(connection).get_table_names())
    for table in tables.sorted_tables:
        if table.name not in present:
            for statement in creating(table, connection.dialect.name):
                connection.exec_driver_sql(statement)


@functools.cache
def creating(table: sa.Table, dialect: str) -> tuple[str, ...]:
    """The statements that create a table with its indexes, in ``sqlite``'s SQL or in ``postgresql``'s; without those
    that are made for the other (``info``).
    """
    spoken = _spoken(dialect).dialect()
    made: list[Any] = [sa.schema.CreateTable(table)]
    indexes = (index for index in table.indexes if index.info.get("dialect", dialect) == dialect)
    made += [sa.schema.CreateIndex(index) for index in sorted(indexes, key=lambda index: str(index.name))]
    return tuple(str(statement.compile(dialect=spoken)) for statement in made)


def insert_new(connection: sa.Connection, table: sa.Table) -> Any:
    """An INSERT that skips rows whose key already exists."""
    return _spoken(connection.dialect.name).insert(table).on_conflict_do_nothing()


def alone(connection: sa.Connection, number: int) -> None:
    """Wait until no other transaction that called this with the same number (64 bits, signed) is open.

    On SQLite a transaction that may write is alone already.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCK, {"number": number})


def clock(connection: sa.Connection) -> float:
    """Seconds since the epoch, by the one clock that all who share the database have."""
    if connection.dialect.name == "postgresql":
        return float(connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one())
    return time.time()


class agent_of(sa.ColumnElement[str]):  # noqa: N801  (a function of SQL)
    """The agent that an audit record names; null where it names none."""

    inherit_cache = True
    type = sa.Text()

    def __init__(self, record: sa.ColumnElement[str]) -> None:
        self.record = record

    @property
    def _from_objects(self) -> Any:
        return self.record._from_objects

    def get_children(self, **_: Any) -> Any:
        return (self.record,)


@compiles(agent_of, "sqlite")
def _agent_in_sqlite(element: agent_of, compiler: Any, **more: Any) -> str:
    record = compiler.process(element.record, **more)
    return f"(CASE WHEN json_valid({record}) = 1 THEN json_extract({record}, '$.agent') END)"


@compiles(agent_of, "postgresql")
def _agent_in_postgres(element: agent_of, compiler: Any, **more: Any) -> str:
    # Neither NUL nor half of a surrogate pair may stand in what `->>` reads, wherever it is; a record may hold both.
    record = compiler.process(element.record, **more)
    plain = rf"regexp_replace({record}, '\\u(0000|d[89a-f][0-9a-f][0-9a-f])', '\\ufffd', 'gi')"
    return f"(CAST({plain} AS json) ->> 'agent')"
