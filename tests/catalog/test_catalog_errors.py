"""One writer at a time, readers beside it, and what becomes of the errors of the database."""

from __future__ import annotations

import inspect
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pysqlite3.dbapi2 as driver
import pytest
import sqlalchemy as sa

from catalog_parts import new_catalog, put, raw, script, soon, texts
from patience import HANGS, in_time
from wenyuan.catalog import Catalog, sql
from wenyuan.catalog.backup import back_up
from wenyuan.catalog.locks import WriterLock
from wenyuan.core.errors import (
    CatalogBusy,
    CatalogError,
    CatalogUnavailable,
    EngineTimeout,
    KnowledgeError,
    NotPermitted,
)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with new_catalog(tmp_path / "library") as made:
        yield made


# -- one writer -----------------------------------------------------------------------------------------------

HOLD = """
import sys
from pathlib import Path
from wenyuan.catalog.locks import WriterLock
with WriterLock(Path(sys.argv[1])).held():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_lock_between_threads(tmp_path: Path) -> None:
    """One thread writes at a time; the same thread may take the lock again; waiting ends when it is told to."""
    lock = WriterLock(tmp_path / "lock")
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with lock.held(), lock.held():
            entered.set()
            leave.wait(HANGS)

    thread = threading.Thread(target=hold)
    thread.start()
    assert entered.wait(60)
    try:
        with in_time(), pytest.raises(CatalogBusy, match="another thread"), lock.held(wait=0.1):
            pass
    finally:
        leave.set()
    with lock.held():
        pass
    thread.join()


def test_lock_between_processes(tmp_path: Path) -> None:
    """One process writes at a time; the refusal names the owner; a killed owner holds nothing."""
    lock = WriterLock(tmp_path / "lock")
    with script(HOLD, tmp_path / "lock") as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        busy = f"written by process {child.pid}"
        with in_time(0.2), pytest.raises(CatalogBusy, match=busy) as caught, lock.held(wait=0.2):
            pass
        assert caught.value.hint
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        with lock.held(wait=1.0):
            assert (tmp_path / "lock").read_text() == f"process {os.getpid()}"


def test_lock_is_let_go_when_a_signal_came_while_it_was_taken(tmp_path: Path) -> None:
    """An interrupt between taking the lock file and the work leaves it to others, and to this process."""

    class Interrupted(WriterLock):
        def _take(self, until: float) -> None:
            super()._take(until)
            raise KeyboardInterrupt

    path = tmp_path / "writer.lock"
    lock = Interrupted(path)
    with pytest.raises(KeyboardInterrupt), lock.held():
        pass
    with WriterLock(path).held(wait=0.1):
        pass


def test_lock_is_let_go_after_an_error(tmp_path: Path) -> None:
    """An error inside the block, or while the lock is taken, leaves no lock and no open file behind."""
    lock, other = WriterLock(tmp_path / "lock"), WriterLock(tmp_path / "lock")
    with pytest.raises(RuntimeError), lock.held():
        raise RuntimeError
    before = len(list(Path("/proc/self/fd").iterdir()))
    with lock.held():
        for _ in range(3):
            with pytest.raises(CatalogBusy), other.held(wait=0.0):
                pass
        assert len(list(Path("/proc/self/fd").iterdir())) == before + 1
    with other.held(wait=0.0):
        pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("call", ["open", "flock", "ftruncate"])
def test_lock_file_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """A file system that refuses the lock file, or locks at all, is CatalogUnavailable with what to check."""
    import fcntl

    def refuse(*_: Any) -> int:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl if call == "flock" else os, call, refuse)
    lock = WriterLock(tmp_path / "lock")
    with pytest.raises(CatalogUnavailable, match="No locks available") as caught, lock.held():
        pass
    monkeypatch.undo()
    assert "ls -la" in caught.value.hint
    with lock.held(wait=0.0):
        pass


def test_readers_beside_a_writer(catalog: Catalog) -> None:
    """Readers go on while a writer is in the middle of a commit, and each block of reads sees one state."""
    put(catalog, 1)
    feed = catalog.changes(0, 100)
    with catalog.database.writer.begin() as connection:
        connection.exec_driver_sql("DELETE FROM passages")
        assert catalog.counts()["passages"] == 1
        assert next(feed).passage_id == 1
    assert catalog.counts()["passages"] == 0
    assert list(feed) == []


WRITE = """
import sys
sys.path.insert(0, sys.argv[4])
from pathlib import Path
from engine_laws import document
from wenyuan.catalog import Catalog
catalog = Catalog.open(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    made, vectors = document(number, source=sys.argv[2])
    print(catalog.commit_documents([made], vectors), flush=True)
catalog.close()
"""


@pytest.mark.slow
def test_two_processes_write(catalog: Catalog) -> None:
    """Two processes that write 60 commits each at the same time lose none, and no number is given twice."""
    begun = catalog.seq()
    children = [
        script(WRITE, catalog.folder, name, 60, Path(__file__).parents[1] / "support") for name in ("s1", "s2")
    ]
    numbers = [int(line) for child in children for line in child.communicate(timeout=120)[0].split()]
    assert [child.returncode for child in children] == [0, 0]
    assert sorted(numbers) == list(range(begun + 1, begun + 121))
    for name in ("s1", "s2"):
        assert set(catalog.live_documents(name)) == {f"urn:t:{name}:{n}" for n in range(60)}
    assert catalog.counts()["vectors"] == 120


# -- errors ---------------------------------------------------------------------------------------------------


def error_classes() -> list[type[Exception]]:
    """Every exception class that SQLAlchemy and the driver define, warnings to developers left out."""
    import sqlalchemy.exc as exc

    classes = [c for _, c in inspect.getmembers(exc, inspect.isclass) if issubclass(c, exc.SQLAlchemyError)]
    classes += [c for _, c in inspect.getmembers(driver, inspect.isclass) if issubclass(c, Exception)]
    return sorted(set(classes), key=lambda c: (c.__module__, c.__name__))


def made(kind: type[Exception], message: str) -> Exception:
    if issubclass(kind, sa.exc.DBAPIError):
        return kind("SELECT secret", {"value": "secret"}, Exception(message))
    if issubclass(kind, sa.exc.StatementError):
        return kind(message, "SELECT secret", {"value": "secret"}, None)
    if kind is sa.exc.CircularDependencyError:
        return kind(message, [], [])
    if kind is sa.exc.AmbiguousForeignKeysError:
        return kind(message)
    if kind is sa.exc.UnsupportedCompilationError:
        return kind(type("Compiler", (), {})(), str, message)
    if kind is sa.exc.NoReferencedColumnError:
        return kind(message, "table", "column")
    if kind is sa.exc.NoReferencedTableError:
        return kind(message, "table")
    return kind(message)


@pytest.mark.parametrize("kind", error_classes(), ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_every_driver_error_is_translated(kind: type[Exception]) -> None:
    """Whatever SQLAlchemy or its driver raises becomes a KnowledgeError with its cause, and shows no values."""
    with pytest.raises(KnowledgeError) as caught, sql.translated("doing this"):
        raise made(kind, "disk I/O error")
    assert caught.value.__cause__ is not None
    assert caught.value.component == "catalog"
    assert "doing this" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_there_are_driver_errors() -> None:
    """The list of the driver's classes is not empty by mistake."""
    names = {c.__name__ for c in error_classes()}
    assert names >= {
        "OperationalError",
        "DatabaseError",
        "InterfaceError",
        "Warning",
        "TimeoutError",
        "StatementError",
    }


@pytest.mark.parametrize(
    ("message", "kind", "hint"),
    [
        ("interrupted", EngineTimeout, ""),
        ("database is locked", CatalogBusy, ""),
        ("database table is locked", CatalogBusy, ""),
        ("database or disk is full", CatalogUnavailable, "make room"),
        ("disk I/O error", CatalogUnavailable, "make room"),
        ("database disk image is malformed", CatalogUnavailable, "backup"),
        ("file is not a database", CatalogUnavailable, "backup"),
        ("unable to open database file", CatalogUnavailable, "ls -la"),
        ("attempt to write a readonly database", CatalogUnavailable, "ls -la"),
        ("no such table: passages", CatalogUnavailable, ""),
    ],
)
def test_kinds_of_errors(message: str, kind: type[KnowledgeError], hint: str) -> None:
    """What SQLite says decides which error it is and what to do next."""
    with pytest.raises(kind) as caught, sql.translated("doing this"):
        raise sa.exc.OperationalError("SELECT 1", {}, Exception(message))
    assert type(caught.value) is kind
    assert hint in caught.value.hint


def server_error_classes() -> list[type[Exception]]:
    """Every exception class that the driver defines: those of SQLSTATEs, and its own."""
    import psycopg
    from psycopg import errors

    classes = [c for m in (psycopg, errors) for _, c in inspect.getmembers(m, inspect.isclass)]
    return sorted({c for c in classes if issubclass(c, (psycopg.Error, psycopg.Warning))}, key=lambda c: c.__name__)


def test_every_error_of_a_server_is_translated() -> None:
    """Whatever the driver raises becomes a KnowledgeError that says what was done, and shows none of the driver's text."""
    classes = server_error_classes()
    assert len(classes) > 200
    for kind in classes:
        for raised in (kind("secret"), sa.exc.DBAPIError("SELECT secret", {"v": "secret"}, kind("secret"))):
            with pytest.raises(KnowledgeError) as caught, sql.translated("doing this"):
                raise raised
            assert caught.value.__cause__ is raised
            assert "doing this" in str(caught.value)
            assert "secret" not in str(caught.value) + caught.value.hint


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("QueryCanceled", EngineTimeout, "deadline"),
        ("LockNotAvailable", CatalogBusy, "writing"),
        ("DeadlockDetected", CatalogBusy, "another one"),
        ("DiskFull", CatalogUnavailable, "disk is full"),
        ("TooManyConnections", CatalogUnavailable, "no connection left"),
        ("AdminShutdown", CatalogUnavailable, "stopping"),
        ("ReadOnlySqlTransaction", CatalogUnavailable, "replica"),
        ("InsufficientPrivilege", CatalogUnavailable, "does not let its user"),
        ("UndefinedTable", CatalogUnavailable, "no such table"),
        ("DataCorrupted", CatalogUnavailable, "damaged data"),
    ],
)
def test_kinds_of_errors_of_a_server(name: str, kind: type[KnowledgeError], said: str) -> None:
    """What the server says decides which error it is."""
    from psycopg import errors

    with pytest.raises(kind, match=said) as caught, sql.translated("doing this"):
        raise getattr(errors, name)("x")
    assert type(caught.value) is kind


