"""Where the engine on PostgreSQL must refuse: at its start, when the server fails, and when time is up."""

from __future__ import annotations

import socket
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import postgres_server
import wenyuan
from engine_laws import SPEC, World, same, unit
from patience import in_time
from server_engine_laws import ServerEngineRefusals, six
from wenyuan.core.errors import (
    ConfigError,
    EngineError,
    EngineTimeout,
    EngineUnavailable,
    IndexCorrupt,
    IndexMismatch,
    KnowledgeError,
)
from wenyuan.core.ports import Deadline
from wenyuan.core.text.analysis import query_terms
from wenyuan.engines.postgres import engine as postgres_engine
from wenyuan.engines.postgres import tables
from wenyuan.engines.postgres.engine import PostgresEngine
from wenyuan.engines.postgres.sessions import translate_error
from wenyuan.runtime import postgres as runtime_postgres
from wenyuan.runtime import postgres_errors as postgres_words
from wenyuan.runtime import postgres_sessions


@pytest.fixture
def world(tmp_path: Path, database: str) -> Iterator[World]:
    with six(tmp_path, lambda _, c: PostgresEngine(database, SPEC, library_id=c.library_id(), sessions=4)) as made:
        yield made


def refused(dsn: str, kind: type[KnowledgeError], **changes: Any) -> KnowledgeError:
    """What opening raises; no secret is in it, or in what it was raised from."""
    with pytest.raises(kind) as caught:
        PostgresEngine(dsn, changes.pop("spec", SPEC), library_id="x" * 32, **changes)
    shown = "".join(traceback.format_exception(caught.value))
    for word in ("Falsch-4711", postgres_server.PASSWORD, "owner-0815"):
        assert word not in shown
    return caught.value


# --- at the start -------------------------------------------------------------------------------------------------


def test_no_connection_string() -> None:
    """A text that is none is named by its setting."""
    error = refused("postgresql://u:Falsch-4711@[", ConfigError)
    assert "postgres.dsn" in str(error)
    assert "WENYUAN_POSTGRES__DSN" in error.hint


def test_unset(tmp_path: Path) -> None:
    """The engine without a connection string is a wrong setting."""
    with pytest.raises(ConfigError, match=r"postgres\.dsn is not set"):
        wenyuan.open(tmp_path, create=True, engine="postgres", encoder={"kind": "hashing"})


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"password": "Falsch-4711"}, "refuses its user or password"),
        ({"dbname": "no_such_database"}, "has no such database"),
        ({"port": "1"}, "cannot be reached"),
        ({"host": "no-such-host.invalid"}, "cannot be reached"),
    ],
)
def test_wrong_address_or_password(database: str, wrong: dict[str, str], says: str) -> None:
    """What is wrong with the connection is said."""
    assert says in str(refused(make_conninfo(database, **wrong), EngineUnavailable))


def test_a_server_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening ends in time when nobody answers."""
    monkeypatch.setattr(postgres_engine, "_PATIENCE", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        refused(f"host=127.0.0.1 port={silent.getsockname()[1]} user=x connect_timeout=2", EngineTimeout)


def test_old_server(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old server is named with its version, and with the one that is needed."""
    monkeypatch.setattr(postgres_words, "OLDEST_SERVER", 99)
    error = refused(database, ConfigError)
    assert "at least 99 is needed" in str(error)
    assert "postgres.dsn" in error.hint


