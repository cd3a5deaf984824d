"""A table of vectors on PostgreSQL that somebody else fills, attached as a source of type vector_index."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import psycopg
from psycopg.conninfo import make_conninfo

from wenyuan.core.model import Source
from wenyuan.engines.external.postgres import open_attached
from wenyuan.engines.external.table_sessions import PostgresTable

ROWS = [
    ("a-1", "报销须在三十日内提交", [1, 0, 0], "财务制度", "https://kb.example/财务#第十三条", '{"部门": "财务", "year": 2024}'),
    ("a-2", "Expenses are claimed within 30 days", [0.8, 0.6, 0], "Finance", None, '{"deep": {"x": 1}, "ok": true}'),
    ("a-3", "報銷憑證應妥善保存", [0, 3, 0], None, "", None),
    ("a-4", "ｆｕｌｌ　ｗｉｄｔｈ", [-1, 0, 0], "", None, "[1]"),
    ("a-5", None, [1, 0, 0], "no text", None, None),
    ("a-6", "no vector", None, "x", None, None),
]  # fmt: skip
COLUMNS = {"id": "id", "text": "body", "vector": "embedding", "title": "title", "uri": "uri", "metadata": "meta"}
QUERY = np.array([1, 0, 0], np.float32)
DSN_VARIABLE = "WENYUAN_TABLE_DSN"
"""Where `source` looks for the connection string."""
Open = Callable[..., PostgresTable]
Admin = psycopg.Connection[Any]


@contextmanager
def database_for_tables(dsn: str) -> Iterator[str]:
    """A database of our own, with pgvector in a schema that is not on the search path."""
    name = f"wenyuan_test_{os.getpid()}_{secrets.token_hex(4)}"
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        ours = make_conninfo(dsn, dbname=name)
        with psycopg.connect(ours, autocommit=True) as admin:
            admin.execute("CREATE SCHEMA kb; CREATE SCHEMA ext; CREATE EXTENSION vector SCHEMA ext")
            admin.execute("CREATE TABLE kb.victim (n int)")
        try:
            yield ours
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def filled(database: str) -> Iterator[Admin]:
    """A superuser's connection; kb.docs holds `ROWS`."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("SET search_path = public, ext")
        connection.execute("DROP TABLE IF EXISTS kb.docs, kb.pace CASCADE")
        connection.execute(
            "CREATE TABLE kb.docs (id text, body text, embedding vector(3), title text, uri text, meta jsonb, n int)"
        )
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO kb.docs VALUES (%s, %s, %s::vector, %s, %s, %s)",
                [(i, body, vector and str(vector), *rest) for i, body, vector, *rest in ROWS],
            )
        yield connection


def source(**changes: Any) -> Source:
    """A source on kb.docs; a setting that is given as ``...`` is left out."""
    given = {
        "dsn_env": DSN_VARIABLE,
        "table": "kb.docs",
        "columns": COLUMNS,
        "encoder": "bge-m3",
        "dimension": 3,
        **changes,
    }
    kept = {name: value for name, value in given.items() if value is not ...}
    return Source(source_id="kb-1", type="vector_index", settings=kept)


@contextmanager
def opening() -> Iterator[Open]:
    """A function that opens the table of a `source` with the changes that it is given; all are closed at the end."""
    tables: list[PostgresTable] = []

    def open_one(*, scale: tuple[float, float] = (0.0, 1.0), lazy: bool = False, **changes: Any) -> PostgresTable:
        tables.append(open_attached(source(**changes), scale=scale, lazy=lazy))
        return tables[-1]

    try:
        yield open_one
    finally:
        for table in tables:
            table.close()
