"""Asks a PostgreSQL table: sessions that may only read, a deadline that stops the statement, one place for errors."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import psycopg
from psycopg import Connection

from wenyuan.core.errors import ConfigError, EngineError, EngineUnavailable, msg
from wenyuan.core.ports import Deadline, OutsideHit
from wenyuan.core.scoring.formula import rescale
from wenyuan.core.scoring.vector_checks import checked_vectors
from wenyuan.engines.external.table_search import Search, described, hit
from wenyuan.engines.external.table_settings import AttachedSettings
from wenyuan.runtime.postgres import Meaning, allow, parsed, place, translated
from wenyuan.runtime.postgres_sessions import PostgresSessions

MOST_SESSIONS = 16
MOST_IDLE = 4
LIFETIME = 300.0
"""Seconds after which a session is made anew, and how the table looks, and how large it is, is found out anew."""
ROUNDING = 1e-4
"""How far beyond 0..2 a cosine distance may lie: half precision vectors are compared in single precision."""

_MEANINGS: tuple[Meaning, ...] = (
    ("42501", EngineUnavailable, "does not let its user read the table"),
    ("42", EngineUnavailable, "has another table than the settings describe"),
)


class PostgresTable:
    """One table with texts and vectors; made by `external.postgres.open_attached`. Thread-safe.

    Attributes:
        encoder: What made its vectors, as the settings say; `dimension` is theirs.
    """

    needs_vector = True

    def __init__(self, source_id: str, settings: AttachedSettings, dsn: str, scale: tuple[float, float]) -> None:
        self.source_id, self.encoder, self.dimension = source_id, settings.encoder, settings.dimension
        self._settings, self._scale = settings, scale
        refusal = ConfigError(
            msg("what {dsn_env} holds is no connection string", dsn_env=settings.dsn_env),
            component=f"source {source_id}",
        )
        params = parsed(dsn, refusal)
        self.component = f"source {source_id} at {place(params)}"
        self._sessions = PostgresSessions(
            params, self.component, {"default_transaction_read_only": "on"},
            most=MOST_SESSIONS, idle=MOST_IDLE, lifetime=LIFETIME, meaning=translate_error,
        )  # fmt: skip
        self._looked: tuple[Search, float] | None = None

    def check(self, deadline: Deadline) -> None:
        """Connect, validate the table, and run one search.

        Raises:
            ConfigError: it is not what the settings say.
            EngineUnavailable, EngineTimeout: the database cannot be asked.
        """
        unit = [1.0] + [0.0] * (self.dimension - 1)
        try:
            self._rows(_asking(unit, 1, date.today()), deadline)
        except EngineUnavailable as error:
            if isinstance(error.__cause__, (psycopg.ProgrammingError, psycopg.DataError, psycopg.NotSupportedError)):
                raise ConfigError(error.message, component=error.component) from error
            raise

    def ask(self, query: str, *, vector: Any, limit: int, as_of: date, deadline: Deadline) -> Sequence[OutsideHit]:
        """The nearest rows to ``vector``, best first; rows without text or vector are skipped. Query words are not
        used.

        Raises:
            EngineTimeout: no answer before the deadline, or within the source's own timeout.
            EngineUnavailable: the database refused or broke, the table has changed, or holds what is no vector.
            VectorRejected: ``vector`` is not one of this table's dimension.
        """
        deadline.check(self.component)
        unit = checked_vectors([vector], 1, self.dimension, self.component)[0].tolist()
        asking = _asking(unit, limit, as_of)
        own = deadline.within(self._settings.timeout)
        try:
            rows = self._rows(asking, own)
        except ConfigError as error:
            raise EngineUnavailable(error.message, component=self.component, hint=error.hint) from error
        return self._hits(rows)

    def close(self) -> None:
        """Close the sessions. Later questions fail."""
        self._sessions.close()

    def _rows(self, asking: Mapping[str, Any], deadline: Deadline) -> list[tuple[Any, ...]]:
        """The rows of the statement. The table is inspected again from time to time, and after every failure."""
        looked = self._looked
        known = looked[0] if looked is not None and time.monotonic() < looked[1] else None

        def work(connection: Connection[Any]) -> tuple[Search, list[tuple[Any, ...]]]:
            search = known
            if search is None:
                search = described(connection, self._settings, self.component)
                allow(connection, deadline, search.settings)
            return search, connection.execute(search.statement, {**search.bound, **asking}).fetchall()

        try:
            search, rows = self._sessions.run(work, deadline, settings=known.settings if known else None)
        except BaseException:
            self._looked = None
            raise
        if known is None:
            self._looked = search, time.monotonic() + LIFETIME
        return rows

    def _hits(self, rows: list[tuple[Any, ...]]) -> Sequence[OutsideHit]:
        keys = {row[0] for row in rows}
        if len(keys) < len(rows):
            raise EngineUnavailable(
                msg("column {id} is not unique", id=repr(self._settings.columns.id)), component=self.component
            )
        for row in rows:
            if not -ROUNDING <= row[2] <= 2.0 + ROUNDING:  # false for NaN too
                raise EngineUnavailable(
                    "the table holds a vector that has no direction (zero, or not finite)",
                    component=self.component,
                    hint="set it to NULL, or leave its row out with the source's filter",
                )
        ordered = sorted(rows, key=lambda row: (row[2], row[0]))
        return tuple(
            hit(row, float(rescale(1.0 - row[2], self._scale)), self._settings, self.source_id) for row in ordered
        )


def _asking(vector: list[float], limit: int, day: date) -> dict[str, Any]:
    """Parameters of the statement, besides those of the filter."""
    return {"vector": str(vector), "limit": limit, "as_of": day}


def translate_error(error: Exception, component: str) -> EngineError:
    """Translate an exception of a query."""
    return translated(error, component, _MEANINGS)
