"""Questions that come while another thread writes: answered from what is indexed, soon, and never for longer."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from console_door import Browser, served
from patience import HANGS, in_time
from wenyuan.cli.root import app
from wenyuan.client import get_context_from
from wenyuan.client.context_replies import read_context
from wenyuan.core.errors import EngineTimeout
from wenyuan.core.model import NewDocument, NewPassage, RetrievalRequest
from wenyuan.core.ports import Deadline
from wenyuan.service.context import ContextRequest
from wenyuan.service.fragment_search import FragmentsRequest
from wenyuan.service.ingest.progress import Progress
from wenyuan.service.operations.index_follower import IndexFollower
from wenyuan.service.rules.unified import UnifiedRequest
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.wire.search_answers import context_to_wire, search_to_wire

ASK = SearchRequest(query="客户投诉多久响应")
CONTEXT = ContextRequest(retrieval_query=ASK.query)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[wenyuan.Library]:
    with wenyuan.open(
        tmp_path / "library",
        create=True,
        encoder={"kind": "hashing", "dimension": 64},
        search={"floor": 0, "deadline": 3},
    ) as made:
        docs = tmp_path / "docs"
        docs.mkdir()
        (docs / "a.md").write_text("# 投诉\n\n客户投诉需在 24 小时内响应。\n")
        made.add(wenyuan.Source(source_id="p", path=str(docs)))
        yield made


def commit(library: wenyuan.Library, source: str, text: str) -> None:
    """A document comes into the catalog, as a run commits it before the index follows."""
    passage = NewPassage(uri=f"urn:{source}#1", headings=(), text=text, sha256="0" * 64, start=0, end=len(text))
    made = NewDocument(
        source_id=source, uri=f"urn:{source}", title="", fingerprint=text, passages=(passage,), language="zh"
    )
    library.catalog.commit_documents([made], {})


@contextmanager
def busy(library: wenyuan.Library) -> Iterator[None]:
    """Another thread is bringing the index up to date for as long as this lasts."""
    engine: Any = library.engine
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with engine._lock:
            held.set()
            done.wait(HANGS)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    try:
        yield
    finally:
        done.set()
        thread.join(60)


def test_a_question_meanwhile_is_answered(library: wenyuan.Library, tmp_path: Path) -> None:
    """While a thread holds the index, a question is answered quickly from what was indexed before."""
    with busy(library):
        library.catalog.put_source(wenyuan.Source(source_id="new"))
        with in_time():
            answer = library.search(ASK.query)
        assert [p.source_id for p in answer.passages.values()] == ["p"]
        assert answer.generation < library.catalog.seq()
    assert library.search(ASK.query).generation == library.catalog.seq()


def test_an_answer_that_is_behind_says_so(library: wenyuan.Library, tmp_path: Path) -> None:
    """What was found before a change that is still to be indexed says by how many seconds it is behind, at every door."""
    request = RetrievalRequest(query=ASK.query, max_results=5)
    (fragment,) = library.retrieve_fragments(request).fragments
    assert "stale_by" not in fragment.metadata
    with busy(library):
        library.catalog.put_source(wenyuan.Source(source_id="new"))
        assert library.search(ASK.query).stale_by == 0.0  # there is nothing in it that could be found
        commit(library, "new", "客户投诉由新小组响应。")
        time.sleep(0.2)
        (fragment,) = library.retrieve_fragments(request).fragments
        assert 0.2 <= fragment.metadata["stale_by"] < 20
        assert search_to_wire(library.find(ASK))["coverage"]["stale_by"] >= 0.2
        context = library.get_context(ContextRequest(retrieval_query=ASK.query))
        assert context_to_wire(context)["coverage"]["stale_by"] >= 0.2
        assert library.fragments(FragmentsRequest(request=request, door="dify")).stale_by >= 0.2
    assert "stale_by" not in search_to_wire(library.find(ASK))["coverage"]
    assert len(library.retrieve_fragments(request).fragments) == 2


def test_what_was_replaced_is_left_out_of_what_else_is_found(library: wenyuan.Library) -> None:
    """A passage that was removed while the index cannot follow is waited for, then left out, and the rest says it is behind."""
    commit(library, "p", "客户投诉由第二组响应。")
    assert len(library.search(ASK.query).hits) == 2
    (gone,) = [number for uri, (number, _) in library.catalog.live_documents("p").items() if uri.endswith("a.md")]
    with busy(library):
        library.catalog.retire_documents("p", [gone])
        answer = library.search(ASK.query)
        assert [passage.text for passage in answer.passages.values()] == ["客户投诉由第二组响应。"]
        assert answer.stale_by > 0.0


def test_rights_are_never_behind(library: wenyuan.Library) -> None:
    """What was retired or withdrawn meanwhile is not found, though the index still has it."""
    source = library.catalog.source("p")
    with busy(library):
        assert library.search(ASK.query).hits
        library.catalog.put_source(replace(source, status="retired"))
        assert not library.search(ASK.query).hits
        library.catalog.put_source(source)
        assert library.search(ASK.query).hits
        [(document_id, _)] = library.catalog.live_documents("p").values()
        library.catalog.retire_documents("p", [document_id])
        with pytest.raises(EngineTimeout):  # what took its place cannot be known: no shorter answer is given
            library.search(ASK.query)


def test_an_answer_that_is_behind_is_not_kept(library: wenyuan.Library) -> None:
    """An answer from before a change is not given again once the change has arrived."""
    with busy(library):
        commit(library, "p", "客户投诉由第二组响应。")
        library.find(ASK)
        assert not library.find(ASK).cache_hit
    assert not library.find(ASK).cache_hit
    assert library.find(ASK).cache_hit


def test_not_for_longer_than_allowed(library: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the index is behind for longer than the setting allows, there is no answer."""
    library.search(ASK.query)  # the time of the first question begins when the index is up to date
    monkeypatch.setattr(library.engine, "_max_lag", -1.0)
    with busy(library):
        commit(library, "p", "客户投诉由第三组响应。")
        with pytest.raises(EngineTimeout, match="another thread"):
            library.search(ASK.query)


