"""The system of record: opening it, what it stores, and what it forgets."""

from __future__ import annotations

import json
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pysqlite3.dbapi2 as driver
import pytest
import sqlalchemy as sa

import wenyuan
from catalog_parts import BOTH, again, make_first, put, raw, tables_of, texts
from engine_laws import document, unit
from unprivileged import nobody
from wenyuan.catalog import Catalog, dialects, sql
from wenyuan.catalog.audit.definitions import tables as audit_tables
from wenyuan.catalog.every_table import ALL
from wenyuan.core.errors import (
    CatalogError,
    CatalogUnavailable,
    CatalogVersion,
    ConfigError,
    InvalidRequest,
    NotFound,
    NotPermitted,
)
from wenyuan.core.model import Source
from wenyuan.core.task_profiles import TaskProfile
from wenyuan.runtime.installation import upgrade_command

CANARY = "canary7金丝雀机密"


# -- opening --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("url", ["sqlite://", "postgresql+psycopg://"])
def test_tables_as_sqlalchemy_makes_them(url: str) -> None:
    """The statements that are kept for new databases are those of SQLAlchemy, in both kinds of SQL."""
    made: list[Any] = []
    mock = sa.create_mock_engine(url, lambda statement, *_: made.append(statement))
    for tables in (*ALL, audit_tables):
        tables.create_all(mock, checkfirst=False)
    kind = mock.dialect.name
    told = [str(one.compile(dialect=mock.dialect)) for one in made if one.element.info.get("dialect", kind) == kind]
    known = [table for tables in (*ALL, audit_tables) for table in tables.sorted_tables]
    assert sorted(told) == sorted(line for table in known for line in dialects.creating(table, kind))


@BOTH
def test_a_migrated_library_is_as_a_new_one(catalog: Catalog) -> None:
    """All steps, of a library from before them: the same tables, columns and indexes come of them, and its rows stay."""
    put(catalog, 1, 2)
    before = (texts(catalog), catalog.seq(), catalog.sources())
    with catalog.database.claims.begin() as connection:
        new = tables_of(connection)
        make_first(connection)
        assert tables_of(connection) != new
    with closing(Catalog.open(again(catalog.database.place))) as migrated:
        with migrated.database.reader.begin() as connection:
            assert tables_of(connection) == new
        assert (texts(migrated), migrated.seq(), migrated.sources()) == before
        put(migrated, 3)
        assert len(migrated.listed_documents(["s1"], today=date.today())) == 3


@BOTH
def test_keys_of_a_library_without_their_names_stay(catalog: Catalog) -> None:
    """Keys that were made before keys had names are valid, and have none; new ones have theirs."""
    _, token = catalog.create_key(None, frozenset({"search"}), None, "of old")
    with catalog.database.claims.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE keys DROP COLUMN name")
        connection.exec_driver_sql("UPDATE library SET value = '19' WHERE key = 'schema'")
    with closing(Catalog.open(again(catalog.database.place))) as migrated:
        kept = migrated.key_of_token(token)
        assert kept is not None and kept.rights == {"search"} and kept.name == ""
        migrated.create_key(None, frozenset({"search"}), None, "new")
        assert {key.name for key in (*migrated.keys(),)} == {"", "new"}


@BOTH
def test_reopened(catalog: Catalog) -> None:
    """What was stored is there after closing and opening again; closing twice is harmless."""
    put(catalog, 1, 2)
    before = (texts(catalog), catalog.seq(), catalog.counts(), catalog.sources())
    catalog.close()
    catalog.close()
    other = Catalog.open(again(catalog.database.place))
    assert (texts(other), other.seq(), other.counts(), other.sources()) == before
    other.close()


def test_newer_format(catalog: Catalog) -> None:
    """A library of a newer format is refused, and nothing in it is changed."""
    with raw(catalog) as connection:
        connection.execute("UPDATE library SET value = '99' WHERE key = 'schema'")
    catalog.close()
    before = (catalog.folder / "catalog.db").read_bytes()
    with pytest.raises(CatalogVersion, match="format 99") as caught:
        Catalog.open(catalog.folder)
    assert caught.value.hint == f"upgrade the program: {upgrade_command()}"
    assert (catalog.folder / "catalog.db").read_bytes() == before


