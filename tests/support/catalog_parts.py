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

from engine_laws import document
from wenyuan.catalog import Catalog
from wenyuan.catalog.postgres import Server
from wenyuan.catalog.storage import Place
from wenyuan.core.model import Source
from wenyuan.core.ports import Deadline

BOTH = pytest.mark.parametrize("place", ["files", "server"], indirect=True)
"""What holds of a catalog in a folder, and of one on PostgreSQL."""


def on_server(database: str, folder: Path) -> Server:
    """Room for a library in a schema of its own."""
    return Server(folder, database, schema=f"library_{secrets.token_hex(6)}", sessions=4)


_AGAIN: list[Server] = []


def again(place: Path | Place) -> Path | Place:
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
def new_catalog(where: Path | Place) -> Iterator[Catalog]:
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


def texts(catalog: Catalog) -> dict[int, str]:
    return {c.passage_id: c.row.text for c in catalog.changes(0, catalog.seq()) if c.row is not None}


def soon(seconds: float = 30.0) -> Deadline:
    return Deadline(time.monotonic() + seconds, time.monotonic)


def script(source: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", source, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
