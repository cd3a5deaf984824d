"""Names that are meant but not written: guessed by the meaning of the whole text, when nothing else links it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from wenyuan.cli.root import app
from wenyuan.core.errors import EncoderUnavailable
from wenyuan.core.rules.graph import LexiconEntry
from wenyuan.core.rules.linking import Linker
from wenyuan.core.rules.questions import IntentReader
from wenyuan.core.rules.schema import Schema
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.rules.graph_names import Guess, KnownGraph
from wenyuan.service.rules.name_vectors import LATIN, NameVectors
from wenyuan.service.rules.unified import RuleQuestion

PACK = """
pack: pit
schema:
  kinds: {process: {zh: 工序, en: process}, hazard: {zh: 危险源, en: hazard}}
  relations: {produces_hazard: {zh: 产生危险源, en: produces, from: [process], to: [hazard]}}
  patterns: {needs: {start: process, collect: {hazards: [produces_hazard]}}}
sources: [{id: code, title: 规范, uri: "urn:code", trust: 5, domain: construction, language: zh}]
process: [{name: 深基坑开挖, aliases: [deep excavation]}, {name: 高处作业}]
hazard: [{name: 坍塌}, {name: 坠落}]
statements:
  - {src: 深基坑开挖, rel: produces_hazard, dst: 坍塌, evidence: [{source: code, clause: 第一条}]}
  - {src: 高处作业, rel: produces_hazard, dst: 坠落, evidence: [{source: code, clause: 第二条}]}
"""
MEANT = "高 处 的 作 业"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    (tmp_path / "pit.yaml").write_text(PACK, "utf-8")
    return tmp_path / "pit.yaml"


@pytest.fixture
def library(tmp_path: Path, pack: Path) -> Iterator[wenyuan.Library]:
    """A library that guesses easily: its encoder counts characters."""
    search: Any = {"similar_names": 0.3}
    with wenyuan.create(tmp_path / "library", encoder={"kind": "hashing"}, search=search) as made:
        made.rules.take(read_book(pack))
        yield made


def asked(library: wenyuan.Library, text: str) -> Any:
    return library.infer_rules(RuleQuestion(text=text))


def test_guess(library: wenyuan.Library) -> None:
    """A text that names nothing is linked to what it means most, marked as a guess, with the score of one."""
    assert library.embed_names() == 9
    found = asked(library, MEANT)
    (guess,) = found.recognised
    assert (guess["name"], guess["by"], guess["text"]) == ("高处作业", "meaning", MEANT)
    assert guess["confidence"] <= 0.9
    assert [item.metadata["name"] for item in found.items] == ["坠落"]
    assert found.items[0].score <= 0.9


def test_an_end_is_guessed(library: wenyuan.Library) -> None:
    """A text that means what rules lead to, and says no name, starts at what leads there, marked as a guess."""
    assert library.embed_names() == 9
    found = asked(library, "坍 的 塌 塌")
    assert {one["by"] for one in found.recognised} == {"meaning"}
    assert [item.metadata["name"] for item in found.items] == ["坍塌"]


def test_a_written_name_is_no_guess(library: wenyuan.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written is linked without any vector."""
    monkeypatch.delattr(NameVectors, "likely")
    (named,) = asked(library, "深基坑开挖要注意什么").recognised
    assert "by" not in named and named["confidence"] == 1.0


def test_a_name_that_the_caller_gives_is_not_guessed(library: wenyuan.Library) -> None:
    """An unknown process stays unmatched: it is not taken for another one."""
    library.embed_names()
    assert library.infer_rules(RuleQuestion(processes=(MEANT,))).unmatched == (MEANT,)


def test_embedded_once(library: wenyuan.Library) -> None:
    """Names are embedded once, whatever is removed or imported again; those that are gone are forgotten."""
    assert (library.embed_names(), library.embed_names()) == (9, 0)
    library.catalog.put_source(wenyuan.Source(source_id="other", title="x"))  # type: ignore[attr-defined]
    library.remove("other")
    assert library.embed_names() == 0
    assert library.embed_names(most=0) == 0
    library.rules.retire_pack("pit")
    assert asked(library, MEANT).recognised == ()


def test_until_then_it_is_said(library: wenyuan.Library) -> None:
    """The first text that names nothing is answered at once, with a note; a thread embeds meanwhile."""
    first = asked(library, MEANT)
    assert first.items == () and first.reason == "no entity recognised"
    assert any("until they are embedded" in note for note in first.notes)
    library._deriver._names._work.join()  # type: ignore[union-attr]
    assert asked(library, MEANT).recognised[0]["name"] == "高处作业"


