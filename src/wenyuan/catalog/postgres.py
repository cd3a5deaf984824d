"""A library's tables in a schema of a PostgreSQL, which any number of servers and workers share.

::

    library     beside its values: ``tick``, which every transaction that changes the library counts up first. So it
                holds that row until it ends: writers take turns, and readers of the number detect commits. ``audit``
                is the format of the audit, and locked in the same way by who adds to it.
    advisory    by session: the writer lock, for what takes several transactions, on the connection that writes; and
    locks       a source's, for as long as it is taken in, on a connection of its own. By transaction: a task's.

Session locks need sessions: a pooler between may hand out connections by session, not by transaction.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.pool import QueuePool

from wenyuan.catalog import schema as t
from wenyuan.catalog.audit.head_file import HeadFile
from wenyuan.catalog.audit.server_audit import AuditOnServer, make_audit
from wenyuan.catalog.dialects import create_missing
from wenyuan.catalog.every_table import ALL
from wenyuan.catalog.locks import Lock, WriterLock, being_written
from wenyuan.catalog.sql import COMPONENT, closed, let_go, translated
from wenyuan.catalog.token_ledger import task_tables
from wenyuan.core.errors import CatalogBusy, CatalogError, CatalogUnavailable, ConfigError, msg
from wenyuan.core.ports import time_left
from wenyuan.runtime.installation import install_command
from wenyuan.runtime.postgres_errors import check_server

log = logging.getLogger(__name__)

_POOL_WAIT = 5.0  # seconds that a reader waits for a session
_LIFETIME = 600  # seconds after which a session is replaced, so that a server being drained loses its sessions
_TASKS = 4  # contexts that are counted at once
_BRIEFLY = 5.0  # seconds for asking whether the library changed, and for a connection
_PATIENCE = 60.0  # seconds for one answer to a reader without a deadline: a hanging server sends nothing
_SESSION = {
    "client_min_messages": "error",
    "lock_timeout": "10s",
    # A machine that vanishes in the middle of a transaction holds up all others until the server notices.
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "idle_in_transaction_session_timeout": "60s",
}
_PARAMETERS = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
               "client_encoding": "utf8"}  # fmt: skip
_TICK = "UPDATE library SET value = (value::bigint + 1)::text WHERE key = 'tick'"
_TOLD = "SELECT value FROM library WHERE key = 'tick'"
_EXISTS = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s"
_OWNER = """
SELECT a.application_name FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
AND (l.classid::bigint << 32) | l.objid::bigint = %s
"""
_IDENTITY = """
SELECT concat_ws(':', (SELECT system_identifier FROM pg_catalog.pg_control_system()),
    (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()),
    (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = current_schema()))
