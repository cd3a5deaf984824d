"""Connections and statements of PostgreSQL that end at their deadline."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Generator, Mapping
from typing import Any

import psycopg
from psycopg import Connection, errors
from psycopg.sql import SQL

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
