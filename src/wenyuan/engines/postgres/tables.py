"""The tables of one index: a schema of its own for each library and generation, made once, checked at every start.

::

    state       one row: whose index this is, the last change it holds with what tells that change from another
                catalog's, and sums over all rows
    passages    id, source, document, language, collection, facets, validity: what a scope asks about; and its slot, by
                which postings name it. Its row policy lets nothing through but what ``wenyuan.sources`` names: a query
                that forgets its scope finds nothing
    words       by passage: ids of its terms, with how often each occurs, as `packed` reads them fast
    vocabulary  term → id, and how many passages hold it
    postings    by term and segment: the slots of the passages that hold it (see `engines.postgres.search`)
    segments    of the postings: how many passages each was written with, and from which slot to which
    dead        words of removed passages that postings still name
    vectors     by passage: pgvector's ``vector``, with an HNSW index once there are enough rows
"""

from __future__ import annotations

import hashlib
from typing import Any

from psycopg import Connection, errors
from psycopg.sql import SQL, Identifier, Literal

from wenyuan.core.errors import ConfigError, IndexMismatch, msg
from wenyuan.core.ports import IndexSpec
from wenyuan.runtime.postgres_errors import check_server

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
