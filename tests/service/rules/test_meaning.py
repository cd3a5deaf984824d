"""Rules that a question means without saying a name of them: by their sentences, within what the caller sees."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from wenyuan.core.errors import EncoderUnavailable
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.i18n.translation import translated
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.query import Query
from wenyuan.service.rules import graph_names
from wenyuan.service.rules.unified import RuleItems, RuleQuestion

PACK = """
pack: yard
schema:
  kinds: {work: {zh: 作业, en: work}, duty: {zh: 义务, en: duty}}
  relations: {needs: {zh: 需要, en: needs, from: [work], to: [duty]}}
  patterns: {of_work: {start: work, collect: {duties: [needs]}}}
sources:
  - {id: code, title: Yard code, uri: "urn:code", trust: 5, domain: yard, language: en}
  - {id: secret, title: Secret code, uri: "urn:secret", trust: 5, domain: yard, language: en}
work: [{name: Mooring}, {name: Stowing}]
duty: [{name: Double lines}, {name: Chocks}, {name: Night watch}]
statements:
  - {src: Mooring, rel: needs, dst: Double lines, evidence: [{source: code, clause: "1"}],
     sentence: {en: "whoever ties a barge to the quay takes two ropes"}}
  - {src: Stowing, rel: needs, dst: Chocks, evidence: [{source: code, clause: "2"}],
     sentence: {en: "barrels on deck are wedged on both sides"}}
  - {src: Stowing, rel: needs, dst: Night watch, evidence: [{source: secret, clause: "3"}],
     sentence: {en: "somebody keeps watch over the fireworks at night"}}
"""
ROPES, BARRELS = "how many ropes for whoever ties a barge to the quay", "are barrels on deck wedged on both sides"
WATCH = "who keeps watch over the fireworks at night"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[wenyuan.Library]:
    """A library with a small pack; its encoder counts characters, and guesses easily."""
    (tmp_path / "yard.yaml").write_text(PACK, "utf-8")
    search: Any = {"similar_names": 0.4}
    with wenyuan.create(tmp_path / "library", encoder={"kind": "hashing"}, search=search) as made:
        assert not made.rules.take(read_book(tmp_path / "yard.yaml")).errors
        made.embed_names()
        yield made


def asked(library: wenyuan.Library, text: str) -> RuleItems:
    found = library.infer_rules(RuleQuestion(text=text))
    assert isinstance(found, RuleItems)
    return found


@pytest.mark.parametrize(("question", "duty"), [(ROPES, "Double lines"), (BARRELS, "Chocks")])
def test_a_sentence_is_meant(library: wenyuan.Library, question: str, duty: str) -> None:
    """A question that has no name of the graph is answered by the rule whose sentence it is near, marked as a guess."""
    found = asked(library, question)
    assert found.items[0].metadata["name"] == duty
    assert {one["by"] for one in found.recognised} == {"meaning"}


def test_what_is_named_does_not_hide_what_is_meant(library: wenyuan.Library) -> None:
    """A name in passing is a start, and the rule that the question means comes first all the same."""
    found = asked(library, f"after mooring: {BARRELS}")
    assert found.items[0].metadata["name"] == "Chocks"
    assert [one.get("by", "name") for one in found.recognised] == ["name", "meaning"]


def test_what_means_nothing_is_not_recognised(library: wenyuan.Library) -> None:
    """A question far from every sentence is given no rule, with the reason."""
    found = asked(library, "两点之间直线最短")
    assert (found.items, found.reason) == ((), "no entity recognised")


def test_a_rule_out_of_sight_is_not_meant(library: wenyuan.Library, tmp_path: Path) -> None:
    """Who may not see a rule's source is answered as if the rule were not there, and it stands in nobody's way."""
    assert asked(library, WATCH).items[0].metadata["name"] == "Night watch"
    query = Query(text=f"{WATCH}, and {BARRELS}", limit=9, sources=("code",))
    seen = library._retriever.derive(query)  # type: ignore[attr-defined]
    (tmp_path / "yard.yaml").write_text(
        PACK[: PACK.index("  - {src: Stowing, rel: needs, dst: Night watch")], "utf-8"
    )
    library.rules.take(read_book(tmp_path / "yard.yaml"))
    library.embed_names()
    without = library._retriever.derive(query)  # type: ignore[attr-defined]
    told = [[passage.text for passage in found.passages.values()] for found in (seen, without)]
    assert told[0] == told[1] and "wedged" in told[0][0]
    assert seen.derived.recognised == without.derived.recognised


def test_without_its_encoder_what_is_named_is_answered(
    library: wenyuan.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An encoder that fails makes a question fail that names nothing; one that names something is answered with a note."""

    def gone(*_: Any, **__: Any) -> Any:
        raise EncoderUnavailable("gone", component="encoder")

    monkeypatch.setattr(HashingEncoder, "encode_queries", gone)
    found = asked(library, "Mooring")
    assert [item.metadata["name"] for item in found.items] == ["Double lines"]
    assert found.notes == ("rules were compared by their words only: gone",)
    assert translated(found.notes[0]).startswith("规则只按用词比对")
    with pytest.raises(EncoderUnavailable):
        asked(library, BARRELS)


def test_a_large_graph_is_compared_by_names(
    library: wenyuan.Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a graph with more statements than are compared, only names are: its sentences mean nothing."""
    monkeypatch.setattr(graph_names, "MOST_SAID", 2)
    library.rules.take(read_book(tmp_path / "yard.yaml"))
    with wenyuan.open(tmp_path / "library") as again:
        again.embed_names()
        assert asked(again, "Moorings, moored, mooring lines").recognised
        assert not any(one.get("by") == "meaning" for one in asked(again, BARRELS).recognised)
