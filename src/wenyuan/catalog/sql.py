"""Connections to the catalog's database, and the translation of its errors."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import QueuePool

from wenyuan.core.errors import CatalogBusy, CatalogUnavailable, Closed, ConfigError, EngineTimeout, msg
from wenyuan.core.ports import Deadline, time_left, until
from wenyuan.runtime.full_disk import MAKE_ROOM
from wenyuan.runtime.postgres_errors import driver_errors, translate_error

# Connections to the catalog's database, and the one place where its driver's errors become ours.


log = logging.getLogger(__name__)

COMPONENT = "catalog"
# 3.7.0 - 3.51.2 can corrupt a WAL database with several connections; fixed in 3.51.3 (2026-03-13).
_OLDEST_SAFE_SQLITE = (3, 51, 3)
_BUSY_MS = 5_000


def _driver() -> Any:
    import pysqlite3.dbapi2 as driver

    if driver.sqlite_version_info < _OLDEST_SAFE_SQLITE:
        raise ConfigError(
            msg(
                "SQLite {sqlite_version} can corrupt a library that several use; 3.51.3 or newer is needed",
                sqlite_version=driver.sqlite_version,
            ),
            component=COMPONENT,
            hint="pip install --upgrade pysqlite3",
        )
    return driver


def _engine(path: Path, *, setup: tuple[str, ...], pool_size: int) -> sa.Engine:
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        module=_driver(),
        poolclass=QueuePool,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=5,
        connect_args={"check_same_thread": False, "timeout": _BUSY_MS / 1000},
    )

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions are begun by us, below
        for statement in setup:
            connection.execute(statement)

    return engine


def connect_reader(path: Path, *, pool_size: int = 16) -> sa.Engine:
    """An engine of read-only SQLite connections; each statement or transaction sees one snapshot."""
    engine = _engine(path, setup=("PRAGMA query_only=ON", "PRAGMA mmap_size=0"), pool_size=pool_size)

    @event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def connect_writer(path: Path) -> sa.Engine:
    """An engine with a single writing connection. ``synchronous=FULL``: an acknowledged commit survives a power loss."""
    setup = (
        "PRAGMA journal_mode=WAL",
        "PRAGMA synchronous=FULL",
        "PRAGMA foreign_keys=ON",
        "PRAGMA secure_delete=ON",  # what is deleted is overwritten; FAST leaves about half of it in free pages
        "PRAGMA cache_size=-65536",
        "PRAGMA mmap_size=0",
    )
    engine = _engine(path, setup=setup, pool_size=1)

    @event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        # IMMEDIATE: a transaction that reads, then writes, would fail at once when another had written.
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def watching(path: Path) -> Any:
    """A connection outside any pool, without transactions, that always sees the last committed state."""
    connection = _driver().connect(str(path), check_same_thread=False, timeout=_BUSY_MS / 1000, isolation_level=None)
    connection.execute("PRAGMA query_only=ON")
    return connection


def told_by_file(path: Path, statement: str) -> list[Any]:
    """The first column of a query on a database file, ignoring its write-ahead log."""
    where = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    with translated(f"reading {path.name}"), closing(_driver().connect(where, uri=True)) as connection:
        return [row[0] for row in connection.execute(statement)]


def copy_database(path: Path, to: Path) -> None:
    """Copy a database as a consistent snapshot while others write to it; only the owner can read `to`."""
    os.close(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    where = f"file:{quote(str(path.absolute()))}?mode=ro"
    with (
        translated(msg("copying {name}", name=path.name)),
        closing(_driver().connect(where, uri=True)) as origin,
        closing(_driver().connect(str(to), isolation_level=None)) as copy,
    ):
        origin.backup(copy)  # all pages in one step: a snapshot
        (found,) = copy.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise CatalogUnavailable(
            msg("the copy of {name} is damaged: {found}", name=path.name, found=found), component=COMPONENT
        )


def empty_log(writer: sa.Engine) -> None:
    """Checkpoint and truncate the write-ahead log, which still holds deleted rows."""
    with translated("emptying the write-ahead log"), closing(writer.raw_connection()) as connection:
        (busy, *_) = connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        log.warning("the write-ahead log is being read; what was deleted stays in it until the next time")


def compact(writer: sa.Engine) -> None:
    """Write a database file anew, without its free pages, and empty its write-ahead log.

    Raises:
        CatalogBusy: the log is being read, and so cannot be emptied now.
    """
    with translated("compacting the database"), closing(writer.raw_connection()) as connection:
        cursor = connection.cursor()
        cursor.execute("VACUUM")
        (busy, *_) = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise CatalogBusy(
            "the write-ahead log is being read, and still holds what was deleted",
            component=COMPONENT,
            hint="try again",
        )


def _errors() -> tuple[type[Exception], ...]:
    driver = _driver()
    return SQLAlchemyError, driver.Error, driver.Warning, *driver_errors()


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn every error of SQLAlchemy or its driver into a `CatalogError` that says what was being done."""
    try:
        yield
    except _errors() as error:
        told = error.orig if isinstance(error, DBAPIError) else error
        if isinstance(told, driver_errors()):
            raise translate_error(told, doing, COMPONENT) from error
        if isinstance(error, PoolTimeout):
            hint = "raise catalog.sessions, or ask less at once"
            raise CatalogUnavailable(
                msg("{doing}: all sessions are in use", doing=doing), component=COMPONENT, hint=hint
            ) from error
        cause = type(error).__name__ if isinstance(told, SQLAlchemyError) else str(told)
        if "interrupted" in cause:
            raise EngineTimeout(msg("{doing}: the deadline passed", doing=doing), component=COMPONENT) from error
        if "locked" in cause or "busy" in cause:
            raise CatalogBusy(msg("{doing}: another process is writing", doing=doing), component=COMPONENT) from error
        hint = ""
        if "full" in cause or "disk I/O" in cause:
            hint = MAKE_ROOM
        elif "malformed" in cause or "not a database" in cause:
            hint = "restore the library's catalog.db from a backup"
        elif "unable to open" in cause or "readonly" in cause:
            hint = "check that this user may read and write the library's folder: ls -la"
        raise CatalogUnavailable(
            msg("{doing}: {cause}", doing=doing, cause=cause), component=COMPONENT, hint=hint
        ) from error


