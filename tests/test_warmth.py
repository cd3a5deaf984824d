"""What a server makes ready before the first question asks for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from rules_door import BOOK
from wenyuan.cli.messages import MESSAGES
from wenyuan.core.errors import CatalogUnavailable
from wenyuan.readers.rulebooks import read_book
from wenyuan.service.unified import RuleQuestion


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "none"}) as opened:
        (tmp_path / "book.yaml").write_text(BOOK, encoding="utf-8")
        opened.rules.take(read_book(tmp_path / "book.yaml"))
        yield opened


class Gate:
    """Holds the reading of names up until it is let go; counts how often they are read."""

    def __init__(self, library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reads = 0
        self.open = threading.Event()
        self.entered = threading.Event()
        graph = type(library.catalog.rules)
        real = graph.lexicon

        def lexicon(of: Any, *args: Any, **named: Any) -> Any:
            self.reads += 1
            self.entered.set()
            assert self.open.wait(20)
            return real(of, *args, **named)

        monkeypatch.setattr(graph, "lexicon", lexicon)


def rules_part(library: Any) -> dict[str, Any]:
    return dict(library.readiness().parts["rules"])


def test_names_are_read_before_the_first_question(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readiness says that they are being read and then that they are; the first question reads nothing."""
    gate = Gate(library, monkeypatch)
    assert "rules" not in library.readiness().parts
    library.warm_up()
    assert gate.entered.wait(20)
    assert "being read" in rules_part(library)["detail"]
    assert library.readiness().ready
    gate.open.set()
    library.warmth.join()
    told = rules_part(library)
    assert (told["state"], told["detail"]) == ("ok", "the names of the rules are read")
    assert told["ms"] > 0
    assert gate.reads == 1
    assert library.infer_rules(RuleQuestion(text="深基坑开挖有哪些要求")).items
    assert gate.reads == 1


def test_closing_waits_for_it(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalog is not closed under the thread that reads it."""
    gate = Gate(library, monkeypatch)
    library.warm_up()
    assert gate.entered.wait(20)
    closing = threading.Thread(target=library.close)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()
    gate.open.set()
    closing.join(20)
    assert not closing.is_alive()
    assert library.warmth.told()["detail"] == "the names of the rules are read"


def test_what_fails_is_told_and_tried_again(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warm-up that fails is a degraded part with its reason; the next question reads the names itself."""
    graph = type(library.catalog.rules)
    with monkeypatch.context() as broken:

        def lost(*_: Any, **__: Any) -> Any:
            raise CatalogUnavailable("disk gone", component="catalog")

        broken.setattr(graph, "lexicon", lost)
        library.warm_up()
        library.warmth.join()
    told = rules_part(library)
    assert told["state"] == "degraded"
    assert "disk gone" in told["detail"]
    assert library.infer_rules(RuleQuestion(text="深基坑开挖有哪些要求")).items


def test_a_library_without_rules_says_so(tmp_path: Path) -> None:
    """There is nothing to wait for, and that is told."""
    with wenyuan.open(tmp_path / "bare", create=True, encoder={"kind": "none"}) as bare:
        bare.warm_up()
        bare.warmth.join()
        assert rules_part(bare)["detail"] == "the library has no rules"


@pytest.mark.parametrize("part", ["catalog", "engine", "encoder", "worker", "rules", "reranker"])
def test_every_part_has_a_name_in_both_languages(part: str) -> None:
    """What `serve` lists when it begins can be said, whichever parts there are."""
    assert all(MESSAGES[f"d_{part}"])
