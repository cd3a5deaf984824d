"""A source that several embed: the library is that of one worker's run, whatever fails meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wenyuan
from catalog_parts import BOTH, dsn_of
from patience import HANGS, in_time
from wenyuan.core.embedding_batches import PROGRAM, TRIES, EmbeddingBatch
from wenyuan.core.errors import CatalogVersion, EncoderUnavailable, VectorRejected
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.service.ingest import embedding_workers, source_run
from wenyuan.service.ingest.embedding_workers import EmbeddingWorkers
from wenyuan.service.ingest.ingester import Ingester

SOURCE = wenyuan.Source(source_id="docs", path="")
POISON = "毒药"


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_run, "_BATCH_EMBEDDED", 6)
    monkeypatch.setattr(embedding_workers, "_IDLE", 0.01)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(30):
        text = f"# 第 {number % 7} 章 Chapter\n\n第 {number} 条：投诉应在 {number + 1} 天内答复。\n\nShared words of all.\n"
        (folder / f"{number:02}.md").write_text(text, "utf-8")
    return folder


@contextmanager
def opened(place: Any, **more: Any) -> Iterator[wenyuan.Library]:
    """A library with the hashing encoder at a place, which is a folder or a schema."""
    if not isinstance(place, Path):
        more["catalog"] = {"dsn": dsn_of(place), "schema_name": place.schema}
    folder = place if isinstance(place, Path) else place.folder
    with wenyuan.open(folder, create=True, encoder={"kind": "hashing"}, **more) as library:
        yield library


def rows(library: wenyuan.Library) -> list[list[tuple[Any, ...]]]:
    """All that is stored of documents, but for times."""
    asked = (
        "SELECT passage_id, document_id, uri, text, vector_key, label_key, seq, removed_seq FROM passages ORDER BY passage_id",
        "SELECT document_id, uri, title, fingerprint, seq, removed_seq FROM documents ORDER BY document_id",
        "SELECT vector_key, vector, crc FROM vectors ORDER BY vector_key",
        "SELECT seq, source_id FROM commits ORDER BY seq",
    )
    with library.catalog.database.reading("comparing") as connection:
        return [[tuple(row) for row in connection.exec_driver_sql(one).all()] for one in asked]


def queue(library: wenyuan.Library) -> int:
    with library.catalog.database.reading("counting") as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM embedding_batches").scalar_one())


@BOTH
def test_what_a_run_left_in_the_queue_goes_with_the_next(place: Any, docs: Path) -> None:
    """Also where the next one has nothing to embed: a worker ended after its documents were committed, before it had cleared up."""
    with opened(place) as library:
        library.add(replace(SOURCE, path=str(docs)))
        library.catalog.put_batch(
            EmbeddingBatch(source_id="docs", batch_key="left", encoder="x", texts=("y",), counted=1)
        )
        library.catalog.put_batch(
            EmbeddingBatch(source_id="other", batch_key="left", encoder="x", texts=("y",), counted=1)
        )
        assert library.ingest("docs").unchanged == 30
        assert queue(library) == 1  # that of another source


@BOTH
def test_the_library_is_that_of_one_worker(place: Any, tmp_path: Path, docs: Path) -> None:
    """Four threads embed, and every row of documents, passages, vectors and changes is as when nobody helped: first and second run."""
    source = replace(SOURCE, path=str(docs))
    with wenyuan.open(tmp_path / "alone", create=True, encoder={"kind": "hashing"}) as alone, opened(place) as shared:
        with shared.ingestion.embedding(4):
            assert shared.add(source).added == alone.add(source).added == 30
            assert rows(shared) == rows(alone)
            (docs / "03.md").unlink()
            (docs / "04.md").write_text("# Other\n\nQuite other words.\n", "utf-8")
            second, first = shared.ingest("docs"), alone.ingest("docs")
            assert (
                (second.retired, second.changed, second.unchanged)
                == (first.retired, first.changed, first.unchanged)
                == (1, 1, 28)
            )
        assert rows(shared) == rows(alone)
        assert queue(shared) == 0
        for question in ("几天内答复", "第 12 条", "shared words", "quite other"):
            found = shared.search(question)
            assert found.hits
            assert found.hits == alone.search(question).hits


class Encoder(HashingEncoder):
    """Refuses texts with a word in them, or all; and counts what it is asked."""

    def __init__(self) -> None:
        super().__init__(256)
        self.poison, self.away, self.pause = POISON, False, 0.0
        self.asked: list[str] = []

    def encode_passages(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Any:
        self.asked += texts
        time.sleep(self.pause)
        if self.away:
            raise EncoderUnavailable("it is away", component="encoder")
        if any(self.poison in text for text in texts):
            raise VectorRejected("row 0 is zero", component="encoder")
        return super().encode_passages(texts, progress=progress)


class Refusing(HashingEncoder):
    """Refuses everything, at once."""

    def __init__(self) -> None:
        super().__init__(256)

    def encode_passages(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> Any:
        raise VectorRejected("row 0 is not finite", component="encoder")


@pytest.fixture
def encoder() -> Encoder:
    return Encoder()


@pytest.fixture
def ingester(library: wenyuan.Library, encoder: Encoder) -> Ingester:
    made: Ingester = library.ingestion.ingester
    return replace(made, encoder=encoder, workers=EmbeddingWorkers(made.catalog, encoder))


def take_in(ingester: Ingester, docs: Path, **more: Any) -> Any:
    source = replace(SOURCE, path=str(docs))
    assert ingester.workers is not None
    with ingester.workers.at_work(2):
        return ingester.ingest(source, register=lambda: ingester.catalog.put_source(source), **more)


def test_a_poison_document_is_set_aside_by_name(ingester: Ingester, encoder: Encoder, docs: Path) -> None:
    """What cannot be embedded in three tries is reported as failed, with the reason; all others of its batch are taken in, and it
    is tried again at the next run.
    """
    (docs / "11.md").write_text(f"# {POISON}\n\nBitter.\n", "utf-8")
    report = take_in(ingester, docs)
    (reason,) = report.failed.values()
    assert (report.added, len(report.failed), next(iter(report.failed))[-5:]) == (29, 1, "11.md")
    assert f"{TRIES} tries" in reason
    assert "row 0 is zero" in reason
    assert next(iter(ingester.catalog.failures("docs"))) == next(iter(report.failed))
    assert len(ingester.catalog.live_documents("docs")) == 29
    assert sum(POISON in text for text in encoder.asked) <= 4 * TRIES
    encoder.poison = "nothing"
    again = take_in(ingester, docs)
    assert (again.added, again.unchanged, again.failed) == (1, 29, {})
    assert not ingester.catalog.failures("docs")


def test_a_poison_version_leaves_the_older_one(ingester: Ingester, docs: Path) -> None:
    """A document whose new version cannot be embedded stays as it was, and is not retired."""
    take_in(ingester, docs)
    before = ingester.catalog.live_documents("docs")
    (docs / "11.md").write_text(f"# {POISON}\n\nBitter.\n", "utf-8")
    report = take_in(ingester, docs)
    assert (report.changed, report.retired, len(report.failed)) == (0, 0, 1)
    assert ingester.catalog.live_documents("docs") == before


def test_two_documents_with_one_poison_are_both_set_aside(ingester: Ingester, docs: Path) -> None:
    """A text that a batch before could not bring is tried for the one behind it, too."""
    for name in ("01.md", "25.md"):
        (docs / name).write_text(f"# {POISON}\n\nBitter.\n", "utf-8")
    report = take_in(ingester, docs)
    assert sorted(uri[-5:] for uri in report.failed) == ["01.md", "25.md"]
    assert report.added == 28


def test_an_encoder_that_is_away_ends_the_run(
    ingester: Ingester, encoder: Encoder, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No document is to blame: the run fails by the encoder's name, nothing is set aside, and the queue is empty."""
    monkeypatch.setattr(embedding_workers, "_LONGEST_PAUSE", 0.01)
    encoder.away = True
    with pytest.raises(EncoderUnavailable, match="it is away"):
        take_in(ingester, docs)
    assert not ingester.catalog.failures("docs")
    assert not ingester.catalog.live_documents("docs")
    with ingester.catalog.database.reading("counting") as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM embedding_batches").scalar_one() == 0
    encoder.away = False
    assert take_in(ingester, docs).added == 30