def test_it_can_be_switched_off(tmp_path: Path, pack: Path) -> None:
    """With a threshold of 1, or without an encoder, nothing is guessed, and nothing is embedded."""
    off: Any = {"similar_names": 1.0}
    for name, kind, search in (("off", "hashing", off), ("none", "none", {})):
        with wenyuan.create(tmp_path / name, encoder={"kind": kind}, search=search) as made:
            made.rules.take(read_book(pack))
            assert made.embed_names() == 0
            found = asked(made, MEANT)
            assert (found.recognised, found.notes) == ((), ())


def test_a_replay_guesses_the_same(library: wenyuan.Library) -> None:
    """An answer that rests on a guess is replayed as it was, of the present and of the past."""
    library.embed_names()
    audit_id = asked(library, MEANT).audit_id
    assert library.replay(audit_id).identical
    assert library.replay(audit_id, exact=True).identical


class Broken(HashingEncoder):
    """An encoder that has gone."""

    def encode_passages(self, texts: Any, **more: Any) -> Any:
        raise EncoderUnavailable("gone", component="encoder")


class Nothing:
    """A store that holds nothing."""

    def name_vectors(self, keys: Any) -> dict[str, Any]:
        return {}

    def keep_name_vectors(self, vectors: Any, *, wanted: Any = None) -> None:
        raise AssertionError


class Kept(dict[str, Any]):
    """A store of vectors in memory."""

    def name_vectors(self, keys: Any) -> dict[str, Any]:
        return {key: self[key] for key in keys if key in self}

    def keep_name_vectors(self, vectors: Any, *, wanted: Any = None) -> None:
        self.update(vectors)


def test_a_name_whose_words_a_text_has_may_be_less_alike() -> None:
    """Where nothing is alike enough, words that say something count: *a pit six metres deep* is a *deep pit*; small words do not."""
    encoder = HashingEncoder()
    texts = ("deep pit", "open flame")
    entries = [
        LexiconEntry(node_id=n, kind="process", text=t, type="pref", weight=1.0, scope=())
        for n, t in enumerate(texts)
    ]
    text = "do we need anybody to look at a pit six metres deep"
    (aim,) = encoder.encode_queries([text])
    low, high = encoder.fingerprint.scale
    (name,) = encoder.encode_passages(["deep pit"])
    alike = (float(name @ aim) - low) / (high - low)
    names = NameVectors(encoder, Kept(), alike / (0.9 * LATIN))
    names.embed(entries)
    found = [
        names.likely(1, entries, lambda: aim, latin=True, worded=worded)
        for worded in (lambda _: False, lambda at: at == 0)
    ]
    assert found[0] == []
    assert [node for node, _ in found[1]] == [0]
    schema = Schema()
    known = KnownGraph(1, Linker(entries), schema, tuple(entries), frozenset(), IntentReader(schema))
    worded = Guess(names, known, lambda: aim)._worded
    assert [worded(text)(0), worded("how is it used")(0), worded("an open question")(1)] == [True, False, False]
    names.close()


def test_a_dead_encoder_guesses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """When names cannot be embedded that is logged, and it is tried again with the next text."""
    names = NameVectors(Broken(), Nothing(), 0.5)
    entry = LexiconEntry(node_id=1, kind="process", text="x", type="pref", weight=1.0, scope=())
    for _ in range(2):
        assert isinstance(names.likely(1, [entry], lambda: None), str)
        names._work.join()  # type: ignore[union-attr]
    assert caplog.text.count("names cannot be embedded") == 2
    names.close()


def test_the_command_line_embeds_at_import(tmp_path: Path, pack: Path) -> None:
    """An import embeds the names and says so; a guess is shown as one, in both languages."""
    world = {"WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_SEARCH__SIMILAR_NAMES": "0.3", "COLUMNS": "80",
             "WENYUAN_LIBRARY": str(tmp_path / "library")}  # fmt: skip

    def call(*args: str) -> str:
        done = CliRunner().invoke(app, args, env=world)
        assert done.exit_code == 0, done.output
        return done.output

    call("init")
    assert "Embedded 9 names and sentences" in call("rules", "import", str(pack), "--lang", "en")
    assert "Embedded" not in call("rules", "import", str(pack), "--lang", "en")
    assert "高处作业 (a guess, 0." in call("rules", "infer", "--text", MEANT, "--lang", "en")
    assert "高处作业（推测，0." in call("rules", "infer", "--text", MEANT, "--lang", "zh")
