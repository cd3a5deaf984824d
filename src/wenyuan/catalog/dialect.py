"""The few words in which the SQL of SQLite and of PostgreSQL differs; the rest of it is one."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.compiler import compiles

from wenyuan.catalog import schema as t
from wenyuan.catalog.connect import now

__all__ = ["agent_of", "alone", "insert_new", "next_seq"]

_LOCK = sa.text("SELECT pg_catalog.pg_advisory_xact_lock(:number)")


def next_seq(connection: sa.Connection, label: str) -> int:
    """Add a change to the library; returns its number, which is one more than that of the change before.

    Only the transaction that holds the library writes (`Place.writer`), so numbers have no gaps and rise in the order
    of commits. Were that ever broken, two transactions would give the same number, and the second would fail.
    """
    c = t.commits.c
    seq = int(connection.scalar(sa.select(sa.func.max(c.seq))) or 0) + 1
    connection.execute(t.commits.insert(), {"seq": seq, "at": now(), "source_id": label})
    return seq


def insert_new(connection: sa.Connection, table: sa.Table) -> Any:
    """An insert that leaves rows alone whose key is there already."""
    insert: Any = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}[connection.dialect.name]
    return insert(table).on_conflict_do_nothing()


def alone(connection: sa.Connection, number: int) -> None:
    """Wait until nobody else is in a transaction that asked for the same number (64 bits, signed).

    On SQLite a transaction that may write is alone already.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCK, {"number": number})


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
