"""Where the engines must refuse to answer: each has one test, small enough to be run for every mutant."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine_laws import QUERIES, SPEC, TEXTS, World, document, same, unit
from wenyuan.core.errors import (
    CatalogBusy,
    EngineError,
    EngineTimeout,
    EngineUnavailable,
    IndexCorrupt,
    IndexMismatch,
)
from wenyuan.core.ports import Deadline
from wenyuan.engines.local import columns as stored
from wenyuan.engines.local import publication
from wenyuan.engines.local.columns import Columns
from wenyuan.engines.local.engine import LocalEngine
from wenyuan.engines.local.keyword import _translated
from wenyuan.engines.local.vectors import EXACT_ROWS, VectorScan
from wenyuan.engines.memory import MemoryEngine


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "library", lambda f, c: LocalEngine(f / "index", SPEC, exclusive=c.writing))
    made.put(*(document(i, source="s1" if i % 3 else "s2") for i in range(len(TEXTS))))
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


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, int, int]:
    """A scan of more rows than are compared one by one, on disk: its files, its checksum, its number of rows."""
    folder = tmp_path_factory.mktemp("scan")
    count = EXACT_ROWS + 10
    rows = np.random.default_rng(1).normal(size=(count, 16)).astype(np.float32)
    scan = VectorScan(16)
    scan.extend(rows)
    vectors, codes = folder / "v.f32", folder / "c.faiss"
    return vectors, codes, scan.save(vectors, codes, append=False), count


def test_saved_scan_is_loaded(saved: tuple[Path, Path, int, int]) -> None:
    """A scan that was saved is loaded with all its rows."""
    vectors, codes, crc, count = saved
    assert len(VectorScan.load(16, vectors, codes, crc, None, np.zeros(count, bool))) == count


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda v, c, crc, n: (v, c, crc + 1, n), "wrong checksum"),
        (lambda v, c, crc, n: (v, c, 0, n), "wrong checksum, or missing"),
        (lambda v, c, crc, n: (v, c.with_name("none"), crc, n), "No such file"),
        (lambda v, c, crc, n: (v, c, crc, n + 1), "shorter"),
        (lambda v, c, crc, n: (v, c, crc, n - 1), "another number of rows"),
    ],
)
def test_damaged_scan(saved: tuple[Path, Path, int, int], change: Callable[..., Any], message: str) -> None:
    """A scan whose files are lost, cut, changed or of another size is not loaded."""
    vectors, codes, crc, count = change(*saved)
    with pytest.raises(IndexCorrupt, match=message):
        VectorScan.load(16, vectors, codes, crc, None, np.zeros(count, bool))


@pytest.mark.parametrize("error", [ValueError("x"), OSError(28, "No space left"), FileNotFoundError(2, "gone")])
def test_errors_of_the_keyword_library(error: Exception) -> None:
    """What tantivy raises becomes IndexCorrupt with what was being done."""
    with pytest.raises(IndexCorrupt, match="probing") as caught, _translated("probing"):
        raise error
    assert caught.value.__cause__ is error


def test_panics_of_the_keyword_library() -> None:
    """A panic, which is no Exception, becomes IndexCorrupt; an interrupt of the user's does not."""
    panic = type("PanicException", (BaseException,), {})
    with pytest.raises(IndexCorrupt, match="index out of bounds"), _translated("searching"):
        raise panic("index out of bounds")
    with pytest.raises(KeyboardInterrupt), _translated("searching"):
        raise KeyboardInterrupt


@pytest.mark.parametrize("kind", [LocalEngine, MemoryEngine])
def test_catalog_replaced_by_an_older_one(world: World, kind: type) -> None:
    """An index that holds more than the catalog is a mismatch, whatever the engine."""

    class Older:
        def seq(self) -> int:
            return 1

    engine = world.engine if kind is LocalEngine else world.reference
    with pytest.raises(IndexMismatch, match=r"catalog ends at 1|older"):
        engine.sync(Older(), deadline=world.deadline())  # type: ignore[arg-type]


