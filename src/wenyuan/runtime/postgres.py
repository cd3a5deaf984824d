"""Connections and statements of PostgreSQL that end at their deadline."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Generator, Mapping
from typing import Any

import psycopg
from psycopg import Connection, errors
from psycopg.sql import SQL

from wenyuan.core.errors import (
    CatalogBusy,
    CatalogError,
    CatalogUnavailable,
    ConfigError,
    EngineTimeout,
    KnowledgeError,
)
from wenyuan.core.ports import Deadline, time_left

# What every use of PostgreSQL shares: a statement that ends at its deadline, here and on the server, and what failed.


FAILURES = (psycopg.Error, psycopg.Warning, OSError, UnicodeError)
"""What asking may raise: psycopg's own (a test enumerates them), a host name that cannot be looked up, a text that is none."""
LATE = (
    errors.QueryCanceled,
    errors.ConnectionTimeout,
    errors.CancellationTimeout,
    errors.LockNotAvailable,
    errors.TransactionTimeout,
    errors.IdleInTransactionSessionTimeout,
)


class Hold:
    """A connection while it is asked. Once given up it is cancelled, and not used again: the cancellation may be late."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: Connection[Any] | None = None
        self.given_up = False

    def take(self, connection: Connection[Any]) -> None:
        with self._lock:
            self._connection = connection

    def release(self) -> bool:
        """Whether somebody else may use it now: it will not be cancelled any more."""
        with self._lock:
            self._connection = None
            return not self.given_up

    def give_up(self) -> None:
        with self._lock:
            self.given_up = True
            connection = self._connection
        if connection is not None:
            threading.Thread(target=_cancel, args=(connection,), name="wenyuan-cancel", daemon=True).start()


def _cancel(connection: Connection[Any]) -> None:
    try:
        connection.cancel_safe(timeout=2.0)
    except (psycopg.Error, OSError):
        return  # the statement's own timeout ends it; the failure has been reported already


def allow(
    connection: Connection[Any], deadline: Deadline, settings: Mapping[str, str], *, local: bool = True
) -> None:
    """Begin a transaction that the server itself ends at the deadline, with these settings (else: of the session)."""
    milliseconds = str(max(1, math.ceil(deadline.remaining() * 1000)))
    chosen = {"statement_timeout": milliseconds, **settings}
    calls = SQL(", ").join([SQL("pg_catalog.set_config(%s, %s, {})").format(local)] * len(chosen))
    connection.execute(SQL("SELECT {}").format(calls), [part for pair in chosen.items() for part in pair])


def lost(error: psycopg.OperationalError) -> bool:
    """Whether the connection had ended, as far as PostgreSQL or the driver say."""
    return not isinstance(error, LATE) and (error.sqlstate or "08").startswith(("08", "57P"))


def leave(connection: Connection[Any]) -> None:
    """Close a connection on which something failed; that it is broken already is no news."""
    try:
        connection.close()
    except psycopg.Error:
        return


def patient(params: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
    """Parameters that end a connection whose other side has vanished; what the operator wrote comes first."""
    defaults = {
        "connect_timeout": max(2, math.ceil(deadline.remaining())),
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "fallback_application_name": "wenyuan",
    }
    return {**defaults, **params, "client_encoding": "utf8"}


def place(params: dict[str, Any]) -> str:
    host = str(params.get("host") or params.get("hostaddr") or "localhost")
    return "a local socket" if host.startswith(("/", "@")) else f"{host}:{params.get('port') or 5432}"


# A connection to PostgreSQL that does not wait for ever.
#
# Timeouts of the server do not help where the server is what hangs: it takes what it is sent and says nothing, because its
# machine is stopped, say. As long as somebody acknowledges the bytes, the system does not end such a connection either.


_LOOK = 0.05  # seconds after which a wait looks at the clock
_GRACE = 0.1  # seconds that a server has to say that it ended a statement at the deadline itself


class TimedConnection(psycopg.Connection[Any]):
    """Waits no longer than its patience, nor than `core.ports.until` allows; then it is closed.

    Attributes:
        patience: Seconds for one exchange with the server; None: as long as it takes.
    """

    patience: float | None = None

    def wait(self, gen: Generator[Any, Any, Any], interval: float = _LOOK, timeout: float | None = None) -> Any:
        """Raises psycopg.errors.ConnectionTimeout when the server did not answer in time."""
        given = [seconds for seconds in (self.patience, time_left()) if seconds is not None]
        if given:
            gen = self._ending(gen, time.monotonic() + min(given) + _GRACE)
        more: dict[str, Any] = {} if timeout is None else {"timeout": timeout}  # which the oldest drivers do not know
        return super().wait(gen, min(interval, _LOOK), **more)

    def _ending(self, gen: Generator[Any, Any, Any], at: float) -> Generator[Any, Any, Any]:
        ready = None
        while True:
            try:
                wanted = gen.send(ready)
            except StopIteration as done:
                return done.value
            ready = yield wanted
            if not ready and time.monotonic() > at:  # what has come already is still read
                self.close()
                raise psycopg.errors.ConnectionTimeout("no answer in time")


# What PostgreSQL says when it refuses a connection (its driver gives no SQLSTATE for that, and its own text may quote
# the connection string), and which servers are refused here.


OLDEST_SERVER = 15

REFUSED: tuple[tuple[str, str], ...] = (
    ("28", "refuses its user or password"),
    ("3D", "has no such database"),
)
"""By the beginning of an SQLSTATE (PostgreSQL's documentation, appendix A), where the connection was made."""

_SAID_AT_LOGIN = (
    ("password authentication failed", "refuses its user or password (28P01)"),
    ("no pg_hba.conf entry", "refuses its user from this machine (28000)"),
    ("no password supplied", "asks for a password, and the connection string has none (28P01)"),
    ("role ", "has no such user (28000)"),
    ("database ", "has no such database (3D000)"),
    ("too many ", "has no connection left (53300)"),
    ("the database system is ", "is stopping or starting (57P03)"),
)


def said_at_login(text: str) -> str:
    """What an error of the driver without an SQLSTATE means, as far as the server says it in English."""
    _, fatal, said = text.partition("FATAL:")
    reason = next(
        (reason for beginning, reason in _SAID_AT_LOGIN if fatal and said.strip().startswith(beginning)), ""
    )
    return reason or "cannot be reached, refuses its user or password, or has lost the connection"


def check_server(info: Any, *, component: str, setting: str) -> None:
    """Refuse a server that is too old, or whose database cannot hold every character.

    Args:
        info: What the driver knows of the connection.
        component: Whose server it is.
        setting: Names the server, e.g. ``catalog.dsn``.

    Raises:
        ConfigError: it is one of the two.
    """
    version = info.server_version // 10_000
    if version < OLDEST_SERVER:
        raise ConfigError(
            f"the server is PostgreSQL {version}; at least {OLDEST_SERVER} is needed",
            component=component,
            hint=f"upgrade the server, or name another in {setting}",
        )
    encoding = info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise ConfigError(
            f"the database is in {encoding}, which cannot hold every character",
            component=component,
            hint="CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0",
        )


# What the errors of PostgreSQL's driver mean for a catalog. Their own text may quote values or the connection string:
# it is not told.


_ROOM = "make room on the server; what was acknowledged before is safe"
_GRANT = "GRANT CREATE ON DATABASE … TO …, by its owner; a catalog's tables belong to the user who made them"
_REASONS: tuple[tuple[str, type[KnowledgeError], str, str], ...] = (
    ("57014", EngineTimeout, "the deadline passed", ""),
    ("25P03", EngineTimeout, "the transaction took too long", ""),
    ("25P04", EngineTimeout, "the transaction took too long", ""),
    ("55P03", CatalogBusy, "another process is writing", ""),
    ("40", CatalogBusy, "the server took the transaction back, because of another one", "try again"),
    *((state, CatalogUnavailable, f"the server {reason}", "look at catalog.dsn") for state, reason in REFUSED),
    ("53100", CatalogUnavailable, "the server's disk is full", _ROOM),
    ("53200", CatalogUnavailable, "the server has no memory left", ""),
    ("53300", CatalogUnavailable, "the server has no connection left", "lower catalog.sessions, or raise its limit"),
    ("53", CatalogUnavailable, "the server has no room", _ROOM),
    ("58030", CatalogUnavailable, "the server cannot write to its disk", _ROOM),
    ("57P", CatalogUnavailable, "the server is stopping or starting, or has ended the connection", ""),
    ("08", CatalogUnavailable, "the connection to the server was lost", ""),
    ("25006", CatalogUnavailable, "the server only reads; it is a replica", "name the primary in catalog.dsn"),
    ("42501", CatalogUnavailable, "the server does not let its user do that", _GRANT),
    ("42P01", CatalogUnavailable, "the server has no such table", "look at catalog.schema_name, or restore a backup"),
    ("3F", CatalogUnavailable, "the server has no such schema", "look at catalog.schema_name, or restore a backup"),
    ("XX001", CatalogUnavailable, "the server reports damaged data", "restore the database from a backup"),
    ("XX002", CatalogUnavailable, "the server reports a damaged index", "REINDEX it, or restore a backup"),
)
"""By the beginning of an SQLSTATE (PostgreSQL's documentation, appendix A), the first that fits."""


def driver_errors() -> tuple[type[Exception], ...]:
    """The driver's exceptions; none while nobody has loaded it."""
    driver: Any = sys.modules.get("psycopg")
    return (driver.Error, driver.Warning) if driver is not None else ()


def meant(error: BaseException, doing: str, component: str) -> KnowledgeError:
    """What an exception of the driver means here."""
    driver: Any = sys.modules["psycopg"]
    state = getattr(error, "sqlstate", None) or ""
    for beginning, kind, reason, hint in _REASONS:
        if state.startswith(beginning):
            return kind(f"{doing}: {reason}" + _shown(kind, state), component=component, hint=hint)
    if isinstance(error, driver.errors.ConnectionTimeout) and time_left() == 0:
        return EngineTimeout(f"{doing}: the server did not answer before the deadline", component=component)
    if isinstance(error, driver.errors.ConnectionTimeout):
        return CatalogUnavailable(f"{doing}: the server does not answer", component=component)
    if isinstance(error, (driver.OperationalError, driver.InterfaceError)) and not state:
        return CatalogUnavailable(
            f"{doing}: the server {said_at_login(str(error))}", component=component, hint="look at catalog.dsn"
        )
    named = f"{type(error).__name__} {state}".strip()
    return CatalogUnavailable(f"{doing}: the database failed ({named})", component=component)


def _shown(kind: type[KnowledgeError], state: str) -> str:
    return f" ({state})" if issubclass(kind, CatalogError) else ""
