"""Asks a PostgreSQL table: sessions that may only read, a deadline that stops the statement, one place for errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, TypeVar

import psycopg
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict

from wenyuan.core.errors import ConfigError, EngineError, EngineTimeout, EngineUnavailable
from wenyuan.core.outside import OutsideHit
from wenyuan.core.ports import Deadline
from wenyuan.core.score import rescale
from wenyuan.core.vectors import checked_vectors
from wenyuan.engines.attached import AttachedSettings
from wenyuan.engines.errands import Errands, TooLate
from wenyuan.engines.postgres_calls import FAILURES, LATE, Hold, allow, leave, lost, patient, place
from wenyuan.engines.postgres_query import Search, described, hit

__all__ = ["FAILURES", "PostgresTable", "translated"]

MOST_SESSIONS = 16
MOST_IDLE = 4
LIFETIME = 300.0
"""Seconds after which a session is made anew, and with it the look at the table and its size."""
ROUNDING = 1e-4
"""How far beyond 0..2 a cosine distance may lie: half precision vectors are compared in single precision."""

_REASONS = (
    ("28", "refuses its user or password"),
    ("3D", "has no such database"),
    ("42501", "does not let its user read the table"),
    ("42", "has another table than the settings describe"),
    ("22", "holds values that cannot be compared"),
    ("53", "has no room: connections, memory or disk"),
    ("57P", "is stopping or starting, or has ended the connection"),
    ("08", "has lost the connection"),
)
"""By the beginning of an SQLSTATE (PostgreSQL's documentation, appendix A), the first that fits."""

T = TypeVar("T")


class _Session:
    """A connection that may only read, and how the table looked when it was made."""

    def __init__(self, connection: Connection[Any], search: Search) -> None:
        self.connection, self.search = connection, search
        self.expires = time.monotonic() + LIFETIME

    @property
    def fresh(self) -> bool:
        return not self.connection.closed and time.monotonic() < self.expires


class PostgresTable:
    """One table with texts and vectors; made by `attached.open_attached`. Safe to use from several threads.

    Attributes:
        encoder: What made its vectors, as the settings say; `dimension` is theirs.
    """

    needs_vector = True

    def __init__(self, source_id: str, settings: AttachedSettings, dsn: str, scale: tuple[float, float]) -> None:
        self.source_id, self.encoder, self.dimension = source_id, settings.encoder, settings.dimension
        self._settings, self._scale = settings, scale
        try:
            self._params = conninfo_to_dict(dsn)
        except psycopg.Error:  # its text is the whole string
            raise ConfigError(
                f"what {settings.dsn_env} holds is no connection string", component=f"source {source_id}"
            ) from None
        self.component = f"source {source_id} at {place(self._params)}"
        self._errands = Errands(MOST_SESSIONS, f"wenyuan-{source_id}")
        self._idle: list[_Session] = []
        self._lock = threading.Lock()
        self._closed = False

    def check(self, deadline: Deadline) -> None:
        """Connect, look at the table, and search it once.

        Raises:
            ConfigError: it is not what the settings say.
            EngineUnavailable, EngineTimeout: the database cannot be asked.
        """
        unit = [1.0] + [0.0] * (self.dimension - 1)
        try:
            self._within(deadline, lambda hold: self._rows(hold, _asking(unit, 1, date.today()), deadline))
        except EngineUnavailable as error:
            if isinstance(error.__cause__, (psycopg.ProgrammingError, psycopg.DataError, psycopg.NotSupportedError)):
                raise ConfigError(error.message, component=error.component) from error
            raise

    def ask(self, query: str, *, vector: Any, limit: int, as_of: date, deadline: Deadline) -> Sequence[OutsideHit]:
        """The rows nearest to ``vector``, best first; rows without text or vector are none. Words are not used.

        Raises:
            EngineTimeout: no answer before the deadline, or within the source's own timeout.
            EngineUnavailable: the database refused or broke, the table has changed, or holds what is no vector.
            VectorRejected: ``vector`` is not one of this table's dimension.
        """
        deadline.check(self.component)
        unit = checked_vectors([vector], 1, self.dimension, self.component)[0].tolist()
        asking = _asking(unit, limit, as_of)
        own = Deadline(min(deadline.at, deadline.clock() + self._settings.timeout), deadline.clock)
        try:
            rows = self._within(own, lambda hold: self._rows(hold, asking, own))
        except ConfigError as error:
            raise EngineUnavailable(error.message, component=self.component, hint=error.hint) from error
        return self._hits(rows)

    def close(self) -> None:
        """Close the sessions. Later questions fail."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for session in idle:
            session.connection.close()

    def _within(self, deadline: Deadline, work: Callable[[Hold], T]) -> T:
        """The only place where psycopg's exceptions are translated."""
        if self._closed:
            raise EngineUnavailable("is closed", component=self.component)
        hold = Hold()
        try:
            return self._errands.run(lambda: work(hold), deadline.remaining())
        except TooLate as error:
            hold.give_up()
            raise EngineTimeout("no answer in time", component=self.component) from error
        except FAILURES as error:
            raise translated(error, self.component) from error

    def _rows(self, hold: Hold, asking: Mapping[str, Any], deadline: Deadline) -> list[tuple[Any, ...]]:
        """The statement's rows. A session that was kept may have been ended meanwhile: then a new one is asked."""
        kept = self._kept()
        if kept is not None:
            try:
                return self._asked(kept, hold, asking, deadline)
            except psycopg.OperationalError as error:
                if not lost(error) or hold.given_up:
                    raise
        return self._asked(self._session(hold, deadline), hold, asking, deadline)

    def _asked(
        self, session: _Session, hold: Hold, asking: Mapping[str, Any], deadline: Deadline
    ) -> list[tuple[Any, ...]]:
        connection, search = session.connection, session.search
        hold.take(connection)
        try:
            allow(connection, deadline, search.settings)
            rows = connection.execute(search.statement, {**search.bound, **asking}).fetchall()
            connection.rollback()
        except BaseException:
            leave(connection)
            raise
        self._keep(session, hold)
        return rows

    def _session(self, hold: Hold, deadline: Deadline) -> _Session:
        connection = Connection.connect(**patient(self._params, deadline))
        hold.take(connection)
        try:
            connection.prepare_threshold = None  # a pooler between us may change servers
            connection.read_only = True
            connection.execute("SET SESSION default_transaction_read_only = on")
            connection.commit()
            allow(connection, deadline, {})
            search = described(connection, self._settings, self.component)
            connection.rollback()
        except BaseException:
            leave(connection)
            raise
        return _Session(connection, search)

    def _kept(self) -> _Session | None:
        with self._lock:
            while self._idle:
                session = self._idle.pop()
                if session.fresh:
                    return session
                session.connection.close()
        return None

    def _keep(self, session: _Session, hold: Hold) -> None:
        usable = hold.release()
        with self._lock:
            if usable and not self._closed and len(self._idle) < MOST_IDLE:
                self._idle.append(session)
                return
        session.connection.close()

    def _hits(self, rows: list[tuple[Any, ...]]) -> Sequence[OutsideHit]:
        keys = {row[0] for row in rows}
        if len(keys) < len(rows):
            raise EngineUnavailable(f"column {self._settings.columns.id!r} is not unique", component=self.component)
        for row in rows:
            if not -ROUNDING <= row[2] <= 2.0 + ROUNDING:  # false for NaN too
                raise EngineUnavailable(
                    "the table holds a vector that has no direction (zero, or not finite)",
                    component=self.component,
                    hint="set it to NULL, or leave its row out with the source's filter",
                )
        ordered = sorted(rows, key=lambda row: (row[2], row[0]))
        return tuple(hit(row, rescale(1.0 - row[2], self._scale), self._settings, self.source_id) for row in ordered)


def _asking(vector: list[float], limit: int, day: date) -> dict[str, Any]:
    """What the statement is given besides the filter's values."""
    return {"vector": str(vector), "limit": limit, "as_of": day}


def translated(error: Exception, component: str) -> EngineError:
    """What an exception of asking means here. Its own text may quote the connection string or values: it is not told."""
    if isinstance(error, LATE):
        return EngineTimeout("the statement was cancelled, or no answer came in time", component=component)
    state = getattr(error, "sqlstate", None) or ""
    for beginning, reason in _REASONS:
        if state.startswith(beginning):
            return EngineUnavailable(f"{reason} ({state})", component=component)
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError, OSError)) and not state:
        return EngineUnavailable(
            "cannot be reached, refuses its user or password, or has lost the connection", component=component
        )
    kind = f"{type(error).__name__} {state}".strip()
    return EngineUnavailable(f"the database failed ({kind})", component=component)
