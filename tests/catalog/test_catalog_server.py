"""A catalog on PostgreSQL: several processes that write at once, what the server may say, and what it may do to us."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import postgres_server
import wenyuan
from catalog_parts import again, dropped, dsn_of, new_catalog, on_server, put, script, soon, texts
from patience import HANGS, in_time
from wenyuan.catalog import Catalog, postgres
from wenyuan.catalog import sql as connect
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.catalog.postgres import Server
from wenyuan.catalog.tasks import TaskLedger
from wenyuan.core.errors import (
    CatalogBusy,
    CatalogError,
    CatalogUnavailable,
    CatalogVersion,
    ConfigError,
    EngineTimeout,
    VectorsGone,
)
from wenyuan.core.model import Source
from wenyuan.core.ports import until
from wenyuan.runtime import postgres_errors as postgres_words

pytestmark = pytest.mark.integration

PARTS = Path(__file__).parents[1] / "support"


@pytest.fixture
def place(database: str, tmp_path: Path) -> Iterator[Server]:
    made = on_server(database, tmp_path / "library")
    yield made
    dropped(made)


@pytest.fixture
def other(catalog: Catalog) -> Iterator[Catalog]:
    """The same catalog, as another server has it open."""
    opened = Catalog.open(again(catalog.database.place))
    yield opened
    opened.close()


def sql(place: Server, *statements: str) -> list[Any]:
    """The database without our code; the rows of the last statement."""
    import psycopg

    with psycopg.connect(dsn_of(place), autocommit=True) as connection:
        connection.execute(f"SET search_path TO {place.schema}")
        for statement in statements:
            done = connection.execute(statement)
        return done.fetchall() if done.description else []


# -- several that write ---------------------------------------------------------------------------------------

WRITE = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from engine_laws import document
from wenyuan.catalog import Catalog
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.catalog.postgres import Server
place = Server(Path(sys.argv[2]) / sys.argv[5], sys.argv[3], schema=sys.argv[4])
catalog, audit = Catalog.open(place), AuditLog(place.folder, place=place.audit(), flush_after=0.001)
for number in range(int(sys.argv[6])):
    made, vectors = document(number, source=sys.argv[5])
    print(catalog.commit_documents([made], vectors), flush=True)
    audit.append({"kind": "retrieval", "principal": sys.argv[5], "n": number})
audit.close()
catalog.close()
"""


def writers(place: Server, count: int) -> list[list[int]]:
    """Two processes that write at once; the numbers of their commits."""
    rest = [place.folder, dsn_of(place), place.schema]
    children = [script(WRITE, PARTS, *rest, name, count) for name in ("s1", "s2")]
    said = [[int(line) for line in child.communicate(timeout=120)[0].split()] for child in children]
    assert [child.returncode for child in children] == [0, 0]
    return said


def test_two_processes_write(catalog: Catalog, place: Server) -> None:
    """Two processes that write at once lose nothing; changes are numbered without a gap, in the order of commits.

    The records that they add are one chain, which each of their heads is on.
    """
    begun = catalog.seq()
    said = writers(place, 30)
    assert sorted(number for numbers in said for number in numbers) == list(range(begun + 1, begun + 61))
    assert all(numbers == sorted(numbers) for numbers in said)
    assert catalog.seq() == begun + 60
    for name in ("s1", "s2"):
        assert set(catalog.live_documents(name)) == {f"urn:t:{name}:{n}" for n in range(30)}
    whole = sql(place, "SELECT seq, xmin::text::bigint FROM commits ORDER BY seq")
    assert [xmin for _, xmin in whole] == sorted(xmin for _, xmin in whole)
    for folder in (place.folder / "s1", place.folder / "s2", place.folder / "joining"):
        folder.mkdir(exist_ok=True)
        audit = AuditLog(folder, place=place.audit())
        found = audit.verify()
        assert (found.ok, found.records, found.first_fault) == (True, 60, None)
        audit.close()
    people = sql(place, "SELECT principal, count(*) FROM audit GROUP BY 1 ORDER BY 1")
    assert people == [("s1", 30), ("s2", 30)]