def test_no_session_is_left() -> None:
    """When all connections are taken for too long, the reader is told which setting to raise."""
    said = pytest.raises(CatalogUnavailable, match="doing this: all sessions are in use")
    with said as caught, sql.translated("doing this"):
        raise sa.exc.TimeoutError("QueuePool limit of size 16 overflow 0 reached")
    assert "catalog.sessions" in caught.value.hint


def test_our_own_errors_pass() -> None:
    """An error that is no driver's is not made into one."""
    for error in (NotPermitted("x"), ValueError("x"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as caught, sql.translated("doing this"):
            raise error
        assert caught.value is error


def test_locked_database(catalog: Catalog) -> None:
    """A foreign program that locks the database makes writing CatalogBusy; reading goes on."""
    with catalog.database.writer.connect() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout=50")
    with raw(catalog) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(CatalogBusy):
            put(catalog, 1)
        assert catalog.counts()["documents"] == 0
        other.execute("ROLLBACK")
    put(catalog, 1)
    assert catalog.counts()["documents"] == 1


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def test_deadline_stops_a_long_query(catalog: Catalog) -> None:
    """A query that would run for ever ends close to its deadline, and the connection is usable afterwards."""
    for _ in range(3):
        with (
            in_time(0.19),
            pytest.raises(EngineTimeout, match="counting for ever: the deadline passed"),
            sql.reading(catalog.database.reader, "counting for ever", soon(0.2)) as connection,
        ):
            connection.exec_driver_sql(ENDLESS)
    with sql.reading(catalog.database.reader, "counting a little") as connection:
        limited = ENDLESS.replace("FROM n)", "FROM n LIMIT 300000)")
        assert connection.exec_driver_sql(limited).scalar() == 300_000
    assert len(catalog.sources(soon())) == 2


def test_deadline_stops_a_long_statement(catalog: Catalog) -> None:
    """One that is asked of the driver alone ends close to its deadline, too, and no later one hears of it."""
    with in_time(0.19), pytest.raises(EngineTimeout, match="counting for ever: the deadline passed"):
        sql.told_at_once(catalog.database.reader, ENDLESS, (), "counting for ever", soon(0.2))
    limited = ENDLESS.replace("FROM n)", "FROM n LIMIT 300000)")
    assert sql.told_at_once(catalog.database.reader, limited, (), "counting a little") == [(300_000,)]
    with pytest.raises(CatalogUnavailable, match="asking for what there is not: no such table"):
        sql.told_at_once(catalog.database.reader, "SELECT * FROM nowhere", (), "asking for what there is not")


def test_damaged_pages(catalog: Catalog) -> None:
    """A database whose pages are damaged is an error when they are read, and never fewer rows."""
    put(catalog, *range(300))
    whole = texts(catalog)
    catalog.close()
    size = (catalog.folder / "catalog.db").stat().st_size
    page = 4096
    outcomes: list[Callable[[Catalog], Any]] = [texts, lambda c: c.passages(range(1, 301)), lambda c: c.counts()]
    pristine = (catalog.folder / "catalog.db").read_bytes()
    wrong = 0
    for at in range(page, size, 7 * page):
        (catalog.folder / "catalog.db").write_bytes(pristine[:at] + b"\x5a" * page + pristine[at + page :])
        try:
            damaged = Catalog.open(catalog.folder)
        except CatalogError:
            wrong += 1
            continue
        for ask in outcomes:
            try:
                answer = ask(damaged)
            except CatalogError:
                wrong += 1
            else:
                assert len(answer) in (4, 300)
                assert ask is not texts or answer == whole
        damaged.close()
    assert wrong > 3


def test_a_damaged_database_makes_no_backup(catalog: Catalog, tmp_path: Path) -> None:
    """A copy is checked: one with damaged pages is refused, and does not stand where a backup would."""
    put(catalog, *range(300))
    catalog.close()
    path, page = catalog.folder / "catalog.db", 4096
    content = path.read_bytes()
    whole = len(content) // page
    with driver.connect(str(path)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'passages'").fetchone()
    connection.close()
    assert root < whole
    path.write_bytes(content[: (root - 1) * page] + b"\x5a" * page + content[root * page :])
    with pytest.raises(CatalogUnavailable, match=r"the copy of catalog\.db is damaged"):
        back_up(catalog.folder, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
