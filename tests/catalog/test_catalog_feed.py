"""The change feed: whoever replays it ends with what is live."""

from __future__ import annotations

import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from catalog_parts import new_catalog, put, raw
from engine_laws import document, unit
from wenyuan.catalog import Catalog
from wenyuan.core.errors import CatalogUnavailable
from wenyuan.core.model import NewPassage, Source


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with new_catalog(tmp_path / "library") as made:
        yield made


class Feed(RuleBasedStateMachine):
    """Documents come and go at random; consumers at any watermark replay what they have missed."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.catalog = Catalog.create(self.folder)
        self.live: dict[tuple[str, int], str] = {}  # the reference: what is live now
        self.states: list[dict[tuple[str, int], str]] = [{}]  # the reference after each change
        self.consumers = [(0, {}), (0, {})]  # (watermark, passage id → row)

    @initialize()
    def sources(self) -> None:
        for name in ("s1", "s2"):
            self.catalog.put_source(Source(source_id=name))
            self.done()

    def done(self) -> None:
        self.states.append(dict(self.live))
        assert self.catalog.seq() == len(self.states) - 1

    @rule(
        source=st.sampled_from(["s1", "s2"]),
        numbers=st.lists(st.integers(0, 8), min_size=1, max_size=4, unique=True),
        text=st.sampled_from(["安全", "a", "b", "同じ"]),
    )
    def store(self, source: str, numbers: list[int], text: str) -> None:
        if source not in {s.source_id for s in self.catalog.sources()}:
            self.catalog.put_source(Source(source_id=source))
            self.done()
        put(self.catalog, *numbers, source=source, text=text)
        self.live |= {(source, n): text for n in numbers}
        self.done()

    @rule(source=st.sampled_from(["s1", "s2"]), count=st.integers(1, 3))
    def retire(self, source: str, count: int) -> None:
        gone = sorted(self.catalog.live_documents(source).items())[:count]
        if gone:
            assert self.catalog.retire_documents(source, [i for _, (i, _) in gone]) == len(gone)
            for uri, _ in gone:
                del self.live[source, int(uri.rsplit(":", 1)[1])]
            self.done()

    @rule(source=st.sampled_from(["s1", "s2"]))
    def remove(self, source: str) -> None:
        if source in {s.source_id for s in self.catalog.sources()}:
            gone = [key for key in self.live if key[0] == source]
            assert self.catalog.remove_source(source) == len(gone)
            for key in gone:
                del self.live[key]
            self.done()

    @rule(which=st.integers(0, 1), share=st.floats(0, 1), vectors=st.booleans())
    def follow(self, which: int, share: float, vectors: bool) -> None:
        watermark, rows = self.consumers[which]
        upto = watermark + round(share * (self.catalog.seq() - watermark))
        seen_addition = False
        for change in self.catalog.changes(watermark, upto, vectors=vectors):
            assert watermark < change.seq <= upto
            if change.row is None:
                assert not seen_addition
                rows.pop(change.passage_id, None)
            else:
                seen_addition = True
                assert change.passage_id not in rows
                rows[change.passage_id] = change.row
        self.consumers[which] = (upto, rows)

    @invariant()
    def same(self) -> None:
        counts = self.catalog.counts()
        assert counts["documents"] == counts["passages"] == counts["vectors"] == len(self.live)
        assert sum(found["vectors"] for found in self.catalog.counts_by_source().values()) == len(self.live)
        for watermark, rows in self.consumers:
            numbers = sorted((r.source_id, r.document_id) for r in rows.values())
            assert len(set(numbers)) == len(numbers) == len(self.states[watermark])
            for row in rows.values():
                # A consumer that is behind may hold what was purged meanwhile; what is live is as it was stored.
                if row.text:
                    assert row.text in self.states[watermark].values()
        for watermark, rows in self.consumers:
            if watermark == self.catalog.seq():
                passages = self.catalog.passages(list(rows))
                keys = {(p.source_id, int(p.title.split()[1])): rows[i].text for i, p in passages.items()}
                assert keys == self.live

    def teardown(self) -> None:
        self.catalog.close()
        shutil.rmtree(self.folder)


def test_feed_replays_to_the_live_set() -> None:
    """Replaying the feed from any watermark to any later one gives exactly what was live at that one."""
    often = settings(max_examples=20, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(Feed, settings=often)


def test_vectors_of_the_feed(catalog: Catalog) -> None:
    """The feed gives each row its vector bit for bit, and leaves vectors out when they are not wanted."""
    put(catalog, *range(5))
    for change in catalog.changes(0, catalog.seq()):
        assert change.row is not None
        assert change.row.vector.tobytes() == unit(change.passage_id - 1).tobytes()
    assert all(c.row.vector is None for c in catalog.changes(0, catalog.seq(), vectors=False) if c.row)


def test_damaged_vector(catalog: Catalog) -> None:
    """A vector with one flipped bit is found by its checksum."""
    put(catalog, 1)
    with raw(catalog) as connection:
        (blob,) = connection.execute("SELECT vector FROM vectors").fetchone()
        connection.execute("UPDATE vectors SET vector = ?", (blob[:-1] + bytes([blob[-1] ^ 1]),))
    with pytest.raises(CatalogUnavailable, match="passage 1 does not match its checksum"):
        list(catalog.changes(0, catalog.seq()))
    assert len(list(catalog.changes(0, catalog.seq(), vectors=False))) == 1


def test_lost_vector(catalog: Catalog) -> None:
    """A vector that is gone is an error; the passage is not indexed without it."""
    put(catalog, 1, 2)
    with raw(catalog) as connection:
        connection.execute("DELETE FROM vectors WHERE vector_key LIKE 's1-1-%'")
    with pytest.raises(CatalogUnavailable, match="vector of passage 1 is missing"):
        list(catalog.changes(0, catalog.seq()))


def test_keyword_only_passages(catalog: Catalog) -> None:
    """A passage without a vector key has no vector, and that is no error."""
    made, _ = document(1)
    catalog.commit_documents([replace(made, passages=(replace(made.passages[0], vector_key=None),))], {})
    (change,) = catalog.changes(0, catalog.seq())
    assert change.row is not None
    assert change.row.vector is None
    assert catalog.counts()["vectors"] == 0


def test_vectors_are_shared(catalog: Catalog) -> None:
    """The same text under the same model is stored once, found as known, and kept while anybody needs it."""
    passage = NewPassage(uri="u", headings=(), text="x", sha256="", start=0, end=1, vector_key="same")
    for source in ("s1", "s2"):
        made, _ = document(1, source=source)
        catalog.commit_documents([replace(made, passages=(passage,))], {"same": unit(1)} if source == "s1" else {})
    assert catalog.known_vectors(["same", "other", *map(str, range(1_000))]) == {"same"}
    catalog.remove_source("s1")
    (row,) = [c.row for c in catalog.changes(0, catalog.seq()) if c.row]
    assert zlib.crc32(row.vector.tobytes()) == zlib.crc32(np.ascontiguousarray(unit(1)).tobytes())


def test_lag(catalog: Catalog) -> None:
    """The lag is the age of the oldest change that a consumer has not seen, 0 when it has seen all."""
    begun = time.time()
    watermark = catalog.seq()
    assert catalog.lag(watermark) == 0.0
    put(catalog, 1)
    time.sleep(0.05)
    put(catalog, 2)
    assert 0.05 <= catalog.lag(watermark) <= time.time() - begun
    assert catalog.lag(watermark + 1) < catalog.lag(watermark)
    assert catalog.lag(catalog.seq()) == 0.0
    watermark = catalog.seq()
    catalog.put_source(Source(source_id="later"))
    assert catalog.lag(watermark) == 0.0  # there is nothing to index in it
    (document_id, _), *_ = catalog.live_documents("s1").values()
    catalog.retire_documents("s1", [document_id])
    assert catalog.lag(watermark) > 0.0
