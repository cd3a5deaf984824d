"""The one statement that searches a table, and what must be true of the table for it: names are looked up, then quoted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import quote

from psycopg import Connection
from psycopg.sql import SQL, Composed, Identifier, Placeholder

from wenyuan.core.addresses import with_fragment
from wenyuan.core.errors import ConfigError, msg
from wenyuan.core.model import Facet
from wenyuan.core.ports import OutsideHit
from wenyuan.engines.external.table_settings import AttachedSettings

EXACT_ROWS = 50_000
"""Up to so many rows, as PostgreSQL estimates them, every one is compared: an HNSW index loses rows under a filter."""
WIDTH = 200
"""``hnsw.ef_search``: candidates of an index scan."""

_COLUMNS = """
SELECT a.attname, t.typname, tn.nspname, a.atttypmod
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
JOIN pg_catalog.pg_namespace tn ON tn.oid = t.typnamespace
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
_DAYS = ("date", "timestamp", "timestamptz")
_VERSION = "SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'vector'"


@dataclass(frozen=True, slots=True)
class Search:
    """The prepared search of a table.

    Attributes:
        statement: Rows by rising cosine distance; parameters ``vector``, ``limit``, ``as_of``, and those of `bound`.
        bound: The filter's values.
        settings: PostgreSQL's own settings for it.
    """

    statement: Composed
    bound: Mapping[str, Facet]
    settings: Mapping[str, str]


def described(connection: Connection[Any], settings: AttachedSettings, component: str) -> Search:
    """Inspect the table that the settings name, and prepare its search.

    Raises:
        ConfigError: table or columns are not there, or not of the type or dimension that the settings say.
        psycopg.Error: the database does not answer.
    """
    schema, table = settings.place
    found = {name: (kind, space, size) for name, kind, space, size in connection.execute(_COLUMNS, (schema, table))}
    if not found:
        raise ConfigError(
            msg(
                "there is no table {table} in schema {schema} that its user may see",
                table=repr(table),
                schema=repr(schema),
            ),
            component=component,
        )
    named = [name for name in settings.columns.model_dump().values() if name is not None]
    if missing := [name for name in (*named, *settings.filter) if name not in found]:
        raise ConfigError(
            msg(
                "{table} has no column {repr}; it has {found}",
                table=settings.table,
                repr=", ".join(map(repr, missing)),
                found=", ".join(sorted(found)),
            ),
            component=component,
        )
    kind, space, size = found[settings.columns.vector]
    _check_vector(settings, kind, size, component)
    if settings.columns.metadata and found[settings.columns.metadata][0] not in ("json", "jsonb"):
        raise ConfigError(
            msg("column {metadata} is no json", metadata=repr(settings.columns.metadata)), component=component
        )
    for name in (settings.columns.effective_from, settings.columns.effective_until):
        if name is not None and found[name][0] not in _DAYS:
            raise ConfigError(
                msg("column {name} is {found}, no date or timestamp", name=repr(name), found=found[name][0]),
                component=component,
            )
    rows = SQL("FROM {} WHERE {}").format(_name(schema, table), _condition(settings))
    bound = {f"f{at}": value for at, value in enumerate(settings.filter.values())}
    return Search(_statement(settings, rows, space, kind), bound, _tuned(connection, rows, bound))


def _check_vector(settings: AttachedSettings, kind: str, size: int, component: str) -> None:
    column = settings.columns.vector
    if kind not in ("vector", "halfvec"):
        raise ConfigError(
            msg("column {column} is {kind}, not vector or halfvec", column=repr(column), kind=kind),
            component=component,
        )
    if size not in (-1, settings.dimension):  # -1: declared without a dimension
        raise ConfigError(
            msg(
                "column {column} holds vectors of {size} dimensions, the settings say {dimension}",
                column=repr(column),
                size=size,
                dimension=settings.dimension,
            ),
            component=component,
        )


