"""The first question of a process: what has to be loaded for it does not count against its time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.claims import Claim
from wenyuan.core.errors import EncoderUnavailable
from wenyuan.core.model import RetrievalRequest
from wenyuan.encoders.builtin import BuiltinEncoder, open_builtin
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.service.context import ContextRequest
from wenyuan.service.search.first_use import FirstUse
from wenyuan.service.search.searcher import SearchRequest
from wenyuan.service.verification import VerifyRequest

DEADLINE = 1.0
SLOW = 1.5  # seconds that loading takes, which is more


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Encoders of words take a while to load, and embed many texts slowly, as a model does; what they did so far."""
    done: list[str] = []
    embed = HashingEncoder.encode_queries

    def ready(_: Any) -> None:
        if "ready" not in done:
            time.sleep(SLOW)
            done.append("ready")

    def slowly(self: Any, texts: Any, **more: Any) -> Any:
        if len(texts) > 1:
            time.sleep(SLOW)
            done.append("general")
        return embed(self, texts, **more)

    monkeypatch.setattr(HashingEncoder, "ready", ready, raising=False)
    monkeypatch.setattr(HashingEncoder, "works_here", True, raising=False)
    monkeypatch.setattr(HashingEncoder, "encode_queries", slowly)
    return done


@pytest.fixture
def library(tmp_path: Path, slow: list[str]) -> Iterator[wenyuan.Library]:
    (tmp_path / "a.md").write_text("# 养护\n\n混凝土养护不少于七天。\n", "utf-8")
    options: dict[str, Any] = {"encoder": {"kind": "hashing"}, "search": {"floor": 0, "deadline": DEADLINE}}
    with wenyuan.open(tmp_path / "library", create=True, **options) as made:
        made.add(wenyuan.Source(source_id="docs", path=str(tmp_path / "a.md")))
    slow.clear()
    with wenyuan.open(tmp_path / "library", **options) as opened:
        yield opened


ASKED: dict[str, Callable[[wenyuan.Library], object]] = {
    "search": lambda library: library.search("养护几天").hits,
    "retrieve_fragments": lambda library: library.retrieve_fragments(RetrievalRequest(query="养护几天", max_results=3)).fragments,
    "find": lambda library: library.find(SearchRequest(query="养护几天")).passages,
    "context": lambda library: library.get_context(ContextRequest(retrieval_query="养护几天")).results[0].passages,
    "verify": lambda library: library.verify(VerifyRequest(claims=(Claim("混凝土养护不少于七天。"),))).claims,
}  # fmt: skip


@pytest.mark.parametrize("door", ASKED)
def test_loading_does_not_count(library: wenyuan.Library, slow: list[str], door: str) -> None:
    """A model that takes longer to load than a question may take is waited for, and the question is answered."""
    assert ASKED[door](library)
    assert slow[:2] == ["ready", "general"]


def test_opening_loads_no_model(library: wenyuan.Library, slow: list[str]) -> None:
    """To open a library, and to list what it holds, needs none."""
    assert library.list_documents().documents
    assert slow == []


def test_it_is_loaded_once(library: wenyuan.Library, slow: list[str]) -> None:
    """Questions that come together wait for the same loading."""
    threads = [threading.Thread(target=library.search, args=("养护几天",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert slow.count("ready") == 1
    assert library.search("养护几天").hits


def test_what_cannot_be_loaded_fails_the_question(caplog: pytest.LogCaptureFixture) -> None:
    """A step that fails is tried once; the others are taken."""
    taken: list[int] = []

    def fails(_: Any) -> None:
        taken.append(1)
        raise EncoderUnavailable("no model", component="encoder")

    first = FirstUse([fails, lambda _: taken.append(2)])
    first.ready()
    first.ready()
    assert taken == [1, 2]


def test_the_built_in_model_is_loaded_with_the_first_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until then it is known by its fingerprint alone."""
    loaded: list[int] = []
    model = BuiltinEncoder.fingerprint
    monkeypatch.setattr("wenyuan.encoders.builtin._model", lambda: loaded.append(1) or (len, lambda ids: None))
    encoder = open_builtin(threads=1)
    assert (encoder.fingerprint, loaded) == (model, [])
    encoder.ready()
    assert loaded == [1]
