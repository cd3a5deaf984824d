"""The engines under the laws of `engine_laws`, and what is special about each."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine_laws import DAY, QUERIES, SPEC, TEXTS, EngineLaws, World, document, same, unit
from wenyuan.catalog import Catalog
from wenyuan.core.errors import CatalogBusy, EngineError, EngineTimeout, IndexCorrupt, IndexMismatch
from wenyuan.core.filters import Scope
from wenyuan.core.model import Source
from wenyuan.core.ports import Engine
from wenyuan.engines.local.engine import LocalEngine
from wenyuan.engines.memory import MemoryEngine


def open_local(folder: Path, catalog: Catalog) -> LocalEngine:
    return LocalEngine(folder / "index", SPEC, exclusive=catalog.writing)


class TestMemoryEngine(EngineLaws):
    @pytest.fixture
    def make_engine(self) -> Callable[[Path, Catalog], Engine]:
        return lambda folder, catalog: MemoryEngine(SPEC)


class TestLocalEngine(EngineLaws):
    @pytest.fixture
    def make_engine(self) -> Callable[[Path, Catalog], Engine]:
        return open_local

    def test_hidden_documents_among_many(self, filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where too many passages are in view to name each, as many are looked at as it takes."""
        monkeypatch.setattr("wenyuan.engines.local.keyword._FEW", 0)
        self.test_hidden_documents(filled)

    def index_files(self, world: World) -> list[Path]:
        return [
            p
            for p in (world.folder / "index").rglob("*")
            if p.is_file() and p.stat().st_size and "lock" not in p.name
        ]

    def reopen(self, world: World) -> None:
        world.engine.close()
        world.engine = world.make_engine(world.folder, world.catalog)
        world.sync()

    def test_every_lost_or_cut_file_is_mended(self, filled: World) -> None:
        """Whichever index file is deleted or cut short, the next start gives the full answers again."""
        filled.engine.checkpoint(always=True)  # type: ignore[attr-defined]
        expected = [list(filled.keyword(q)) for q in QUERIES] + [list(filled.vector(unit(4)))]
        names = sorted({p.name for p in self.index_files(filled)})
        assert len(names) >= 8
        for count in range(len(names)):
            for damage in (lambda p: p.unlink(), lambda p: p.write_bytes(p.read_bytes()[: p.stat().st_size // 2])):
                files = sorted(self.index_files(filled))
                damage(files[count % len(files)])
                self.reopen(filled)
                filled.engine.checkpoint(always=True)  # type: ignore[attr-defined]
                found = [filled.keyword(q) for q in QUERIES] + [filled.vector(unit(4))]
                for new, old in zip(found, expected, strict=True):
                    same(new, old)

    def test_flipped_bits_never_pass(self, filled: World) -> None:
        """A flipped byte in a row file is an error or is mended; no score is ever computed from it."""
        filled.engine.checkpoint(always=True)  # type: ignore[attr-defined]
        expected = list(filled.vector(unit(2)))
        for file in self.index_files(filled):
            if file.suffix not in (".f32", ".npz") or not file.exists():
                continue  # an earlier round has led to new files
            raw = bytearray(file.read_bytes())
            raw[len(raw) // 3] ^= 0x40
            file.write_bytes(raw)
            try:
                self.reopen(filled)
                same(filled.vector(unit(2)), expected)
            except IndexCorrupt as error:
                assert "checksum" in str(error)
            raw[len(raw) // 3] ^= 0x40
            if file.exists():
                file.write_bytes(raw)

    def test_follows_another_process(self, filled: World) -> None:
        """A second engine on the same folder sees what the first has indexed, and can index itself."""
        other = open_local(filled.folder, filled.catalog)
        other.sync(filled.catalog, deadline=filled.deadline())
        filled.put(document(40, text="吊装作业前检查吊具"))
        filled.engine.sync(filled.catalog, deadline=filled.deadline())
        other.sync(filled.catalog, deadline=filled.deadline())
        same(filled.keyword("吊具", engine=other), filled.keyword("吊具"))
        filled.put(document(41, text="脚手架验收"))
        other.sync(filled.catalog, deadline=filled.deadline())
        other.checkpoint(always=True)
        filled.sync()
        filled.engine.checkpoint(always=True)  # type: ignore[attr-defined]
        same(filled.vector(unit(41)), filled.vector(unit(41), engine=other))
        self.reopen(filled)
        same(filled.vector(unit(41)), filled.vector(unit(41), engine=other))

    def test_stale_while_another_writes(self, filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """An index that cannot catch up because another process writes for long is an error, not a short answer."""
        filled.put(document(50))

        def busy(**_: Any) -> Any:
            raise CatalogBusy("the library is being written by process 1", component="catalog")

        monkeypatch.setattr(filled.engine, "_exclusive", busy)
        assert filled.engine.sync(filled.catalog, deadline=filled.deadline()) < filled.catalog.seq()
        monkeypatch.setattr(filled.engine, "_max_lag", -1.0)
        with pytest.raises(IndexMismatch, match="process 1"):
            filled.engine.sync(filled.catalog, deadline=filled.deadline())

    def test_what_holds_nothing_to_index_is_no_lag(self, filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """A change of the registry alone leaves nothing to wait for, however long another process writes; files stay right."""

        def busy(**_: Any) -> Any:
            raise CatalogBusy("the library is being written by process 1", component="catalog")

        filled.catalog.put_source(Source(source_id="s3"))
        with monkeypatch.context() as patched:
            patched.setattr(filled.engine, "_exclusive", busy)
            patched.setattr(filled.engine, "_max_lag", -1.0)
            assert filled.engine.sync(filled.catalog, deadline=filled.deadline()) == filled.catalog.seq()
            filled.put(document(51))
            with pytest.raises(IndexMismatch, match="process 1"):
                filled.engine.sync(filled.catalog, deadline=filled.deadline())
        filled.catalog.put_source(Source(source_id="s4"))
        filled.engine.checkpoint(always=True)  # type: ignore[attr-defined]
        again = filled.make_engine(filled.folder, filled.catalog)  # the rows are not ahead of the keywords
        filled.sync()
        again.sync(filled.catalog, deadline=filled.deadline())
        same(filled.vector(unit(51)), filled.vector(unit(51), engine=again))
        same(filled.keyword("投诉"), filled.keyword("投诉", engine=again))
        again.close()

    def test_an_index_that_is_only_being_built_answers_nothing(
        self, filled: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While another process builds an index anew, however young the library is, nothing is found in its empty files."""

        def busy(**_: Any) -> Any:
            raise CatalogBusy("the library is being written by process 1", component="catalog")

        shutil.rmtree(filled.folder / "index")
        lost = filled.make_engine(filled.folder, filled.catalog)
        with monkeypatch.context() as patched:
            patched.setattr(lost, "_exclusive", busy)
            with pytest.raises(IndexMismatch, match="process 1"):
                lost.sync(filled.catalog, deadline=filled.deadline())
            with lost._lock, pytest.raises(EngineTimeout):  # type: ignore[attr-defined]
                lost.sync(filled.catalog, deadline=filled.deadline(0.3))
        lost.sync(filled.catalog, deadline=filled.deadline())
        same(filled.keyword("投诉"), filled.keyword("投诉", engine=lost))
        lost.close()

    def test_other_encoder_other_generation(self, filled: World) -> None:
        """Another encoder gets files of its own beside the old ones; nothing is mixed."""
        from dataclasses import replace

        spec = replace(SPEC, encoder=None)
        other = LocalEngine(filled.folder / "index", spec, exclusive=filled.catalog.writing)
        other.sync(filled.catalog, deadline=filled.deadline())
        assert len(list((filled.folder / "index").iterdir())) == 2
        assert other.status().vectors == 0
        with pytest.raises(EngineError, match="without an encoder"):
            other.vector(unit(1), scope=filled.scope(), limit=1, deadline=filled.deadline())

    def test_coded_scan_keeps_recall(self, world: World) -> None:
        """Beyond the exact range the coded scan finds the same ten rows, with and without a filter."""
        from wenyuan.engines.local.vectors import EXACT_ROWS, VectorScan

        count, dimension = 3 * EXACT_ROWS, 384
        random = np.random.default_rng(3)
        rows = random.normal(size=(count, dimension)).astype(np.float32)
        rows += 2.0 * random.normal(size=(40, dimension)).astype(np.float32)[random.integers(0, 40, count)]
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        import zlib

        crcs = np.array([zlib.crc32(r) for r in rows], dtype=np.int64)
        scan = VectorScan(dimension)
        for at in range(0, count, 1_000):
            scan.extend(rows[at : at + 1_000])
        mask = random.random(count) < 0.5
        for allowed in (None, mask):
            hits = 0
            for _ in range(40):
                query = rows[random.integers(count)] + 0.02 * random.normal(size=dimension).astype(np.float32)
                query /= np.linalg.norm(query)
                scores = rows @ query
                if allowed is not None:
                    scores = np.where(allowed, scores, -2)
                truth = set(np.argsort(-scores)[:10].tolist())
                found, _ = scan.search(query, allowed, crcs, 10, world.deadline())
                hits += len(truth & set(found.tolist()))
            assert hits / 400 >= 0.99

    def test_watermark_of_another_index(self, filled: World) -> None:
        """A watermark file that promises more than the index holds leads to a rebuild."""
        mark = next((filled.folder / "index").rglob("watermark.json"))
        state = json.loads(mark.read_text())
        mark.write_text(json.dumps(state | {"seq": state["seq"] + 100}))
        expected = list(filled.keyword("投诉"))
        self.reopen(filled)
        same(filled.keyword("投诉"), expected)


def test_scope_is_required() -> None:
    """No engine method that ranks can be called without a scope and a deadline."""
    import inspect

    for engine in (MemoryEngine, LocalEngine):
        for name in ("keyword", "vector"):
            parameters = inspect.signature(getattr(engine, name)).parameters
            assert parameters["scope"].default is inspect.Parameter.empty
            assert parameters["deadline"].default is inspect.Parameter.empty
    assert Scope(sources=frozenset(), as_of=DAY).sources == frozenset()
    assert len(TEXTS) == 12
