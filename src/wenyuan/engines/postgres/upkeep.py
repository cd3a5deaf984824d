"""The index as a whole: following the catalog step by step, counts and sums, statistics, the graph, forgetting."""

from __future__ import annotations

from typing import Any

import numpy as np
from psycopg import Connection
from psycopg.sql import SQL, Identifier

from wenyuan.core.errors import IndexMismatch
from wenyuan.core.ports import ChangeFeed
from wenyuan.core.sums import Sums
from wenyuan.engines.postgres.nearest import EXACT_ROWS, GRAPH_DIMENSIONS, MAKE_GRAPH
from wenyuan.engines.postgres.postings import sweep
from wenyuan.engines.postgres.tables import LOCK
from wenyuan.engines.postgres.writing import Applied

__all__ = ["check_same", "counted", "purge", "settle", "step", "sums", "watermark"]

_STEP = 64  # changes of the catalog in one transaction
_DEAD = 10  # one removed passage for so many that are there is enough to take their postings out
_GRAPH_ROW = 400  # bytes of memory for a row of the graph, beside its vector
_MOST_MEMORY = 4_096  # MB for making the graph; what does not fit makes it slower, not worse

_ANOTHER = "the catalog was restored or copied, and has changed since: drop the index's schema, wenyuan_…"

_TABLES = ("passages", "words", "vocabulary", "postings", "segments", "dead", "vectors")
_LOCK_GRAPH = "SELECT pg_catalog.pg_try_advisory_lock(pg_catalog.hashtextextended(%s, 1))"
_COUNTED = "SELECT watermark, (SELECT count(*) FROM passages), (SELECT count(*) FROM {}) FROM state"


def watermark(connection: Connection[Any]) -> int:
    """The last change of the catalog that the index holds."""
    row = connection.execute("SELECT watermark FROM state").fetchone()
    return 0 if row is None else int(row[0])


def step(connection: Connection[Any], feed: ChangeFeed, target: int, schema: str, dimension: int) -> int | None:
    """Apply some changes, in the caller's transaction.

    Returns:
        The change that the index then holds; None when somebody else is writing.
    """
    locked = connection.execute(LOCK.format(kind="try_"), {"schema": schema}).fetchone()
    if locked is None or not locked[0]:
        return None
    after = watermark(connection)
    if after >= target:
        return after
    check_same(connection, feed)
    upto = min(target, after + _STEP)
    changes = feed.changes(after, upto, vectors=dimension > 0)
    Applied(connection, dimension, sums(connection, dimension)[1]).take(changes, upto, feed.stamp(upto))
    return upto


def check_same(connection: Connection[Any], feed: ChangeFeed) -> None:
    """IndexMismatch when the index follows another history of changes, which only happens to be as long."""
    row = connection.execute("SELECT watermark, stamp FROM state").fetchone()
    if row is not None and row[0] and row[1] != feed.stamp(row[0]):
        raise IndexMismatch(f"its change {row[0]} is not the catalog's", component="engine postgres", hint=_ANOTHER)


def sums(connection: Connection[Any], dimension: int) -> tuple[int, Sums]:
    """The change that the index holds, and the sums of its vectors then."""
    row = connection.execute("SELECT watermark, total, chinese, vectors FROM state").fetchone()
    if row is None or not row[1]:
        return (0 if row is None else int(row[0])), Sums.empty(dimension)
    at, total, chinese, vectors = row
    held = np.frombuffer(total, dtype="<f8").reshape(2, dimension).copy()
    return int(at), Sums(held, np.array([vectors - chinese, chinese], np.int64))


def counted(connection: Connection[Any], dimension: int) -> tuple[int, int, int]:
    """The last change, and the numbers of passages and vectors: counted, so that what was lost is seen."""
    vectors = "vectors" if dimension else "passages WHERE false"
    row = connection.execute(_COUNTED.format(vectors)).fetchone()
    return (int(row[0]), int(row[1]), int(row[2])) if row is not None else (0, 0, 0)


def settle(connection: Connection[Any], schema: str, dimension: int) -> None:
    """Statistics for the planner, tidy postings, and the graph if there are rows enough. Outside of transactions."""
    dead, live = connection.execute("SELECT (SELECT count(*) FROM dead), passages FROM state").fetchone() or (0, 0)
    if dead > live // _DEAD:
        _sweep(connection, schema)
    for table in _tables(dimension):
        connection.execute(SQL("ANALYZE {}").format(Identifier(table)))
    connection.execute("VACUUM postings")  # rows that were merged into others make room for the next
    if not 0 < dimension <= GRAPH_DIMENSIONS:
        return
    alone = connection.execute(_LOCK_GRAPH, (schema,)).fetchone()
    graph, vectors = connection.execute("SELECT graph, vectors FROM state").fetchone() or (True, 0)
    if graph or vectors <= EXACT_ROWS or alone is None or not alone[0]:
        return
    megabytes = min(_MOST_MEMORY, vectors * (4 * dimension + _GRAPH_ROW) // 1_000_000 + 64)
    connection.execute("SELECT set_config('maintenance_work_mem', %s, false)", (f"{megabytes}MB",))
    connection.execute("DROP INDEX IF EXISTS vectors_graph")  # of an attempt that was cut off
    connection.execute(MAKE_GRAPH)
    connection.execute("UPDATE state SET graph = true")


def purge(connection: Connection[Any], schema: str, dimension: int) -> None:
    """Delete what no passage needs, and free the rows that were removed. Outside of transactions."""
    _sweep(connection, schema)
    for table in _tables(dimension):
        connection.execute(SQL("VACUUM (INDEX_CLEANUP ON) {}").format(Identifier(table)))


def _sweep(connection: Connection[Any], schema: str) -> None:
    with connection.transaction():
        connection.execute(LOCK.format(kind=""), {"schema": schema})  # a writer may be about to use such a term
        sweep(connection)
        connection.execute("DELETE FROM vocabulary WHERE passages <= 0")


def _tables(dimension: int) -> tuple[str, ...]:
    return _TABLES if dimension else _TABLES[:-1]
