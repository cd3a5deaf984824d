"""Files of the default engine that were cut off, removed, or are another library's: right answers, or an error by name."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine_laws import DIMENSION, QUERIES, SPEC, TEXTS, World, document, same, unit
from wenyuan.catalog import Catalog
from wenyuan.core.errors import EngineUnavailable, IndexCorrupt, IndexMismatch, KnowledgeError
from wenyuan.engines.local import columns as stored
from wenyuan.engines.local import keyword as local_keyword
from wenyuan.engines.local import vectors
from wenyuan.engines.local.columns import StoredRows, signature
from wenyuan.engines.local.engine import LocalEngine
from wenyuan.engines.local.row_files import RowFiles
from wenyuan.engines.memory import MemoryEngine

KINDS = ["*.term", "*.idx", "*.pos", "*.fast", "*.fieldnorm", "*.store", "*.del", "watermark.json", "rows.json",
         "columns-*", "vectors-*"]  # fmt: skip


def made(folder: Path, word: str) -> World:
    """A library with rows in several segments, some removed, all written."""
    world = World(folder, lambda f, c: LocalEngine(f / "index", SPEC, exclusive=c.writing))
    for first in range(0, 60, 20):
        world.put(*(document(i, text=f"{TEXTS[i % len(TEXTS)]} {word}") for i in range(first, first + 20)))
        world.sync()
    world.remove("s1", 3)
    world.sync()
    world.engine.checkpoint(always=True)  # type: ignore[attr-defined]
    return world


class Copied(World):
    """A copy of a library that was made once."""

    def __init__(self, template: Path, folder: Path) -> None:
        shutil.copytree(template, folder)
        self.catalog, self.folder = Catalog.open(folder), folder
        self.engine: Any = LocalEngine(folder / "index", SPEC, exclusive=self.catalog.writing)
        self.reference = MemoryEngine(SPEC)
        self.engine.sync(self.catalog, deadline=self.deadline())


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("ours") / "library"
    made(folder, "本库").close()
    return folder


@pytest.fixture
def world(template: Path, tmp_path: Path) -> Iterator[World]:
    ours = Copied(template, tmp_path / "library")
    yield ours
    ours.close()


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of another library, of as many changes and rows."""
    folder: Path = tmp_path_factory.mktemp("theirs") / "library"
    made(folder, "別庫").close()
    return folder / "index"


def files(folder: Path, kind: str) -> list[Path]:
    return sorted(folder.rglob(kind))


