"""Short writes beside an ingest: they wait for one batch at most, whatever the ingest is doing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from http_door import JSON, call
from patience import HANGS, in_time
from wenyuan.core.access import Agent, DomainScope
from wenyuan.core.errors import CatalogBusy, Conflict
from wenyuan.core.model import RetrievalRequest
from wenyuan.core.task_profiles import TaskProfile
from wenyuan.service.ingest.corrections import CorrectionRequest
from wenyuan.service.ingest.progress import Progress

pytestmark = pytest.mark.integration

OPTIONS: dict[str, Any] = {"encoder": {"kind": "hashing", "dimension": 64}, "search": {"floor": 0}}


@pytest.fixture
def library(tmp_path: Path) -> Iterator[wenyuan.Library]:
    """A library with one source of two documents, whose files have changed since."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# A\n\nThe fee is five yuan.\n", "utf-8")
    (docs / "b.md").write_text("# B\n\nThe fine is six yuan.\n", "utf-8")
    with wenyuan.open(tmp_path / "library", create=True, **OPTIONS) as made:
        made.add(wenyuan.Source(source_id="p", path=str(docs)))
        (docs / "a.md").write_text("# A\n\nThe fee is five yuan.\n\n## More\n\nIt is paid in cash.\n", "utf-8")
        (docs / "b.md").write_text("# B\n\nThe fine is six yuan.\n\n## More\n\nIt is paid by card.\n", "utf-8")
        yield made


@contextmanager
def ingesting(library: wenyuan.Library, source: str = "p") -> Iterator[Callable[[], None]]:
    """An ingest of another thread that stands still between two files until the block, or what it gives, is done."""
    there, on, trouble = threading.Event(), threading.Event(), list[BaseException]()

    def wait(at: Progress) -> None:
        if at.files == 1:
            there.set()
            assert on.wait(HANGS)

    def work() -> None:
        try:
            library.ingest(source, wait)
        except BaseException as error:
            trouble.append(error)
            raise

    thread = threading.Thread(target=work)
    thread.start()
    assert there.wait(HANGS)

    def finish() -> None:
        on.set()
        thread.join(HANGS)
        assert not trouble

    try:
        yield finish
    finally:
        finish()


def ref(library: wenyuan.Library, words: str) -> str:
    """Of the live passage with these words."""
    found = library.search(words).passages.values()
    return next(one.ref for one in found if words in one.text)


