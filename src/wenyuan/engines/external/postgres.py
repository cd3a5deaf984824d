"""External sources of type ``vector_index`` in PostgreSQL: an existing table with texts and vectors, searched in
place.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal
from urllib.parse import quote

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Composed, Identifier, Placeholder
from pydantic import BaseModel, ConfigDict, Field

from wenyuan.core.addresses import with_fragment
from wenyuan.core.errors import ConfigError, EngineError, EngineUnavailable, msg
from wenyuan.core.model import EncoderFingerprint, Facet, Source
from wenyuan.core.ports import Deadline, OutsideHit
from wenyuan.core.scoring import checked_vectors, rescale
from wenyuan.engines.external import SourceSettings
from wenyuan.runtime import deadline_after
from wenyuan.runtime.postgres import Meaning, Sessions, allow, parsed, place, translated
from wenyuan.settings import ENV_ALLOWED, VariableName, declared, secret

Name = Annotated[str, Field(min_length=1, max_length=63)]


class AttachedColumns(BaseModel):
    """Column names of a table.

    Attributes:
        id: Must be unique.
        metadata: JSON, whose scalar members become facets.
        effective_from, effective_until: The first and the last day on which a row counts, ``date`` or ``timestamp``;
            NULL for no bound. Rows that do not count on the day of a question are no candidates.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    id: Name
    text: Name
    vector: Name
    title: Name | None = None
    uri: Name | None = None
    metadata: Name | None = None
    effective_from: Name | None = None
    effective_until: Name | None = None


class AttachedSettings(SourceSettings):
    """Settings of a source of type ``vector_index``.

    Attributes:
        dsn_env: The environment variable that holds the connection string.
        table: A table or view, ``schema.table``; without a schema it is in ``public``.
        distance: Only the cosine gives a score that can be compared between sources.
        encoder: What made the vectors: a model's id, or the key of an encoder's fingerprint.
        dimension: Of the vectors.
        filter: What rows must have, by column.
        scale: Cosines from unrelated to identical; without it the encoder's own.
    """

    dsn_env: VariableName
    table: Annotated[str, Field(pattern=r"^[^.\x00]{1,63}(\.[^.\x00]{1,63})?$")]
    columns: AttachedColumns
    distance: Literal["cosine"] = "cosine"
    encoder: Annotated[str, Field(min_length=1)]
    dimension: Annotated[int, Field(ge=1, le=16_000)]
    filter: Mapping[Name, str | int | float | bool] = Field(default_factory=dict)
    scale: Annotated[tuple[float, float], Field(strict=False)] | None = None

    @property
    def place(self) -> tuple[str, str]:
        """Schema and table."""
        schema, _, table = self.table.rpartition(".")
        return schema or "public", table


def open_attached(
    source: Source,
    *,
    scale: tuple[float, float] = (0.0, 1.0),
    encoder: EncoderFingerprint | None = None,
    lazy: bool = False,
    env_allowed: Sequence[str] = ENV_ALLOWED,
) -> PostgresTable:
    """Open a PostgreSQL table as a source, over a read-only connection.

    Args:
        source: Its registry entry.
        scale: Of the encoder whose vectors will be asked with; the source's own ``scale`` comes first.
        encoder: The encoder whose vectors will be asked with, to be compared with what the settings name.
        lazy: Connect and check at the first question, not now.
        env_allowed: Patterns of the names that ``dsn_env`` may have.

    Raises:
        ConfigError: a setting is wrong, another encoder made the vectors, table or columns are not there or not what
            the settings say.
        EngineUnavailable, EngineTimeout: the database cannot be asked (unless `lazy`).
    """
    component = f"source {source.source_id}"
    settings = declared(AttachedSettings, source)
    low, high = settings.scale or scale
    if not -1.0 <= low < high <= 1.0:
        raise ConfigError("scale must be two rising cosines", component=component)
    if encoder is not None:
        _same_encoder(settings, encoder, component)
    table = PostgresTable(source.source_id, settings, secret(settings.dsn_env, component, env_allowed), (low, high))
    if not lazy:
        try:
            table.check(deadline_after(settings.timeout))
        except BaseException:
            table.close()
            raise
    return table


def _same_encoder(settings: AttachedSettings, encoder: EncoderFingerprint, component: str) -> None:
    if settings.encoder not in (encoder.id, encoder.key) or settings.dimension != encoder.dimension:
        raise ConfigError(
            msg(
                "its vectors are of {encoder} ({dimension} dimensions), questions are embedded by {id} "
                "({dimension2}); they cannot be compared",
                encoder=settings.encoder,
                dimension=settings.dimension,
                id=encoder.id,
                dimension2=encoder.dimension,
            ),
            component=component,
            hint="make the library with the encoder that made the table's vectors",
        )


# The one statement that searches a table, and what must be true of the table for it: names are looked up, then quoted.


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


# Asks a PostgreSQL table: sessions that may only read, a deadline that stops the statement, one place for errors.


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
        self._sessions = Sessions(
            params, self.component, {"default_transaction_read_only": "on"},
            most=MOST_SESSIONS, idle=MOST_IDLE, lifetime=LIFETIME, meaning=meant,
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


def meant(error: Exception, component: str) -> EngineError:
    """Translate an exception of a query."""
    return translated(error, component, _MEANINGS)
