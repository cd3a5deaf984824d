"""How the default engine keeps its files: what is removed leaves them, what is damaged is found."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine_laws import EARLIER_CODES, QUERIES, SPEC, TEXTS, World, document, earlier_codes, hidden_of, same, unit
from patience import HANGS, in_time
from wenyuan.core.errors import CatalogBusy, EngineUnavailable, IndexCorrupt, KnowledgeError
from wenyuan.core.text.analysis import query_terms
from wenyuan.engines.local import engine as local_engine
from wenyuan.engines.local import vectors
from wenyuan.engines.local.engine import LocalEngine

SECRET = "kleinod"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "library", lambda f, c: LocalEngine(f / "index", SPEC, exclusive=c.writing))
    made.put(*(document(i, source="s1" if i % 3 else "s2") for i in range(len(TEXTS))))
    made.put(*(document(i, source="s2", text=f"{SECRET} 金丝雀 {i}") for i in range(20, 60)))
    made.sync()
    made.engine.checkpoint(always=True)  # type: ignore[attr-defined]
    yield made
    made.close()


def reopened(world: World) -> LocalEngine:
    engine = LocalEngine(world.folder / "index", SPEC, exclusive=world.catalog.writing)
    engine.sync(world.catalog, deadline=world.deadline())
    return engine


def files(world: World, pattern: str) -> list[Path]:
    return sorted((world.folder / "index").rglob(pattern))


def agrees(world: World, engine: LocalEngine) -> None:
    """The engine gives the reference engine's rankings."""
    world.reference.sync(world.catalog, deadline=world.deadline())
    for query in QUERIES:
        same(world.keyword(query, engine=engine), world.keyword(query, engine=world.reference))
    same(world.vector(unit(4), engine=engine), world.vector(unit(4), engine=world.reference))


# -- removal ----------------------------------------------------------------------------------------------------


def test_scores_after_most_rows_went(world: World) -> None:
    """After most rows were removed every score is still in 0..1, before the files are written anew and after."""
    world.catalog.remove_source("s2")
    world.sync()
    for query in (*QUERIES, "投诉 响应 的 connection", SECRET):
        for hit in world.keyword(query):
            assert 0.0 <= hit.score <= 1.0
    assert all(weight >= 0.0 for weight in world.engine.information(query_terms("投诉 金丝雀 pool")).values())
    world.engine.purge(world.catalog)  # type: ignore[attr-defined]
    agrees(world, world.engine)  # type: ignore[arg-type]


def test_long_runs_clear_removed_rows(world: World) -> None:
    """A sync that has time writes the index anew once many of its rows are removed ones; a request's does not."""
    engine: Any = world.engine
    world.catalog.remove_source("s2")
    engine.sync(world.catalog, deadline=world.deadline())
    assert engine.removed_share() > 0.5
    world.put(document(70))
    engine.sync(world.catalog, deadline=world.deadline(3_600))
    assert engine.removed_share() == 0.0
    agrees(world, engine)
    agrees(world, reopened(world))


def test_purge_leaves_no_trace(world: World) -> None:
    """After a purge no term and no vector of what was removed is in any index file; the rest answers as before."""
    engine: Any = world.engine
    vectors = [unit(i).tobytes() for i in range(20, 60)]
    (stored,) = files(world, "vectors-*.f32")
    assert all(v in stored.read_bytes() for v in vectors)
    world.catalog.remove_source("s2")
    world.sync()
    engine.purge(world.catalog)
    (stored,) = files(world, "vectors-*.f32")
    assert not any(v in stored.read_bytes() for v in vectors)
    published: Any = reopened(world)
    searcher = published._keyword.searcher
    assert all(searcher.doc_freq("body", term) == 0 for term in query_terms(SECRET))
    assert searcher.doc_freq("body", query_terms("pool")[0]) > 0
    assert {p.name for p in files(world, "keyword/*")} == {
        "watermark.json",
        *published._keyword._segments.state.copies,
    }
    assert len(files(world, "columns-*.npz")) == 1
    agrees(world, engine)
    agrees(world, reopened(world))


def test_purge_while_others_read(world: World) -> None:
    """A purge neither disturbs the queries of this process nor another engine on the same files."""
    engine: Any = world.engine
    other = reopened(world)
    view = engine._view
    engine.purge(world.catalog)
    engine.purge(world.catalog)
    terms, deadline = query_terms("投诉 响应"), world.deadline()
    assert engine._keyword.search(view.searcher, terms, 5)
    agrees(world, other)
    world.put(document(71, text="吊装作业"))
    other.sync(world.catalog, deadline=deadline)
    world.sync()
    agrees(world, other)
    agrees(world, engine)
    other.checkpoint(always=True)
    engine.checkpoint(always=True)
    agrees(world, reopened(world))