def test_a_reader_sees_no_half(catalog: Catalog, other: Catalog) -> None:
    """While one writes, what another reads of a commit is all of it or nothing, and it never goes back."""
    stop, seen = threading.Event(), list[tuple[int, int]]()

    def look() -> None:
        while not stop.is_set():
            at = other.seq()
            seen.append((at, len(list(other.changes(0, at)))))

    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        for n in range(25):
            put(catalog, *range(4 * n, 4 * n + 4))
        stop.set()
        looking.result()
    assert seen == sorted(seen)
    assert all(count % 4 == 0 for _, count in seen)


def test_the_writer_lock_names_its_owner(catalog: Catalog, other: Catalog) -> None:
    """One writes at a time; who waits too long hears which process does, and a process that ends holds nothing."""
    with catalog.writing(), catalog.writing():
        put(catalog, 1)
        with pytest.raises(CatalogBusy, match="written by process"), other.writing(wait=0.2):
            pass
        assert other.counts()["documents"] == 1
    with other.writing(wait=0.2):
        pass


def test_sources_are_taken_in_side_by_side(catalog: Catalog, other: Catalog) -> None:
    """Two sources are taken in at once; the same one is not, nor removed meanwhile."""
    with catalog.taking_in("s1"):
        with other.taking_in("s2", wait=0.2):
            put(other, 1, source="s2")
        with pytest.raises(CatalogBusy, match="'s1' is being taken in by process"), other.taking_in("s1", wait=0.1):
            pass
    with other.taking_in("s1", wait=0.2):
        pass


def test_one_claim(catalog: Catalog, other: Catalog) -> None:
    """Of many that claim a source at once one gets it, also while somebody writes; it is free when it is let go."""
    until = time.time() + 60
    with catalog.database.writer.begin() as writing, ThreadPoolExecutor(8) as pool:
        writing.exec_driver_sql("SELECT 1")
        claims = [pool.submit((catalog, other)[n % 2].claim_source, "s1", f"w{n}", until) for n in range(16)]
        won = [n for n, claim in enumerate(claims) if claim.result(timeout=60)]
    assert len(won) == 1
    assert catalog.source_states()["s1"].claimed_by == f"w{won[0]}"
    assert not other.let_go("s1", "somebody else")
    assert other.let_go("s1", f"w{won[0]}", next_refresh=1.0)
    assert not catalog.claim_source("s1", "w", until, due_by=0.5)
    assert catalog.claim_source("s1", "w", until, due_by=1.5)


def test_vectors_that_went_meanwhile(catalog: Catalog, other: Catalog) -> None:
    """A document is not stored with a vector that a removal took between the look and the commit."""
    from engine_laws import document

    put(catalog, 1)
    (twin, vectors), (made, _) = document(1), document(2, source="s2")
    (key,) = vectors
    made = replace(made, passages=tuple(replace(passage, vector_key=key) for passage in made.passages))
    assert twin.passages[0].vector_key == key
    assert catalog.known_vectors([key]) == {key}
    other.remove_source("s1")
    with pytest.raises(VectorsGone):
        catalog.commit_documents([made], {})
    assert catalog.commit_documents([made], vectors)
    assert catalog.counts()["vectors"] == 1


def test_tasks_are_counted_together(catalog: Catalog, place: Server, tmp_path: Path) -> None:
    """What one task was given is counted by all servers together, one after the other."""
    ledgers = [TaskLedger(tmp_path, place=place.tasks()) for _ in range(2)]

    def count(n: int) -> None:
        with ledgers[n % 2].reserved("agent", "task", {"a"}) as counts:
            counts["a"] = counts.get("a", 0) + 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(40)))
    with ledgers[0].reserved("agent", "task", {"a"}) as counts:
        assert counts == {"a": 40}


# -- what is held ---------------------------------------------------------------------------------------------


def test_odd_words(catalog: Catalog) -> None:
    """Texts with NUL and other control characters, and numbers that JSON lacks, come back as they were."""
    odd = "a\x00b\x01c\x01\x02d\x02\U0001f600 客户"
    put(catalog, 1, text=odd, facets={"x": float("inf"), "y": "\x00", "n": 1.0})
    (passage,) = catalog.passages([1]).values()
    assert passage.text == odd
    assert passage.facets == {"x": float("inf"), "y": "\x00", "n": 1.0}
    catalog.record_failure("s1", odd, "code", odd)
    assert catalog.failures("s1") == {odd: odd}


def test_order_of_names(catalog: Catalog) -> None:
    """Names are listed by code point, as SQLite does, whatever language the server speaks."""
    for name in ("b", "B", "a", "_", "0"):
        catalog.put_source(Source(source_id=name))
    names = [source.source_id for source in catalog.sources()]
    assert names == sorted(names)


