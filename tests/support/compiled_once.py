"""SQLAlchemy keeps what it has compiled for each engine by itself. Tests open a thousand libraries, each with five
engines for the same statements, and would spend a fifth of their time on compiling these.
"""

from __future__ import annotations

from functools import partial

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache


def share() -> None:
    """Let all engines that are made from now on share their compiled statements.

    These are looked up by dialect, of which each engine has one: those of one kind and version shall be equal.
    """
    for kind in (SQLiteDialect_pysqlite, PGDialect_psycopg):
        kind.__hash__ = lambda one: hash(type(one))  # type: ignore[method-assign]
        kind.__eq__ = lambda one, other: _told(one) == _told(other)  # type: ignore[method-assign]
    sa.create_engine = partial(sa.create_engine, execution_options={"compiled_cache": LRUCache(4_000)})


def _told(dialect: object) -> tuple[type, object]:
    return type(dialect), getattr(dialect, "server_version_info", None)