"""
_HOLDS_WORDS = (
    "documents, passages, vectors, failures, addresses, entries, stated_files, sources, rule_evidences, "
    "embedding_batches, library"
)


class Server:
    """The place (see `catalog.database.StoragePlace`) of a library on PostgreSQL.

    Args:
        folder: Of this server or worker; made when missing. Processes of one machine may share it.
        dsn: The connection string; never shown.
        schema: Holds one library, and nothing else.
        sessions: Connections at most for reading, of each process; a few more write.

    Raises:
        ConfigError: the connection string is invalid, or the driver is not installed.
        CatalogUnavailable: the folder cannot be made.
    """

    shared = True
    longest_key: int | None = 2_400  # an index takes rows of 2,704 bytes, with the source's id and what a mark adds

    def __init__(self, folder: Path, dsn: str, *, schema: str = "wenyuan", sessions: int = 16) -> None:
        self._parameters = _parsed(dsn)
        self.folder = folder
        self.schema = schema
        _make_folder(folder)
        self.reader = self._engine(sessions, patience=_PATIENCE)
        self.writer = self._engine(1, lasting=True)
        self.claims = self._engine(2)
        self._lock = _SessionLock(self.writer, _number("writer", schema))
        event.listen(self.writer, "begin", self._begin)
        self.held = self._lock.held
        self.held_index = WriterLock(folder / "writer.lock").held
        indexer = self._engine(1, lasting=True)
        self.held_shared_index = _SessionLock(indexer, _number("index", schema)).held
        self._engines = [self.reader, self.writer, self.claims, indexer]
        self._watching = threading.Lock()
        self._watch: Any = None
        self._closed = False

    def __str__(self) -> str:
        from wenyuan.runtime.postgres import place

        return msg(
            "schema {schema} of the PostgreSQL at {parameters}",
            schema=self.schema,
            parameters=place(self._parameters),
        )

    # -- connections --------------------------------------------------------------------------------

    def _connect(self, patience: float | None = None) -> Any:
        """A connection of the driver in autocommit mode, its server version checked. Without `patience` it waits
        without limit.
        """
        from psycopg.errors import ConnectionTimeout
        from psycopg.sql import SQL, Identifier

        from wenyuan.runtime.postgres import TimedConnection

        if self._closed:
            raise closed()
        left = time_left()
        if left == 0:
            raise ConnectionTimeout("no time is left to connect")
        name = msg("wenyuan, process {pid} of {host}", pid=os.getpid(), host=socket.gethostname())[:63]
        own = {"connect_timeout": math.ceil(min(_BRIEFLY, left or _BRIEFLY)), "application_name": name}
        made = TimedConnection.connect(**{**_PARAMETERS, **own, **self._parameters}, autocommit=True)
        made.patience = _BRIEFLY
        try:
            check_server(made.info, component=COMPONENT, setting="catalog.dsn")
            path = SQL(", ").join([Identifier(self.schema)])
            made.execute(SQL("SET search_path TO {}").format(path))
            calls = ", ".join(["pg_catalog.set_config(%s, %s, false)"] * len(_SESSION))
            made.execute(f"SELECT {calls}", [part for pair in _SESSION.items() for part in pair])
        except BaseException:
            made.close()
            raise
        made.patience = patience
        return made

    def _engine(self, most: int, *, lasting: bool = False, patience: float | None = None) -> sa.Engine:
        def connect() -> Any:
            made = self._connect(patience)
            made.autocommit = False
            return made

        return sa.create_engine(
            "postgresql+psycopg://",
            creator=connect,
            poolclass=QueuePool,
            pool_size=most,
            max_overflow=0,
            pool_timeout=_POOL_WAIT,
            pool_pre_ping=True,
            pool_recycle=-1 if lasting else _LIFETIME,
        )

    def _begin(self, connection: sa.Connection) -> None:
        self._lock.check(connection)
        if connection.exec_driver_sql(_TICK).rowcount != 1:
            raise CatalogUnavailable(msg("{this} is no library", this=self), component=COMPONENT)

    # -- see `Place` --------------------------------------------------------------------------------

    def found(self) -> bool:
        with translated(msg("looking for {this}", this=self)), closing(self._connect()) as connection:
            return connection.execute(_EXISTS, (self.schema,)).fetchone() is not None

    def make(self) -> None:
        from psycopg import errors
        from psycopg.sql import SQL, Identifier

        with translated(msg("making {this}", this=self)), closing(self._connect()) as connection:
            if connection.execute(_EXISTS, (self.schema,)).fetchone() is None:
                try:
                    connection.execute(SQL("CREATE SCHEMA IF NOT EXISTS {}").format(Identifier(self.schema)))
                except errors.InsufficientPrivilege as error:
                    raise ConfigError(
                        msg(
                            "its user may not make schema {schema}, which is to hold the library",
                            schema=repr(self.schema),
                        ),
                        component=COMPONENT,
                        hint="GRANT CREATE ON DATABASE … TO …, by the database's owner",
                    ) from error

    def emptied(self) -> bool:
        """Whether the audit head in this server's folder shows that a library existed; not when the head is of a
        library in that folder.
        """
        head = HeadFile(self.folder / "audit.head").read()
        return head is not None and head.seq > 0 and not (self.folder / "catalog.db").exists()

    def begin(self, connection: sa.Connection) -> None:
        make_audit(connection)
        create_missing(connection, task_tables)
        own = {"tick": "0", t.PSEUDONYMS: secrets.token_hex(32)}
        connection.execute(t.library.insert(), [{"key": key, "value": value} for key, value in own.items()])

    @contextmanager
    def held_source(self, source_id: str, *, wait: float = 10.0) -> Iterator[None]:
        number, until = _number("source", self.schema, source_id), time.monotonic() + wait
        with translated(msg("taking the lock of source {source_id}", source_id=repr(source_id))):
            connection = self._connect()
        try:
            while True:
                with translated(msg("taking the lock of source {source_id}", source_id=repr(source_id))):
                    (got,) = connection.execute("SELECT pg_catalog.pg_try_advisory_lock(%s)", (number,)).fetchone()
                    owner = "" if got else _owner(connection, number)
                if got:
                    break
                if time.monotonic() >= until:
                    raise CatalogBusy(
                        msg(
                            "the source {source_id} is being taken in by {owner}",
                            source_id=repr(source_id),
                            owner=owner or "an unknown process",
                        ),
                        component=COMPONENT,
                        hint="wait until it has finished, or stop that process",
                    )
                time.sleep(0.05)
            yield
        finally:
            connection.close()  # which releases the lock

    def version(self) -> int:
        with translated("asking whether the library changed"), self._watched():
            import psycopg

            for again in (True, False):
                try:
                    if self._watch is None:
                        self._watch = self._connect(_BRIEFLY)
                        self._watch.execute("SET statement_timeout TO '5s'")
                    row = self._watch.execute(_TOLD).fetchone()
                    break
                except psycopg.OperationalError as error:  # what was kept may have been ended meanwhile
                    self._unwatch()
                    if not again or isinstance(error, psycopg.errors.ConnectionTimeout):
                        raise
        if row is None:
            raise CatalogUnavailable(msg("{this} is no library", this=self), component=COMPONENT)
        return int(row[0])

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Alone with the connection that is asked for changes; who waits for it waits no longer than who asks."""
        from psycopg.errors import ConnectionTimeout

        left = time_left()
        if not self._watching.acquire(timeout=_BRIEFLY if left is None else min(_BRIEFLY, left)):
            raise ConnectionTimeout("no answer in time")
        try:
            yield
        finally:
            self._watching.release()

    def identity(self, connection: sa.Connection) -> str:
        return str(connection.exec_driver_sql(_IDENTITY).scalar_one())

    def compact(self) -> None:
        """Write all tables anew; see `forget` for what this does not reach."""
        from psycopg.sql import SQL, Identifier

        with translated("vacuuming what was removed"), closing(self._connect()) as connection:
            for tables in ALL:
                for table in tables.sorted_tables:
                    connection.execute(SQL("VACUUM (FULL) {}").format(Identifier(table.name)))

    def held_erasure(self) -> AbstractContextManager[None]:
        return self.held_source("\N{SYMBOL FOR NULL}erasure", wait=2.0)

    def forget(self) -> None:
        """Vacuum the tables, which removes deleted rows. The server's own log and backups keep them for as long as
        configured.
        """
        with translated("vacuuming what was removed"), closing(self._connect()) as connection:
            connection.execute(f"VACUUM {_HOLDS_WORDS}")

    def audit(self) -> AuditOnServer:
        return AuditOnServer(self._engine(4, patience=_PATIENCE), self._engine(1))

    def tasks(self) -> sa.Engine:
        self._engines.append(self._engine(_TASKS, patience=_PATIENCE))
        return self._engines[-1]

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.close()
        self._watch = None

    def close(self) -> None:
        with self._watching:
            self._unwatch()
            self._closed = True
        let_go(*self._engines)


