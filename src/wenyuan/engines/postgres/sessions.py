"""Sessions with the server, scopes as SQL conditions with bound values, and the tables of an index."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

import numpy as np
from psycopg import Connection, errors
from psycopg.sql import SQL, Composable, Composed, Identifier, Literal, Placeholder

from wenyuan.core.errors import (
    ConfigError,
    EngineError,
    EngineUnavailable,
    IndexCorrupt,
    IndexMismatch,
    InvalidRequest,
    msg,
)
from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope
from wenyuan.core.model import Facet
from wenyuan.core.ports import IndexSpec
from wenyuan.runtime.postgres import Meaning, Sessions, parsed, place, translated
from wenyuan.runtime.postgres_errors import check_server

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


# The tables of one index: a schema of its own for each library and generation, made once, checked at every start.
#
# ::
#
#     state       one row: whose index this is, the last change it holds with what tells that change from another
#                 catalog's, and sums over all rows
#     passages    id, source, document, language, collection, facets, validity: what a scope asks about; and its slot, by
#                 which postings name it. Its row policy lets nothing through but what ``wenyuan.sources`` names: a query
#                 that forgets its scope finds nothing
#     words       by passage: ids of its terms, with how often each occurs, as `packed` reads them fast
#     vocabulary  term → id, and how many passages hold it
#     postings    by term and segment: the slots of the passages that hold it (see `engines.postgres.search`)
#     segments    of the postings: how many passages each was written with, and from which slot to which
#     dead        words of removed passages that postings still name
#     vectors     by passage: pgvector's ``vector``, with an HNSW index once there are enough rows

FORMAT = "postgres/4"
"""Changes with the tables below; another format is another generation."""
OLDEST_VECTOR = (0, 8)
MOST_DIMENSIONS = 16_000  # of pgvector's type
LOCK = "SELECT pg_catalog.pg_{kind}advisory_xact_lock(pg_catalog.hashtextextended(%(schema)s, 0))"

_STATE = "SELECT library, generation FROM {}.state"
_TABLES = """
CREATE SCHEMA {schema};
SET LOCAL search_path TO {schema}, {space};
CREATE TABLE state (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    library text NOT NULL,
    generation text NOT NULL,
    watermark bigint NOT NULL DEFAULT 0,
    stamp text NOT NULL DEFAULT '',
    passages bigint NOT NULL DEFAULT 0,
    length bigint NOT NULL DEFAULT 0,
    vectors bigint NOT NULL DEFAULT 0,
    chinese bigint NOT NULL DEFAULT 0,
    total bytea NOT NULL DEFAULT '',
    slots int NOT NULL DEFAULT 0,
    graph boolean NOT NULL DEFAULT false
);
INSERT INTO state (library, generation) VALUES ({library}, {generation});
CREATE TABLE passages (
    passage_id bigint PRIMARY KEY,
    source_id text COLLATE "C" NOT NULL,
    document_id bigint NOT NULL,
    language text COLLATE "C" NOT NULL,
    collection text COLLATE "C" NOT NULL,
    facets jsonb NOT NULL,
    valid_from int NOT NULL,
    valid_until int NOT NULL,
    slot int NOT NULL UNIQUE
);
CREATE INDEX passages_source ON passages (source_id);
CREATE INDEX passages_document ON passages (document_id);
ALTER TABLE passages ENABLE ROW LEVEL SECURITY;
ALTER TABLE passages FORCE ROW LEVEL SECURITY;
CREATE POLICY scope ON passages USING (
    (SELECT pg_catalog.current_setting('wenyuan.sources', true) = '*')
    OR source_id = ANY ((SELECT pg_catalog.string_to_array(
        pg_catalog.current_setting('wenyuan.sources', true), ','))::text[])
);
CREATE TABLE vocabulary (
    id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    term text COLLATE "C" NOT NULL UNIQUE,
    passages int NOT NULL
) WITH (fillfactor = 70);
CREATE TABLE words (
    passage_id bigint PRIMARY KEY,
    length int NOT NULL,
    packed bytea NOT NULL
) WITH (toast_tuple_target = 8160);
CREATE TABLE segments (
    segment int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    passages int NOT NULL,
    first int NOT NULL,
    last int NOT NULL
);
CREATE TABLE postings (
    term int NOT NULL,
    segment int NOT NULL,
    packed bytea STORAGE EXTERNAL NOT NULL,
    PRIMARY KEY (term, segment)
);
CREATE INDEX postings_segment ON postings (segment);
CREATE TABLE dead (slot int PRIMARY KEY, packed bytea NOT NULL);
"""
_VECTORS = (
    "CREATE TABLE vectors (passage_id bigint PRIMARY KEY, vector {space}.vector({dimension}) NOT NULL) "
    "WITH (toast_tuple_target = 8160)"
)
_FIND_VECTOR = """
SELECT e.extversion, n.nspname FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'vector'
"""
_AT_HAND = "SELECT 1 FROM pg_catalog.pg_available_extensions WHERE name = 'vector'"


def _generation(spec: IndexSpec) -> str:
    return f"{spec.key}/{FORMAT}"


def schema_name(prefix: str, library_id: str, spec: IndexSpec) -> str:
    """``prefix_`` and 16 hexadecimal digits: each library, analyser, encoder and format has its own."""
    own = hashlib.sha256(f"{library_id}/{_generation(spec)}".encode()).hexdigest()
    return f"{prefix}_{own[:16]}"


def make_tables(
    connection: Connection[Any], schema: str, library_id: str, spec: IndexSpec, space: str, component: str
) -> None:
    """Make the tables, unless they are there; check that they are ours.

    Raises:
        ConfigError: the server is too old, not in UTF-8, or its user may not make a schema.
        IndexMismatch: there is a schema of that name that is not this library's index.
    """
    check_server(connection.info, component=component, setting="postgres.dsn")
    if not _exists(connection, schema):
        # One of the processes that find none creates it. An existing one needs no lock, since filling it may take
        # minutes.
        connection.execute(LOCK.format(kind=""), {"schema": schema})
    if not _exists(connection, schema):
        try:
            _create(connection, schema, library_id, spec, space)
        except errors.InsufficientPrivilege as error:
            raise ConfigError(
                msg("its user may not make schema {schema}, which is to hold the index", schema=repr(schema)),
                component=component,
                hint="GRANT CREATE ON DATABASE … TO …, by the database's owner",
            ) from error
        return
    try:
        found = connection.execute(SQL(_STATE).format(Identifier(schema))).fetchall()
    except (errors.UndefinedTable, errors.UndefinedColumn) as error:
        raise _foreign(schema, component) from error
    if found != [(library_id, _generation(spec))]:
        raise _foreign(schema, component)


def _exists(connection: Connection[Any], schema: str) -> bool:
    sought = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s"
    return connection.execute(sought, (schema,)).fetchone() is not None


def _foreign(schema: str, component: str) -> IndexMismatch:
    return IndexMismatch(
        msg("schema {schema} is not this library's index, or is one of another version", schema=repr(schema)),
        component=component,
        hint=msg(
            "choose another postgres.schema_prefix, or DROP SCHEMA {schema} CASCADE if nobody needs it", schema=schema
        ),
    )


def _create(connection: Connection[Any], schema: str, library_id: str, spec: IndexSpec, space: str) -> None:
    named = {
        "schema": Identifier(schema),
        "space": Identifier(space),
        "library": Literal(library_id),
        "generation": Literal(_generation(spec)),
    }
    connection.execute(SQL(_TABLES).format(**named))
    if spec.encoder is not None:
        connection.execute(SQL(_VECTORS).format(space=Identifier(space), dimension=Literal(spec.encoder.dimension)))


def find_vector(connection: Connection[Any], dimension: int, component: str) -> str:
    """The schema that contains pgvector; the extension is created if it is available and the user may.

    Raises:
        ConfigError: it is missing, too old, or the vectors are too long for it.
    """
    if dimension > MOST_DIMENSIONS:
        raise ConfigError(
            msg(
                "vectors have {dimension} dimensions; pgvector takes {most_dimensions}",
                dimension=dimension,
                most_dimensions=MOST_DIMENSIONS,
            ),
            component=component,
            hint="choose an encoder of fewer dimensions, or another engine",
        )
    found = connection.execute(_FIND_VECTOR).fetchone()
    if found is None:
        _install_vector(connection, component)
        found = connection.execute(_FIND_VECTOR).fetchone()
    assert found is not None
    version, space = str(found[0]), str(found[1])
    if tuple(int(part) for part in version.split(".") if part.isdigit()) < OLDEST_VECTOR:
        raise ConfigError(
            msg(
                "the extension vector is {version}; at least {str} is needed",
                version=version,
                str=".".join(map(str, OLDEST_VECTOR)),
            ),
            component=component,
            hint="ALTER EXTENSION vector UPDATE, after installing a newer package of pgvector",
        )
    return space


def _install_vector(connection: Connection[Any], component: str) -> None:
    if connection.execute(_AT_HAND).fetchone() is None:
        raise ConfigError(
            "the server has no extension vector (pgvector), which holds and compares vectors",
            component=component,
            hint="install it on the server, e.g. apt install postgresql-17-pgvector, then CREATE EXTENSION vector",
        )
    try:
        with connection.transaction():  # another process may be installing it, too
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except errors.UniqueViolation:
        return
    except errors.InsufficientPrivilege as error:
        raise ConfigError(
            "the extension vector (pgvector) is not installed in the database, and its user may not install it",
            component=component,
            hint="CREATE EXTENSION vector, by the database's owner or a superuser",
        ) from error


# Terms and vectors as bytes, to and from numpy: no number goes through text.


_VECTOR_HEAD = 4
_MOST_COUNT = 0xFFFF


def packed_terms(counts: Mapping[int, int]) -> bytes:
    """A passage's terms: their ids, four bytes each, then how often each occurs, two bytes each; little-endian."""
    often = np.minimum(list(counts.values()), _MOST_COUNT)
    return np.array(list(counts), dtype="<u4").tobytes() + often.astype("<u2").tobytes()


def unpacked_terms(passages: Sequence[bytes]) -> tuple[Any, Any, Any]:
    """All ids and all counts of some passages, (n,) each, and how many each passage has, (len(passages),)."""
    sizes = [len(packed) // 6 for packed in passages]
    ids = b"".join([packed[: 4 * size] for packed, size in zip(passages, sizes, strict=True)])
    counts = b"".join([packed[4 * size :] for packed, size in zip(passages, sizes, strict=True)])
    return np.frombuffer(ids, dtype="<u4"), np.frombuffer(counts, dtype="<u2"), np.array(sizes, dtype=np.int64)


def packed_vector(vector: Any) -> bytes:
    """(dim,) float32 as ``vector_recv`` takes it: the dimension, two bytes for later use, big-endian numbers."""
    return struct.pack(">HH", len(vector), 0) + np.asarray(vector, dtype=">f4").tobytes()


def unpacked_vector(raw: bytes) -> Any:
    """What ``vector_send`` gives, as (dim,) float64."""
    return np.frombuffer(raw, dtype=">f4", offset=_VECTOR_HEAD).astype(np.float64)
