"""Sessions with the server, and scopes as SQL conditions with bound values."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, LiteralString

from psycopg.sql import SQL, Composable, Composed, Placeholder

from wenyuan.core.errors import ConfigError, EngineError, EngineUnavailable, IndexCorrupt, InvalidRequest
from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope
from wenyuan.core.messages import msg
from wenyuan.core.model import Facet
from wenyuan.runtime.postgres import Meaning, Sessions, parsed, place, translated

# Sessions with the server of the index.


LIFETIME = 600.0
"""Seconds after which a session is made anew."""

_MEANINGS: tuple[Meaning, ...] = (
    ("42501", EngineUnavailable, "does not let its user do what an index needs"),
    ("3F", IndexCorrupt, "has lost the index's schema"),
    ("42", IndexCorrupt, "holds other tables than the index's"),
    ("XX001", IndexCorrupt, "reports damaged data"),
    ("XX002", IndexCorrupt, "reports a damaged index"),
    ("22", IndexCorrupt, "holds values that cannot be compared"),
    ("40", EngineUnavailable, "has taken the transaction back, because of another one"),
)
_LOOK = "look at postgres.dsn; where it is not set, catalog.dsn counts"
_REBUILD = "drop the index's schema; it is built again from the catalog"


def open_sessions(dsn: str, most: int) -> Sessions:
    """Sessions with the server that a connection string names, which no error shows."""
    refusal = ConfigError(
        "postgres.dsn is no connection string",
        component="engine postgres",
        hint="export WENYUAN_POSTGRES__DSN='postgresql://user:password@host:5432/database'",
    )
    params = parsed(dsn, refusal)
    component = msg("engine postgres at {params}", params=place(params))
    return Sessions(
        params, component, {}, most=most, idle=most, lifetime=LIFETIME, meaning=meant, busy="postgres.sessions"
    )


def meant(error: Exception, component: str) -> EngineError:
    """What an exception of the driver means here."""
    return translated(error, component, _MEANINGS, look=_LOOK, rebuild=_REBUILD)


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
        raise InvalidRequest(msg("filter on {field}: half of a surrogate pair is no text", field=repr(field)))
    return plain(value)
