"""What a server makes ready before the first question asks for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from rules_door import BOOK
from wenyuan.core.errors import CatalogUnavailable
from wenyuan.i18n.translation import texts
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.rules.unified import RuleQuestion


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
            assert self.open.wait(60)
            return real(of, *args, **named)

        monkeypatch.setattr(graph, "lexicon", lexicon)


def rules_part(library: Any) -> dict[str, Any]:
    return dict(library.readiness().parts["rules"])


def test_names_are_read_before_the_first_question(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until they are read the library is not ready, and says why; then the first question reads nothing."""
    gate = Gate(library, monkeypatch)
    library.warm_up()
    assert gate.entered.wait(60)
    assert rules_part(library)["state"] == "starting"
    assert "being read" in rules_part(library)["detail"]
    assert not library.readiness().ready
    gate.open.set()
    library.health.warmth.join()
    assert library.readiness().ready
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
    assert gate.entered.wait(60)
    closing = threading.Thread(target=library.close)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()
    gate.open.set()
    closing.join(60)
    assert not closing.is_alive()
    assert not library.health.warmth.under_way


def test_what_fails_is_told_and_tried_again(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that cannot be read make the library unready, with the reason, until they can; the next question reads them itself."""
    graph = type(library.catalog.rules)
    with monkeypatch.context() as broken:

        def lost(*_: Any, **__: Any) -> Any:
            raise CatalogUnavailable("disk gone", component="catalog")

        broken.setattr(graph, "lexicon", lost)
        library.warm_up()
        library.health.warmth.join()
        told = rules_part(library)
        assert told["state"] == "failed"
        assert "disk gone" in told["detail"]
    assert library.readiness().ready
    assert library.infer_rules(RuleQuestion(text="深基坑开挖有哪些要求")).items


def test_a_library_without_rules_says_so(tmp_path: Path) -> None:
    """There is nothing to wait for, and that is told."""
    with wenyuan.open(tmp_path / "bare", create=True, encoder={"kind": "none"}) as bare:
        assert "rules" not in bare.readiness().parts  # nobody asked for a warm-up
        bare.warm_up()
        bare.health.warmth.join()
        assert rules_part(bare)["detail"] == "the library has no rules"
        (tmp_path / "book.yaml").write_text(BOOK, encoding="utf-8")
        bare.rules.take(read_book(tmp_path / "book.yaml"))
        assert rules_part(bare)["detail"] == "the names of the rules are read"  # they came while it serves


def test_the_first_question_finds_everything_ready(tmp_path: Path) -> None:
    """A warm-up asks a question of its own, so the first one of a caller is the second for models and files."""
    (tmp_path / "a.md").write_text("# 投诉\n\n客户投诉需在 24 小时内响应。\n", encoding="utf-8")
    with wenyuan.open(tmp_path / "library", create=True, encoder={"kind": "hashing"}) as library:
        library.add(wenyuan.Source(source_id="a", path=str(tmp_path / "a.md")))
    with wenyuan.open(tmp_path / "library", encoder={"kind": "hashing"}) as library:
        before = library.audit.progress().records
        library.warm_up()
        library.health.warmth.join()
        asked = {leg: timing.count for (leg, _, _), timing in library.vitals().legs.items()}
        assert asked["keyword"] == asked["vector"] == 1
        library.audit.flush()
        assert library.audit.progress().records == before  # nobody asked, and nothing was given


@pytest.mark.parametrize("part", ["catalog", "engine", "encoder", "worker", "rules", "reranker", "search", "audit"])
def test_every_part_has_a_name_in_both_languages(part: str) -> None:
    """What `serve` lists when it begins can be said, whichever parts there are."""
    assert all(texts("command_line", language)[f"d_{part}"] for language in ("en", "zh"))