def test_guards_of_the_audit(catalog: Catalog, place: Server) -> None:
    """Records cannot be edited, removed or put in between, not even by who may change the tables."""
    import psycopg

    audit = AuditLog(place.folder, place=place.audit())
    audit.append({"kind": "retrieval", "principal": "p"}, {"query": "?"})
    audit.close()
    for statement in (
        "UPDATE audit SET record = '{}'",
        "DELETE FROM audit",
        "TRUNCATE audit",
        "INSERT INTO audit SELECT 0, 'x', at, kind, principal, record, prev_hash, hash FROM audit",
        "UPDATE audit_queries SET query = 'other'",
    ):
        with pytest.raises(psycopg.errors.RaiseException, match=r"audit records|kept queries"):
            sql(place, statement)


@pytest.mark.parametrize("emptied", [False, True], ids=["removed", "emptied"])
def test_a_head_that_was_taken_away(catalog: Catalog, place: Server, emptied: bool) -> None:
    """A folder that has joined and lost its head does not join again: the audit does not verify there until that is accepted."""
    audit = AuditLog(place.folder, place=place.audit())
    audit.append({"kind": "retrieval", "principal": "p"})
    audit.close()
    file = place.folder / "audit.head"
    file.write_bytes(b"") if emptied else file.unlink()
    audit = AuditLog(place.folder, place=place.audit())
    audit.append({"kind": "retrieval", "principal": "p"})
    found = audit.verify()
    assert found.first_fault is not None
    assert "missing or empty" in found.first_fault.what
    audit.renew_head()
    assert audit.verify().ok
    audit.close()
    fresh = place.folder / "another server"
    fresh.mkdir()
    joining = AuditLog(fresh, place=place.audit())
    assert joining.verify().ok
    joining.close()


def test_a_cut_off_chain(catalog: Catalog, place: Server) -> None:
    """Records that were removed at the end are missed by the head in a server's folder; nothing is added to the rest."""
    audit = AuditLog(place.folder, place=place.audit())
    for n in range(3):
        audit.append({"kind": "retrieval", "principal": "p", "n": n})
    audit.flush()
    sql(place, "ALTER TABLE audit DISABLE TRIGGER USER", "DELETE FROM audit WHERE seq = 3")
    found = audit.verify()
    assert found.first_fault is not None
    assert "truncated" in found.first_fault.what
    audit.append({"kind": "retrieval", "principal": "p"})
    with pytest.raises(CatalogUnavailable, match="records were removed or replaced"):
        audit.flush()
    with pytest.raises(CatalogUnavailable):
        audit.close()


def test_a_copy_is_known(catalog: Catalog, place: Server) -> None:
    """A library that was restored elsewhere knows that it is a copy, until it is given an id of its own."""
    assert not catalog.elsewhere()
    name = catalog.library_id()
    sql(place, "UPDATE library SET value = '1:2:3' WHERE key = 'library_file'")
    assert catalog.elsewhere()
    assert catalog.renew_id() != name
    assert not catalog.elsewhere()


# -- what the server may say ----------------------------------------------------------------------------------


def changed(dsn: str, **more: object) -> str:
    from psycopg.conninfo import make_conninfo

    return make_conninfo(dsn, **more)


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"password": "wrong-4711"}, CatalogUnavailable, "refuses its user or password"),
        ({"user": "nobody_we_know"}, CatalogUnavailable, "refuses its user"),
        ({"dbname": "nothing_there"}, CatalogUnavailable, "has no such database"),
        ({"port": 1}, CatalogUnavailable, "cannot be reached"),
        ({"host": "no.such.host.invalid", "hostaddr": ""}, CatalogUnavailable, "cannot be reached"),
    ],
)
def test_no_connection(database: str, tmp_path: Path, change: dict[str, Any], kind: Any, said: str) -> None:
    """A server that cannot be had is said with the reason and the setting, and without the password."""
    for attempt in (Catalog.open, Catalog.create):
        with pytest.raises(kind, match=said) as caught:
            attempt(Server(tmp_path, changed(database, **change)))
        assert "catalog.dsn" in caught.value.hint
        assert "0815" not in str(caught.value)
        assert "4711" not in str(caught.value)


