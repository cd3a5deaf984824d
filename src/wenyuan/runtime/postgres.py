"""PostgreSQL sessions: connections and statements that end at their deadline."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

import psycopg
from psycopg import Connection, IsolationLevel, errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from wenyuan.core.errors import (
    ConfigError,
    EngineError,
    EngineTimeout,
    EngineUnavailable,
    IndexCorrupt,
    msg,
)
from wenyuan.core.ports import Deadline, time_left, until
from wenyuan.runtime import BoundedCalls, CallTimedOut
from wenyuan.runtime.postgres_errors import FAILED, REFUSED, said_at_login

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


class HeldConnection:
    """A connection in use. Once abandoned it is cancelled and not reused, since the cancellation may arrive late."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: Connection[Any] | None = None
        self.given_up = False

    def take(self, connection: Connection[Any]) -> None:
        with self._lock:
            self._connection = connection

    def release(self) -> bool:
        """Whether the connection can be reused: no cancellation is pending."""
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
    """Begin a transaction that the server ends at the deadline, with settings for the transaction (`local`) or the
    session.
    """
    milliseconds = str(max(1, math.ceil(deadline.remaining() * 1000)))
    chosen = {"statement_timeout": milliseconds, **settings}
    calls = SQL(", ").join([SQL("pg_catalog.set_config(%s, %s, {})").format(local)] * len(chosen))
    connection.execute(SQL("SELECT {}").format(calls), [part for pair in chosen.items() for part in pair])


def lost(error: psycopg.OperationalError) -> bool:
    """Whether an error means that the connection has ended."""
    return not isinstance(error, LATE) and (error.sqlstate or "08").startswith(("08", "57P"))


def parsed(dsn: str, refusal: ConfigError) -> dict[str, Any]:
    """The parameters of a connection string; raises `refusal`, which does not contain it, when it is invalid."""
    try:
        return dict(conninfo_to_dict(dsn))
    except psycopg.Error:  # its text is the whole string
        raise refusal from None


def patient(params: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Connection parameters with keep-alives that detect a vanished peer; the operator's own values take precedence."""
    defaults = {
        "connect_timeout": max(2, math.ceil(seconds)),
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "fallback_application_name": "wenyuan",
    }
    return {**defaults, **params, "client_encoding": "utf8"}


def place(params: dict[str, Any]) -> str:
    host = str(params.get("host") or params.get("hostaddr") or "localhost")
    return "a local socket" if host.startswith(("/", "@")) else f"{host}:{params.get('port') or 5432}"


Meaning = tuple[str, type[EngineError], str]
"""The beginning of an SQLSTATE (PostgreSQL's documentation, appendix A), and what it means."""

_TO_ALL: tuple[Meaning, ...] = tuple((state, EngineUnavailable, reason) for state, reason in FAILED)
_AT_LOGIN = tuple(state for state, _ in REFUSED)


def translated(
    error: Exception,
    component: str,
    own: Sequence[Meaning],
    *,
    look: str = "",
    rebuild: str = "",
) -> EngineError:
    """The error for an exception of a statement. Its text may contain connection parameters or values and is dropped.

    Args:
        own: What an SQLSTATE means to this asker, the first that fits; looked at before what it means to all.
        look: Where the operator sets how the server is reached. With it the server's message at login is included.
        rebuild: What to do about an index that is damaged.
    """
    if isinstance(error, LATE):
        return EngineTimeout("the statement was cancelled, or no answer came in time", component=component)
    state = getattr(error, "sqlstate", None) or ""
    for beginning, kind, reason in (*own, *_TO_ALL):
        if state.startswith(beginning):
            hint = rebuild if kind is IndexCorrupt else look if state.startswith(_AT_LOGIN) else ""
            return kind(f"{reason} ({state})", component=component, hint=hint)
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError, OSError)) and not state:
        return EngineUnavailable(said_at_login(str(error) if look else ""), component=component, hint=look)
    named = f"{type(error).__name__} {state}".strip()
    return EngineUnavailable(msg("the database failed ({named})", named=named), component=component)


# Sessions with a server that is searched: at most so many, none longer than its deadline.


T = TypeVar("T")


class Mode(Enum):
    """How a session is used: reading, writing …"""

    READ = "one state of the database, unchanged while it is read"
    WRITE = "one transaction"
    MAINTAIN = "statements that no transaction may hold, such as VACUUM"