def test_the_setting_reaches_the_engine(tmp_path: Path) -> None:
    """The lag that is allowed is a setting."""
    with wenyuan.open(tmp_path / "l", create=True, encoder={"kind": "none"}, search={"max_lag": 0.25}) as library:
        assert library.engine._max_lag == 0.25  # type: ignore[attr-defined]


def test_who_ingests_waits(library: wenyuan.Library) -> None:
    """A run that takes documents in is never content with an index that is behind."""
    library.catalog.put_source(wenyuan.Source(source_id="new"))
    reached: list[int] = []

    def follow() -> None:
        deadline = Deadline(time.monotonic() + 3_000, time.monotonic)
        reached.append(library.engine.sync(library.catalog, deadline=deadline))

    thread = threading.Thread(target=follow)
    with busy(library):
        thread.start()
        thread.join(0.4)
        assert reached == []
    thread.join(60)
    assert reached == [library.catalog.seq()]


def test_questions_during_a_long_run(
    library: wenyuan.Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a long run takes documents in, the index follows after each few seconds, so questions go on being answered."""
    from wenyuan.service.ingest import source_run

    monkeypatch.setattr(source_run, "_BATCH_EMBEDDED", 1)
    monkeypatch.setattr(source_run, "_SYNC_SECONDS", 0.0)
    docs = tmp_path / "more"
    docs.mkdir()
    for number in range(4):
        (docs / f"{number}.md").write_text(f"# 投诉 {number}\n\n客户投诉由第 {number} 组响应。\n")
    behind: list[int] = []

    def watch(_: Progress) -> None:
        behind.append(library.catalog.seq() - library.engine.status().watermark)

    library.add(wenyuan.Source(source_id="more", path=str(docs)), progress=watch)
    assert len(behind) > 4
    assert max(behind) <= 1


def test_the_follower_survives_what_it_cannot_know(
    library: wenyuan.Library, caplog: pytest.LogCaptureFixture
) -> None:
    """What raises anything at all is told once, and tried again until it goes."""
    asked: list[int] = []

    class Feed:
        def seq(self) -> int:
            asked.append(len(asked))
            if len(asked) < 4:
                raise RuntimeError("segment reader lost")
            return library.catalog.seq()

        def __getattr__(self, name: str) -> Any:
            return getattr(library.catalog, name)

    library.catalog.put_source(wenyuan.Source(source_id="later"))
    follower = IndexFollower(Feed(), library.engine, every=0.01)  # type: ignore[arg-type]
    follower.start()
    for _ in range(1_000):
        if library.engine.status().watermark == library.catalog.seq():
            break
        time.sleep(0.01)
    follower.stop()
    assert library.engine.status().watermark == library.catalog.seq()
    assert [record.getMessage() for record in caplog.records] == ["the index does not follow: segment reader lost"]


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", r"this answer is as of \d+ seconds? ago"), ("zh", r"此答案基于 \d+ 秒前的内容")],
)
def test_pages_say_how_far_an_answer_is_behind(library: wenyuan.Library, language: str, said: str) -> None:
    """The pages for searches and contexts say that an answer is of an earlier state, and nothing when it is not."""
    with served(library) as url:
        browser = Browser(url, language)
        assert not re.search(said, browser.get("/console/search", q=ASK.query).text())
        with busy(library):
            commit(library, "p", "客户投诉由第二组响应。")
            for page in ("search", "context"):
                seen = browser.get(f"/console/{page}", q=ASK.query)
                assert re.search(said, seen.text("#answer .notice[role=status]"), re.IGNORECASE), page
                assert "24 小时" in seen.text(".hit .text")


def test_cases_and_contexts_say_how_far_they_are_behind(library: wenyuan.Library) -> None:
    """Unified retrieval says it once of the whole answer, also of an empty one; contexts of the bare contract say it too."""
    asked = UnifiedRequest(query=ASK.query, chapter="none", threshold=0.0)
    assert "stale_by" not in library.retrieve(asked).response.query_context
    with busy(library):
        commit(library, "p", "客户投诉由第二组响应。")
        time.sleep(0.1)
        response = library.retrieve(asked).response
        assert 0.1 <= response.query_context["stale_by"] < 20
        assert 0.1 <= response.cases[0].metadata["stale_by"] < 20
        assert library.retrieve(replace(asked, threshold=1.0)).response.query_context["stale_by"] >= 0.1
        assert get_context_from(library, ASK.query).stale_by >= 0.1
        assert read_context(json.loads(json.dumps(context_to_wire(library.get_context(CONTEXT))))).stale_by >= 0.1


@pytest.mark.parametrize("command", ["context", "retrieve"])
@pytest.mark.parametrize(("language", "said"), [("en", r"As of \d+ s ago"), ("zh", r"答案基于 \d+ 秒前的内容")])
def test_the_command_line_says_how_far_an_answer_is_behind(
    library: wenyuan.Library, tmp_path: Path, command: str, language: str, said: str
) -> None:
    """``context`` and ``retrieve`` say that an answer is of an earlier state, as ``search`` does."""
    world = {"WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_ENCODER__DIMENSION": "64", "WENYUAN_SEARCH__FLOOR": "0"}
    world |= {"WENYUAN_SEARCH__DEADLINE": "3"}
    world |= {"WENYUAN_LIBRARY": str(tmp_path / "library"), "COLUMNS": "80"}
    library.close()  # so that the index is in the folder, for another process
    with (
        wenyuan.open(tmp_path / "library", encoder={"kind": "hashing", "dimension": 64}) as writer,
        writer.catalog.indexing(),
    ):
        commit(writer, "p", "客户投诉由第二组响应。")
        done = CliRunner().invoke(app, [command, ASK.query, "--lang", language], env=world, prog_name="wenyuan")
    assert re.search(said, done.stdout), done.output