def test_old_extension(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old pgvector is named with its version, and with how to update it."""
    monkeypatch.setattr(tables, "OLDEST_VECTOR", (99, 1))
    error = refused(database, ConfigError)
    assert "at least 99.1" in str(error)
    assert "ALTER EXTENSION vector UPDATE" in error.hint


@pytest.fixture
def bare(dsn: str, database: str) -> Iterator[Callable[[str], str]]:
    """Makes a database without the extension, for the same user; dropped at the end."""
    user, made = conninfo_to_dict(database)["user"], []

    def make(options: str = "") -> str:
        name = f"{conninfo_to_dict(database)['dbname']}_{len(made)}"
        with psycopg.connect(dsn, autocommit=True) as server:
            server.execute(f"CREATE DATABASE {name} OWNER {user} {options}")
        made.append(name)
        return make_conninfo(database, dbname=name)

    yield make
    with psycopg.connect(dsn, autocommit=True) as server:
        for name in made:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_extension_that_is_not_there(bare: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pgvector on the server, the message says which package brings it."""
    monkeypatch.setattr(tables, "_AT_HAND", "SELECT 1 WHERE false")
    error = refused(bare(""), ConfigError)
    assert "no extension vector" in str(error)
    assert "pgvector" in error.hint


def test_extension_that_may_not_be_installed(dsn: str, bare: Callable[[str], str]) -> None:
    """Who may not install pgvector is told what to ask for; who may has it installed."""
    ours = bare("")
    assert "CREATE EXTENSION vector" in refused(ours, ConfigError).hint
    whole = make_conninfo(dsn, dbname=conninfo_to_dict(ours)["dbname"])
    PostgresEngine(whole, SPEC, library_id="y" * 32).close()
    PostgresEngine(ours, SPEC, library_id="x" * 32).close()


def test_keywords_need_no_extension(bare: Callable[[str], str]) -> None:
    """An index without an encoder is made in a database without pgvector, and refuses vectors."""
    engine = PostgresEngine(bare(""), replace(SPEC, encoder=None), library_id="x" * 32)
    with pytest.raises(EngineError, match="without an encoder"):
        engine.mean_cosine(unit(1))
    assert engine.status().vectors == 0
    engine.close()


def test_database_that_is_not_in_utf8(bare: Callable[[str], str]) -> None:
    """A database in another encoding cannot hold every text."""
    ours = bare("ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    assert "SQL_ASCII" in str(refused(ours, ConfigError, spec=replace(SPEC, encoder=None)))


def test_user_who_may_not_create(dsn: str, database: str) -> None:
    """Who may not make a schema is told the grant that is missing."""
    known = conninfo_to_dict(database)
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f"CREATE ROLE guest_{known['user']} LOGIN PASSWORD 'guest'")
        try:
            error = refused(make_conninfo(database, user=f"guest_{known['user']}", password="guest"), ConfigError)
        finally:
            server.execute(f"DROP ROLE guest_{known['user']}")
    assert "GRANT CREATE ON DATABASE" in error.hint


@pytest.mark.parametrize(
    "table",
    [
        "CREATE TABLE {}.other (n int)",
        "CREATE TABLE {}.state (n int)",
        "CREATE TABLE {}.state (library text, generation text)",
        "CREATE TABLE {0}.state (library text, generation text); INSERT INTO {0}.state VALUES ('"
        + "x" * 32
        + "', 'old')",
    ],
)
def test_schema_of_something_else(database: str, table: str) -> None:
    """A schema of the index's name that is not the index, or of another version, is left alone."""
    schema = tables.schema_name("strange", "x" * 32, SPEC)
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"CREATE SCHEMA {schema}")
        owner.execute(table.format(schema))
        try:
            error = refused(database, IndexMismatch, prefix="strange")
            assert schema in error.hint
        finally:
            owner.execute(f"DROP SCHEMA {schema} CASCADE")


def test_vectors_too_long(database: str) -> None:
    """More dimensions than pgvector takes are refused at the start."""
    assert SPEC.encoder is not None
    spec = replace(SPEC, encoder=replace(SPEC.encoder, dimension=16_001))
    assert "16000" in str(refused(database, ConfigError, spec=spec))


# --- while it runs ------------------------------------------------------------------------------------------------


def soon(seconds: float) -> Deadline:
    return Deadline(time.monotonic() + seconds, time.monotonic)


def waiting(superuser: str) -> int:
    with psycopg.connect(superuser) as session:
        found = session.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)' AND state = 'active'"
        )
        return int((found.fetchone() or (0,))[0])