def test_failed_purge_changes_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A purge that fails half way leaves the engine as it was, and the next one succeeds."""
    engine: Any = world.engine

    class Breaks:
        def seq(self) -> int:
            return world.catalog.seq()

        def stamp(self, seq: int) -> str:
            return world.catalog.stamp(seq)

        def changes(self, after: int, upto: int, *, vectors: bool) -> Any:
            for number, change in enumerate(world.catalog.changes(after, upto, vectors=vectors)):
                if number == 9:
                    raise OSError(5, "Input/output error")
                yield change

    with pytest.raises(KnowledgeError):
        engine.purge(Breaks())
    agrees(world, engine)
    engine.purge(world.catalog)
    agrees(world, reopened(world))


# -- commits that were cut off ----------------------------------------------------------------------------------


def test_files_of_a_commit_that_was_cut_off(world: World) -> None:
    """What a killed commit has moved in place, and the folder it wrote in, go with the next commit."""
    engine: Any = world.engine
    before = {path: path.read_bytes() for path in files(world, "keyword/*")}
    world.remove("s1", 1)
    world.sync()
    (added,) = files(world, "*.del")
    engine.close()
    for path, content in before.items():
        path.write_bytes(content)
    writing = added.with_name(".writing-killed")
    writing.mkdir()
    again: Any = reopened(world)
    assert again.status().passages == world.catalog.counts()["passages"]
    assert not writing.exists()
    again.purge(world.catalog)
    assert not added.exists()
    agrees(world, again)


def test_rows_replaced_while_they_are_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that opens while another process replaces the row files reads the new ones and rebuilds nothing."""
    engine: Any = world.engine
    load = local_engine.Columns.load
    happened = []

    def replaced(path: Path, crc: int) -> Any:
        if not happened:
            happened.append(path)
            world.put(document(72))
            world.sync()
            engine.checkpoint(always=True)
        return load(path, crc)

    monkeypatch.setattr(local_engine.Columns, "load", replaced)
    monkeypatch.setattr(LocalEngine, "_start_anew", lambda *_: pytest.fail("rebuilt"))
    agrees(world, reopened(world))
    assert happened


# -- damage -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["watermark.json", "rows.json"])
@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "null", '{"seq": 1}', '{"seq": "x", "key": 1}'])
def test_small_files_that_say_nonsense(world: World, name: str, content: str) -> None:
    """A watermark or manifest that holds anything else leads to a rebuild, never to an error of Python's."""
    (file,) = files(world, name)
    file.write_text(content)
    agrees(world, reopened(world))


def test_rows_of_an_earlier_version_are_measured(world: World) -> None:
    """Files that do not say how long passages are, as an earlier version wrote them, score as before, hidden documents or not, and
    say it from then on.
    """
    world.engine.close()
    (manifest,), (columns,) = files(world, "rows.json"), files(world, "columns-*.npz")
    with np.load(columns, allow_pickle=False) as arrays:
        kept = {name: arrays[name] for name in arrays.files if name != "n.length"}
    with columns.open("wb") as file:
        np.savez(file, **kept)
    told = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(told | {"columns_crc": zlib.crc32(columns.read_bytes())}))
    engine = reopened(world)
    documents = [number for number, _ in world.catalog.live_documents("s2").values()]
    scope = replace(world.scope(), hidden=hidden_of(documents[::2]))
    world.reference.sync(world.catalog, deadline=world.deadline())
    for query in QUERIES:
        same(world.keyword(query, scope, engine=engine), world.keyword(query, scope, engine=world.reference))
    agrees(world, engine)
    engine.checkpoint(always=True)
    (columns,) = files(world, "columns-*.npz")
    with np.load(columns, allow_pickle=False) as arrays:
        assert (arrays["n.length"] > 0).all()
    engine.close()