def _condition(settings: AttachedSettings) -> Composed:
    columns = settings.columns
    equal = [SQL("{} = {}").format(_name(name), Placeholder(f"f{at}")) for at, name in enumerate(settings.filter)]
    there = [SQL("{} IS NOT NULL").format(_name(name)) for name in (columns.id, columns.text, columns.vector)]
    return SQL(" AND ").join([*there, *equal, *_in_force(settings)])


def _in_force(settings: AttachedSettings) -> list[Composed]:
    """The validity condition inside the query, so that rows out of force do not take up places of the limit."""
    test = SQL("({name} IS NULL OR {name}::pg_catalog.date OPERATOR(pg_catalog.{sign}) {day}::pg_catalog.date)")
    bounds = ((settings.columns.effective_from, "<="), (settings.columns.effective_until, ">="))
    return [
        test.format(name=_name(column), sign=SQL(sign), day=Placeholder("as_of"))
        for column, sign in bounds
        if column is not None
    ]


def _statement(settings: AttachedSettings, rows: Composed, space: str, kind: str) -> Composed:
    """The search statement. The extension's type and operator are schema-qualified, since its schema need not be on
    the search path.
    """
    columns = settings.columns
    text = SQL("{}::pg_catalog.text")
    day = SQL("CASE WHEN pg_catalog.isfinite({0}) THEN {0}::pg_catalog.date END")  # infinity is no bound
    days = [
        SQL("NULL") if name is None else day.format(_name(name))
        for name in (columns.effective_from, columns.effective_until)
    ]
    optional = [SQL("NULL") if name is None else text.format(_name(name)) for name in (columns.title, columns.uri)]
    return SQL(
        "SELECT {id}, {text}, {vector} OPERATOR({space}.<=>) {query}::{space}.{kind}, {title}, {uri}, {metadata}, "
        "{begin}, {end} "
        "{rows} ORDER BY 3 LIMIT {limit}"
    ).format(
        id=text.format(_name(columns.id)),
        text=text.format(_name(columns.text)),
        vector=_name(columns.vector),
        space=_name(space),
        kind=_name(kind),
        query=Placeholder("vector"),
        title=optional[0],
        uri=optional[1],
        metadata=SQL("NULL") if columns.metadata is None else _name(columns.metadata),
        begin=days[0],
        end=days[1],
        rows=rows,
        limit=Placeholder("limit"),
    )


def _tuned(connection: Connection[Any], rows: Composed, bound: Mapping[str, Facet]) -> Mapping[str, str]:
    """Session settings: an exact scan where rows are few, or where pgvector (< 0.8) cannot scan iteratively."""
    explain = SQL("EXPLAIN (FORMAT JSON) SELECT 1 {}").format(rows)
    plan = connection.execute(explain, {**bound, "as_of": date.today()}).fetchone()
    version = connection.execute(_VERSION).fetchone()
    many = plan is not None and plan[0][0]["Plan"]["Plan Rows"] > EXACT_ROWS
    if not many or version is None or _numbers(version[0]) < (0, 8):
        return {"enable_indexscan": "off"}  # vector indexes know no other scan; those of the filter do
    return {
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.ef_search": str(WIDTH),
        "ivfflat.iterative_scan": "relaxed_order",
        "ivfflat.probes": "32",
    }


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _name(*parts: str) -> Identifier:
    """A quoted identifier, with per cent signs doubled for the driver."""
    return Identifier(*(part.replace("%", "%%") for part in parts))


def hit(row: tuple[Any, ...], score: float, settings: AttachedSettings, source_id: str) -> OutsideHit:
    """A result row as a hit."""
    key, text, _, title, uri, metadata, begin, end = row
    place = "/".join(quote(name, safe="") for name in settings.place)
    members = metadata if isinstance(metadata, dict) else {}
    return OutsideHit(
        key=key,
        uri=uri or with_fragment(f"source:{source_id}/{place}", key),
        content=text,
        score=score,
        title=title or "",
        facets={name: value for name, value in members.items() if isinstance(value, (str, int, float, bool))},
        effective_from=begin,
        effective_until=end,
    )
