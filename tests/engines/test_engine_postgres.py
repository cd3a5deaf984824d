"""The engine on PostgreSQL: the laws of `engine_laws` against a real server, and what is special about it."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from engine_laws import SPEC, TEXTS, World, document, same, unit
from server_engine_laws import ServerEngineLaws
from wenyuan.catalog import Catalog
from wenyuan.core.errors import EngineTimeout, IndexCorrupt, InvalidRequest
from wenyuan.core.filters import Filter, In, Range
from wenyuan.core.ports import Engine
from wenyuan.engines.postgres import engine, search, vector_search
from wenyuan.engines.postgres.conditions import SqlCondition
from wenyuan.engines.postgres.engine import PostgresEngine
from wenyuan.engines.postgres.tables import LOCK


@pytest.fixture
def make_engine(database: str) -> Callable[[Path, Catalog], Engine]:
    return lambda _, catalog: PostgresEngine(database, SPEC, library_id=catalog.library_id())


class TestPostgresEngine(ServerEngineLaws):
    """Every law, on a real server."""

    drop = "schema"

    def test_reads_nothing_without_a_scope(self, filled: World, database: str) -> None:
        """The row policy is a wall of its own: a session that names no source sees no passage, one that does, its own."""
        with psycopg.connect(database) as session:
            session.execute(f'SET search_path TO "{filled.engine.schema}"')  # type: ignore[attr-defined]
            assert session.execute("SELECT count(*) FROM passages").fetchone() == (0,)
            session.execute("SELECT set_config('wenyuan.sources', 's2,other', true)")
            found = {source for (source,) in session.execute("SELECT source_id FROM passages")}
            assert found == {"s2"}

    def test_a_forgotten_condition_leaks_nothing(self, filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """Were the scope missing in the query, what it does not allow would still not be found."""
        monkeypatch.setattr(
            SqlCondition, "__init__", lambda self, _: vars(self).update(sql=sql.SQL("TRUE"), values={})
        )
        allowed = {i for i, p in filled.catalog.passages(range(1, 500)).items() if p.source_id == "s2"}
        for hits in (filled.keyword("的 pool 投诉", filled.scope("s2")), filled.vector(unit(1), filled.scope("s2"))):
            assert hits
            assert {h.passage_id for h in hits} <= allowed

    def test_texts_that_the_server_cannot_hold(self, world: World) -> None:
        """NUL and infinities in values are stored, asked for and ordered like any other."""
        facets = [
            {"t": "a\x00b", "n": math.inf},
            {"t": "a\x01b", "n": -math.inf},
            {"t": "a", "n": 1e300},
            {"n": math.nan},
        ]
        world.put(*(document(n, text="安全", collection="c\x00", facets=f) for n, f in enumerate(facets)))
        world.sync()
        tests: list[Filter] = [
            In("metadata.t", ("a\x00b",)), In("metadata.t", ("a\x01b", "zz")), Range("metadata.t", "a\x00", "a\x01"),
            Range("metadata.n", ge=0), Range("metadata.n", le=0), In("collection", ("c\x00",)),
        ]  # fmt: skip
        for test in tests[:4] + tests[5:]:
            scope = world.scope(filter=test)
            expected = {h.passage_id for h in world.keyword("安全", scope, engine=world.reference)}
            assert expected
            if test == Range("metadata.n", ge=0):
                expected -= set(self.ids_of(world, 3))  # NaN is in no range
            assert {h.passage_id for h in world.keyword("安全", scope)} == expected
        with pytest.raises(InvalidRequest, match="surrogate"):
            world.keyword("安全", world.scope(filter=In("language", ("\ud800",))))

    @pytest.mark.parametrize("narrow", [-1, 5, 4_000])
    @pytest.mark.parametrize("rescored", [0, 5, 2_000])
    def test_pruned_as_exact(self, world: World, rescored: int, narrow: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """However few postings are looked at in a round, and passages asked about, the ranking is the reference's."""
        monkeypatch.setattr(search, "FIRST_ENTRIES", 2)
        monkeypatch.setattr(search, "FIRST_LOOK", 1)
        monkeypatch.setattr(search, "MOST_WORTH", search.K1 + 1)
        monkeypatch.setattr(search, "MOST_RESCORED", rescored)
        monkeypatch.setattr(search, "NARROW", narrow)
        draw = random.Random(5)
        words = [f"w{n}" for n in range(40)]
        weights = [1 / (n + 1) for n in range(40)]
        world.put(
            *(document(n, text=" ".join(draw.choices(words, weights, k=draw.randint(3, 30)))) for n in range(200))
        )
        world.sync()
        for _ in range(40):
            query = " ".join(draw.sample(words, k=draw.randint(1, 6)))
            for scope in (world.scope(), world.scope(filter=In("document_id", tuple(range(5, 25))))):
                expected = world.keyword(query, scope, limit=10, engine=world.reference)
                same(world.keyword(query, scope, limit=10), expected)

    def test_a_word_that_all_have(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """A term that very many passages hold ranks by itself, and orders what a rarer one has found."""
        monkeypatch.setattr(search, "MOST_ENTRIES", 5)
        monkeypatch.setattr(search, "FIRST_ENTRIES", 2)
        world.put(*(document(n, text="安全 " + "x " * n + ("罕见" if n > 15 else "")) for n in range(1, 20)))
        world.sync()
        for query, limit in (("安全", 5), ("安全罕见", 4)):
            expected = list(world.keyword(query, limit=limit, engine=world.reference))
            same(world.keyword(query, limit=limit), expected)

    def test_written_bit_by_bit(self, world: World, superuser: str) -> None:
        """However many changes passages come in and go with, a term has few rows, and rankings are the reference's."""
        for n in range(70):
            world.put(document(n, text=f"安全 手册 w{n % 7} " + "x " * (n % 5)))
            if n % 3 == 2:
                world.remove("s1", n - 1)
            world.sync()
        with psycopg.connect(superuser) as session:
            session.execute(f'SET search_path TO "{world.engine.schema}"')  # type: ignore[attr-defined]
            found = session.execute(
                "SELECT max(n) FROM (SELECT count(*) AS n FROM postings GROUP BY term)"
            ).fetchone()
            assert found is not None
            assert found[0] < 3 * 8
            for swept in (False, True):
                if swept:
                    world.engine.checkpoint(always=True)  # type: ignore[attr-defined]
                (dead,) = session.execute("SELECT count(*) FROM dead").fetchone() or (0,)
                session.commit()
                assert (dead > 0) != swept
                for query in ("安全", "w3 手册", "x w5"):
                    expected = list(world.keyword(query, limit=100, engine=world.reference))
                    assert expected
                    same(world.keyword(query, limit=100), expected)

    def test_graph(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """Beyond the exact range the graph finds nearly the same rows, and filters starve no answer."""
        monkeypatch.setattr(vector_search, "EXACT_ROWS", 100)
        monkeypatch.setattr(engine, "EXACT_ROWS", 100)
        world.put(*(document(n, facets={"third": n % 3 == 0, "few": n % 40 == 0}) for n in range(600)))
        world.sync()
        world.engine.checkpoint()  # type: ignore[attr-defined]
        asked: list[str] = []
        walks = vector_search._walks
        monkeypatch.setattr(vector_search, "_walks", lambda *a: asked.append(str(walks(*a))) or walks(*a))
        for test in (None, In("metadata.third", (True,)), In("metadata.few", (True,))):
            found = 0
            for seed in range(1_000, 1_020):
                scope = world.scope(filter=test)
                expected = {h.passage_id for h in world.vector(unit(seed), scope, 10, world.reference)}
                hits = world.vector(unit(seed), scope, 10)
                assert len(hits) == 10
                assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
                found += len({h.passage_id for h in hits} & expected)
            assert found >= 196
        assert asked == ["True"] * 40 + ["False"] * 20

    def test_a_walk_that_ends_early_is_no_short_answer(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """When the graph gives fewer rows than asked for, every row is compared."""
        self.test_graph(world, monkeypatch)
        monkeypatch.setattr(vector_search, "_WALK", vector_search._WALK.replace("LIMIT %(limit)s", "LIMIT 3"))
        same(world.vector(unit(7), limit=50), world.vector(unit(7), limit=50, engine=world.reference))

    def test_behind_a_writer(self, filled: World, superuser: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """While another process writes, a question is answered from what is there; when that lasts too long, not."""
        before = filled.engine.status().watermark
        filled.put(document(50))
        with psycopg.connect(superuser) as writer:
            writer.execute(LOCK.format(kind=""), {"schema": filled.engine.schema})  # type: ignore[attr-defined]
            assert filled.engine.sync(filled.catalog, deadline=filled.deadline(5)) == before
            another = filled.make_engine(filled.folder, filled.catalog)  # opens meanwhile
            assert len(filled.keyword("投诉", engine=another))
            another.close()
            monkeypatch.setattr(filled.engine, "_max_lag", -1.0)
            with pytest.raises(EngineTimeout):
                filled.engine.sync(filled.catalog, deadline=filled.deadline(0.5))
        filled.sync()
        assert filled.engine.status().watermark == filled.catalog.seq()

    def test_a_step_that_outlasts_the_question(self, filled: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """A question is answered from before, or told that it is being brought up to date; the work goes on, and the next has it."""
        before = filled.engine.status().watermark
        filled.put(document(51))
        slow, step = threading.Event(), engine.step

        def slowly(*args: Any) -> int | None:
            slow.wait(60)
            return step(*args)

        monkeypatch.setattr(engine, "step", slowly)
        assert filled.engine.sync(filled.catalog, deadline=filled.deadline(0.5)) == before
        slow.set()
        filled.sync()
        slow.clear()
        filled.put(document(52))
        monkeypatch.setattr(filled.engine, "_max_lag", -1.0)
        with pytest.raises(EngineTimeout, match="still being brought up to date"):
            filled.engine.sync(filled.catalog, deadline=filled.deadline(0.5))
        slow.set()
        assert filled.engine.sync(filled.catalog, deadline=filled.deadline(10)) == filled.catalog.seq()

    def test_purged(self, filled: World, superuser: str) -> None:
        """After purging, no term of a removed document is left in the vocabulary, and what stays is found."""
        filled.put(document(60, text="绝密暗号 xyzzyplugh"))
        filled.sync()
        filled.remove("s1", 60)
        filled.engine.purge(filled.catalog)  # type: ignore[attr-defined]
        with psycopg.connect(superuser) as session:
            session.execute(f'SET search_path TO "{filled.engine.schema}"')  # type: ignore[attr-defined]
            assert session.execute("SELECT count(*) FROM vocabulary WHERE passages <= 0").fetchone() == (0,)
            terms = {term for (term,) in session.execute("SELECT term FROM vocabulary")}
            assert session.execute("SELECT count(*) FROM dead").fetchone() == (0,)
            named = "SELECT sum(length(packed)) / 8, (SELECT sum(passages) FROM vocabulary) FROM postings"
            entries, held = session.execute(named).fetchone() or (0, 1)
        assert entries == held
        assert not {"xyzzyplugh", "绝密", "暗号"} & terms
        filled.sync()
        same(filled.keyword("投诉"), filled.keyword("投诉", engine=filled.reference))

    def test_lost_rows_are_seen(self, filled: World, superuser: str) -> None:
        """What somebody has deleted in the tables is missing in the engine's counts."""
        with psycopg.connect(superuser, autocommit=True) as session:
            session.execute(f'DELETE FROM "{filled.engine.schema}".vectors WHERE passage_id = 3')  # type: ignore[attr-defined]
        status = filled.engine.status()
        assert (status.passages, status.vectors) == (len(TEXTS), len(TEXTS) - 1)

    def test_lost_postings_are_seen(self, filled: World, superuser: str) -> None:
        """A ranking of which postings are missing is none."""
        with psycopg.connect(superuser, autocommit=True) as session:
            session.execute(f'DELETE FROM "{filled.engine.schema}".postings')  # type: ignore[attr-defined]
        with pytest.raises(IndexCorrupt, match="postings"):
            filled.keyword("投诉")
