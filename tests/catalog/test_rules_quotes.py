"""Rules follow what they quote: what a refreshed document no longer says supports nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from wenyuan.catalog import Catalog, format_upgrades
from wenyuan.cli.root import app
from wenyuan.core.addresses import file_uri
from wenyuan.core.rules.quotes import plain
from wenyuan.i18n.translation import translated
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.ingest.progress import IngestReport

REVIEW, SHORE = "深基坑工程应当组织专家论证。", "Excavations deeper than 1.5 m must be shored."
SUPERSEDES = "---\nsupersedes: code.md\neffective_from: 2024-01-01\n---\n"
PACK = """
pack: pit
schema:
  kinds: {{process: {{zh: 工序, en: process}}, requirement: {{zh: 要求, en: requirement}}}}
  relations: {{demands: {{zh: 要求, en: demands, from: [process], to: [requirement]}}}}
  patterns: {{needs: {{start: process, collect: {{mandatory: [demands]}}}}}}
sources: [{{id: elsewhere, uri: "urn:elsewhere", trust: 5}}]
process: [{{name: 深基坑开挖}}]
requirement: [{{name: 专家论证}}, {{name: shoring}}]
statements:
  - {{src: 深基坑开挖, rel: demands, dst: 专家论证{valid}, evidence: [{{source: code, uri: "{uri}#1", quote: {review}}}]}}
  - src: 深基坑开挖
    rel: demands
    dst: shoring
    evidence:
      - {{source: code, uri: "{uri}#2", quote: "{shore}"}}
      - {{source: elsewhere, quote: a text that the library has never held}}
"""


class Site:
    """A library with one document, and a pack that quotes it."""

    def __init__(self, folder: Path) -> None:
        self.docs = folder / "docs"
        self.docs.mkdir()
        self.folder = folder
        self.library = wenyuan.create(folder / "library", encoder={"kind": "none"})

    def write(self, *sentences: str, name: str = "code.md", front: str = "") -> None:
        text = "\n\n".join(f"## {n}\n\n{sentence}" for n, sentence in enumerate(sentences, 1))
        (self.docs / name).write_text(f"{front}# 规程 code\n\n{text}\n", "utf-8")

    def take(self, valid: str = "") -> Any:
        uri = file_uri((self.docs / "code.md").absolute())
        book = self.folder / "pit.yaml"
        book.write_text(PACK.format(uri=uri, review=REVIEW, shore=SHORE, valid=valid), "utf-8")
        return self.library.rules.take(read_book(book))

    def ingest(self) -> IngestReport:
        return self.library.ingest("code")

    def states(self) -> dict[str, str]:
        return {s.dst.rpartition("/")[2]: s.status for s in self.all()}

    def all(self) -> list[Any]:
        rules = self.library.catalog.rules
        return [rules.statement(number).statement for number in (1, 2)]

    def reason(self, number: int = 1) -> str:
        return str(self.library.catalog.rules.statement(number).reason)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    made.write(REVIEW, SHORE)
    made.library.add(wenyuan.Source(source_id="code", path=str(made.docs), trust=5))
    assert not made.take().errors
    yield made
    made.library.close()


def test_other_words(site: Site) -> None:
    """A rule is retired when the document has other words now; one that another evidence supports stays."""
    site.write(REVIEW.replace("应当", "可以"), "Shoring is optional.")
    report = site.ingest()
    assert (report.changed, report.evidences_lost, report.rules_retired) == (1, 2, 1)
    assert site.states() == {"专家论证": "retired", "shoring": "approved"}
    assert "code.md no longer says it" in site.reason()


def test_same_words_elsewhere(site: Site) -> None:
    """Words that only moved, or are set otherwise, support what they supported."""
    site.write("前言", SHORE.upper(), REVIEW.replace("应当", "應當").replace("。", "；"))
    report = site.ingest()
    assert (report.changed, report.evidences_lost, report.rules_retired) == (1, 0, 0)
    assert set(site.states().values()) == {"approved"}


def test_removed_document(site: Site) -> None:
    """What a removed document said supports nothing any more; what was never held is left alone."""
    (site.docs / "code.md").unlink()
    site.write("Something else.", name="other.md")
    report = site.ingest()
    assert (report.retired, report.evidences_lost, report.rules_retired) == (1, 2, 1)
    assert "code.md was removed" in site.reason()


def test_the_words_come_back(site: Site) -> None:
    """When the document has the words again, importing the pack again revives the rule; before, it is refused."""
    site.write(SHORE)
    site.ingest()
    assert [fault.code for fault in site.take().errors] == ["quote_not_found"]
    assert site.states()["专家论证"] == "retired"
    site.write(REVIEW, SHORE)
    assert site.ingest().evidences_lost == 0
    assert not site.take().errors
    assert set(site.states().values()) == {"approved"}


def test_superseded(site: Site) -> None:
    """A document that another one supersedes supports nothing from that day on, but what ended with it."""
    site.take(", valid_until: 2020-01-01")
    site.write("New words.", name="new.md", front=SUPERSEDES)
    report = site.ingest()
    assert (report.evidences_lost, report.rules_retired) == (1, 0)
    assert site.states()["专家论证"] == "approved"


def test_imported_again_after_the_end(site: Site) -> None:
    """An author who says it again after its document has ended is believed, until the document changes."""
    site.write("New words.", name="new.md", front=SUPERSEDES)
    assert site.ingest().evidences_lost == 2
    assert "code.md is no longer in force" in site.reason()
    site.take()
    assert (site.ingest().evidences_lost, set(site.states().values())) == (0, {"approved"})


def test_nothing_is_read_without_a_change(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in which nothing has changed reads no document for its quotes."""
    site.ingest()
    monkeypatch.delattr(Catalog, "document_words")
    assert site.ingest().unchanged == 1
    site.write("Not cited.", name="other.md")
    assert site.ingest().added == 1


