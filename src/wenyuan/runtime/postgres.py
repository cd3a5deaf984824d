"""A connection to PostgreSQL that does not wait for ever.

Timeouts of the server do not help where the server is what hangs: it takes what it is sent and says nothing, because its
machine is stopped, say. As long as somebody acknowledges the bytes, the system does not end such a connection either.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import psycopg
from psycopg import Connection, errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL

from wenyuan.core.errors import ConfigError, EngineError, EngineTimeout, EngineUnavailable, IndexCorrupt, msg
from wenyuan.core.ports import Deadline, time_left
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
