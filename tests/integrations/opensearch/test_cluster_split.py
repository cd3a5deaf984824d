"""A network that is split: a node that does not hear the others answers as of an earlier state, and does not know it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import opensearch_cluster
from engine_laws import TEXTS, World, document, same, unit
from opensearch_cluster import Cluster
from opensearch_engine import opened
from wenyuan.catalog import Catalog
from wenyuan.core.errors import EngineError, KnowledgeError
from wenyuan.core.text.analysis import search_terms
from wenyuan.engines.opensearch.engine import OpenSearchEngine
from wenyuan.engines.opensearch.indices import IndexShape

_SOON = {
    "cluster.fault_detection.follower_check.timeout": "2s", "cluster.fault_detection.follower_check.retry_count": 2,
    "cluster.fault_detection.leader_check.timeout": "2s", "cluster.fault_detection.leader_check.retry_count": 2,
    "cluster.publish.timeout": "5s",
}  # fmt: skip
_BASE = 12
_SECONDS = 75.0
_DEADLINE = 4.0
_WORDS = search_terms(" ".join(TEXTS))


@pytest.fixture
def split() -> Iterator[Cluster]:
    """A cluster whose first node can be cut off."""
    if not opensearch_cluster.can_cut_off():
        pytest.skip("not run: the network cannot be split here; it takes iptables, and the right to use it")
    with opensearch_cluster.own(settings=_SOON, marked=True) as made:
        yield made


def _asked(world: World, reader: OpenSearchEngine, vector: bool) -> int:
    """How many documents somebody finds who asks whichever node; all of them are there at every state."""
    reader.sync(world.catalog, deadline=world.deadline(_DEADLINE))
    scope, soon = world.scope(), world.deadline(_DEADLINE)
    if vector:
        return len(reader.vector(unit(3), scope=scope, limit=100, deadline=soon).hits)
    return len(reader.keyword(_WORDS, scope=scope, limit=100, deadline=soon).hits)


def test_a_node_that_is_cut_off(tmp_path: Path, split: Cluster) -> None:
    """While documents are replaced by way of the others, every answer has all of them, in one version; or it is FAILED."""
    shape = IndexShape(shards=2, replicas=2)  # the lonely node holds everything, as it was
    world = World(tmp_path, lambda _, catalog: opened([n.url for n in split.nodes[1:]], catalog, shape=shape))
    world.put(*(document(n) for n in range(_BASE)))
    world.sync()
    split.wait()
    reader = opened(split.urls, Catalog.open(world.folder), shape=shape)
    seen: Counter[str] = Counter()
    with opensearch_cluster.cut_off(split):
        until, number = time.monotonic() + _SECONDS, 0
        while time.monotonic() < until:
            number += 1
            try:
                world.put(document(number % _BASE, text=f"{TEXTS[number % _BASE]} 第 {number} 版"))
                world.engine.sync(world.catalog, deadline=world.deadline(_DEADLINE))
            except KnowledgeError:
                seen["not taken in at once"] += 1
            for vector in (True, False) * 4:
                try:
                    found = _asked(world, reader, vector)
                except EngineError:
                    seen["FAILED"] += 1
                    continue
                seen["right" if found == _BASE else f"{found} of {_BASE}"] += 1
    print(f"\nsplit: {dict(seen)}, {number} changes")
    split.wait()
    assert set(seen) <= {"right", "FAILED", "not taken in at once"}
    assert seen["right"] > 10
    world.sync()
    for engine in (world.engine, reader):
        engine.sync(world.catalog, deadline=world.deadline())
        same(world.keyword("连接池 投诉", engine=engine), world.keyword("连接池 投诉", engine=world.reference))
        same(world.vector(unit(3), engine=engine), world.vector(unit(3), engine=world.reference))
        assert engine.status().passages == _BASE
    reader.close()
    world.close()