def truncated(file: Path, other: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def emptied(file: Path, other: Path) -> None:
    os.truncate(file, 0)


def swapped(file: Path, other: Path) -> None:
    shutil.copyfile(other, file)


def removed(file: Path, other: Path) -> None:
    file.unlink()


DAMAGE = [truncated, emptied, swapped, removed]


def damage(index: Path, stranger: Path, kind: str, how: Callable[[Path, Path], None]) -> None:
    found = files(index, kind)
    assert found
    for file, other in zip(found, files(stranger, kind), strict=True):
        how(file, other)


def agrees(world: World, engine: LocalEngine) -> None:
    """The engine finds what the reference engine finds; removed rows may still count in what a term is worth."""
    world.reference.sync(world.catalog, deadline=world.deadline())
    for query in (*QUERIES, "本库"):
        found, expected = (world.keyword(query, engine=one, limit=200) for one in (engine, world.reference))
        assert scores(found) == pytest.approx(scores(expected), abs=0.01)
    assert found
    same(world.vector(unit(4), engine=engine), world.vector(unit(4), engine=world.reference))


def scores(found: Any) -> dict[int, float]:
    return {hit.passage_id: hit.score for hit in found}


def opened(world: World) -> LocalEngine:
    engine = LocalEngine(world.folder / "index", SPEC, exclusive=world.catalog.writing)
    engine.sync(world.catalog, deadline=world.deadline(3_600))
    return engine


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("kind", KINDS)
def test_damage_found_at_opening(world: World, stranger: Path, kind: str, how: Any) -> None:
    """Whatever file was cut off, removed or replaced by another library's, what is opened answers rightly."""
    world.engine.close()
    damage(world.folder / "index", stranger, kind, how)
    agrees(world, opened(world))
    agrees(world, opened(world))


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize(("kind", "mapped"), [*((kind, False) for kind in KINDS), ("vectors-*", True)])
def test_damage_while_open(
    world: World, stranger: Path, kind: str, how: Any, mapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same while it is open: answers are right or errors, and at the next look the files are whole again."""
    if mapped:
        monkeypatch.setattr(stored, "_IN_MEMORY", 0)
    engine: Any = opened(world) if mapped else world.engine
    damage(world.folder / "index", stranger, kind, how)
    try:
        agrees(world, engine)
    except KnowledgeError as error:
        assert mapped, error
        assert kind == "vectors-*"
    engine._look_at = 0.0
    engine.look(world.catalog)
    agrees(world, engine)
    monkeypatch.setattr(LocalEngine, "_start_anew", lambda *_: pytest.fail("its files were not whole"))
    agrees(world, opened(world))


@pytest.mark.parametrize("how", DAMAGE)
def test_damaged_codes(world: World, template: Path, how: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes, too, are seen to be damaged, at the next look and at opening."""
    monkeypatch.setattr(vectors, "EXACT_ROWS", 10)
    engine: Any = opened(world)
    engine.purge(world.catalog)
    (codes,) = files(world.folder / "index", "codes-*")
    how(codes, template / "catalog.db")
    engine._look_at = 0.0
    engine.look(world.catalog)
    (codes,) = files(world.folder / "index", "codes-*")
    agrees(world, opened(world))
    how(codes, template / "catalog.db")
    agrees(world, opened(world))


def test_index_removed_while_open(world: World) -> None:
    """The whole folder can be removed: it is written again from what is held, without reading the catalog's texts."""
    engine: Any = opened(world)
    shutil.rmtree(world.folder / "index")
    engine._look_at = 0.0
    monitored = world.catalog.changes
    world.catalog.changes = None  # type: ignore[method-assign,assignment]
    engine.look(world.catalog)
    world.catalog.changes = monitored  # type: ignore[method-assign]
    agrees(world, engine)
    agrees(world, opened(world))


def test_rows_of_another_library(world: World, stranger: Path) -> None:
    """All row files of another library, which agree with one another, are not taken for ours."""
    world.engine.close()
    for kind in ("rows.json", "columns-*", "vectors-*"):
        for file in files(world.folder / "index", kind):
            file.unlink()
        (other,) = files(stranger, kind)
        shutil.copy2(other, files(world.folder / "index", "keyword")[0].parent)
    engine = LocalEngine(world.folder / "index", SPEC, exclusive=world.catalog.writing)
    with pytest.raises(IndexCorrupt, match="another library's"):
        engine.sync(world.catalog, deadline=world.deadline())
    agrees(world, opened(world))


def test_index_of_another_library(world: World, stranger: Path) -> None:
    """A whole index of another library is refused by name, with the way on: it might be the catalog that is the stranger."""
    world.engine.close()
    shutil.rmtree(world.folder / "index")
    shutil.copytree(stranger, world.folder / "index")
    engine = LocalEngine(world.folder / "index", SPEC, exclusive=world.catalog.writing)
    for seconds in (30.0, 3_600.0):
        with pytest.raises(IndexMismatch, match="another library's") as caught:
            engine.sync(world.catalog, deadline=world.deadline(seconds))
        assert "remove the library's index folder" in caught.value.hint
    shutil.rmtree(world.folder / "index")
    agrees(world, opened(world))


def test_another_process_writes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process writes is no damage: it is followed, and nothing is written over."""
    engine: Any = opened(world)
    other: Any = opened(world)
    world.put(document(80, text="吊装作业 本库"))
    other.sync(world.catalog, deadline=world.deadline())
    other.checkpoint(always=True)
    monkeypatch.setattr(engine, "_write_rows", lambda *_: pytest.fail("written over"))
    before = {path: signature(path) for path in files(world.folder / "index", "*")}  # reading is no writing
    engine._look_at = 0.0
    engine.look(world.catalog)
    engine.sync(world.catalog, deadline=world.deadline(3_600))
    assert {path: signature(path) for path in files(world.folder / "index", "*")} == before
    assert not engine._keyword.changed()
    assert not engine._files.changed()
    agrees(world, engine)


def test_files_of_a_copied_library(world: World, tmp_path: Path) -> None:
    """Vectors in another file than they were written to are compared once, then known again."""
    world.engine.close()
    shutil.copytree(world.folder / "index", tmp_path / "copy")
    first: Any = LocalEngine(tmp_path / "copy", SPEC, exclusive=world.catalog.writing)
    again: Any = LocalEngine(tmp_path / "copy", SPEC, exclusive=world.catalog.writing)
    assert (first._moved, again._moved) == (True, False)
    agrees(world, again)


def test_damage_that_cannot_be_mended(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the files cannot be written, that is said, and questions are answered from what is held."""
    engine: Any = opened(world)
    for file in files(world.folder / "index", "*.term"):
        file.unlink()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(local_keyword.Path, "write_bytes", full)
    engine._look_at = 0.0
    with pytest.raises(EngineUnavailable, match="No space left on device"):
        engine.look(world.catalog)
    agrees(world, engine)


@pytest.mark.parametrize("by_kernel", [True, False])
def test_mapped_rows_are_those_of_the_file(tmp_path: Path, by_kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are read alike through the kernel and one by one, and an end that was cut off is an error of either."""
    monkeypatch.setattr(stored, "_IN_MEMORY", 0)
    if not by_kernel:
        monkeypatch.setattr(stored, "_readv", None)
    rows = np.random.default_rng(0).standard_normal((5_000, 24)).astype(np.float32)
    path = tmp_path / "rows.f32"
    path.write_bytes(rows.tobytes())
    held = StoredRows(path, 5_000, 24)
    numbers = np.random.default_rng(1).permutation(5_000)[:3_000]
    assert np.array_equal(held.take(numbers), rows[numbers])
    assert np.array_equal(held.span(7, 4_999), rows[7:4_999])
    os.truncate(path, 100 * 24 * 4)
    assert np.array_equal(held.take(numbers[numbers < 40]), rows[numbers[numbers < 40]])
    with pytest.raises(IndexCorrupt, match="cut off"):
        held.take(numbers)
    with pytest.raises(IndexCorrupt, match="cut off"):
        held.span(4_000, 5_000)


def test_one_vector_of_another_value(world: World) -> None:
    """Where only the file of whole vectors holds something else, of the same size, opening finds it and reads all anew."""
    world.engine.close()
    (file,) = files(world.folder / "index", "vectors-*")
    content = bytearray(file.read_bytes())
    content[-2] ^= 0x3F
    file.write_bytes(bytes(content))
    with pytest.raises(IndexCorrupt, match="does not hold the vectors that were written"):
        RowFiles(file.parent, DIMENSION).read()
    agrees(world, opened(world))


def test_reading_anew_that_fails_says_so(world: World) -> None:
    """Rows that cannot be read from the catalog are an error, and those that are held stay."""
    engine: Any = world.engine

    class Broken:
        """A change feed whose catalog cannot be read."""

        def changes(self, *_: Any, **__: Any) -> Iterator[Any]:
            raise EngineUnavailable("the disk is gone", component="catalog")
            yield

    held = engine._columns
    with pytest.raises(EngineUnavailable, match="the disk is gone"):
        engine._read_anew(Broken())
    assert engine._columns is held
    agrees(world, engine)