@pytest.mark.parametrize("obeys", [True, False])
def test_deadline_reaches_the_server(
    world: World,
    superuser: str,
    obeys: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Work past its deadline ends here and on the server, also on one that knows no timeout of its own."""
    if not obeys:
        monkeypatch.setattr(postgres_sessions, "allow", lambda *_, **__: None)
    engine: Any = world.engine
    with in_time(), pytest.raises(EngineTimeout):
        engine._sessions.run(lambda c: c.execute("SELECT pg_sleep(30)"), soon(0.3))
    for _ in range(1_000):
        if not waiting(superuser):
            break
        time.sleep(0.02)
    assert not waiting(superuser)


class TestPostgresRefusals(ServerEngineRefusals):
    """Every refusal, on a real server."""

    busy = (4, "sessions", "postgres.sessions")


def test_sessions_that_were_ended(world: World, superuser: str) -> None:
    """A session that the server has ended is replaced, unseen by whoever asks."""
    expected = list(world.keyword("连接池"))
    with psycopg.connect(superuser, autocommit=True) as server:
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'wenyuan'")
    same(world.keyword("连接池"), expected)


@pytest.mark.parametrize(
    ("harm", "kind"),
    [
        ("DROP TABLE {0}.postings; DROP TABLE {0}.words", IndexCorrupt),
        ("DROP SCHEMA {0} CASCADE", IndexCorrupt),
        (
            "ALTER TABLE {0}.postings DROP COLUMN packed; ALTER TABLE {0}.words DROP COLUMN packed",
            IndexCorrupt,
        ),
        (
            "ALTER TABLE {0}.postings OWNER TO CURRENT_USER; ALTER TABLE {0}.words OWNER TO CURRENT_USER",
            EngineUnavailable,
        ),
    ],
)
def test_tables_that_are_gone(world: World, superuser: str, harm: str, kind: type[EngineError]) -> None:
    """A lost table, column or right is an error, never an empty answer: of rankings, and of the scores of passages."""
    engine: Any = world.engine
    with psycopg.connect(superuser, autocommit=True) as server:
        server.execute(harm.format(engine.schema))
    with pytest.raises(kind):
        world.keyword("连接池")
    with pytest.raises(kind):
        engine.keyword_scores(query_terms("连接池"), [1, 2], deadline=world.deadline())


# --- translation --------------------------------------------------------------------------------------------------


def test_every_exception_of_the_driver_is_meant() -> None:
    """Each of psycopg's exceptions is caught and becomes one of ours, without its text."""
    kinds = postgres_server.drivers_exceptions()
    assert len(kinds) > 200
    for kind in kinds:
        assert issubclass(kind, runtime_postgres.FAILURES)
        failure = translate_error(kind("postgresql://u:Geheim@h/db"), "engine postgres")
        assert isinstance(failure, EngineError)
        assert "Geheim" not in str(failure)


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (errors.QueryCanceled, EngineTimeout, "in time"),
        (errors.LockNotAvailable, EngineTimeout, "in time"),
        (errors.InvalidPassword, EngineUnavailable, "user or password .28P01."),
        (errors.TooManyConnections, EngineUnavailable, "no room"),
        (errors.DiskFull, EngineUnavailable, "no room"),
        (errors.CannotConnectNow, EngineUnavailable, "starting"),
        (errors.SerializationFailure, EngineUnavailable, "taken the transaction back"),
        (errors.UndefinedTable, IndexCorrupt, "other tables"),
        (errors.DataCorrupted, IndexCorrupt, "damaged data"),
        (errors.IndexCorrupted, IndexCorrupt, "damaged index"),
        (errors.InsufficientPrivilege, EngineUnavailable, "does not let"),
        (psycopg.OperationalError, EngineUnavailable, "cannot be reached"),
        (ConnectionResetError, EngineUnavailable, "cannot be reached"),
        (psycopg.Warning, EngineUnavailable, "failed .Warning."),
    ],
)
def test_the_message_says_what_to_look_at(error: type[Exception], kind: type[EngineError], says: str) -> None:
    """What is late is a timeout, what is lost or damaged is to be built again, the rest says what refused."""
    with pytest.raises(kind, match=says):
        raise translate_error(error("x"), "engine postgres")


def test_modes(world: World) -> None:
    """A session that reads cannot write, and the next one that writes can."""
    engine: Any = world.engine
    with pytest.raises(EngineUnavailable, match="ReadOnlySqlTransaction"):
        engine._sessions.run(lambda c: c.execute("UPDATE state SET graph = true"), soon(5))
    engine._sessions.run(
        lambda c: c.execute("UPDATE state SET graph = false"), soon(5), mode=postgres_sessions.Mode.WRITE
    )