class Sessions:
    """A bounded pool of connections to one database. Safe to use from several threads.

    Args:
        params: Of the connection; no error shows them.
        component: Who asks, for messages.
        settings: PostgreSQL's own, for every transaction, e.g. ``search_path``.
        most: How many connections at most.
        idle: How many of them are kept while idle.
        lifetime: Seconds after which a session is replaced, so that a server being drained loses its sessions.
        meaning: What an exception of the driver means; the only place where psycopg's exceptions become ours.
        busy: Which setting allows more connections.
    """

    def __init__(
        self,
        params: dict[str, Any],
        component: str,
        settings: Mapping[str, str],
        *,
        most: int,
        idle: int,
        lifetime: float,
        meaning: Callable[[Exception, str], EngineError],
        busy: str = "",
    ) -> None:
        self.component = component
        self.settings = dict(settings)
        self._params, self._most, self._meaning, self._busy = params, most, meaning, busy
        self._errands = BoundedCalls(most, "wenyuan-postgres")
        self._pool = QueuePool(
            self._connect, pool_size=idle, max_overflow=most - idle, recycle=int(lifetime), use_lifo=True
        )
        self._closed = False

    def run(
        self,
        work: Callable[[Connection[Any]], T],
        deadline: Deadline,
        *,
        mode: Mode = Mode.READ,
        settings: Mapping[str, str] | None = None,
    ) -> T:
        """Run `work` in its own transaction, which client and server both end at the deadline; returns its result.

        A session that was kept may have been ended meanwhile: then `work` is done once more, on another one.

        Raises:
            EngineTimeout: it took too long, or all sessions were taken for that long.
            EngineError: what the server or the driver said, as `meaning` has it.
        """
        deadline.check(self.component)
        if self._closed:
            raise EngineUnavailable("is closed", component=self.component)
        hold, chosen, begun = HeldConnection(), {**self.settings, **(settings or {})}, threading.Event()

        def errand() -> T:
            begun.set()
            with until(deadline):
                return self._done(work, hold, deadline, mode, chosen)

        try:
            return self._errands.run(errand, deadline.remaining())
        except CallTimedOut as error:
            hold.give_up()
            raise self._late(begun.is_set()) from error
        except FAILURES as error:
            raise self._meaning(error, self.component) from error

    def _late(self, begun: bool) -> EngineTimeout:
        if begun or not self._busy:
            return EngineTimeout("no answer in time", component=self.component)
        return EngineTimeout(
            msg("all {most} sessions were busy until the deadline", most=self._most),
            component=self.component,
            hint=msg("raise {busy}, or ask less at once", busy=self._busy),
        )

    def _connect(self) -> Any:
        made = Connection.connect(**patient(self._params, time_left() or 0.0))
        made.prepare_threshold = None  # a pooler between us may change servers
        return made

    def _done(
        self,
        work: Callable[[Connection[Any]], T],
        hold: HeldConnection,
        deadline: Deadline,
        mode: Mode,
        settings: Mapping[str, str],
    ) -> T:
        while True:
            pooled = self._pool.connect()
            kept = pooled.info.setdefault("kept", False)
            pooled.info["kept"] = True
            try:
                return self._used(pooled, work, hold, deadline, mode, settings)
            except psycopg.OperationalError as error:
                if not kept or not lost(error) or hold.given_up:
                    raise

    def _used(
        self,
        pooled: PoolProxiedConnection,
        work: Callable[[Connection[Any]], T],
        hold: HeldConnection,
        deadline: Deadline,
        mode: Mode,
        settings: Mapping[str, str],
    ) -> T:
        connection: Any = pooled.driver_connection
        usable = False
        hold.take(connection)
        try:
            connection.autocommit = mode is Mode.MAINTAIN
            connection.read_only = True if mode is Mode.READ else None
            connection.isolation_level = IsolationLevel.REPEATABLE_READ if mode is Mode.READ else None
            allow(connection, deadline, settings, local=mode is not Mode.MAINTAIN)
            result = work(connection)
            if mode is not Mode.MAINTAIN:  # whose settings are those of the session
                connection.commit()
                usable = hold.release() and not self._closed
        finally:
            if not usable:
                pooled.invalidate()
            pooled.close()
        return result

    def close(self) -> None:
        """Close the sessions. Later calls fail."""
        self._closed = True
        self._pool.dispose()


# A connection to PostgreSQL that does not wait for ever.
#
# Timeouts of the server do not help where the server is what hangs: it takes what it is sent and says nothing, because its
# machine is stopped, say. As long as somebody acknowledges the bytes, the system does not end such a connection either.


_LOOK = 0.05  # seconds after which a wait checks the clock
_GRACE = 0.1  # seconds that a server has to say that it ended a statement at the deadline itself


class TimedConnection(psycopg.Connection[Any]):
    """A connection that waits no longer than its `patience` and the deadline in `core.ports.until`; then it is
    closed.

    Attributes:
        patience: Seconds for one exchange with the server; None: as long as it takes.
    """

    patience: float | None = None

    def wait(self, gen: Generator[Any, Any, Any], interval: float = _LOOK, timeout: float | None = None) -> Any:
        """Wait for the server; psycopg.errors.ConnectionTimeout when it does not answer in time."""
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
