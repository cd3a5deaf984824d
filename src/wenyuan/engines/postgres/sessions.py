"""Sessions with the server: at most so many, each checked before it is used again, none longer than its deadline.

The only place where psycopg's exceptions become ours.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar

import psycopg
from psycopg import Connection, IsolationLevel
from psycopg.conninfo import conninfo_to_dict

from wenyuan.core.errors import ConfigError, EngineError, EngineTimeout, EngineUnavailable, IndexCorrupt
from wenyuan.core.ports import Deadline
from wenyuan.core.postgres_words import REFUSED, said_at_login
from wenyuan.engines.errands import Errands, TooLate
from wenyuan.engines.postgres_calls import FAILURES, LATE, Hold, allow, leave, lost, patient, place

__all__ = ["Mode", "Sessions", "translated"]

LIFETIME = 600.0
"""Seconds after which a session is made anew: a server that is to be taken down empties itself."""

_REFUSED = (*REFUSED, ("42501", "does not let its user do what an index needs"))
_REASONS: tuple[tuple[str, type[EngineError], str], ...] = (
    *((state, EngineUnavailable, reason) for state, reason in _REFUSED),
    ("3F", IndexCorrupt, "has lost the index's schema"),
    ("42", IndexCorrupt, "holds other tables than the index's"),
    ("XX001", IndexCorrupt, "reports damaged data"),
    ("XX002", IndexCorrupt, "reports a damaged index"),
    ("22", IndexCorrupt, "holds values that cannot be compared"),
    ("53", EngineUnavailable, "has no room: connections, memory or disk"),
    ("57P", EngineUnavailable, "is stopping or starting, or has ended the connection"),
    ("08", EngineUnavailable, "has lost the connection"),
    ("40", EngineUnavailable, "has taken the transaction back, because of another one"),
)
"""By the beginning of an SQLSTATE (PostgreSQL's documentation, appendix A), the first that fits."""
_AT_LOGIN = tuple(state for state, _ in REFUSED)
_LOOK = "look at postgres.dsn; where it is not set, catalog.dsn counts"
_REBUILD = "drop the index's schema; it is built again from the catalog"

T = TypeVar("T")


class Mode(Enum):
    """What a session is used for."""

    READ = "one state of the index, unchanged while it is read"
    WRITE = "one transaction"
    MAINTAIN = "statements that no transaction may hold, such as VACUUM"


class Sessions:
    """A bounded set of connections to one database. Safe to use from several threads.

    Args:
        dsn: The connection string; no error shows it.
        settings: PostgreSQL's own, for every transaction, e.g. ``search_path``.
        most: How many connections at most.
    """

    def __init__(self, dsn: str, settings: Mapping[str, str], most: int) -> None:
        try:
            self._params = conninfo_to_dict(dsn)
        except psycopg.Error:  # its text is the whole string
            raise ConfigError(
                "postgres.dsn is no connection string",
                component="engine postgres",
                hint="export WENYUAN_POSTGRES__DSN='postgresql://user:password@host:5432/database'",
            ) from None
        self.component = f"engine postgres at {place(self._params)}"
        self.settings = dict(settings)
        self._most = most
        self._errands = Errands(most, "wenyuan-postgres")
        self._idle: list[tuple[Connection[Any], float]] = []
        self._lock = threading.Lock()
        self._closed = False

    def run(
        self,
        work: Callable[[Connection[Any]], T],
        deadline: Deadline,
        *,
        mode: Mode = Mode.READ,
        settings: Mapping[str, str] | None = None,
    ) -> T:
        """The result of `work`, in a transaction of its own that both sides end at the deadline.

        A session that was kept may have been ended meanwhile: then `work` is done once more, on a new one.

        Raises:
            EngineTimeout: it took too long, or all sessions were taken for that long.
            EngineUnavailable, IndexCorrupt: what the server or the driver said.
        """
        deadline.check(self.component)
        if self._closed:
            raise EngineUnavailable("is closed", component=self.component)
        hold, chosen, begun = Hold(), {**self.settings, **(settings or {})}, threading.Event()

        def errand() -> T:
            begun.set()
            return self._done(work, hold, deadline, mode, chosen)

        try:
            return self._errands.run(errand, deadline.remaining())
        except TooLate as error:
            hold.give_up()
            raise self._late(begun.is_set()) from error
        except FAILURES as error:
            raise translated(error, self.component) from error

    def _late(self, begun: bool) -> EngineTimeout:
        if begun:
            return EngineTimeout("no answer in time", component=self.component)
        return EngineTimeout(
            f"all {self._most} sessions were busy until the deadline",
            component=self.component,
            hint="raise postgres.sessions, or ask less at once",
        )

    def _done(
        self,
        work: Callable[[Connection[Any]], T],
        hold: Hold,
        deadline: Deadline,
        mode: Mode,
        settings: Mapping[str, str],
    ) -> T:
        kept = self._kept()
        if kept is not None:
            try:
                return self._used(kept, work, hold, deadline, mode, settings)
            except psycopg.OperationalError as error:
                if not lost(error) or hold.given_up:
                    raise
                self._forget()  # what ended one has mostly ended all
        made = (Connection.connect(**patient(self._params, deadline)), time.monotonic() + LIFETIME)
        return self._used(made, work, hold, deadline, mode, settings)

    def _used(
        self,
        session: tuple[Connection[Any], float],
        work: Callable[[Connection[Any]], T],
        hold: Hold,
        deadline: Deadline,
        mode: Mode,
        settings: Mapping[str, str],
    ) -> T:
        connection, _ = session
        hold.take(connection)
        try:
            connection.prepare_threshold = None  # a pooler between us may change servers
            connection.autocommit = mode is Mode.MAINTAIN
            connection.read_only = True if mode is Mode.READ else None
            connection.isolation_level = IsolationLevel.REPEATABLE_READ if mode is Mode.READ else None
            allow(connection, deadline, settings, local=mode is not Mode.MAINTAIN)
            result = work(connection)
            if mode is not Mode.MAINTAIN:
                connection.commit()
        except BaseException:
            leave(connection)
            raise
        if mode is Mode.MAINTAIN:
            leave(connection)  # its settings were those of the session
        else:
            self._keep(session, hold)
        return result

    def _kept(self) -> tuple[Connection[Any], float] | None:
        with self._lock:
            while self._idle:
                connection, expires = self._idle.pop()
                if not connection.closed and time.monotonic() < expires:
                    return connection, expires
                leave(connection)
        return None

    def _keep(self, session: tuple[Connection[Any], float], hold: Hold) -> None:
        usable = hold.release()
        with self._lock:
            if usable and not self._closed:
                self._idle.append(session)
                return
        leave(session[0])

    def _forget(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            leave(connection)

    def close(self) -> None:
        """Close the sessions. Later calls fail."""
        self._closed = True
        self._forget()


def translated(error: Exception, component: str) -> EngineError:
    """What an exception of the driver means here. Its own text may quote the connection string: it is not told."""
    if isinstance(error, LATE):
        return EngineTimeout("the statement was cancelled, or no answer came in time", component=component)
    state = getattr(error, "sqlstate", None) or ""
    for beginning, kind, reason in _REASONS:
        if state.startswith(beginning):
            hint = _REBUILD if kind is IndexCorrupt else _LOOK if state.startswith(_AT_LOGIN) else ""
            return kind(f"{reason} ({state})", component=component, hint=hint)
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError, OSError)) and not state:
        return EngineUnavailable(said_at_login(str(error)), component=component, hint=_LOOK)
    named = f"{type(error).__name__} {state}".strip()
    return EngineUnavailable(f"the database failed ({named})", component=component)