def test_no_connection_string(tmp_path: Path) -> None:
    """What is no connection string is a wrong setting; it is not shown, since it may hold a password."""
    with pytest.raises(ConfigError, match=r"catalog\.dsn is no connection string") as caught:
        Server(tmp_path, "postgresql://me:geheim@host/x?no_such=1")
    assert "geheim" not in repr(caught.value) + caught.value.hint


def test_older_server(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is too old is refused with its version."""
    monkeypatch.setattr(postgres_words, "OLDEST_SERVER", 99)
    with pytest.raises(ConfigError, match="at least 99 is needed") as caught:
        Catalog.create(Server(tmp_path, database, schema="never"))
    assert "catalog.dsn" in caught.value.hint


def test_no_right_to_make_it(database: str, superuser: str, tmp_path: Path) -> None:
    """A user who may not make the schema is told what to grant."""
    import psycopg

    with psycopg.connect(superuser, autocommit=True) as admin:
        admin.execute("CREATE ROLE catalog_guest LOGIN PASSWORD 'guest-0815'")
        try:
            with pytest.raises(ConfigError, match="may not make schema 'never'") as caught:
                Catalog.create(
                    Server(tmp_path, changed(database, user="catalog_guest", password="guest-0815"), schema="never")
                )
        finally:
            admin.execute("DROP ROLE catalog_guest")
    assert "GRANT CREATE" in caught.value.hint


def test_missing_and_foreign(place: Server) -> None:
    """A schema that is not there, or is somebody else's, is neither opened nor written into."""
    with pytest.raises(CatalogUnavailable, match="there is no library in schema") as caught:
        Catalog.open(again(place))
    assert "init" in caught.value.hint
    for statement in ("CREATE TABLE customers (id int)", "CREATE TABLE library (key text, value text)"):
        sql(place, f"DROP SCHEMA IF EXISTS {place.schema} CASCADE", f"CREATE SCHEMA {place.schema}", statement)
        for attempt in (Catalog.open, Catalog.create):
            with pytest.raises(CatalogUnavailable, match=r"but no library|already") as caught:
                attempt(again(place))
            assert "catalog.schema_name" in caught.value.hint
        tables = sql(place, "SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()")
        assert tables == [(1,)]


def test_interrupted_creation(place: Server) -> None:
    """A schema that is empty, as an administrator prepares one, becomes a library when it is opened."""
    sql(place, f"CREATE SCHEMA {place.schema}")
    with new_catalog(again(place)) as made:
        put(made, 1)


def test_emptied(place: Server) -> None:
    """A schema without tables is no new library to a server that knows records of one, unless they are its folder's."""
    with new_catalog(place):
        log = AuditLog(place.folder, place=again(place).audit())
        log.append({"kind": "registry", "principal": "operator:local"})
        log.close()
    sql(place, f"DROP SCHEMA {place.schema} CASCADE", f"CREATE SCHEMA {place.schema}")
    with pytest.raises(CatalogUnavailable, match="was emptied") as caught:
        Catalog.open(again(place))
    assert "backup" in caught.value.hint
    (place.folder / "catalog.db").touch()
    Catalog.open(again(place)).close()


def test_newer_format(catalog: Catalog, place: Server) -> None:
    """A library of a newer format is refused."""
    sql(place, "UPDATE library SET value = '99' WHERE key = 'schema'")
    with pytest.raises(CatalogVersion, match="format 99"):
        Catalog.open(again(place))


def test_all_sessions_in_use(catalog: Catalog, place: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """When all sessions are taken for too long, the reader is told which setting to raise."""
    monkeypatch.setattr(postgres, "_POOL_WAIT", 0.2)
    few = Server(place.folder, dsn_of(place), schema=place.schema, sessions=2)
    opened = Catalog.open(few)
    with (
        few.reader.connect(),
        few.reader.connect(),
        pytest.raises(CatalogUnavailable, match="all sessions") as caught,
    ):
        opened.sources()
    assert "catalog.sessions" in caught.value.hint
    opened.close()


def test_deadline(catalog: Catalog) -> None:
    """A query that takes too long is stopped on the server, and the session is usable afterwards."""
    for _ in range(2):
        with (
            in_time(),
            pytest.raises(EngineTimeout, match="the deadline passed"),
            connect.reading(catalog.database.reader, "waiting", soon(0.3)) as connection,
        ):
            connection.exec_driver_sql(f"SELECT pg_sleep({HANGS})")
    assert len(catalog.sources(soon())) == 2


# -- what may happen to it ------------------------------------------------------------------------------------


def test_sessions_that_were_ended(catalog: Catalog, place: Server, superuser: str) -> None:
    """Sessions that the server ends between two uses are made anew, unseen; a lock that went with one is missed."""
    import psycopg

    put(catalog, 1)
    ours = "datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'wenyuan%'"

    def end_all() -> None:
        """Returns when none is left: the server ends a session some time after it was told to."""
        admin.execute(f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {ours}")
        with in_time():
            while admin.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {ours}").fetchone() != (0,):
                time.sleep(0.01)

    with psycopg.connect(superuser, autocommit=True) as admin:
        end_all()
        assert catalog.seq() == 3
        put(catalog, 2)
        assert len(texts(catalog)) == 2
        with catalog.writing():
            end_all()
            with pytest.raises(CatalogBusy, match="connection to the server was lost"):
                put(catalog, 3)
    put(catalog, 4)
    assert catalog.counts()["documents"] == 3


def test_a_session_that_watches_is_not_left_open(catalog: Catalog, place: Server) -> None:
    """When the question whether anything changed is not answered in time, another session asks, and the first is closed."""
    place.version()
    kept = place._watch
    kept.execute("SET statement_timeout TO '50ms'")
    with place.claims.begin() as blocking:
        blocking.exec_driver_sql("LOCK TABLE library IN ACCESS EXCLUSIVE MODE")
        asking = ThreadPoolExecutor(1).submit(place.version)
        for _ in range(1_000):
            if kept.closed:
                break
            time.sleep(0.01)
    assert kept.closed
    assert asking.result(20) == place.version()
    assert place._watch is not kept


def test_a_server_that_says_nothing(catalog: Catalog, place: Server) -> None:
    """Waiting for it ends, whether its answer has a deadline or not; the connection is closed, not used again."""
    asking = f"SELECT pg_sleep({HANGS})"
    waiting = place._connect(patience=0.1)
    with in_time():
        with pytest.raises(CatalogUnavailable, match="does not answer"), connect.translated("asking"):
            waiting.execute(asking)
        with (
            pytest.raises(EngineTimeout, match="before the deadline"),
            until(soon(0.1)),
            connect.translated("asking"),
        ):
            place._connect().execute(asking)
        with pytest.raises(EngineTimeout), until(soon(0.0)):
            place.version()
    assert waiting.closed
    assert catalog.seq() >= 2


def test_server_restarted(tmp_path: Path) -> None:
    """While the server is down, everything says so; when it is back, everything goes on, and nothing acknowledged is lost."""
    with postgres_server.own() as own, new_catalog(Server(tmp_path, own.dsn)) as catalog:
        audit = AuditLog(tmp_path, place=catalog.database.place.audit())
        for round_ in range(2):
            put(catalog, round_)
            audit.append({"kind": "retrieval", "principal": "p"})
            audit.flush()
            own.crash()
            asked = (
                catalog.seq,
                catalog.sources,
                catalog.counts,
                lambda: put(catalog, 9),
                lambda: list(catalog.changes(0, 9)),
            )
            for ask in asked:
                with pytest.raises(CatalogError):
                    ask()
            audit.append({"kind": "retrieval", "principal": "down"})
            with pytest.raises(CatalogUnavailable):
                audit.flush()
            own.start()
            audit.flush()
            assert set(catalog.live_documents("s1")) == {f"urn:t:s1:{n}" for n in range(round_ + 1)}
        assert audit.verify().ok
        assert audit.verify().records == 4
        audit.close()


def test_an_opening_that_fails_leaves_no_session(place: Server) -> None:
    """Where the audit's table is gone, whatever was opened before that is closed again."""
    options: dict[str, Any] = {
        "encoder": {"kind": "none"},
        "catalog": {"dsn": dsn_of(place), "schema_name": place.schema},
    }
    import psycopg

    wenyuan.open(place.folder, create=True, **options).close()
    with psycopg.connect(dsn_of(place), autocommit=True) as session:
        session.execute(f"ALTER TABLE {place.schema}.audit RENAME TO elsewhere")
        ours = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        before = session.execute(ours).fetchone()
        for _ in range(3):
            with pytest.raises(CatalogError):
                wenyuan.open(place.folder, **options)
        with in_time():
            while session.execute(ours).fetchone() != before:
                time.sleep(0.01)