class _SessionLock(Lock):
    """The writer lock: an advisory lock held by the writing connection, so that both are lost together."""

    def __init__(self, writer: sa.Engine, number: int) -> None:
        super().__init__()
        self._writer = writer
        self._number = number
        self._session: Any = None

    def _take(self, until: float) -> None:
        import psycopg

        left = max(1, int((until - time.monotonic()) * 1000))
        with translated("taking the library's lock"), self._session_of_the_writer() as session:
            try:
                session.execute("SELECT pg_catalog.set_config('lock_timeout', %s, false)", (str(left),))
                session.execute("SELECT pg_catalog.pg_advisory_lock(%s)", (self._number,))
            except psycopg.errors.LockNotAvailable as error:
                raise being_written(_owner(session, self._number)) from error
            finally:
                session.execute("SELECT pg_catalog.set_config('lock_timeout', '10s', false)")
            self._session = session

    def _let_go(self) -> None:
        held, self._session = self._session, None
        if held is None or held.closed:
            return  # and the lock went with it
        try:
            with translated("letting go of the library's lock"), self._session_of_the_writer() as session:
                if session is held:
                    session.execute("SELECT pg_catalog.pg_advisory_unlock(%s)", (self._number,))
        except CatalogError as error:  # the session has ended, and the lock with it
            log.warning("%s", error)

    def check(self, connection: sa.Connection) -> None:
        """CatalogBusy when `connection` is not the one that took the lock."""
        if self._session is not None and connection.connection.driver_connection is not self._session:
            raise CatalogBusy(
                "the connection to the server was lost while the library was being written",
                component=COMPONENT,
                hint="try again",
            )

    @contextmanager
    def _session_of_the_writer(self) -> Iterator[Any]:
        with closing(self._writer.raw_connection()) as pooled:
            session = pooled.driver_connection
            assert session is not None
            session.autocommit = True
            try:
                yield session
            finally:
                if not session.closed:
                    session.autocommit = False


def _parsed(dsn: str) -> dict[str, Any]:
    try:
        from wenyuan.runtime.postgres import parsed
    except ImportError as error:
        raise ConfigError(
            "the driver of PostgreSQL is not installed", component="settings", hint=install_command("postgres")
        ) from error
    refusal = ConfigError(
        "catalog.dsn is no connection string",
        component=COMPONENT,
        hint="export WENYUAN_CATALOG__DSN='postgresql://user:password@host:5432/database'",
    )
    return parsed(dsn, refusal)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise CatalogUnavailable(
            msg("cannot make the folder {folder}: {strerror}", folder=folder, strerror=error.strerror),
            component=COMPONENT,
        ) from error


def _number(*parts: str) -> int:
    """Number of an advisory lock: 64 bits, signed. Advisory locks are per database, so its name is not part of it."""
    digest = hashlib.sha256("\x00".join(("wenyuan", *parts)).encode()).digest()
    return int.from_bytes(digest[:8], signed=True)


def _owner(connection: Any, number: int) -> str:
    row = connection.execute(_OWNER, (number,)).fetchone()
    return "" if row is None or not row[0] else str(row[0]).removeprefix("wenyuan, ")
