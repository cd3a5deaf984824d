"""Sessions with a server that is searched: at most so many, none longer than its deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar

import psycopg
from psycopg import Connection, IsolationLevel
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from wenyuan.core.errors import EngineError, EngineTimeout, EngineUnavailable, msg
from wenyuan.core.ports import Deadline, time_left, until
from wenyuan.runtime.bounded_calls import BoundedCalls, CallTimedOut
from wenyuan.runtime.postgres import FAILURES, HeldConnection, allow, lost, patient

T = TypeVar("T")


class Mode(Enum):
    """How a session is used: reading, writing …"""

    READ = "one state of the database, unchanged while it is read"
    WRITE = "one transaction"
    MAINTAIN = "statements that no transaction may hold, such as VACUUM"


class PostgresSessions:
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
                return self._run(work, hold, deadline, mode, chosen)

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

    def _run(
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
