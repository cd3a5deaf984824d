"""The engine on Milvus: the laws of `engine_laws` against a real gRPC server, and what is special about it."""

from __future__ import annotations

import itertools
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import milvus_server
from engine_laws import QUERIES, TEXTS, World, document, same, unit
from milvus_engine import opened
from patience import HANGS
from server_engine_laws import ServerEngineLaws
from wenyuan.catalog import Catalog
from wenyuan.core.errors import EngineError, EngineTimeout, EngineUnavailable, IndexCorrupt
from wenyuan.core.filters import Filter, In, Range
from wenyuan.core.ports import Engine
from wenyuan.engines.milvus import search, writes
from wenyuan.engines.milvus.collections import newest
from wenyuan.engines.milvus.sessions import Session
from wenyuan.engines.milvus.term_weights import FIELDS
from wenyuan.engines.term_statistics import digest


@pytest.fixture
def make_engine(milvus: str) -> Callable[[Path, Catalog], Engine]:
    return lambda _, catalog: opened(milvus, catalog)


@pytest.fixture
def client(milvus: str) -> Iterator[Any]:
    made = milvus_server.client(milvus)
    yield made
    made.close()


class TestMilvusEngine(ServerEngineLaws):
    """Every law, on a real server."""

    drop = f"drop the collections {milvus_server.PREFIX}_"

    def test_values_that_json_cannot_hold(self, world: World) -> None:
        """Infinities, huge numbers, NUL and halves of surrogate pairs are stored, asked for and ordered like any other."""
        facets: list[dict[str, Any]] = [
            {"t": "a\x00b", "n": math.inf}, {"t": "a\x01b", "n": -math.inf}, {"t": "a", "n": 10**400},
            {"t": "\ud800", "n": math.nan},
        ]  # fmt: skip
        world.put(*(document(n, text="安全", facets=f) for n, f in enumerate(facets[:3])))
        world.sync()
        tests: list[Filter] = [
            In("metadata.t", ("a\x00b",)), In("metadata.t", ("a\x01b", "zz")), Range("metadata.t", "a\x00", "a\x01"),
            Range("metadata.n", ge=0), Range("metadata.n", le=0),
        ]  # fmt: skip
        for test in tests:
            scope = world.scope(filter=test)
            expected = {h.passage_id for h in world.keyword("安全", scope, engine=world.reference)}
            assert expected
            assert {h.passage_id for h in world.keyword("安全", scope)} == expected
        assert len(world.keyword("安全", world.scope(filter=In("metadata.t", ("\ud800",))))) == 0

    def test_fetched_as_exact(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """However few candidates are fetched at first, and however the mean length has drifted, the ranking is exact."""
        monkeypatch.setattr(search, "SPARE", 1.0)
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
        world.engine.checkpoint(always=True)  # type: ignore[attr-defined]
        mark = world.engine._mark  # type: ignore[attr-defined]
        assert mark.mean <= writes._DRIFT * mark.least * 1.001
        for query, expected in zip(asked, before, strict=True):
            same(world.keyword(query, limit=10), expected)

    @pytest.mark.parametrize("call", range(1, 7))
    def test_a_writer_that_dies_at_any_call(
        self, filled: World, milvus: str, call: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whichever write is the last of a writer, another engine answers as before or as after, and ends its work."""
        filled.put(document(100, text="脚手架 投诉"), document(101, text="全新词汇 bespoke"))
        filled.remove("s1", 1)
        client, done = filled.engine._sessions._connected(filled.deadline()), itertools.count(1)  # type: ignore[attr-defined]
        upsert, delete = client.upsert, client.delete

        def dying(write: Callable[..., Any]) -> Callable[..., Any]:
            def act(*args: Any, **kwargs: Any) -> Any:
                if next(done) >= call:
                    raise OSError("the machine is gone")
                return write(*args, **kwargs)

            return act

        monkeypatch.setattr(client, "upsert", dying(upsert))
        monkeypatch.setattr(client, "delete", dying(delete))
        with pytest.raises(EngineError):
            filled.engine.sync(filled.catalog, deadline=filled.deadline())
        monkeypatch.undo()
        other = opened(milvus, filled.catalog)
        watermark = other.status().watermark
        found = {h.passage_id for h in filled.keyword("脚手架 bespoke", engine=other)}
        assert len(found) == (2 if watermark == filled.catalog.seq() else 0)
        other.sync(filled.catalog, deadline=filled.deadline())
        filled.reference.sync(filled.catalog, deadline=filled.deadline())
        for query in (*QUERIES, "脚手架 bespoke"):
            same(filled.keyword(query, engine=other), filled.keyword(query, engine=filled.reference))
        counts, status = filled.catalog.counts(), other.status()
        assert (status.passages, status.vectors) == (counts["passages"], counts["vectors"])
        assert other.mean_cosine(unit(3)) == pytest.approx(filled.reference.mean_cosine(unit(3)), abs=1e-6)
        other.close()

    def test_written_is_found_at_once(self, filled: World, milvus: str) -> None:
        """Consistency is strong: what one engine has indexed is in the next answer of another, and what is gone is not."""
        other = opened(milvus, filled.catalog)
        for number in range(300, 306):
            filled.put(document(number, text=f"起重机 hoist{number}"))
            filled.sync()
            other.sync(filled.catalog, deadline=filled.deadline())
            assert [h.passage_id for h in filled.keyword(f"hoist{number}", engine=other)] == self.ids_of(
                filled, number
            )
            filled.remove("s1", number)
            filled.sync()
            other.sync(filled.catalog, deadline=filled.deadline())
            assert len(filled.keyword(f"hoist{number}", engine=other)) == 0
        other.close()

    def test_behind_a_writer(self, filled: World, milvus: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """While another process writes, a question is answered from what is there; when that lasts too long, not."""
        before = filled.engine.status().watermark
        filled.put(document(50))
        elsewhere = Catalog.open(filled.folder)
        with elsewhere.writing():
            assert filled.engine.sync(filled.catalog, deadline=filled.deadline(5)) == before
            monkeypatch.setattr(filled.engine, "_max_lag", -1.0)
            with pytest.raises(EngineTimeout, match="somebody else is writing"):
                filled.engine.sync(filled.catalog, deadline=filled.deadline(1.0))
        elsewhere.close()
        filled.sync()
        assert filled.engine.status().watermark == filled.catalog.seq()

    def test_purged(self, filled: World, client: Any) -> None:
        """After purging, no term of a removed document is left among the words, and what stays is found."""
        filled.put(document(60, text="绝密暗号 xyzzyplugh"))
        filled.sync()
        words = filled.engine._names.words  # type: ignore[attr-defined]
        sought = f'term == "{digest("xyzzyplugh")}"'
        assert client.query(words, filter=sought, output_fields=list(FIELDS))
        filled.remove("s1", 60)
        filled.engine.purge(filled.catalog)  # type: ignore[attr-defined]
        assert not client.query(words, filter=sought, output_fields=list(FIELDS))
        filled.sync()
        same(filled.keyword("投诉"), filled.keyword("投诉", engine=filled.reference))

    def test_lost_rows_are_an_error(self, filled: World, client: Any) -> None:
        """What somebody has deleted is missing in the counts; a short ranking is then FAILED, not short."""
        client.delete(filled.engine._names.passages, ids=[3])  # type: ignore[attr-defined]
        status = filled.engine.status()
        assert (status.passages, status.vectors) == (len(TEXTS) - 1, len(TEXTS) - 1)
        with pytest.raises(IndexCorrupt, match=f"{len(TEXTS) - 1} of {len(TEXTS)} rows are there"):
            filled.keyword("投诉")

    def test_partial_results_are_refused(self, filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """A server that gives fewer rows than match is not believed."""
        client = filled.engine._sessions._connected(filled.deadline())  # type: ignore[attr-defined]
        search = client.search
        monkeypatch.setattr(client, "search", lambda *a, **k: [list(search(*a, **k)[0])[:3]])
        with pytest.raises(EngineUnavailable, match=f"gave 3 of {len(TEXTS)} matching rows"):
            filled.vector(unit(1))

    def test_a_score_that_is_no_cosine(self, filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """What cannot be a cosine is refused."""
        client = filled.engine._sessions._connected(filled.deadline())  # type: ignore[attr-defined]
        for wrong in (1.5, math.nan):
            hit = {"distance": wrong, "entity": {"passage_id": 1}}
            monkeypatch.setattr(client, "search", lambda *a, hit=hit, **k: [[hit] * 50])
            with pytest.raises(IndexCorrupt, match="no cosine"):
                filled.vector(unit(1))

    def test_rows_deleted_meanwhile(self, filled: World, milvus: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A document that is replaced while a query runs is found, in its old or its new form: the query asks again."""
        other = opened(milvus, filled.catalog)
        best, asked = search.best, []

        def slow(*args: Any) -> Any:
            if not asked:  # between the look at the mark and the search, another engine replaces a document
                asked.append(True)
                filled.put(document(1, text="max_connections 新版"))
                other.sync(filled.catalog, deadline=filled.deadline())
            return best(*args)

        monkeypatch.setattr(search, "best", slow)
        assert self.ids_of(filled, 1)
        found = filled.keyword("max_connections")
        assert asked
        live = set(self.ids_of(filled, 1))
        assert live & {h.passage_id for h in found}
        other.close()

    def test_rows_deleted_by_a_sweep_that_goes_on(
        self, filled: World, milvus: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The same while the deletion is not yet recorded: the state before is no state any more."""
        other = opened(milvus, filled.catalog)
        best, drop, asked = search.best, Session.drop, []

        def dying(session: Session, *args: Any) -> None:
            drop(session, *args)
            raise OSError("the machine is gone")

        def slow(*args: Any) -> Any:
            if not asked:
                asked.append(True)
                filled.put(document(1, text="max_connections 新版"))
                with monkeypatch.context() as within, pytest.raises(EngineError):
                    within.setattr(Session, "drop", dying)
                    other.sync(filled.catalog, deadline=filled.deadline())
            return best(*args)

        monkeypatch.setattr(search, "best", slow)
        found = filled.keyword("max_connections")
        assert asked
        assert set(self.ids_of(filled, 1)) <= {h.passage_id for h in found}
        other.close()

    def test_rows_that_are_still_to_be_deleted(
        self, filled: World, milvus: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is removed is found by neither leg, nor counted, from the change on that removed it; the next writer deletes it."""
        other = opened(milvus, filled.catalog)
        filled.remove("s1", 1)
        with monkeypatch.context() as within, pytest.raises(EngineError):
            within.setattr(Session, "drop", lambda *_: _gone())
            other.sync(filled.catalog, deadline=filled.deadline())
        filled.reference.sync(filled.catalog, deadline=filled.deadline())
        for query in QUERIES:
            same(filled.keyword(query, engine=other), filled.keyword(query, engine=filled.reference))
        same(filled.vector(unit(1), engine=other), filled.vector(unit(1), engine=filled.reference))
        assert other.status().passages == other.status().vectors == len(TEXTS) - 1
        assert other.cosines(unit(1), [2], deadline=filled.deadline()) == {}
        filled.sync()
        assert filled.engine._mark.gone == ()  # type: ignore[attr-defined]
        same(filled.keyword("投诉"), filled.keyword("投诉", engine=filled.reference))
        other.close()

    def test_too_many_facets(self, filled: World) -> None:
        """More facets than Milvus holds in one row are an error that says so."""
        facets = {f"f{n}": n for n in range(4_100)}
        filled.put(document(70, facets=facets))
        with pytest.raises(EngineError, match="4103 facets; Milvus holds 4096"):
            filled.engine.sync(filled.catalog, deadline=filled.deadline())

    def test_slow_building(self, filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """A request that cannot wait for the index is answered from before, or fails, in time; the work goes on, and ends."""
        take = writes._Step.take
        go_on = threading.Event()
        monkeypatch.setattr(writes._Step, "take", lambda self, batch: (go_on.wait(HANGS), take(self, batch))[1])
        filled.put(document(80, text="缓慢 slowpoke"))
        before = filled.engine.status().watermark
        assert filled.engine.sync(filled.catalog, deadline=filled.deadline(0.7)) == before
        monkeypatch.setattr(filled.engine, "_max_lag", -1.0)
        with pytest.raises(EngineTimeout):
            filled.engine.sync(filled.catalog, deadline=filled.deadline(0.7))
        go_on.set()
        monkeypatch.setattr(filled.engine, "_max_lag", 3_600.0)
        for _ in range(100):
            if filled.engine.sync(filled.catalog, deadline=filled.deadline()) == filled.catalog.seq():
                break
            time.sleep(0.1)  # answers go on from what is there
        assert len(filled.keyword("slowpoke")) == 1

    def test_old_marks_go(self, filled: World) -> None:
        """However often something changes, only some marks are kept."""
        engine: Any = filled.engine
        for number in range(90, 100):
            filled.put(document(number))
            filled.sync()
        mark = engine._sessions.run(lambda s: newest(s, engine._names.marks), filled.deadline())
        rows = engine._sessions.run(lambda s: s.rows(engine._names.marks, "step >= 0", ["step"]), filled.deadline())
        assert mark.step > 20
        assert len(rows) <= 9


def _gone() -> None:
    raise OSError("the machine is gone")