def test_it_is_told_and_audited(site: Site) -> None:
    """The command line says what was lost, for people in both languages and for machines; the audit has it."""
    site.library.close()

    def call(*args: str) -> str:
        world = {"WENYUAN_ENCODER__KIND": "none", "WENYUAN_LIBRARY": str(site.folder / "library"), "COLUMNS": "80"}
        done = CliRunner().invoke(app, args, env=world)
        assert done.exit_code == 0, done.output
        return done.stdout

    site.write(SHORE)
    assert "依据失效 1 条，停用规则 1 条" in call("ingest", "code", "--lang", "zh")
    site.write("nothing")
    report = json.loads(call("refresh", "code", "--json"))["outcomes"][0]["report"]
    assert (report["evidences_lost"], report["rules_retired"]) == (1, 0)
    assert call("audit", "list", "--kind", "rule", "--lang", "en").count("evidence withdrawn from code") == 2
    shown = call("rules", "show", str(1), "--lang", "zh")
    assert "已无此文字" in "".join(shown.split())


def test_an_older_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of an older format gets the index by which citations are found, and it fits only that question."""
    with monkeypatch.context() as older:
        older.setattr(format_upgrades, "MIGRATIONS", format_upgrades.MIGRATIONS[:4])
        older.setattr(format_upgrades, "SCHEMA_VERSION", 4)
        with closing(Catalog.create(tmp_path / "library")) as made, made.database.writer.begin() as connection:
            connection.exec_driver_sql("DROP INDEX rule_evidences_cited")
    ask = "EXPLAIN QUERY PLAN SELECT uri FROM rule_evidences WHERE source_id = 'a' AND removed_seq IS NULL"
    with closing(Catalog.open(tmp_path / "library")) as catalog, catalog.database.reader.connect() as connection:
        connection.exec_driver_sql(
            "SELECT 1 FROM rule_evidences"
        ).all()  # else a plan is made for the schema of before
        plans = [str(connection.exec_driver_sql(ask + more).all()) for more in (" AND uri != ''", "")]
    assert ["rule_evidences_cited" in plan for plan in plans] == [True, False]


SAYS = "坡度不应大于1：1.5，含量应≤ 5％，温度低于－5℃，长5～10 m，见 GB 50300-2013 第3.2.1条。\n\n> 共10,000元\n"
SAYS += "\np<Pmax 且 T>20℃ 应停机；厚度不应小于1/2。Operating range at -40 °C to 85 °C.\n"


@pytest.mark.parametrize(
    "quote",
    [
        "坡度不应大于1:1.5，含量应<=5%",
        "温度低于-5℃",
        "长5—10m",
        "GB 50300—2013第3.2.1条。共10000元",
        "不应大于1",
        "条 - 共",
        "长5——10m",
        "> 厚度不应小于½",
        "p<Pmax 且 T>20℃ 应停机",
        "<b>厚度</b>不应小于1/2",
        "-40 °C to 85 °C",
        "–40 °C",
    ],
)
def test_a_quote_may_be_set_otherwise_than_its_document(quote: str) -> None:
    """Widths, spaces, kinds of dashes, thousands and quotation lines do not matter."""
    assert plain(quote) in plain(SAYS)


@pytest.mark.parametrize(
    "quote",
    [
        "不应大于1:15",
        "不应大于11.5",
        "含量应≥5%",
        "含量应≤5‰",
        "低于5℃",
        "长510m",
        "50300-201.3",
        "第321条",
        "10.000元",
        "长5——100m",
        ">5%",
        "p<Pmin 且 T>20℃ 应停机",
        "厚度不应小于12",
    ],
)
def test_a_quote_with_another_number_is_none(quote: str) -> None:
    """A decimal point, a range, a sign or a comparison that differs makes it another rule."""
    assert plain(quote) not in plain(SAYS)


@pytest.mark.parametrize(
    ("front", "valid", "english", "chinese"),
    [
        ("effective_from: 2099-01-01", "", "is in force from 2099-01-01: 1 rules", "自 2099-01-01 起施行"),
        ("effective_until: 2098-12-31", "", "is in force until 2098-12-31: 1 rules", "有效期至 2098-12-31"),
        ("status: retired", "", "is no longer in force: 1 rules quote it", "已失效"),
        ("effective_until: 2098-12-31", ", valid_until: 2098-12-31", "", ""),
        ("effective_from: 2099-01-01", ", valid_from: 2099-01-01", "", ""),
    ],
)
def test_a_rule_that_counts_on_other_days_than_its_document_is_noted(
    site: Site, front: str, valid: str, english: str, chinese: str
) -> None:
    """An import says where a rule begins before what it quotes, or goes on after it."""
    site.write(REVIEW, front=f"---\n{front}\n---\n")
    site.ingest()
    book = site.folder / "pit.yaml"
    uri = file_uri((site.docs / "code.md").absolute())
    text = PACK.format(uri=uri, review=REVIEW, shore=SHORE, valid=valid).split("  - src: 深基坑开挖")[0]
    book.write_text(text, "utf-8")
    notes = [f.message for f in site.library.rules.take(read_book(book)).faults if f.code == "quote_out_of_force"]
    assert len(notes) == bool(english)
    assert all(english in note and chinese in translated(note) for note in notes)
