"""What engines on a server keep besides `engine_laws`, whichever server it is: a module binds them by subclassing."""

from __future__ import annotations

import itertools
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from engine_laws import QUERIES, EngineLaws, World, document, same, unit
from wenyuan.catalog import Catalog
from wenyuan.core.errors import (
    CatalogUnavailable,
    EngineError,
    EngineTimeout,
    EngineUnavailable,
    IndexMismatch,
    VectorRejected,
)
from wenyuan.core.ports import Change, Engine


class Breaks:
    """A catalog's feed that breaks off after some changes."""

    def __init__(self, catalog: Catalog, after: int) -> None:
        self._catalog, self._after = catalog, after
        self.seq, self.lag, self.stamp = catalog.seq, catalog.lag, catalog.stamp

    def changes(self, *args: Any, **kwargs: Any) -> Iterator[Change]:
        yield from itertools.islice(self._catalog.changes(*args, **kwargs), self._after)
        raise CatalogUnavailable("gone", component="catalog")


class ServerEngineLaws(EngineLaws):
    """Bind with a `make_engine` fixture, as `EngineLaws`."""

    drop: ClassVar[str]
    """What the hint tells to drop when the index follows another history."""

    @pytest.mark.parametrize("after", [0, 1, 3])
    def test_nothing_half_is_seen(self, filled: World, after: int) -> None:
        """A sync that breaks off leaves the answers as they were, and the next one ends it."""
        before = [list(filled.keyword(q)) for q in QUERIES]
        mark = filled.engine.status()
        filled.put(*(document(100 + n, text="脚手架 safety 投诉") for n in range(5)))
        filled.remove("s1", 1)
        with pytest.raises(CatalogUnavailable):
            filled.engine.sync(Breaks(filled.catalog, after), deadline=filled.deadline())
        assert filled.engine.status() == mark
        for query, old in zip(QUERIES, before, strict=True):
            assert list(filled.keyword(query)) == old
        filled.sync()
        for query in (*QUERIES, "脚手架"):
            same(filled.keyword(query), filled.keyword(query, engine=filled.reference))

    def test_two_engines(self, filled: World) -> None:
        """Two engines on one index: what one has written, the other finds, whoever comes first."""
        other = filled.make_engine(filled.folder, filled.catalog)
        for number in range(200, 210):
            filled.put(document(number, text=f"吊装 crane {number}"))
            with ThreadPoolExecutor(2) as both:
                marks = both.map(lambda e: e.sync(filled.catalog, deadline=filled.deadline()), (filled.engine, other))
                assert max(marks) == filled.catalog.seq()
        filled.sync()
        other.sync(filled.catalog, deadline=filled.deadline())
        same(filled.keyword("crane 吊装", engine=other), filled.keyword("crane 吊装", engine=filled.reference))
        assert other.mean_cosine(unit(3)) == pytest.approx(filled.reference.mean_cosine(unit(3)), abs=1e-6)
        other.close()

    def test_mean_cosine_of_what_is_left(self, world: World) -> None:
        """What was removed or replaced does not count, in its language either."""
        world.put(*(document(i, language=("zh", "en")[i % 2]) for i in range(8)))
        world.sync()
        for number in (0, 3, 4):
            world.remove("s1", number)
        world.put(document(5, text="现在是中文的了。", language="zh"))
        world.sync()
        expected = world.reference.mean_cosine(unit(3))
        assert world.engine.mean_cosine(unit(3)) == pytest.approx(expected, abs=1e-6)

    def test_vector_of_another_dimension(self, filled: World) -> None:
        """A query of another dimension is refused; a row of one is not taken in, and nothing else of its change."""
        with pytest.raises(EngineError, match="dimensions"):
            filled.vector(np.ones(3, np.float32))
        row = next(c.row for c in filled.catalog.changes(0, filled.catalog.seq()) if c.row)

        class Feed(Breaks):
            def __init__(self) -> None:
                super().__init__(filled.catalog, 0)
                self.seq = lambda: filled.catalog.seq() + 1

            def changes(self, *_: Any, **__: Any) -> Iterator[Change]:
                for number, vector in ((900, unit(1)), (901, np.ones(3, np.float32))):
                    yield Change(
                        seq=self.seq(), passage_id=number, row=replace(row, passage_id=number, vector=vector)
                    )

        before = filled.engine.status()
        with pytest.raises(VectorRejected, match="901 has 3 dimensions, the index 16"):
            filled.engine.sync(Feed(), deadline=filled.deadline())
        assert filled.engine.status() == before

    @pytest.mark.parametrize("more", [0, 1])
    def test_another_history(self, filled: World, tmp_path: Path, more: int) -> None:
        """A catalog that was restored, and has changed since, is told from the one that the index has followed."""
        filled.engine.close()
        filled.catalog.close()
        shutil.copytree(filled.folder, tmp_path / "backup")
        filled.catalog = Catalog.open(filled.folder)
        filled.engine = filled.make_engine(filled.folder, filled.catalog)
        filled.put(document(70, text="此后丢失"))
        filled.sync()
        restored = Catalog.open(tmp_path / "backup")
        for number in range(1 + more):
            found, vectors = document(71 + number, text="另一段历史")
            restored.commit_documents([found], vectors)
        engine = filled.make_engine(filled.folder, restored)
        with pytest.raises(IndexMismatch, match="is not the catalog's") as caught:
            engine.sync(restored, deadline=filled.deadline())
        assert self.drop in caught.value.hint
        engine.close()
        restored.close()


@contextmanager
def six(folder: Path, make_engine: Callable[[Path, Catalog], Engine]) -> Iterator[World]:
    """A world of six documents."""
    made = World(folder, make_engine)
    made.put(*(document(n) for n in range(6)))
    made.sync()
    yield made
    made.close()


class ServerEngineRefusals:
    """Bind with a `world` fixture of `six` documents."""

    busy: ClassVar[tuple[int, str, str]]
    """How many questions the engine of `world` puts to its server at a time, what they are called, their setting."""

    def test_all_busy(self, world: World) -> None:
        """When all that the server is asked with are taken until the deadline, that is said, with the setting."""
        engine: Any = world.engine
        count, name, setting = self.busy
        begun, done = threading.Semaphore(0), threading.Event()

        def work(_: object) -> None:
            begun.release()
            done.wait(60)

        taken = [threading.Thread(target=engine._sessions.run, args=(work, world.deadline())) for _ in range(count)]
        for thread in taken:
            thread.start()
        assert all(begun.acquire(timeout=60) for _ in taken)
        with pytest.raises(EngineTimeout, match=f"all {count} {name} were busy") as caught:
            world.engine.vector(unit(1), scope=world.scope(), limit=3, deadline=world.deadline(0.2))
        assert setting in caught.value.hint
        done.set()
        for thread in taken:
            thread.join()
        assert len(world.vector(unit(1))) == 6

    def test_closed(self, world: World) -> None:
        """A closed engine answers nothing."""
        world.engine.close()
        asked: list[Callable[[], object]] = [world.engine.status, world.sync]
        for ask in (lambda: world.keyword("x"), lambda: world.vector(unit(1)), *asked):
            with pytest.raises(EngineUnavailable, match="is closed"):
                ask()
