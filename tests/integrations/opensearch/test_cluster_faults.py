"""Nodes that are killed while questions come in and documents are indexed: answers are right or FAILED, never short."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine_laws import QUERIES, TEXTS, World, document, same, unit
from opensearch_cluster import ROUNDS, Cluster, called
from opensearch_engine import opened
from wenyuan.catalog import Catalog
from wenyuan.core.errors import EngineError, EngineUnavailable, KnowledgeError
from wenyuan.core.filters import In, Scope
from wenyuan.core.ports import Hit
from wenyuan.core.text.analysis import search_terms
from wenyuan.engines.opensearch.indices import IndexShape

_BASE = 12
_DEADLINE = 4.0
_WORDS = search_terms(" ".join(TEXTS))


@pytest.fixture
def world(tmp_path: Path, nodes: Cluster) -> Iterator[World]:
    """Twelve documents that stay, in two parts of two copies."""
    made = World(tmp_path, lambda _, catalog: opened(nodes.urls, catalog))
    made.put(*(document(n, collection="base") for n in range(_BASE)))
    made.sync()
    yield made
    made.close()


class Askers:
    """Threads that ask, and keep what is wrong.

    Attributes:
        seen: How often each outcome was.
        wrong: Answers that are neither right nor FAILED.
    """

    def __init__(self, world: World) -> None:
        self.world, self.stop = world, threading.Event()
        self.seen: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._base = self._scope("base")
        self._pairs = self._scope("pair")
        self._known = {h.passage_id for h in self._by_words()}
        assert len(self._known) == _BASE
        self._cosines = {h.passage_id: h.parts["cosine"] for h in world.vector(unit(3), self._base)}
        self._threads = [
            threading.Thread(target=self._ask, args=(kind,)) for kind in (self._words, self._vectors, self._whole)
        ]
        for thread in self._threads:
            thread.start()

    def _scope(self, collection: str) -> Scope:
        return self.world.scope(filter=In("collection", (collection,)))

    def _ask(self, kind: Callable[[], str]) -> None:
        while not self.stop.is_set():
            try:
                wrong = kind()
            except EngineError as error:
                self.seen[f"FAILED: {error.message}"] += 1
                time.sleep(0.05)
                continue
            self.seen["right" if not wrong else "wrong"] += 1
            if wrong:
                self.wrong.append(wrong)

    def _words(self) -> str:
        """All that stays and has one of some words is found."""
        found = {h.passage_id for h in self._by_words()}
        return "" if found == self._known else f"{len(found)} of {len(self._known)} by words"

    def _by_words(self) -> list[Hit]:
        leg = self.world.engine.keyword(_WORDS, scope=self._base, limit=50, deadline=self.world.deadline(_DEADLINE))
        return list(leg.hits)

    def _vectors(self) -> str:
        told = {h.passage_id: h.parts["cosine"] for h in self._by_vector(self._base)}
        return (
            "" if told == pytest.approx(self._cosines, abs=1e-6) else f"{len(told)} of {len(self._cosines)} by vector"
        )

    def _whole(self) -> str:
        """Pairs come and go by one change each: there is never half of one."""
        return "half of a change" if len(self._by_vector(self._pairs)) % 2 else ""

    def _by_vector(self, scope: Scope) -> list[Hit]:
        leg = self.world.engine.vector(unit(3), scope=scope, limit=500, deadline=self.world.deadline(_DEADLINE))
        return list(leg.hits)

    def end(self) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join()


def written(world: World, number: int) -> bool:
    """Commit a pair, take an older one out, and have both indexed; whether the cluster took them."""
    first, second = (document(1_000 + 2 * number + k, text=f"成对 pair {number}", collection="pair") for k in (0, 1))
    world.put(first, second)
    if number % 3 == 2:
        live = world.catalog.live_documents("s1")
        gone = [live[f"urn:t:s1:{1_000 + 2 * (number - 1) + k}"][0] for k in (0, 1)]
        world.catalog.retire_documents("s1", gone)
    try:
        world.engine.sync(world.catalog, deadline=world.deadline(_DEADLINE))
    except KnowledgeError:
        return False
    return True


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_nodes_that_go_at_random(world: World, nodes: Cluster, how: str) -> None:
    """Killed, or stopped one after the other as for an upgrade, while documents are indexed: right or FAILED, then as before."""
    draw = random.Random(11)
    asked = Askers(world)
    taken = number = 0
    try:
        for round_ in range(ROUNDS if how == "kill" else len(nodes.nodes)):
            node = draw.choice(nodes.nodes) if how == "kill" else nodes.nodes[round_]
            taken += written(world, number := number + 1)
            time.sleep(draw.random() * 0.3)
            getattr(node, how)()
            for _ in range(3):
                taken += written(world, number := number + 1)
            node.start()
            taken += written(world, number := number + 1)
            nodes.wait()
    finally:
        asked.end()
    print(f"\n{how}: {dict(asked.seen)}, {taken} of {number} changes were taken in at once")
    assert asked.wrong == []
    assert asked.seen["right"] > 10 * ROUNDS / 2
    world.sync()
    for query in (*QUERIES, "成对 pair"):
        same(world.keyword(query, limit=200), world.keyword(query, limit=200, engine=world.reference))
    same(world.vector(unit(3), limit=200), world.vector(unit(3), limit=200, engine=world.reference))
    assert world.engine.mean_cosine(unit(3)) == pytest.approx(world.reference.mean_cosine(unit(3)), abs=1e-5)


def test_a_part_without_a_copy(tmp_path: Path, nodes: Cluster) -> None:
    """While one part of the index is nowhere, questions are FAILED, not short; when its node is back, they are right."""
    shape = IndexShape(shards=3, replicas=0)
    world = World(tmp_path, lambda _, catalog: opened(nodes.urls, catalog, shape=shape))
    world.put(*(document(n) for n in range(_BASE)))
    world.sync()
    expected = list(world.keyword("连接池")), list(world.vector(unit(3)))
    mark = world.engine._mark  # type: ignore[attr-defined]
    index = world.engine._names.passages(mark)  # type: ignore[attr-defined]
    held = {row["node"] for row in called(nodes.urls[0], "GET", f"/_cat/shards/{index}?format=json")}
    node = next(node for node in nodes.nodes if node.name in held)
    node.kill()
    for ask in (lambda: world.keyword("连接池"), lambda: world.vector(unit(3))):
        with pytest.raises(EngineError):
            ask()
    node.start()
    nodes.wait()
    assert (list(world.keyword("连接池")), list(world.vector(unit(3)))) == expected
    world.close()


def test_a_cluster_that_is_gone_and_comes_back(tmp_path: Path, nodes: Cluster) -> None:
    """All nodes at once: FAILED within the deadline; then answers are as before, what was committed meanwhile included."""
    world = World(tmp_path, lambda _, catalog: opened(nodes.urls, catalog))
    world.put(*(document(n) for n in range(_BASE)))
    world.sync()
    for node in nodes.nodes:
        node.kill()
    world.put(document(60, text="断电 outage"))
    begun = time.monotonic()
    with pytest.raises(EngineError):
        world.engine.vector(unit(3), scope=world.scope(), limit=5, deadline=world.deadline(_DEADLINE))
    assert time.monotonic() - begun < _DEADLINE + 5
    nodes.start()
    world.sync()
    for query in (*QUERIES, "outage"):
        same(world.keyword(query), world.keyword(query, engine=world.reference))
    world.close()


def test_another_process_asks_meanwhile(world: World, nodes: Cluster) -> None:
    """An engine that has not written sees a change that another has indexed while a node was away."""
    reader = opened(nodes.urls, Catalog.open(world.folder))
    nodes.nodes[1].kill()
    world.put(document(70, text="远端 elsewhere"))
    _when_it_answers(world.sync)
    _when_it_answers(lambda: reader.sync(world.catalog, deadline=world.deadline()))
    wanted = world.keyword("elsewhere", engine=world.reference)
    _when_it_answers(lambda: same(world.keyword("elsewhere", engine=reader), wanted))
    nodes.nodes[1].start()
    nodes.wait()
    same(world.keyword("elsewhere 连接池", engine=reader), world.keyword("elsewhere 连接池", engine=world.reference))
    reader.close()


def _when_it_answers(work: Callable[[], None]) -> None:
    """Do something that fails while the cluster finds out which node went."""
    until = time.monotonic() + 60
    while True:
        try:
            work()
        except EngineUnavailable:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)
        else:
            return