def test_no_database(catalog: Catalog) -> None:
    """A file that is no database is refused with what to do next."""
    catalog.close()
    for rubbish in (b"this is no database " * 300, b"\x00" * 8192):
        (catalog.folder / "catalog.db").write_bytes(rubbish)
        with pytest.raises(CatalogUnavailable, match="not a database") as caught:
            Catalog.open(catalog.folder)
        assert "backup" in caught.value.hint


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE customers (id)",),
        ("CREATE TABLE library (key TEXT, value TEXT)",),
        ("CREATE TABLE library (key TEXT, value TEXT)", "INSERT INTO library VALUES ('schema', 'v1-beta')"),
    ],
)
def test_foreign_database(tmp_path: Path, statements: tuple[str, ...]) -> None:
    """Somebody else's database is neither opened nor written into."""
    with closing(driver.connect(str(tmp_path / "catalog.db"), isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    for attempt in (Catalog.open, Catalog.create):
        with pytest.raises(CatalogUnavailable) as caught:
            attempt(tmp_path)
        assert "folder" in caught.value.hint
    with closing(driver.connect(str(tmp_path / "catalog.db"))) as connection:
        assert len(connection.execute("SELECT * FROM sqlite_master").fetchall()) == 1


@BOTH
def test_no_second_library(catalog: Catalog) -> None:
    """A library is not made where there is one, and that one stays as it is."""
    put(catalog, 1)
    with pytest.raises(CatalogUnavailable, match="already"):
        Catalog.create(again(catalog.database.place))
    assert catalog.counts()["documents"] == 1


def test_interrupted_creation(tmp_path: Path) -> None:
    """A library whose making was interrupted is finished when it is opened."""
    (tmp_path / "catalog.db").touch()
    opened = Catalog.open(tmp_path)
    opened.put_source(Source(source_id="s1"))
    assert put(opened, 1) == 2
    opened.close()


@pytest.mark.parametrize("settings", [{}, {"audit": {"enabled": False}, "engine": "memory"}])
def test_emptied(tmp_path: Path, settings: dict[str, Any]) -> None:
    """A library whose file was cut to nothing is no new one: it is refused however it is opened, and not written to."""
    wenyuan.create(tmp_path, encoder={"kind": "none"}, **settings).close()
    (tmp_path / "catalog.db").write_bytes(b"")
    for opening in (
        partial(Catalog.open, tmp_path),
        partial(wenyuan.open, tmp_path, encoder={"kind": "none"}, **settings),
        partial(wenyuan.open, tmp_path, create=True, encoder={"kind": "none"}, **settings),
    ):
        with pytest.raises(CatalogUnavailable, match="was emptied") as caught:
            opening()
        assert "backup" in caught.value.hint
    assert (tmp_path / "catalog.db").stat().st_size == 0


def test_folder_missing(tmp_path: Path) -> None:
    """Opening a folder that is missing or empty says how to make a library there, and makes nothing."""
    for folder in (tmp_path / "no where", tmp_path):
        with pytest.raises(CatalogUnavailable, match="there is no library") as caught:
            Catalog.open(folder)
        assert shlex.split(caught.value.hint) == ["wenyuan", "--library", str(folder), "init"]
    assert list(tmp_path.iterdir()) == []


def test_folder_is_a_file(tmp_path: Path) -> None:
    """A library cannot be made where a file stands."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(CatalogUnavailable, match="cannot make the folder"):
        Catalog.create(tmp_path / "file")


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for inner in folder.iterdir():
        inner.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("mode", [0o000, 0o555])
def test_folder_closed_or_read_only(public: Path, mode: int) -> None:
    """A folder that may not be read or written is an error that says what to check, for opening and for making."""
    folder = public / "library"
    made = Catalog.create(folder)
    put_source = Source(source_id="s1")
    made.put_source(put_source)
    made.close()
    (public / "empty").mkdir()
    for inner in (folder, public / "empty"):
        inner.chmod(mode)
    with nobody():
        for attempt in (lambda: Catalog.open(folder), lambda: Catalog.create(public / "empty")):
            with pytest.raises(CatalogUnavailable) as caught:
                attempt()
            assert "ls -la" in caught.value.hint
    folder.chmod(0o755)
    again = Catalog.open(folder)
    assert [s.source_id for s in again.sources()] == ["s1"]
    again.close()


def test_old_sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A SQLite that can corrupt a shared library is refused before it touches one."""
    import pysqlite3.dbapi2 as driver

    monkeypatch.setattr(driver, "sqlite_version_info", (3, 51, 2))
    with pytest.raises(ConfigError, match=r"3\.51\.3"):
        Catalog.create(tmp_path / "library")
    assert not (tmp_path / "library" / "catalog.db").exists()


def test_pragmas(catalog: Catalog) -> None:
    """What is acknowledged survives a power loss (FULL), what is deleted is overwritten, readers cannot write."""
    with catalog.database.writer.connect() as connection:
        found = {n: connection.exec_driver_sql(f"PRAGMA {n}").scalar() for n in ("synchronous", "secure_delete")}
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    assert found == {"synchronous": 2, "secure_delete": 1}
    with (
        pytest.raises(CatalogUnavailable, match="readonly"),
        sql.reading(catalog.database.reader, "trying") as connection,
    ):
        connection.exec_driver_sql("DELETE FROM sources")
    assert len(catalog.sources()) == 2


# -- sources --------------------------------------------------------------------------------------------------


@BOTH
def test_sources(catalog: Catalog) -> None:
    """A source is stored with all its fields; putting it again replaces it and counts as a change."""
    from datetime import date

    told = Source(
        source_id="s1", title="制度", type="api", domain="人事", trust=5, language="zh", collection="内部",
        path="/x/制度", copyright="©", effective_from=date(2020, 2, 29), effective_until=date(2030, 1, 1),
        status="draft", supersedes=("s2", "s0"), refresh_cycle="daily", owner="王小明", sensitivity="internal",
        tags=("甲", "b"), settings={"weight": 0.7, "列": ["a"]},
    )  # fmt: skip
    before = catalog.seq()
    catalog.put_source(told)
    assert catalog.source("s1") == told
    assert catalog.sources() == (told, Source(source_id="s2"))
    assert catalog.seq() == before + 1


@BOTH
def test_unknown_source(catalog: Catalog) -> None:
    """A source that is not there cannot be read or removed."""
    for call in (catalog.source, catalog.remove_source):
        with pytest.raises(NotFound, match="'s9'"):
            call("s9")


@BOTH
def test_what_is_not_there_is_not_found(catalog: Catalog) -> None:
    """Agents, keys, profiles, evaluations, tunings: whoever names none is told NotFound, and may catch NotPermitted."""
    for call, name in (
        (catalog.agent, "nobody"), (catalog.remove_agent, "nobody"), (catalog.revoke_key, "k9"),
        (catalog.remove_profile, "p9"), (catalog.evaluation, 9), (catalog.golden_set, "g9"),
    ):  # fmt: skip
        with pytest.raises(NotFound, match=str(name)) as caught:
            call(name)
        assert isinstance(caught.value, NotPermitted)
        assert caught.value.code == NotPermitted.code == "not_permitted"
    with pytest.raises(NotFound, match="no tuning"):
        catalog.undo_tuning({})


@BOTH
def test_a_task_has_one_profile(catalog: Catalog) -> None:
    """A profile that names a task of another one is refused, and nothing is stored."""
    catalog.put_profile(TaskProfile(profile_id="one", tasks=("t1",), domains=("a",)))
    with pytest.raises(InvalidRequest, match="t1"):
        catalog.put_profile(TaskProfile(profile_id="two", tasks=("t1",), domains=("b",)))
    assert [profile.profile_id for profile in catalog.profiles()] == ["one"]


def test_a_damaged_value(catalog: Catalog) -> None:
    """A stored value that is no JSON is an error, and not as if there were none."""
    catalog.set_value("measured", {"a": 1})
    with raw(catalog) as connection:
        connection.execute("UPDATE library SET value = '{' WHERE key = 'value/measured'")
    with pytest.raises(CatalogUnavailable, match="'measured' is no JSON"):
        catalog.value("measured")


def test_removed_source(catalog: Catalog) -> None:
    """Removing a source removes its documents, passages, vectors and failures, and nothing of another."""
    put(catalog, 1, 2)
    put(catalog, 3, source="s2")
    catalog.record_failure("s1", "urn:bad", "document_rejected", "why")
    assert catalog.remove_source("s1") == 2
    assert [s.source_id for s in catalog.sources()] == ["s2"]
    assert dict(catalog.counts()) == {"documents": 1, "passages": 1, "vectors": 1, "failures": 0}
    assert list(texts(catalog)) == [3]
    assert set(catalog.passages(range(10))) == {3}
    with raw(catalog) as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (1,)


def held(folder: Path, *needles: bytes) -> list[tuple[str, bytes]]:
    """Which needle is found in which file."""
    return [(p.name, n) for p in sorted(folder.rglob("*")) if p.is_file() for n in needles if n in p.read_bytes()]


def secret_document(number: int) -> tuple[Any, dict[str, Any]]:
    """A document that says the canary in every field, once short and once over many pages of the file."""
    text = f"{CANARY} {number} " * (1 if number % 2 else 2_000)
    made, vectors = document(number, text=text, facets={"author": CANARY}, notes=(CANARY,))
    passage = replace(made.passages[0], headings=(CANARY,), uri=f"urn:t:{number}#{CANARY}", cell=CANARY)
    return replace(made, title=CANARY, uri=f"urn:t:{number}:{CANARY}", passages=(passage,)), vectors


@pytest.mark.parametrize("closed", [False, True])
def test_removed_is_purged(catalog: Catalog, closed: bool) -> None:
    """No byte of a removed source's texts, titles, names or vectors is left in any file, nor of its old versions."""
    for number in range(24):
        put(catalog, number, source="s2")
        made, vectors = secret_document(number % 16)
        catalog.commit_documents([made], vectors)
        if number % 5 == 0:
            catalog.retire_documents("s1", [next(iter(catalog.live_documents("s1").values()))[0]])
    catalog.record_failure("s1", f"urn:{CANARY}", "unreadable", CANARY)
    needles = (CANARY.encode(), json.dumps(CANARY)[1:-1].encode(), *(unit(n).tobytes() for n in range(16)))
    shared = {unit(n).tobytes() for n in range(16)}  # the other source has the same vectors under keys of its own
    assert {n for _, n in held(catalog.folder, *needles)} == set(needles)
    catalog.remove_source("s2")
    catalog.remove_source("s1")
    if closed:
        catalog.close()
    assert held(catalog.folder, *needles, *shared) == []


def test_purged_beside_a_reader(catalog: Catalog, caplog: pytest.LogCaptureFixture) -> None:
    """A reader that is under way cannot keep a removal from happening; the log says that traces are left for now."""
    made, vectors = secret_document(1)
    catalog.commit_documents([made], vectors)
    changes = catalog.changes(0, catalog.seq())
    assert next(changes).row is not None
    with catalog.database.writer.connect() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout=50")
    assert catalog.remove_source("s1") == 1
    assert "write-ahead log" in caplog.text
    changes.close()  # type: ignore[attr-defined]
    catalog.put_source(Source(source_id="s1"))
    catalog.remove_source("s1")
    assert held(catalog.folder, CANARY.encode()) == []


# -- documents ------------------------------------------------------------------------------------------------


@BOTH
def test_passages(catalog: Catalog) -> None:
    """A passage comes back with what its document and its source say; thousands at once, removed ones absent."""
    catalog.put_source(Source(source_id="s1", trust=4, domain="d", copyright="c"))
    put(catalog, *range(1_200), language="zh", collection="内部", facets={"级": 2})
    found = catalog.passages(range(2_000))
    assert len(found) == 1_200
    one = found[2]
    assert (one.title, one.headings, one.language, one.trust, one.domain) == ("document 1", ("标题",), "zh", 4, "d")
    assert (one.collection, one.copyright, one.facets, one.uri) == ("内部", "c", {"级": 2}, "urn:t:s1:1#p")
    catalog.retire_documents("s1", [one.document_id])
    assert 2 not in catalog.passages(range(2_000))
    assert catalog.document_by_uri("urn:t:s1:1") is None
    assert catalog.document_by_uri("urn:t:s1:7") == (8, "s1", "document 7")


@BOTH
def test_documents_on_a_day(catalog: Catalog) -> None:
    """Those in force on the day are listed, its first and last one included, whether they say so or not; page by page."""
    day = date(2026, 6, 1)
    near = (None, day - timedelta(1), day, day + timedelta(1))
    spans = [(starts, ends) for starts in near for ends in near if not (starts and ends and starts > ends)]
    for number, (starts, ends) in enumerate(spans):
        put(catalog, number, effective_from=starts, effective_until=ends)
    listed = [row["title"] for row in catalog.documents_after(["s1"], 0, 100, day)]
    assert listed == [
        f"document {number}" for number, (starts, ends) in enumerate(spans)
        if (starts is None or starts <= day) and (ends is None or ends >= day)
    ]  # fmt: skip
    first = catalog.documents_after(["s1"], 0, 3, day)
    rest = catalog.documents_after(["s1"], first[-1]["document_id"], 100, day)
    assert [row["title"] for row in (*first, *rest)] == listed


def test_one_live_version(catalog: Catalog) -> None:
    """A document that is stored again replaces its older version: one is live for each source and URI."""
    for version in ("eins", "zwei", "drei"):
        put(catalog, 1, text=version)
        put(catalog, 1, text=version + "!", source="s2")
    assert sorted(texts(catalog).values()) == ["drei", "drei!"]
    assert {u: f for u, (_, f) in catalog.live_documents("s1").items()} == {"urn:t:s1:1": "drei"}
    assert catalog.counts("s1")["documents"] == 1
    with raw(catalog) as connection, pytest.raises(driver.IntegrityError):
        connection.execute("UPDATE documents SET removed_seq = NULL WHERE source_id = 's1'")


@BOTH
def test_whole_or_not_at_all(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever statement of a commit fails, nothing of it is stored and the older version stays."""
    put(catalog, 1, text="alt")
    state = (texts(catalog), catalog.seq(), catalog.counts(), catalog.live_documents("s1"))
    executed = 0
    fails_at = 0

    @sa.event.listens_for(catalog.database.writer, "before_cursor_execute")
    def fail(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        nonlocal executed
        executed += not statement.startswith("BEGIN")
        if executed == fails_at:
            raise sa.exc.OperationalError(statement, {}, Exception("database or disk is full"))

    while True:
        executed, fails_at = 0, fails_at + 1
        try:
            put(catalog, 1, 2, 3, text=f"neu {fails_at}")
        except CatalogUnavailable as error:
            assert "make room" in error.hint
            assert (texts(catalog), catalog.seq(), catalog.counts(), catalog.live_documents("s1")) == state
        else:
            break
    assert fails_at > 6
    assert catalog.counts()["documents"] == 3


@BOTH
def test_twice_in_one_commit(catalog: Catalog) -> None:
    """The same document twice in one commit is an error, not two live versions."""
    with pytest.raises(CatalogError):
        put(catalog, 1, 1)
    assert catalog.counts()["documents"] == 0


@BOTH
def test_failures(catalog: Catalog) -> None:
    """A failure is kept until its document is stored or forgotten, and the older version stays live meanwhile."""
    put(catalog, 1)
    catalog.record_failure("s1", "urn:t:s1:1", "document_rejected", "first")
    catalog.record_failure("s1", "urn:t:s1:1", "document_rejected", "again")
    catalog.record_failure("s1", "urn:x", "unreadable", "gone")
    assert catalog.failures("s1") == {"urn:t:s1:1": "again", "urn:x": "gone"}
    assert catalog.counts("s1") == {"documents": 1, "passages": 1, "vectors": 1, "failures": 2}
    put(catalog, 1, text="new")
    catalog.forget_failures("s1", ["urn:x"])
    catalog.forget_failures("s1", [])
    assert catalog.failures("s1") == {}


@BOTH
def test_values(catalog: Catalog) -> None:
    """A value of the library is replaced as a whole and is None before it is set."""
    assert catalog.value("floor") is None
    for value in ({"hybrid": 0.3, "名": [1, None]}, 0, "", [1]):
        catalog.set_value("floor", value)
        assert catalog.value("floor") == value
    assert catalog.value("encoder") is None