def let_go(*engines: sa.Engine) -> None:
    """Close engines for good. SQLAlchemy's `dispose` alone would open new connections on the next use."""
    for engine in engines:
        event.listen(engine, "do_connect", _refuse)
        engine.dispose()


def _refuse(*_: Any) -> None:
    raise closed()


def closed() -> Closed:
    """The error for any call to a closed library."""
    return Closed("the library is closed, and answers nothing any more", hint="open it again")


@contextmanager
def reading(engine: sa.Engine, doing: str, deadline: Deadline | None = None) -> Iterator[sa.Connection]:
    """A read transaction: one snapshot, stopped inside the database when the deadline passes."""
    if engine.dialect.name != "sqlite":
        with (
            until(deadline) if deadline else nullcontext(),
            _reading_elsewhere(engine, doing) as connection,
        ):
            yield connection
        return
    with (
        translated(doing),
        engine.connect() as connection,
        _stopped_at(deadline, connection.connection.driver_connection),
        connection.begin(),
    ):
        yield connection


@contextmanager
def _stopped_at(deadline: Deadline | None, driver: Any) -> Iterator[None]:
    """Interrupt SQLite when the deadline passes, by its progress handler."""
    if deadline is None:
        yield
        return
    at, clock = deadline.at, deadline.clock
    driver.set_progress_handler(lambda: int(clock() > at), 20_000)
    try:
        yield
    finally:
        driver.set_progress_handler(None, 0)


def told_at_once(
    engine: sa.Engine, statement: str, values: Sequence[Any], doing: str, deadline: Deadline | None = None
) -> list[tuple[Any, ...]]:
    """Rows of one SQLite statement, which sees one snapshot without a transaction.

    By the driver alone: SQLAlchemy's connection and transaction take longer than to read ten passages.
    """
    with translated(doing), closing(engine.raw_connection()) as connection:
        driver: Any = connection.driver_connection
        with _stopped_at(deadline, driver):
            rows: list[tuple[Any, ...]] = driver.execute(statement, values).fetchall()
            return rows


@contextmanager
def _reading_elsewhere(engine: sa.Engine, doing: str) -> Iterator[sa.Connection]:
    """`reading`, for PostgreSQL."""
    options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with translated(doing), engine.connect().execution_options(**options) as connection, connection.begin():
        seconds = time_left()  # until this deadline, or the ambient one
        if seconds is not None:
            left = max(1, int(seconds * 1e3))
            connection.execute(sa.text("SELECT set_config('statement_timeout', :ms, true)"), {"ms": str(left)})
        yield connection


def now() -> float:
    """Seconds since the epoch."""
    return time.time()
