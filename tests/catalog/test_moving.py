"""Moving a library to PostgreSQL and back: everything arrives, answers stay, what was broken off goes on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import wenyuan
from catalog_parts import again, dropped, dsn_of, on_server
from wenyuan.catalog import Catalog, migration, schema
from wenyuan.catalog.library_folder import Files
from wenyuan.catalog.migration import MoveProgress, move
from wenyuan.catalog.postgres import Server
from wenyuan.core.errors import CatalogBusy, CatalogError, CatalogUnavailable, InvalidRequest
from wenyuan.core.model import RetrievalRequest, Source
from wenyuan.service.context import ContextRequest

pytestmark = pytest.mark.integration

HASHING: dict[str, Any] = {"encoder": {"kind": "hashing"}, "search": {"floor": 0.0, "deadline": 30}}
QUESTIONS = [f"第{n}号窗口的投诉 desk {n}" for n in range(200)]


@pytest.fixture
def server(database: str, tmp_path: Path) -> Iterator[Server]:
    """Room for the library, beside the folder that it comes from."""
    made = on_server(database, tmp_path / "library")
    yield made
    dropped(made)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with everything in it: changed and removed documents, a key, an audit, tasks; and what it is made of."""
    tmp_path = tmp_path_factory.mktemp("made")
    docs, gone = tmp_path / "docs", tmp_path / "gone"
    for home in (docs, gone):
        home.mkdir()
        for n in range(12):
            (home / f"{n}.md").write_text(
                f"# 手册 {n} {home.name}\n\n第{n}号窗口负责投诉。\n\n## Desk\n\nDesk {n} answers complaints.\n",
                "utf-8",
            )
    with wenyuan.open(tmp_path / "library", create=True, **HASHING) as library:
        library.add(Source(source_id="docs", path=str(docs), copyright="excerpt<=80"))
        library.add(Source(source_id="gone", path=str(gone), sensitivity="confidential"))
        (docs / "3.md").write_text("# 手册 3\n\n第3号窗口投诉已迁址。\n", "utf-8")
        library.ingest("docs")
        library.remove("gone")
        library.catalog.create_key(None, frozenset({"retrieve"}), None)
        library.get_context(ContextRequest(retrieval_query=QUESTIONS[1], top_k={"docs": 3}, task_id="ticket 1"))
        answered(library, 20)
    return tmp_path


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """That library, and its documents beside it as they were; its sources name those that it was made of."""
    return Path(shutil.copytree(made / "library", tmp_path / "library"))


def answered(library: wenyuan.Library, count: int = 200) -> list[Any]:
    answers = [library.retrieve_fragments(RetrievalRequest(query=q, max_results=5)) for q in QUESTIONS[:count]]
    assert all(answer.status == "SUCCESS" and answer.fragments for answer in answers)
    said = [[(f.content, f.source, f.retrieval_score, f.metadata) for f in answer.fragments] for answer in answers]
    return json.loads(json.dumps(said, default=str).replace("audit_id", "a"), object_hook=_without_ids)


def _without_ids(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "a"}


def on(server: Server) -> dict[str, Any]:
    return {**HASHING, "catalog": {"dsn": dsn_of(server), "schema_name": server.schema, "sessions": 4}}


def files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in ("catalog.db", "pseudonym.key")}


def test_there_and_back(folder: Path, server: Server, made: Path, tmp_path: Path) -> None:
    """After a move, and after one back, 200 questions have the answers they had, and the audit is whole."""
    with wenyuan.open(folder, **HASHING) as library:
        before, counts, name = answered(library), library.catalog.counts(), library.catalog.library_id()
    untouched = files(folder)
    moved = move(Files(folder), server)
    assert files(folder) == untouched
    assert moved.tables["passages"] > 40
    assert moved.tables["given"] >= 1
    assert moved.tables["audit"] > 200
    with wenyuan.open(folder, **on(server)) as library:
        assert answered(library) == before
        assert (library.catalog.counts(), library.catalog.library_id()) == (counts, name)
        assert not library.catalog.elsewhere()
        assert library.audit.verify().ok
        last = library.audit.list(kind="retrieval", limit=1)[0]
        assert library.replay(last.audit_id).identical
        library.add(Source(source_id="more", path=str(made / "gone"), sensitivity="confidential"))
        library.remove("more")
        assert answered(library, 20) == before[:20]
    back = move(again(server), Files(tmp_path / "back"))
    assert back.tables["audit"] > moved.tables["audit"] + 220
    assert (tmp_path / "back" / "pseudonym.key").read_bytes() == untouched["pseudonym.key"]
    with wenyuan.open(tmp_path / "back", **HASHING) as library:
        assert answered(library) == before
        assert library.audit.verify().ok
        assert library.catalog.library_id() == name


def test_addresses_too_long_for_an_index_are_refused_first(tmp_path: Path, server: Server) -> None:
    """Nothing is made on the server, and the table, the column and what to do are said."""
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as library:
        library.catalog.put_source(Source(source_id="s"))
        library.catalog.record_failure("s", "file:///" + "长" * 900, "rejected", "too large")
    with pytest.raises(CatalogError, match=r"1 rows of table failures have more than 2,400 bytes in uri") as refused:
        move(Files(tmp_path / "library"), server)
    assert "shorter names" in refused.value.hint
    with wenyuan.open(tmp_path / "library", encoder={"kind": "none"}) as library:
        library.catalog.forget_failures("s", ["file:///" + "长" * 900])
        library.catalog.record_failure("s", "file:///" + "长" * 700, "rejected", "too large")
    assert move(Files(tmp_path / "library"), server).tables["failures"] == 1


