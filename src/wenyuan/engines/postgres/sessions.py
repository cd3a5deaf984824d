"""Sessions with the server, and scopes as SQL conditions with bound values."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg import Connection, IsolationLevel
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Composable, Composed, Placeholder

from wenyuan.core.errors import (
    ConfigError,
    EngineError,
    EngineTimeout,
    EngineUnavailable,
    IndexCorrupt,
    InvalidRequest,
)
from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope
from wenyuan.core.model import Facet
from wenyuan.core.ports import Deadline
from wenyuan.runtime import Errands, TooLate
from wenyuan.runtime.postgres import FAILURES, LATE, Hold, allow, leave, lost, patient, place
from wenyuan.runtime.postgres_errors import REFUSED, said_at_login

# Sessions with the server: at most so many, each checked before it is used again, none longer than its deadline.
#
# The only place where psycopg's exceptions become ours.


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


# A scope as SQL: a condition on table ``passages`` (alias ``p``) whose every value is bound.
#
# A leaf is never NULL, so that ``NOT`` of a missing value is true, as in `core.filters.matches`.


_COLUMNS = {"source_id": SQL("p.source_id"), "language": SQL("p.language"), "collection": SQL("p.collection")}
_NO_TEXT = re.compile("[\ud800-\udfff]")


def plain(text: str) -> str:
    """A text as PostgreSQL can hold it, which has no NUL; the order of texts stays what it was."""
    return text.replace("\x01", "\x01\x02").replace("\x00", "\x01\x01") if "\x00" in text or "\x01" in text else text


def visible(scope: Scope) -> str:
    """What the row policy lets through: the ids of the scope's sources (they hold no comma)."""
    return ",".join(sorted(scope.sources))


class Condition:
    """A condition with its values.

    Attributes:
        sql: For a WHERE clause.
        values: By the names of its placeholders.
    """

    def __init__(self, scope: Scope) -> None:
        self.values: dict[str, Any] = {"sources": sorted(scope.sources), "day": scope.day}
        sql: Composable = SQL(
            "p.source_id = ANY(%(sources)s::text[]) AND p.valid_from <= %(day)s AND p.valid_until >= %(day)s"
        )
        if scope.filter is not None:
            sql = SQL("{} AND {}").format(sql, self._test(scope.filter))
        self.sql: Composable = sql

    def _bind(self, value: Any) -> Placeholder:
        name = f"v{len(self.values)}"
        self.values[name] = value
        return Placeholder(name)

    def _test(self, test: Filter) -> Composed:
        match test:
            case And():
                return SQL("({})").format(SQL(" AND ").join([SQL("TRUE"), *map(self._test, test.parts)]))
            case Or():
                return SQL("({})").format(SQL(" OR ").join([SQL("FALSE"), *map(self._test, test.parts)]))
            case Not():
                return SQL("(NOT {})").format(self._test(test.part))
            case In():
                return SQL("({} IS TRUE)").format(self._in(test.field, test.values))
            case Range():
                return SQL("({} IS TRUE)").format(self._range(test))

    def _in(self, field: str, values: Sequence[Facet]) -> Composable:
        texts = [_text(field, v) for v in values if isinstance(v, str)]
        if field in _COLUMNS:
            return SQL("{} = ANY({}::text[])").format(_COLUMNS[field], self._bind(texts))
        numbers = [v for v in values if not isinstance(v, (str, bool))]
        if field == "document_id":
            return SQL("p.document_id = ANY({}::bigint[])").format(
                self._bind([int(n) for n in numbers if n == int(n)])
            )
        flags = [v for v in values if isinstance(v, bool)]
        choices = [json.dumps(value, ensure_ascii=False) for value in (*texts, *numbers, *flags)]
        return SQL("{} = ANY({}::text[]::jsonb[])").format(self._facet(field), self._bind(choices))

    def _range(self, test: Range) -> Composable:
        bounds: list[tuple[float | str, LiteralString]] = [
            (b, op) for b, op in ((test.ge, ">="), (test.le, "<=")) if b is not None
        ]
        kinds = {isinstance(bound, str) for bound, _ in bounds}
        if len(kinds) > 1:
            return SQL("FALSE")  # no value is a text and a number
        texts = kinds == {True}
        if test.field in _COLUMNS or test.field == "document_id":
            if texts != (test.field in _COLUMNS):
                return SQL("FALSE")
            value: Composable = _COLUMNS.get(test.field, SQL("p.document_id::numeric"))
            return self._between(value, bounds, test.field)
        facet = self._facet(test.field)
        if texts:
            value = SQL("({} #>> '{{}}') COLLATE \"C\"").format(facet)
            return SQL("CASE jsonb_typeof({}) WHEN 'string' THEN {} END").format(
                facet, self._between(value, bounds, test.field)
            )
        value = SQL("({})::numeric").format(facet)
        return SQL("CASE jsonb_typeof({}) WHEN 'number' THEN {} END").format(
            facet, self._between(value, bounds, test.field)
        )

    def _between(
        self, value: Composable, bounds: Sequence[tuple[float | str, LiteralString]], field: str
    ) -> Composable:
        return SQL(" AND ").join(
            [
                SQL("{} {} {}").format(
                    value,
                    SQL(operator),
                    SQL("{}::text").format(self._bind(_text(field, bound)))
                    if isinstance(bound, str)
                    else SQL("{}::numeric").format(self._bind(repr(bound))),
                )
                for bound, operator in bounds
            ]
        )

    def _facet(self, field: str) -> Composable:
        return SQL("(p.facets -> {}::text)").format(self._bind(field.removeprefix("metadata.")))


def _text(field: str, value: str) -> str:
    if _NO_TEXT.search(value):
        raise InvalidRequest(f"filter on {field!r}: half of a surrogate pair is no text")
    return plain(value)
