"""What the tests of the catalog share."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pysqlite3.dbapi2 as driver

from engine_laws import document
from wenyuan.catalog import Catalog
from wenyuan.core.model import Source
from wenyuan.core.ports import Deadline


@contextmanager
def new_catalog(folder: Path) -> Iterator[Catalog]:
    """A catalog with two empty sources."""
    made = Catalog.create(folder)
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
    connection = driver.connect(str(catalog.path), isolation_level=None)
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