@pytest.mark.parametrize("busy", [False, True], ids=["free", "somebody writes"])
@pytest.mark.parametrize("kind", EARLIER_CODES)
def test_codes_of_an_earlier_version(world: World, kind: str, busy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are made anew when the engine is opened, which answers at once, and kept if nobody else writes."""
    monkeypatch.setattr(vectors, "EXACT_ROWS", 10)
    engine: Any = world.engine
    engine.purge(world.catalog)
    (manifest,), (codes,) = files(world, "rows.json"), files(world, "codes-*.faiss")
    rows = engine._scan.rows(np.arange(len(engine._scan)))
    codes.write_bytes(earlier_codes(rows, kind))
    state = json.loads(manifest.read_text("utf-8"))
    manifest.write_text(json.dumps(state | {"codes_crc": zlib.crc32(codes.read_bytes())}), "utf-8")

    def taken(**_: Any) -> Any:
        raise CatalogBusy("somebody else writes", component="catalog")

    opened = LocalEngine(world.folder / "index", SPEC, exclusive=taken if busy else world.catalog.writing)
    agrees(world, opened)
    assert (files(world, "codes-*.faiss") == [codes]) == busy
    again: Any = LocalEngine(world.folder / "index", SPEC, exclusive=world.catalog.writing)
    assert again._scan.recoded == busy
    agrees(world, again)


@pytest.mark.parametrize("busy", [False, True])
def test_lost_rows_are_replayed_once(world: World, monkeypatch: pytest.MonkeyPatch, busy: bool) -> None:
    """Who only asked has replayed rows that were lost, and writes them when it closes: whoever asks next need not."""

    def taken(*, wait: float = 10.0) -> Any:
        raise CatalogBusy("somebody else writes", component="catalog")

    monkeypatch.setattr(local_engine, "_SAVE_AFTER", 40)
    (file,) = files(world, "rows.json")
    file.unlink()
    asking: Any = reopened(world)
    asking._exclusive = taken if busy else asking._exclusive
    asking.close()
    assert bool(files(world, "rows.json")) != busy
    next_one: Any = LocalEngine(world.folder / "index", SPEC, exclusive=world.catalog.writing)
    assert (next_one.status().watermark == world.catalog.seq()) != busy
    agrees(world, reopened(world))


def test_few_replayed_rows_are_not_written(world: World) -> None:
    """To write the row files for a few changes takes longer than to replay them."""
    (file,) = files(world, "rows.json")
    before = file.read_bytes()
    world.put(document(73))
    reopened(world).close()
    assert file.read_bytes() == before


def test_manifest_damaged_while_open(world: World) -> None:
    """A manifest that was damaged while the engine is open makes writing the row files an error that says so."""
    (file,) = files(world, "rows.json")
    file.write_text("[]")
    world.put(document(73))
    world.sync()
    with pytest.raises(EngineUnavailable, match="cannot write the row files"):
        world.engine.checkpoint(always=True)  # type: ignore[attr-defined]


def test_damage_found_by_a_request(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage that a request meets is its error; a run that has time mends it."""
    world.put(document(74))
    (file,) = files(world, "watermark.json")
    file.write_text("{")
    engine: Any = world.engine
    with pytest.raises(IndexCorrupt):
        engine.sync(world.catalog, deadline=world.deadline())
    engine.sync(world.catalog, deadline=world.deadline(3_600))
    agrees(world, engine)


def test_failed_write_is_rolled_back(world: World) -> None:
    """An error in the middle of writing the keyword index is raised, and nothing of it is committed."""
    engine: Any = world.engine
    keyword = engine._keyword
    before = keyword.searcher.num_docs, keyword.watermark
    with pytest.raises(ZeroDivisionError), keyword.writing(99, "") as writer:
        keyword.clear(writer)
        raise ZeroDivisionError
    keyword.reload()
    assert (keyword.searcher.num_docs, keyword.watermark) == before
    agrees(world, engine)


# -- waiting ----------------------------------------------------------------------------------------------------


def test_checkpoint_beside_an_ingest(world: World) -> None:
    """Writing the row files waits for who holds the library's lock, without holding up who indexes under it."""
    engine: Any = world.engine
    world.put(document(76))
    begun, failed = threading.Event(), []

    def checkpoint() -> None:
        begun.set()
        try:
            engine.checkpoint(always=True)
        except CatalogBusy as error:
            failed.append(error)

    thread = threading.Thread(target=checkpoint)
    with world.catalog.writing():
        thread.start()
        begun.wait(60)
        time.sleep(0.1)
        with in_time():
            engine.sync(world.catalog, deadline=world.deadline(HANGS))
    thread.join()
    assert failed == []
    agrees(world, reopened(world))


def test_a_file_that_comes_late_into_a_scratch_folder_is_no_damage(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock file that appears while the folder of copies is being removed: the index opens, and nothing is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    late: list[Path] = []

    def rmdir(path: str, **more: Any) -> None:
        if Path(path).parent == tmp_path and not late:
            late.append(Path(path) / ".tantivy-meta.lock")
            late[0].touch()
        removed(path, **more)

    removed = os.rmdir
    monkeypatch.setattr(os, "rmdir", rmdir)
    with closing(reopened(world)) as engine:
        agrees(world, engine)
    assert late and not late[0].parent.exists()
