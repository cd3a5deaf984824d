"""The laws every engine keeps: meaning, not shape. A test module binds them to an engine with `make_engine`."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wenyuan.catalog import Catalog
from wenyuan.core.errors import EngineError, EngineTimeout
from wenyuan.core.filters import And, Filter, In, Not, Or, Range, Scope, matches
from wenyuan.core.hidden_documents import AccessClasses, HiddenDocuments
from wenyuan.core.model import EncoderFingerprint, IndexRow, NewDocument, NewPassage, Source
from wenyuan.core.ports import Change, Deadline, Engine, Hit, IndexSpec
from wenyuan.core.scoring.formula import PLAIN
from wenyuan.core.scoring.fusion import Fusion
from wenyuan.core.scoring.probability import CURVES
from wenyuan.core.text.analysis import search_terms
from wenyuan.core.text.synonyms import Synonym
from wenyuan.core.text.wordings import SynonymTable
from wenyuan.engines.local.quantisation import faiss
from wenyuan.engines.memory import MemoryEngine
from wenyuan.service.search.collection_profile import CollectionProfile
from wenyuan.service.search.label_vectors import LabelVectors
from wenyuan.service.search.law_lookup import LawLookup
from wenyuan.service.search.leg_execution import LegExecutor
from wenyuan.service.search.legs import LegRequest, OwnLegs
from wenyuan.service.search.question import AnalysedQuery

DIMENSION = 16
SPEC = IndexSpec(
    analyzer="test/1",
    encoder=EncoderFingerprint(id="test", sha256="0" * 64, dimension=DIMENSION, scale=(0.0, 1.0)),
)
DAY = date(2026, 6, 1)
TEXTS = (
    "客户投诉需在 24 小时内第一次响应，并登记投诉编号。",
    "数据库连接池的最大连接数由 max_connections 决定。",
    "The connection pool times out after 30 seconds of waiting.",
    "第十三条 个人信息处理者应当取得个人的同意。",
    "依照本办法第十三条的规定，可以不取得同意。",
    "Unused annual leave of up to five days may be carried over.",
    "連接池應當設定逾時時間，以免執行緒無限等待。",
    "施工单位应当按照 GB 50300-2013 进行验收。",
    "安全",
    "GB/T 50300—2013 规定了验收的程序和组织。",
    "高温天气应当调整作业时间，防止中暑。",
    "Complaints are answered within one working day.",
)

HOSTILE = [
    "",
    " ",
    "a",
    "A",
    "1",
    "x' OR '1'='1",
    'y" or "1"=="1',
    "c:\\d",
    "涉密",
    "\u200b",
    "a\x1fb",
    "%",
    "*",
    "ü",
    "ü",
]
FACETS = {
    "tag": HOSTILE,
    "level": [0, 1, 2, -3, 2.5, 10**12],
    "flag": [True, False],
    "a b": ["true", "1", "True"],
}


def unit(seed: int) -> Any:
    v = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return v / np.linalg.norm(v)


def document(
    number: int, *, source: str = "s1", text: str | None = None, facets: dict[str, Any] | None = None, **more: Any
) -> tuple[NewDocument, dict[str, Any]]:
    """A document of one passage, with its vector."""
    body = text if text is not None else TEXTS[number % len(TEXTS)]
    passage = NewPassage(
        uri=f"urn:t:{source}:{number}#p", headings=("标题",) if number % 2 else (), text=body, sha256="0" * 64,
        start=0, end=len(body), vector_key=f"{source}-{number}-{body}",
    )  # fmt: skip
    made = NewDocument(
        source_id=source, uri=f"urn:t:{source}:{number}", title=f"document {number}", fingerprint=body,
        passages=(passage,), facets=facets or {}, **more,
    )  # fmt: skip
    return made, {f"{source}-{number}-{body}": unit(number)}


def hidden_of(documents: Collection[int]) -> HiddenDocuments:
    """Some documents, hidden: in two classes, beside one that can be read."""
    members = {1: frozenset(n for n in documents if n % 2), 2: frozenset(n for n in documents if not n % 2)}
    of_document = {n: number for number, some in members.items() for n in some}
    readable = frozenset({1_000_000})
    classes = AccessClasses(
        number=1, of_document=of_document | dict.fromkeys(readable, 3), of_address={}, held=(), closed={},
        documents=members | {3: readable}, sources={},
    )  # fmt: skip
    return HiddenDocuments(classes, frozenset({1, 2}), "somebody")


class Without:
    """The changes of a catalog without those of hidden documents."""

    def __init__(self, catalog: Catalog, hidden: HiddenDocuments) -> None:
        self._catalog, self._hidden = catalog, hidden
        self.seq, self.stamp, self.lag = catalog.seq, catalog.stamp, catalog.lag

    def changes(self, after: int, upto: int, *, vectors: bool = True) -> Iterator[Change]:
        for change in self._catalog.changes(after, upto, vectors=vectors):
            if change.row is None or not self._hidden.hides(change.row.document_id):
                yield change


def rows_without(catalog: Catalog, hidden: HiddenDocuments) -> list[IndexRow]:
    """The live rows that are not hidden."""
    found = Without(catalog, hidden).changes(0, catalog.seq())
    return [change.row for change in found if change.row is not None]


class World:
    """A catalog with an engine that follows it, and the reference engine beside it."""

    def __init__(self, folder: Path, make_engine: Callable[[Path, Catalog], Engine]) -> None:
        self.catalog = Catalog.create(folder)
        for source in ("s1", "s2"):
            self.catalog.put_source(Source(source_id=source))
        self.folder = folder
        self.make_engine = make_engine
        self.engine = make_engine(folder, self.catalog)
        self.reference = MemoryEngine(SPEC)

    def deadline(self, seconds: float = 30.0) -> Deadline:
        import time

        return Deadline(time.monotonic() + seconds, time.monotonic)

    def put(self, *documents: tuple[NewDocument, dict[str, Any]]) -> None:
        vectors = {key: vector for _, found in documents for key, vector in found.items()}
        self.catalog.commit_documents([d for d, _ in documents], vectors)

    def remove(self, source: str, number: int) -> None:
        (document_id, _) = self.catalog.live_documents(source)[f"urn:t:{source}:{number}"]
        self.catalog.retire_documents(source, [document_id])

    def sync(self) -> None:
        self.engine.sync(self.catalog, deadline=self.deadline())
        self.reference.sync(self.catalog, deadline=self.deadline())

    def scope(self, *sources: str, day: date = DAY, filter: Filter | None = None) -> Scope:
        return Scope(sources=frozenset(sources or ("s1", "s2")), as_of=day, filter=filter)

    def keyword(self, query: str, scope: Scope | None = None, limit: int = 50, engine: Engine | None = None) -> Any:
        chosen = engine or self.engine
        return chosen.keyword(
            search_terms(query), scope=scope or self.scope(), limit=limit, deadline=self.deadline()
        ).hits

    def vector(self, v: Any, scope: Scope | None = None, limit: int = 50, engine: Engine | None = None) -> Any:
        chosen = engine or self.engine
        return chosen.vector(v, scope=scope or self.scope(), limit=limit, deadline=self.deadline()).hits

    def close(self) -> None:
        self.engine.close()
        self.catalog.close()


def same(found: Any, expected: Any) -> None:
    """Equal rankings: ids in order (ties by id) and scores to 1e-5."""
    assert [h.passage_id for h in found] == [h.passage_id for h in expected]
    assert [h.score for h in found] == pytest.approx([h.score for h in expected], abs=1e-5)


def best_first(ranking: dict[int, float]) -> list[Hit]:
    return [Hit(i, score) for i, score in sorted(ranking.items(), key=lambda pair: (-pair[1], pair[0]))]


QUERIES = (
    "连接池",
    "安全",
    "投诉 响应",
    "connection pools",
    "第13条",
    "GB 50300",
    "驗收程序",
    "ｍａｘ＿connections",
    "的",
    "5",
    "what do we have for the pool of connections",
    "连接池怎么办",
)


class EngineLaws:
    """Bind by subclassing with a `make_engine` fixture: (library folder, catalog) → engine."""

    @pytest.fixture
    def world(self, tmp_path: Path, make_engine: Callable[[Path, Catalog], Engine]) -> Any:
        made = World(tmp_path / "library", make_engine)
        yield made
        made.close()

    @pytest.fixture
    def filled(self, world: World) -> World:
        world.put(*(document(i, source="s1" if i % 3 else "s2") for i in range(len(TEXTS))))
        world.sync()
        return world

    def test_own_best_hit(self, filled: World) -> None:
        """A stored passage is its own best hit, by its text and by its vector."""
        for number, text in enumerate(TEXTS):
            passage = next(iter(self.ids_of(filled, number)))
            assert filled.keyword(text)[0].passage_id == passage
            best = filled.vector(unit(number))[0]
            assert (best.passage_id, best.score) == (passage, pytest.approx(1.0, abs=1e-5))

    @staticmethod
    def ids_of(world: World, number: int) -> list[int]:
        everything = world.catalog.passages(range(1, 500))
        return [i for i, p in everything.items() if p.title == f"document {number}"]

    @pytest.mark.parametrize("query", QUERIES)
    def test_known_scores(self, filled: World, query: str) -> None:
        """Keyword scores are those of the reference engine to 1e-5, in the same order."""
        expected = filled.keyword(query, engine=filled.reference)
        assert len(expected)
        same(filled.keyword(query), expected)

    def test_known_cosines(self, filled: World) -> None:
        """Vector scores are those of the reference engine to 1e-5, in the same order."""
        same(filled.vector(unit(77)), filled.vector(unit(77), engine=filled.reference))

    def test_limit(self, filled: World) -> None:
        """A limit cuts the ranking and changes nothing else."""
        assert list(filled.vector(unit(5), limit=3)) == list(filled.vector(unit(5)))[:3]
        same(filled.keyword("的", limit=2), list(filled.keyword("的"))[:2])

    def test_scores_of_given_rows(self, filled: World) -> None:
        """Scores asked for by id are the scores of the ranking; rows without a term are absent."""
        ranking = {h.passage_id: h.score for h in filled.keyword("连接池 pool")}
        ids = list(range(1, len(TEXTS) + 3))
        asked = filled.engine.keyword_scores(search_terms("连接池 pool"), ids, deadline=filled.deadline())
        assert dict(asked) == pytest.approx(ranking, abs=1e-6)
        cosines = filled.engine.cosines(unit(3), ids, deadline=filled.deadline())
        assert dict(cosines) == pytest.approx(
            {h.passage_id: h.parts["cosine"] for h in filled.vector(unit(3))}, abs=1e-6
        )

    @pytest.mark.parametrize("depth", [1, 3, 50])
    def test_other_wordings(self, filled: World, depth: int) -> None:
        """Whatever each wording finds among its best, each passage has its best score in any of them, and says of which."""
        entries = (("连接池", "年假", "投诉"), ("pool", "leave", "complaints"))
        made = [Synonym(term=term, synonym=other) for term, *others in entries for other in others]
        wordings = SynonymTable(made).wordings("连接池 pool")
        query = AnalysedQuery(
            text=wordings.text,
            subject=wordings.text,
            meant={},
            wordings=wordings,
            script="han",
            names=False,
            reference=None,
        )
        profile = CollectionProfile(
            traits=PLAIN, curve=CURVES["keyword-only"], fusion=Fusion(weight=0.0, scale=(0.0, 1.0)), tuning=None,
            copies=False, recorded={},
        )  # fmt: skip
        assert len(wordings.others) == 8
        rankings = [
            {h.passage_id: h.score for h in filled.keyword(text, engine=filled.reference)}
            for text in (wordings.text, *(other.text for other in wordings.others))
        ]
        executor = LegExecutor(2)
        legs = OwnLegs(filled.engine, None, executor, LawLookup(filled.catalog), LabelVectors(filled.catalog))
        asked = LegRequest(
            query=query, scope=filled.scope(), depth=depth, profile=profile, deadline=filled.deadline()
        )
        hits = legs.found(asked).candidates.hits()
        executor.close()
        found = {h.passage_id for ranking in rankings for h in best_first(ranking)[:depth]}
        assert {h.passage_id for h in hits} == found
        for hit in hits:
            best = max(ranking.get(hit.passage_id, 0.0) for ranking in rankings)
            assert hit.parts["keyword"] == pytest.approx(best, abs=1e-5)
            said = int(hit.parts.get("wording", 0))
            assert rankings[said][hit.passage_id] == pytest.approx(best, abs=1e-5)

    def test_mean_cosine(self, world: World) -> None:
        """The mean cosine is of all vectors, in whichever language; 0 where there is none."""
        assert world.engine.mean_cosine(unit(3)) == 0.0
        world.put(*(document(i, language=("zh", "en", "", "zh")[i % 4]) for i in range(10)))
        world.sync()
        expected = np.mean([float(unit(number) @ unit(3)) for number in range(10)])
        assert world.engine.mean_cosine(unit(3)) == pytest.approx(expected, abs=1e-6)
        assert world.reference.mean_cosine(unit(3)) == pytest.approx(expected, abs=1e-6)

    def test_neighbours(self, world: World) -> None:
        """Of two passages with the same words, the one that has them side by side comes first, in every engine."""
        apart = document(1, text="the vehicle stood still beside another motor")
        beside = document(3, text="the still stood another beside motor vehicle")
        world.put(apart, beside)
        world.sync()
        found = world.keyword("the motor vehicle")
        assert [h.passage_id for h in found] == [*self.ids_of(world, 3), *self.ids_of(world, 1)]
        same(found, world.keyword("the motor vehicle", engine=world.reference))

    def test_quantities(self, world: World) -> None:
        """三十日 is found as 30天 and as 30 days before another number of days, in every engine."""
        other, asked_for = (
            document(1, text="应当在十五日内提出，逾期不予受理"),
            document(3, text="应当在三十日内提出，逾期不予受理"),
        )
        world.put(other, asked_for)
        world.sync()
        for query in ("30天内提出", "within 30 days", "３０天"):
            found = world.keyword(query)
            assert found[0].passage_id in self.ids_of(world, 3)
            same(found, world.keyword(query, engine=world.reference))

    def test_meaningless(self, filled: World) -> None:
        """A query whose terms no passage has finds nothing, and that is an answer."""
        assert len(filled.keyword("zxqv wvkj 龘靐齉爩")) == 0
        assert len(filled.keyword("")) == 0

    def test_empty_index(self, world: World) -> None:
        """An empty index answers with nothing; every term says as much as any other."""
        world.sync()
        told = world.engine.information(["pool", "连接"])
        assert dict(told) == pytest.approx(dict(world.reference.information(["pool", "连接"])))
        assert len(world.keyword("连接池")) == 0
        assert len(world.vector(unit(1))) == 0

    def test_deleted_is_gone(self, filled: World) -> None:
        """A removed document is found by neither leg, and the others stay."""
        gone = self.ids_of(filled, 1)
        filled.remove("s1", 1)
        filled.sync()
        for ranking in (filled.keyword("连接池 max_connections"), filled.vector(unit(1))):
            assert len(ranking)
            assert not {h.passage_id for h in ranking} & set(gone)
        assert len(filled.vector(unit(1))) == len(TEXTS) - 1

    def test_replaced(self, filled: World) -> None:
        """A changed document is found by its new text only."""
        filled.put(document(1, text="完全不同的内容：吊装作业"))
        filled.sync()
        assert filled.keyword("吊装作业")[0].score > 0.5
        titles = {
            filled.catalog.passages([h.passage_id])[h.passage_id].title for h in filled.keyword("max_connections")
        }
        assert "document 1" not in titles

    def test_reopened(self, filled: World) -> None:
        """A reopened engine gives the same rankings."""
        before = [list(filled.keyword(q)) for q in QUERIES] + [list(filled.vector(unit(9)))]
        filled.engine.close()
        filled.engine = filled.make_engine(filled.folder, filled.catalog)
        filled.sync()
        for old, new in zip(before, [*(filled.keyword(q) for q in QUERIES), filled.vector(unit(9))], strict=True):
            same(new, old)

    def test_scope_before_cut(self, filled: World) -> None:
        """A scope applies before the cut: one allowed row is found however many others score better."""
        only = filled.scope("s2")
        allowed = {i for i, p in filled.catalog.passages(range(1, 500)).items() if p.source_id == "s2"}
        assert {h.passage_id for h in filled.vector(unit(1), only, limit=2)} <= allowed
        assert len(filled.vector(unit(1), only, limit=2)) == 2
        assert {h.passage_id for h in filled.keyword("的 pool 投诉", only)} <= allowed
        assert len(filled.vector(unit(1), filled.scope("nobody"))) == 0

    def test_hidden_documents(self, filled: World) -> None:
        """Both legs find what the reference finds where documents are hidden, and nothing of these."""
        numbers = [number for s in ("s1", "s2") for number, _ in filled.catalog.live_documents(s).values()]
        drawn = random.Random(7)
        for count in (0, 1, len(numbers) // 2, len(numbers) - 1, len(numbers)):
            gone = frozenset(drawn.sample(numbers, count))
            scope = replace(filled.scope(), hidden=hidden_of(gone))
            for limit in (1, 3, 50):
                for query in ("响应时间", "connection pool", "GB 50300", "的"):
                    found = filled.keyword(query, scope, limit)
                    same(found, filled.keyword(query, scope, limit, filled.reference))
                    passages = filled.catalog.passages([hit.passage_id for hit in found])
                    assert not gone & {passage.document_id for passage in passages.values()}
                found = filled.vector(unit(3), scope, limit)
                same(found, filled.vector(unit(3), scope, limit, filled.reference))
                assert len(found) == min(limit, len(numbers) - count)

    def test_statistics_within_a_sight(self, world: World) -> None:
        """Scores, frequencies and means are those of an engine that never had the hidden documents, removed ones beside them or not."""
        numbers = range(3 * len(TEXTS))
        world.put(
            *(
                document(n, source="s1" if n % 3 else "s2", text=" ".join(TEXTS[(n * k) % len(TEXTS)] for k in (1, 5, 7)[: 1 + n % 3]),
                         language=("zh", "en", "")[n % 3])
                for n in numbers
            )
        )  # fmt: skip
        world.sync()
        drawn, within = random.Random(3), world.scope()
        for removed in (None, 4):
            if removed is not None:
                world.remove("s1", removed)
                world.sync()
            documents = [number for s in ("s1", "s2") for number, _ in world.catalog.live_documents(s).values()]
            for count in (1, len(documents) // 2, len(documents) - 2, len(documents)):
                gone = hidden_of(drawn.sample(documents, count))
                alone = MemoryEngine(SPEC)
                alone.sync(Without(world.catalog, gone), deadline=world.deadline())
                scope = replace(within, hidden=gone)
                for query in QUERIES:
                    expected = world.keyword(query, engine=alone)
                    same(world.keyword(query, scope), expected)
                    same(world.keyword(query, scope, engine=world.reference), expected)
                    ids, words = [hit.passage_id for hit in expected], search_terms(query)
                    for engine in (world.engine, world.reference):
                        scores = engine.keyword_scores(words, ids, deadline=world.deadline(), uncounted=gone)
                        assert dict(scores) == pytest.approx({h.passage_id: h.score for h in expected}, abs=1e-5)
                        told = engine.information(words, uncounted=gone)
                        assert dict(told) == pytest.approx(dict(alone.information(words)), abs=1e-5)
                    whole = replace(scope, shared_statistics=True)
                    every = {h.passage_id: h.score for h in world.keyword(query, engine=world.reference)}
                    for hit in world.keyword(query, whole):
                        assert hit.score == pytest.approx(every[hit.passage_id], abs=1e-5) or removed is not None
                for engine in (world.engine, world.reference):
                    cosine = engine.mean_cosine(unit(3), uncounted=gone)
                    assert cosine == pytest.approx(alone.mean_cosine(unit(3)), abs=1e-5)
                    languages = [row.language for row in rows_without(world.catalog, gone)]
                    share = languages.count("zh") / len(languages) if languages else 0.0
                    assert engine.chinese_share(uncounted=gone) == pytest.approx(share)

    def test_validity(self, world: World) -> None:
        """Only what is in force on the day asked for is found, its first and last day included."""
        world.put(
            document(0, effective_from=date(2020, 1, 1), effective_until=date(2025, 12, 31)),
            document(1, text=TEXTS[0], effective_from=date(2026, 1, 1)),
            document(2, text=TEXTS[0]),
        )
        world.sync()
        expected = {
            date(2019, 12, 31): {2}, date(2020, 1, 1): {0, 2}, date(2025, 12, 31): {0, 2},
            date(2026, 1, 1): {1, 2}, date(2030, 1, 1): {1, 2},
        }  # fmt: skip
        for day, numbers in expected.items():
            ids = {i for n in numbers for i in self.ids_of(world, n)}
            assert {h.passage_id for h in world.keyword("投诉", world.scope(day=day))} == ids
            assert {h.passage_id for h in world.vector(unit(0), world.scope(day=day))} == ids

    def test_filters_mean_what_the_reference_means(self, world: World) -> None:
        """Any filter over hostile values selects exactly the rows that the reference filter selects."""
        draw = random.Random(7)
        numbers = range(60)
        world.put(
            *(
                document(
                    n, source=draw.choice(["s1", "s2"]), text="安全 safety", language=draw.choice(["zh", "en", ""]),
                    collection=draw.choice(HOSTILE),
                    facets={k: draw.choice(v) for k, v in FACETS.items() if draw.random() < 0.8},
                )
                for n in numbers
            )
        )  # fmt: skip
        world.sync()
        rows = {c.passage_id: c.row for c in world.catalog.changes(0, world.catalog.seq())}
        values = st.sampled_from([v for column in FACETS.values() for v in column] + ["zh", "en", 3, 3.0, "3"])
        fields = st.sampled_from(["language", "collection", "source_id", "document_id", "metadata.none"])
        fields |= st.sampled_from([f"metadata.{name}" for name in FACETS])
        bound = st.none() | st.integers(-5, 70) | st.floats(-5, 70) | st.sampled_from(["", "a", "m", "zz"])
        leaves: Any = st.builds(In, fields, st.lists(values, min_size=1, max_size=4).map(tuple))
        leaves |= st.tuples(fields, bound, bound).filter(lambda t: t[1:] != (None, None)).map(lambda t: Range(*t))
        trees = st.recursive(
            leaves,
            lambda inner: (
                st.builds(Not, inner)
                | st.lists(inner, min_size=1, max_size=3).map(lambda p: And(tuple(p)))
                | st.lists(inner, min_size=1, max_size=3).map(lambda p: Or(tuple(p)))
            ),
            max_leaves=5,
        )

        @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
        @given(trees)
        def check(tree: Filter) -> None:
            expected = {i for i, row in rows.items() if row is not None and matches(tree, row)}
            scope = world.scope(filter=tree)
            assert {h.passage_id for h in world.keyword("安全", scope, limit=100)} == expected
            assert {h.passage_id for h in world.vector(unit(1), scope, limit=100)} == expected

        check()

    def test_deadline(self, filled: World) -> None:
        """Work past its deadline ends in EngineTimeout, not in fewer hits."""
        over = filled.deadline(-1.0)
        for call in (
            lambda: filled.engine.keyword(search_terms("的"), scope=filled.scope(), limit=5, deadline=over),
            lambda: filled.engine.vector(unit(1), scope=filled.scope(), limit=5, deadline=over),
        ):
            with pytest.raises(EngineTimeout):
                call()

    def test_catalog_gone_backwards(self, filled: World) -> None:
        """An index that holds more than the catalog says so instead of answering."""

        class Older:
            def seq(self) -> int:
                return 1

        with pytest.raises(EngineError):
            filled.engine.sync(Older(), deadline=filled.deadline())  # type: ignore[arg-type]

    def test_status_counts(self, filled: World) -> None:
        """The engine's counts are the catalog's."""
        counts, status = filled.catalog.counts(), filled.engine.status()
        assert (status.passages, status.vectors) == (counts["passages"], counts["vectors"])
        assert status.watermark == filled.catalog.seq()

    def test_readers_beside_a_writer(self, filled: World) -> None:
        """While documents come and go, every answer is a full ranking: never an error, never empty."""
        stop, wrong = threading.Event(), []

        def read() -> None:
            while not stop.is_set():
                try:
                    if not len(filled.keyword("投诉 响应")) or len(filled.vector(unit(0))) < len(TEXTS):
                        wrong.append("short answer")
                except Exception as error:
                    wrong.append(repr(error))

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(20, 32):
            filled.put(document(number, facets={"n": number, f"k{number}": "v"}))
            filled.sync()
            if number % 3 == 0:
                filled.remove("s1", number)
                filled.sync()
        stop.set()
        for thread in threads:
            thread.join()
        assert wrong == []


EARLIER_CODES = ("RR{0},RaBitQ2", "RR{0},IVF1,PQ{0}x4fs")
"""The kinds of codes that the engine ``local`` has written before."""


def earlier_codes(rows: Any, kind: str) -> bytes:
    """Codes of rows, (n, dim) float32, of a kind of `EARLIER_CODES`."""
    index = faiss.index_factory(rows.shape[1], kind.format(rows.shape[1]), faiss.METRIC_INNER_PRODUCT)
    index.train(rows)
    index.add(rows)
    return bytes(faiss.serialize_index(index))
