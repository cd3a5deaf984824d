"""A scope as SQL: a condition on table ``passages`` (alias ``p``) whose every value is bound.

A leaf is never NULL, so that ``NOT`` of a missing value is true, as in `core.filters.matches`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, LiteralString

from psycopg.sql import SQL, Composable, Composed, Placeholder

from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope
from wenyuan.core.hidden_documents import listed_documents
from wenyuan.core.model import Facet

_COLUMNS = {"source_id": SQL("p.source_id"), "language": SQL("p.language"), "collection": SQL("p.collection")}
MOST_HIDDEN = 200_000
"""Documents that a condition can leave out; their numbers go to the server with each question."""
_NO_TEXT = re.compile("[\ud800-\udfff]")


def plain(text: str) -> str:
    """A text as PostgreSQL can hold it, which has no NUL; the order of texts stays what it was."""
    return text.replace("\x01", "\x01\x02").replace("\x00", "\x01\x01") if "\x00" in text or "\x01" in text else text


def visible(scope: Scope) -> str:
    """What the row policy lets through: the ids of the scope's sources (they hold no comma)."""
    return ",".join(sorted(scope.sources))


class SqlCondition:
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
        if scope.hidden is not None:
            self.values["hidden"] = listed_documents(scope.hidden, "postgres", MOST_HIDDEN)
            sql = SQL("{} AND p.document_id <> ALL(%(hidden)s::bigint[])").format(sql)
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