def test_every_table_is_moved(folder: Path, server: Server) -> None:
    """Whatever table a library has, here or there, is one that is moved and compared, but what says which file it is."""
    moved = set(move(Files(folder), server).tables) | {schema.library.name}
    with again(server).reader.connect() as connection:
        assert set(sa.inspect(connection).get_table_names()) == moved
    found = set()
    for name in ("catalog.db", "audit.db", "tasks.db"):
        engine = sa.create_engine(f"sqlite:///{folder / name}")
        found |= set(sa.inspect(engine).get_table_names())
        engine.dispose()
    assert found == moved | {"audit_library", "ledger"}


class Broken(Exception):
    pass


def test_broken_off_and_gone_on_with(folder: Path, server: Server) -> None:
    """A move that ended anywhere is gone on with; until it is whole, what is there does not open as a library."""
    steps = 0

    def tell(step: MoveProgress) -> None:
        nonlocal steps
        steps += 1
        if step.table in ("passages", "audit", "vectors") and step.done:
            raise Broken

    for _ in range(2):
        with pytest.raises(Broken):
            move(Files(folder), again(server), tell)
        with pytest.raises(CatalogUnavailable, match="not all there yet") as caught:
            Catalog.open(again(server))
        assert "migrate" in caught.value.hint
    assert steps > 2
    whole = move(Files(folder), again(server))
    opened = Catalog.open(again(server))
    assert whole.seq == opened.seq()
    opened.close()


CHILD = """
import sys
from pathlib import Path
from functools import partialmethod
from wenyuan.catalog import Catalog, migration as moving
from wenyuan.catalog.library_folder import Files
from wenyuan.catalog.postgres import Server
moving._BATCH = 7
Catalog.writing = partialmethod(Catalog.writing, wait=0.2)
moving.move(Files(Path(sys.argv[1])), Server(Path(sys.argv[1]), sys.argv[2], schema=sys.argv[3]), lambda s: print(s.table, flush=True))
"""


@pytest.mark.parametrize("at", ["documents", "passages", "audit_queries"])
def test_killed(folder: Path, server: Server, at: str) -> None:
    """A move whose process was killed is gone on with by the next, and everything is there once."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, folder, dsn_of(server), server.schema], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    seen = 0
    for line in child.stdout:
        seen += line.strip() == at
        if seen == 2:
            os.kill(child.pid, signal.SIGKILL)
            break
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    with wenyuan.open(folder, **HASHING) as library:
        before, held = answered(library, 20), library.catalog.counts()
    moved = move(Files(folder), again(server))
    with wenyuan.open(folder, **on(server)) as library:
        assert answered(library, 20) == before
        assert library.catalog.counts() == held
    assert moved.tables["audit"] > 20


def test_written_to_between_two_attempts(folder: Path, server: Server, tmp_path: Path) -> None:
    """What changed in the old library after a move was broken off is found by comparing, and copied again."""

    def tell(step: MoveProgress) -> None:
        if step.table == "vectors":
            raise Broken

    with pytest.raises(Broken):
        move(Files(folder), again(server), tell)
    with wenyuan.open(folder, **HASHING) as library:
        (tmp_path / "late.md").write_text("# 手册 99\n\n第99号窗口投诉 desk 已关闭。\n", "utf-8")
        library.add(Source(source_id="late", path=str(tmp_path / "late.md")))
        library.remove("docs")
        before = answered(library, 20)
    move(Files(folder), again(server))
    with wenyuan.open(folder, **on(server)) as library:
        assert answered(library, 20) == before
        assert library.catalog.counts()["documents"] == 1


def test_refused(folder: Path, server: Server, tmp_path: Path) -> None:
    """Nothing is moved onto another library, from one that is being written to, or from folder to folder."""
    Catalog.create(again(server)).close()
    with pytest.raises(CatalogUnavailable, match="already"):
        move(Files(folder), again(server))
    with pytest.raises(InvalidRequest, match="in a folder already"):
        migration.move_library(folder, str(tmp_path / "other"))
    writing = Catalog.open(folder)
    with writing.writing(), pytest.raises(CatalogBusy, match="being written"):
        _move_in_a_child(folder, server)
    writing.close()


def test_a_connection_string_in_words(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``host=… password=…`` is a connection string, too: no folder is made that has the password in its name."""
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(CatalogUnavailable, match="cannot be reached") as caught:
        migration.move_library(folder, "host=127.0.0.1 port=1 password=Geheim-0815 dbname=kb")
    assert "Geheim" not in f"{caught.value} {caught.value.hint}"
    assert sorted(tmp_path.iterdir()) == before
    assert not migration.names_server("./a=b")


def _move_in_a_child(folder: Path, server: Server) -> None:
    """In this process the lock would be waited for by the thread that holds it, and so be had."""
    child = subprocess.run(
        [sys.executable, "-c", CHILD, folder, dsn_of(server), server.schema],
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 1
    raise CatalogBusy(child.stderr.strip().splitlines()[-1])


def test_a_row_that_differs_for_good(folder: Path, server: Server) -> None:
    """An audit record that was changed on the way is found, and the new place stays closed."""

    def tell(step: MoveProgress) -> None:
        if step.table == "audit_queries" and step.doing == "copying":
            with again(server).claims.begin() as connection:
                connection.exec_driver_sql("ALTER TABLE audit DISABLE TRIGGER USER")
                connection.exec_driver_sql("UPDATE audit SET record = '{}' WHERE seq = 3")

    with pytest.raises(CatalogUnavailable, match=r"audit does not verify"):
        move(Files(folder), again(server), tell)
    with pytest.raises(CatalogUnavailable, match="table audit differs"):
        move(Files(folder), again(server))
    with pytest.raises(CatalogUnavailable, match="not all there yet"):
        Catalog.open(again(server))