def test_other_process_that_writes_for_long(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that another process keeps behind for longer than allowed is a mismatch that names it."""

    engine: Any = world.engine
    world.put(document(77))

    @contextmanager
    def busy(**_: Any) -> Iterator[None]:
        raise CatalogBusy("the library is being written by process 1", component="catalog")
        yield

    monkeypatch.setattr(engine, "_exclusive", busy)
    monkeypatch.setattr(engine, "_max_lag", -1.0)
    with pytest.raises(IndexMismatch, match="process 1"):
        engine.sync(world.catalog, deadline=world.deadline())


def test_rows_ahead_of_the_keyword_index(world: World) -> None:
    """Row files that hold more than the keyword index are not believed."""
    (file,) = files(world, "rows.json")
    state = json.loads(file.read_text())
    file.write_text(json.dumps(state | {"seq": state["seq"] + 5}))
    engine: Any = world.engine
    with pytest.raises(IndexCorrupt, match="ahead"):
        engine._load()
    agrees(world, reopened(world))


def test_index_without_watermark(world: World) -> None:
    """An index whose watermark is lost is not believed."""
    (file,) = files(world, "watermark.json")
    file.unlink()
    engine: Any = world.engine
    with pytest.raises(IndexCorrupt, match="no watermark"):
        engine._keyword.reload()


def test_flipped_bit_in_a_mapped_vector(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vector that changes on disk while it is mapped is found when it would be in the answer."""
    monkeypatch.setattr(stored, "_IN_MEMORY", 0)
    engine = reopened(world)
    (file,) = files(world, "vectors-*.f32")
    with file.open("r+b") as raw:
        raw.seek(7)
        raw.write(b"\x7f\x7f")
    scope, deadline = world.scope(), world.deadline()
    with pytest.raises(IndexCorrupt, match="row 0 does not match its checksum"):
        engine.vector(unit(0), scope=scope, limit=len(TEXTS) + 40, deadline=deadline)
    with pytest.raises(IndexCorrupt, match="row 0 does not match its checksum"):
        engine.cosines(unit(0), [1], deadline=deadline)


def test_another_thread_is_indexing(world: World) -> None:
    """A request that would have to wait for another thread's indexing beyond its deadline is an error."""
    engine: Any = world.engine
    world.put(document(75))
    engine._max_lag = -1.0
    with engine._lock, pytest.raises(EngineTimeout, match="another thread"):
        engine.sync(world.catalog, deadline=Deadline(time.monotonic() + 0.05, time.monotonic))
    world.sync()
    agrees(world, engine)


def test_index_without_an_encoder(world: World) -> None:
    """An index that has no vectors refuses vector questions instead of finding nothing."""
    engine = LocalEngine(world.folder / "index", replace(SPEC, encoder=None), exclusive=world.catalog.writing)
    engine.sync(world.catalog, deadline=world.deadline())
    with pytest.raises(EngineError, match="without an encoder"):
        engine.vector(unit(1), scope=world.scope(), limit=1, deadline=world.deadline())
    with pytest.raises(EngineError, match="without an encoder"):
        engine.cosines(unit(1), [1], deadline=world.deadline())


def test_columns_with_a_flipped_bit(world: World) -> None:
    """Columns that are not what was written are not loaded."""
    (file,) = files(world, "columns-*.npz")
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 1
    file.write_bytes(raw)
    with pytest.raises(IndexCorrupt, match="wrong checksum"):
        Columns.load(file, zlib.crc32(raw) ^ 1)
    with pytest.raises(IndexCorrupt, match="No such file"):
        Columns.load(file.with_name("none"), 1)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"key": "other"}, "another index"),
        ({"seq": 10**9}, "its hash is another"),
        ({"files": 1}, "its hash is another"),
    ],
)
def test_watermark_of_another_index(world: World, changes: dict[str, Any], why: str) -> None:
    """A watermark that was written for other rows, or is not as it was written, is not believed."""
    (file,) = files(world, "watermark.json")
    said = json.loads(file.read_text()) | changes
    if "key" in changes:
        said["sha256"] = publication._hash({name: value for name, value in said.items() if name != "sha256"})
    file.write_text(json.dumps(said))
    engine: Any = world.engine
    with pytest.raises(IndexCorrupt, match=why):
        engine._keyword.reload()


def test_an_index_that_is_published_without_end_is_not_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another manifest stands there each time that the files do not fit, nothing is read, and that is why."""
    folder = next(iter(files(world, "*.term"))).parent
    reading = publication.Segments(folder, "another index's")
    published = reading._read_manifest()
    times = iter(range(1, 1_000))
    monkeypatch.setattr(reading, "_read_manifest", lambda: published + b" " * next(times))
    with pytest.raises(EngineUnavailable, match="again and again"):
        reading.read()