@pytest.mark.parametrize("answer", ["nan", "dimension"])
def test_an_encoder_that_answers_no_vectors_at_all_ends_the_run(
    ingester: Ingester, docs: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """Where every document of a batch is refused one by one, none of them is set aside: the run fails by the encoder, as without workers."""

    def spoilt(texts: Sequence[str], *, progress: Any = None) -> Any:
        return np.full((len(texts), 256 if answer == "nan" else 3), np.nan if answer == "nan" else 1.0, np.float32)

    take_in(ingester, docs)
    before = ingester.catalog.live_documents("docs")
    for number in range(8):
        (docs / f"{number:02}.md").write_text(f"# New {number}\n\nQuite other words, {number}.\n", "utf-8")
    with monkeypatch.context() as spoiling:
        spoiling.setattr(ingester.encoder, "encode_passages", spoilt)
        with pytest.raises(VectorRejected, match="no vectors"):
            take_in(ingester, docs)
    assert not ingester.catalog.failures("docs")
    assert ingester.catalog.live_documents("docs") == before
    assert take_in(ingester, docs).changed == 8


def test_a_run_goes_on_when_its_own_threads_end(
    ingester: Ingester, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who takes a source in longer than this process embeds for others embeds the rest itself, and does not get the same batch
    again and again.
    """
    workers = ingester.workers
    assert workers is not None
    source, stop, working = replace(SOURCE, path=str(docs)), threading.Event(), threading.Event()
    monkeypatch.setattr(workers, "_work", lambda: stop.wait(HANGS))  # it takes nothing: all waits in the queue

    def work_briefly() -> None:
        with workers.at_work(1):
            working.set()
            stop.wait(HANGS)

    helping = threading.Thread(target=work_briefly)
    helping.start()
    assert working.wait(HANGS)
    seen = 0

    def progress(_: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == 3:
            stop.set()
            helping.join()
        assert seen < 10_000, "it asks again and again"

    with in_time():
        report = ingester.ingest(source, progress, register=lambda: ingester.catalog.put_source(source))
    stop.set()
    helping.join()
    assert report.added == 30


def test_without_threads_of_its_own_a_run_uses_those_of_others(library: wenyuan.Library, docs: Path) -> None:
    """Who takes a source in where another process has workers lets these embed."""
    catalog, own = library.catalog, library.ingestion.ingester
    helper = EmbeddingWorkers(catalog, library.encoder)
    with helper.at_work(2):
        report = library.add(replace(SOURCE, path=str(docs)))
        assert own.workers is not None
        assert own.workers.name != helper.name
        assert report.added == 30
        until = time.monotonic() + HANGS
        while not (batches := sum(one.batches for one in catalog.workers())) and time.monotonic() < until:
            time.sleep(0.05)
    assert batches > 0


def test_a_run_goes_on_when_its_helpers_end(library: wenyuan.Library, docs: Path) -> None:
    """Workers that stop in the middle give back what they had; the run embeds the rest by itself."""
    helper = EmbeddingWorkers(library.catalog, library.encoder)
    stop = threading.Event()

    def help_briefly() -> None:
        with helper.at_work(1):
            stop.wait(HANGS)

    helping = threading.Thread(target=help_briefly)
    helping.start()
    seen = 0

    def progress(_: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == 10:
            stop.set()

    with in_time():
        report = library.add(replace(SOURCE, path=str(docs)), progress)
    stop.set()
    helping.join()
    assert report.added == 30


def test_one_broken_encoder_of_two_sets_no_document_aside(ingester: Ingester, encoder: Encoder, docs: Path) -> None:
    """A worker whose encoder refuses everything at once does not use up the tries of those that take their time."""
    broken = EmbeddingWorkers(ingester.catalog, Refusing())
    encoder.pause = 0.1
    with broken.at_work(1):
        report = take_in(ingester, docs)
    assert (report.added, report.failed) == (30, {})


def test_a_run_does_not_wait_for_workers_of_older_programs(
    library: wenyuan.Library, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may embed nothing that a newer program has put: who takes the source in does it all."""
    older = EmbeddingWorkers(library.catalog, library.encoder)
    with monkeypatch.context() as past:
        past.setattr(embedding_workers, "PROGRAM", "0.0.9+1")
        past.setattr(older, "_work", lambda: None)  # it does nothing, since it is refused
        working = older.at_work(1)
        working.__enter__()
    try:
        with in_time():
            assert library.add(replace(SOURCE, path=str(docs))).added == 30
    finally:
        working.__exit__(None, None, None)


def test_a_worker_beside_a_newer_one_is_refused(library: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is older than one at work may not help, and is told both names and versions."""
    newer = EmbeddingWorkers(library.catalog, library.encoder)
    older = EmbeddingWorkers(library.catalog, library.encoder)
    with newer.at_work(1), monkeypatch.context() as past:
        past.setattr(embedding_workers, "PROGRAM", "0.0.9+1")
        with (
            pytest.raises(CatalogVersion, match=r"this worker is of version 0\.0\.9\+1, and ") as refused,
            older.at_work(1),
        ):
            pytest.fail("it works")
    assert newer.name in str(refused.value)
    assert PROGRAM in str(refused.value)
