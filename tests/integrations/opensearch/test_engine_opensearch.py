"""The engine on OpenSearch: the laws of `engine_laws` on a real cluster of three nodes, and what is special about it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import opensearch_cluster
from engine_laws import QUERIES, TEXTS, World, document, same, unit
from opensearch_cluster import called
from opensearch_engine import opened
from server_engine_laws import ServerEngineLaws
from wenyuan.catalog import Catalog
from wenyuan.core.errors import EngineError, IndexCorrupt
from wenyuan.core.ports import Engine
from wenyuan.engines.opensearch import candidates, sessions, writes
from wenyuan.engines.opensearch.marks import put_mark
from wenyuan.engines.term_statistics import digest


@pytest.fixture
def make_engine(made: Sequence[str]) -> Callable[[Path, Catalog], Engine]:
    return lambda _, catalog: opened(made, catalog)


class TestOpenSearchEngine(ServerEngineLaws):
    """Every law, on a real cluster."""

    drop = f"delete the indices {opensearch_cluster.PREFIX}_"

    def test_fetched_as_exact(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """However few candidates are fetched at first, and however the mean length has drifted, the ranking is exact."""
        monkeypatch.setattr(candidates, "SPARE", 1.0)
        draw = random.Random(5)
        words = [f"w{n}" for n in range(40)]
        weights = [1 / (n + 1) for n in range(40)]
        for most, numbers in ((4, range(40)), (60, range(40, 160))):  # weighed with 4 and less, searched with many
            world.put(
                *(document(n, text=" ".join(draw.choices(words, weights, k=draw.randint(2, most)))) for n in numbers)
            )
            world.sync()
        asked = [" ".join(draw.sample(words, k=draw.randint(1, 6))) for _ in range(10)]
        before = [world.keyword(query, limit=10, engine=world.reference) for query in asked]
        for query, expected in zip(asked, before, strict=True):
            same(world.keyword(query, limit=10), expected)
        world.engine.checkpoint(always=True)
        mark: Any = world.engine._mark  # type: ignore[attr-defined]
        assert mark.mean <= writes._DRIFT * mark.least * 1.001
        for query, expected in zip(asked, before, strict=True):
            same(world.keyword(query, limit=10), expected)
        same(world.vector(unit(9), limit=30), world.vector(unit(9), limit=30, engine=world.reference))

    @pytest.mark.parametrize("width", [3, 200])
    def test_graphs_are_compared_exactly(self, filled: World, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where graphs are asked, what they propose is scored exactly; where they propose too few, each row is compared."""
        monkeypatch.setattr(candidates, "EXACT_ROWS", 2)
        monkeypatch.setattr(candidates, "_WIDTH", width)
        for limit in (1, 5, 50):
            same(filled.vector(unit(5), limit=limit), filled.vector(unit(5), limit=limit, engine=filled.reference))

    def test_more_terms_than_a_query_may_have(self, filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """The cluster is asked by the terms that are worth most; the ranking is that of all."""
        monkeypatch.setattr(candidates, "_MOST_TERMS", 2)
        for query in ("客户投诉需在 24 小时内第一次响应 连接池", "the pool of connections times out after waiting"):
            for limit in (1, 3, 50):
                same(filled.keyword(query, limit=limit), filled.keyword(query, limit=limit, engine=filled.reference))

    @pytest.mark.parametrize("call", range(1, 9))
    def test_a_writer_that_dies_at_any_call(
        self, filled: World, made: Sequence[str], call: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whichever write is the last of a writer, another engine answers as before or as after, and ends its work."""
        filled.put(document(100, text="脚手架 投诉"), document(101, text="全新词汇 bespoke"))
        gone = set(self.ids_of(filled, 1))
        filled.remove("s1", 1)
        done, change = itertools.count(1), sessions.ClusterSession.change

        def dying(*args: Any, **kwargs: Any) -> Any:
            if next(done) >= call:
                raise OSError("the machine is gone")
            return change(*args, **kwargs)

        monkeypatch.setattr(sessions.ClusterSession, "change", dying)
        with pytest.raises(EngineError):
            filled.engine.sync(filled.catalog, deadline=filled.deadline())
        monkeypatch.undo()
        other = opened(made, filled.catalog)
        watermark = other.status().watermark
        found = {h.passage_id for h in filled.keyword("脚手架 bespoke", engine=other)}
        assert len(found) == (2 if watermark == filled.catalog.seq() else 0)
        old = {h.passage_id for h in filled.keyword("max_connections", engine=other)}
        assert bool(gone & old) == (watermark != filled.catalog.seq())
        other.sync(filled.catalog, deadline=filled.deadline())
        filled.reference.sync(filled.catalog, deadline=filled.deadline())
        for query in (*QUERIES, "脚手架 bespoke"):
            same(filled.keyword(query, engine=other), filled.keyword(query, engine=filled.reference))
        counts, status = filled.catalog.counts(), other.status()
        assert (status.passages, status.vectors) == (counts["passages"], counts["vectors"])
        assert other.mean_cosine(unit(3)) == pytest.approx(filled.reference.mean_cosine(unit(3)), abs=1e-6)
        other.close()

    def test_lost_rows_are_an_error(self, filled: World, made: Sequence[str]) -> None:
        """What somebody has deleted is missing in the counts; a short ranking is then FAILED, not short."""
        engine: Any = filled.engine
        index = engine._names.passages(engine._mark)
        called(made[0], "POST", f"/{index}/_delete_by_query?refresh=true", {"query": {"term": {"passage_id": 3}}})
        assert engine.status().passages == len(TEXTS) - 1
        for ask in (lambda: filled.keyword("投诉"), lambda: filled.vector(unit(1))):
            with pytest.raises(IndexCorrupt, match=f"{len(TEXTS) - 1} of {len(TEXTS)} rows are there"):
                ask()

    def test_purged(self, filled: World, made: Sequence[str]) -> None:
        """After purging, no term of a removed document is left among the words, and what stays is found."""
        filled.put(document(60, text="绝密暗号 xyzzyplugh"))
        filled.sync()
        engine: Any = filled.engine
        path = f"/{engine._names.words(engine._mark)}/_mget"
        sought = {"ids": [digest("xyzzyplugh")]}
        assert called(made[0], "POST", path, sought)["docs"][0]["found"]
        filled.remove("s1", 60)
        filled.engine.purge(filled.catalog)
        assert not called(made[0], "POST", path, sought)["docs"][0]["found"]
        filled.sync()
        same(filled.keyword("投诉"), filled.keyword("投诉", engine=filled.reference))

    def test_a_writer_that_was_overtaken(self, filled: World, made: Sequence[str]) -> None:
        """What it still sends is refused, and so is its mark: the index stays as its successor has left it."""
        engine: Any = filled.engine
        session = engine._sessions.run(lambda one: one, filled.deadline())
        stale = engine._mark
        filled.put(document(61, text="后继 successor"))
        filled.sync()
        fresh = engine._newest(session)
        words = engine._names.words(fresh)
        (key,) = [digest("successor")]
        with pytest.raises(EngineError, match="another process has written"):
            session.write(f"{words}_w", [(key, {"number": 1, "held": 9, "at": 1, "before": 9})], stale.step - 1)
        with pytest.raises(EngineError, match="another process has written"):
            put_mark(session, engine._names.marks, stale)
        assert engine._newest(session) == fresh
        same(filled.keyword("successor"), filled.keyword("successor", engine=filled.reference))

    def test_written_by_many_in_small_messages(self, filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rows that do not fit into one message go in several, and count at once."""
        monkeypatch.setattr(sessions, "BULK_BYTES", 3_000)
        filled.put(*(document(number, text=f"分批 batch {number}") for number in range(500, 540)))
        filled.sync()
        same(filled.keyword("batch 分批"), filled.keyword("batch 分批", engine=filled.reference))