WRITES: dict[str, Callable[[wenyuan.Library], object]] = {
    "an agent": lambda library: library.catalog.put_agent(Agent(agent_id="helper", knowledge_scope=(DomainScope(domain="p"),))),
    "a key": lambda library: library.catalog.create_key(None, frozenset({"search"}), None),
    "a revocation": lambda library: library.catalog.revoke_key(library.catalog.keys()[0].key_id),
    "a task": lambda library: library.catalog.put_profile(TaskProfile(profile_id="t", tasks=("t",), terms=("fee",))),
    "a value": lambda library: library.catalog.set_value("floor", library.catalog.value("floor")),
    "an answer with its record": lambda library: library.retrieve_fragments(RetrievalRequest(query="fee", max_results=1)),
    "a source": lambda library: library.catalog.put_source(wenyuan.Source(source_id="q")),
    "a correction": lambda library: library.correction_desk.correct(
        CorrectionRequest(action="text", ref=ref(library, "fine is six"), text="The fine is nine yuan.")
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRITES)
@pytest.mark.parametrize("door", ["the same process", "another one"])
def test_a_short_write_does_not_wait_for_an_ingest(
    library: wenyuan.Library, tmp_path: Path, what: str, door: str
) -> None:
    """While a source is being taken in, in this process or another, everything short is written at once."""
    library.catalog.create_key(None, frozenset({"search"}), None)
    with ingesting(library):
        if door == "the same process":
            with in_time():
                WRITES[what](library)
        else:
            with wenyuan.open(tmp_path / "library", **OPTIONS) as other, in_time():
                WRITES[what](other)


def test_a_correction_made_meanwhile_counts_in_what_is_read_anew(library: wenyuan.Library) -> None:
    """A passage that is corrected after its new version was read, and before that is stored, comes corrected."""
    there, on = threading.Event(), threading.Event()
    vectors = library.encoder.encode_passages  # type: ignore[union-attr]

    def slow(texts: Any, **more: Any) -> Any:
        if threading.current_thread() is thread and not there.is_set():
            there.set()  # both documents were read by now, and the first batch is being embedded
            assert on.wait(HANGS)
        return vectors(texts, **more)

    object.__setattr__(library.encoder, "encode_passages", slow)
    thread = threading.Thread(target=library.ingest, args=("p",))
    thread.start()
    try:
        assert there.wait(HANGS)
        wanted = CorrectionRequest(action="text", ref=ref(library, "fine is six"), text="The fine is nine yuan.")
        made = library.correction_desk.correct(wanted)
    finally:
        on.set()
        thread.join(HANGS)
    texts = [one.text for one in library.search("fine yuan", limit=20).passages.values()]
    assert not any("six" in text for text in texts)
    assert any("nine" in text for text in texts)
    assert library.search("paid by card").passages
    (kept,) = library.correction_desk.corrections()
    assert (kept["correction_id"], kept["state"]) == (made["correction_id"], "counts")


def test_a_correction_is_served_before_the_ingest_ends(library: wenyuan.Library) -> None:
    """The run that holds the index lets it follow what others wrote."""
    with ingesting(library) as finish:
        wanted = CorrectionRequest(action="text", ref=ref(library, "fine is six"), text="The fine is nine yuan.")
        library.correction_desk.correct(wanted)
        assert not any("six" in one.text for one in library.search("fine").passages.values())
        finish()
    assert any("nine" in one.text for one in library.search("fine").passages.values())


def test_nothing_is_corrected_that_is_to_be_redacted_first(library: wenyuan.Library) -> None:
    """Where a source's redaction became stricter, a correction would keep words that must no longer be stored."""
    source = library.catalog.source("p")
    library.catalog.put_source(replace(source, sensitivity="restricted"))
    with pytest.raises(Conflict, match="read again first"):
        library.correction_desk.correct(CorrectionRequest(action="exclude", ref=ref(library, "fine is six")))


def test_a_source_that_cannot_be_taken_in_now_is_not_registered(
    library: wenyuan.Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever adds a source while another is taken in is told so, and nothing is left of it."""
    with ingesting(library), wenyuan.open(tmp_path / "library", **OPTIONS) as other:
        monkeypatch.setattr(
            other.catalog, "taking_in", lambda name: other.catalog.database.place.held_source(name, wait=0.1)
        )
        with pytest.raises(CatalogBusy):
            other.add(wenyuan.Source(source_id="q", path=str(tmp_path / "docs")))
        assert [one.source_id for one in other.sources()] == ["p"]


def test_a_revoked_key_opens_no_door_to_the_next_question(library: wenyuan.Library, tmp_path: Path) -> None:
    """A key that another process revokes while a source is taken in is refused from the next request on."""
    from wenyuan.server.app import create_app
    from wenyuan.server.keys import KeyRing
    from wenyuan.server.running import start_in_thread

    key, token = library.catalog.create_key(None, frozenset({"search"}), None)
    library.catalog.create_key(None, frozenset({"search"}), None)
    url, stop = start_in_thread(create_app(library, authenticate=KeyRing(library.catalog, open_without_keys=False)))
    try:
        ask: dict[str, Any] = {"headers": {**JSON, "Authorization": f"Bearer {token}"}, "body": {"query": "fee"}}
        with ingesting(library), wenyuan.open(tmp_path / "library", **OPTIONS) as other:
            assert call(url, "POST", "/v1/search", **ask).status == 200
            other.catalog.revoke_key(key.key_id)
            assert call(url, "POST", "/v1/search", **ask).status == 401
    finally:
        stop()


def test_a_refusal_that_is_expected_leaves_no_traceback(
    library: wenyuan.Library, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A 503 because somebody writes is one line of the log: what it says is what happened."""
    from wenyuan.server.app import create_app
    from wenyuan.server.running import start_in_thread

    def busy(*_: Any, **__: Any) -> Any:
        raise CatalogBusy("somebody writes", component="catalog")

    monkeypatch.setattr(library.catalog, "put_agent", busy)
    url, stop = start_in_thread(create_app(library))
    try:
        with caplog.at_level(logging.ERROR):
            body = {"agent_id": "a", "knowledge_scope": [{"domain": "p"}]}
            assert call(url, "POST", "/v1/agents", body=body).status == 503
    finally:
        stop()
    (record,) = [one for one in caplog.records if one.name == "wenyuan.server"]
    assert "somebody writes" in record.getMessage()
    assert not record.exc_info
