"""Quotes of rules beside their sources: found and verified, nowhere and refused, not here and marked as such."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import wenyuan
from governed_door import key, send
from rules_door import rules_server
from wenyuan.catalog import Catalog, format_upgrades
from wenyuan.cli.root import app
from wenyuan.core.errors import ConfigError
from wenyuan.i18n.translation import translated
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.rules.unified import RuleQuestion

SAID, INVENTED = "深基坑工程应当组织专家论证", "深基坑工程可以免于一切论证"
SCHEMA = """
pack: pit
schema:
  kinds: {process: {zh: 工序, en: process}, requirement: {zh: 要求, en: requirement}}
  relations: {demands: {zh: 要求, en: demands, from: [process], to: [requirement]}}
  patterns: {needs: {start: process, collect: {mandatory: [demands]}}}
process: [{name: 深基坑开挖}]
requirement: [{name: 专家论证}, {name: 免于论证}]
"""
ROWS = "主体,关系,客体,来源,条款,引文\n深基坑开挖,要求,专家论证,{0},第一条,{1}\n深基坑开挖,要求,免于论证,{0},第二条,{2}\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Any]:
    """A library with a schema and a source ``code`` of one document; ``far`` is a source without documents."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "code.md").write_text(f"# 规程\n\n第一条 {SAID}。\n", "utf-8")
    (tmp_path / "pit.yaml").write_text(SCHEMA, "utf-8")
    with wenyuan.create(tmp_path / "library", encoder={"kind": "none"}) as made:
        made.add(wenyuan.Source(source_id="code", path=str(tmp_path / "docs")))
        made.catalog.put_source(wenyuan.Source(source_id="far", path=str(tmp_path / "far")))
        made.rules.take(read_book(tmp_path / "pit.yaml"))
        yield made


def rows(tmp_path: Path, source: str, *quotes: str) -> Any:
    (tmp_path / "rows.csv").write_text(ROWS.format(source, *quotes), "utf-8")
    return read_book(tmp_path / "rows.csv")


def verified(library: Any) -> dict[str, list[bool]]:
    found = library.infer_rules(RuleQuestion(processes=("深基坑开挖",)))
    return {item.metadata["name"]: [e["verified"] for e in item.metadata["evidence"]] for item in found.items}


def test_an_invented_quote_of_a_source_that_is_here_is_refused(library: Any, tmp_path: Path) -> None:
    """A row that names only its source is compared with all of it: what is nowhere there is refused, by its row."""
    report = library.rules.take(rows(tmp_path, "code", SAID, INVENTED))
    (error,) = report.errors
    assert (error.code, error.place.line) == ("quote_not_found", 3)
    assert "is not in the source code" in error.message
    assert "不在来源 code 中" in translated(error.message)
    assert verified(library) == {"专家论证": [True]}


@pytest.mark.parametrize("uri", ["urn:made:up", "#第二条"])
def test_an_address_that_no_document_has_saves_no_invented_quote(library: Any, tmp_path: Path, uri: str) -> None:
    """An evidence that names another address is compared with its source, too."""
    (tmp_path / "more.yaml").write_text(
        "pack: more\nstatements:\n"
        f"  - {{src: 深基坑开挖, rel: demands, dst: 免于论证, evidence: [{{source: code, uri: '{uri}', quote: {INVENTED}}}]}}\n",
        "utf-8",
    )
    assert [e.code for e in library.rules.take(read_book(tmp_path / "more.yaml")).errors] == ["quote_not_found"]


def test_a_quote_is_compared_again_when_its_source_arrives(library: Any, tmp_path: Path) -> None:
    """Not verified while the source has no document, verified once one has the words, and no longer when they go."""
    report = library.rules.take(rows(tmp_path, "far", SAID, INVENTED))
    assert not report.errors
    (note,) = [f for f in report.faults if f.code == "quote_unverified"]
    assert note.message == "the source far is not in the library: 2 quotes are marked as not verified"
    assert "2 处引文标为“未核对”" in translated(note.message)
    assert verified(library) == {"专家论证": [False], "免于论证": [False]}
    (tmp_path / "far").mkdir()
    file = tmp_path / "far" / "any name.md"
    file.write_text(f"# 规程\n\n{SAID.replace('应当', '應當')}！\n", "utf-8")
    library.ingest("far")
    assert verified(library) == {"专家论证": [True], "免于论证": [False]}
    before = library.catalog.seq()
    library.ingest("far")
    assert library.catalog.seq() == before
    file.write_text("# 规程\n\n别的文字。\n", "utf-8")
    library.ingest("far")
    assert verified(library) == {"专家论证": [False], "免于论证": [False]}


def test_a_setting_refuses_what_cannot_be_compared(tmp_path: Path, library: Any) -> None:
    """With rules.unverified_quotes = "refuse" such a row is refused by name; what is found is taken."""
    library.close()
    with wenyuan.open(tmp_path / "library", rules={"unverified_quotes": "refuse"}) as strict:
        report = strict.rules.take(rows(tmp_path, "far", SAID, INVENTED))
        assert [(e.code, e.place.line) for e in report.errors] == [("quote_unverified", 2), ("quote_unverified", 3)]
        assert "无法核对：来源 far" in translated(report.errors[0].message)
        assert not strict.rules.take(rows(tmp_path, "code", SAID, SAID)).errors
    with pytest.raises(ConfigError, match="unverified_quotes"):
        wenyuan.open(tmp_path / "library", rules={"unverified_quotes": "believe"})


def test_the_quotes_of_a_shipped_pack_are_not_verified_before_their_sources_are_here(tmp_path: Path) -> None:
    """They were copied by hand from texts that the library does not hold; it says so of each."""
    with wenyuan.create(tmp_path / "library", encoder={"kind": "none"}) as made, located("construction") as pack:
        made.rules.take(read_book(pack))
        found = made.infer_rules(RuleQuestion(processes=("深基坑开挖",)))
        quoted = [e for item in found.items for e in item.metadata["evidence"] if e.get("quote")]
        assert quoted
        assert not any(e["verified"] for e in quoted)


def _command(folder: Path) -> Callable[..., str]:
    def call(*args: str) -> str:
        world = {
            "WENYUAN_ENCODER__KIND": "none",
            "WENYUAN_LIBRARY": str(folder / "library"),
            "COLUMNS": "80",
            "WENYUAN_SEARCH__DEADLINE": "30",
        }
        done = CliRunner().invoke(app, args, env={**world, "LC_ALL": "C.UTF-8"})
        assert done.exit_code == 0, done.output
        return done.stdout

    return call


def test_the_command_line_shows_the_mark_in_both_languages(library: Any, tmp_path: Path) -> None:
    """Wherever a quote is shown, one that was not compared is marked, and one that was is not."""
    library.rules.take(rows(tmp_path, "far", SAID, INVENTED), default_status="proposed")
    library.close()
    call = _command(tmp_path)
    assert call("rules", "review").count("(not verified)") == 2
    call("rules", "review", "--approve", "all")
    assert "（引文未核对）" in call("rules", "show", "1", "--lang", "zh")
    assert call("rules", "infer", "深基坑开挖", "--explain").count("(not verified)") == 2
    assert [e["verified"] for e in json.loads(call("rules", "show", "1", "--json"))["rule"]["evidences"]] == [False]
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "code.md").write_text(f"# 规程\n\n{SAID}\n\n{INVENTED}\n", "utf-8")
    call("ingest", "far")
    assert "verified" not in call("rules", "infer", "深基坑开挖", "--explain")


def test_http_tells_it_of_rules_statements_and_fragments(tmp_path: Path) -> None:
    """`verified` stands beside each quote: in inferred rules, in fragments, and in statements."""
    with rules_server(tmp_path) as (url, made):
        (tmp_path / "pit.yaml").write_text(SCHEMA, "utf-8")
        made.rules.take(read_book(tmp_path / "pit.yaml"))
        made.catalog.put_source(wenyuan.Source(source_id="far", path="", domain="construction"))
        assert not made.rules.take(rows(tmp_path, "far", SAID, INVENTED)).errors
        search, registry = key(made, "search", "retrieve"), key(made, "registry")
        asked = {"processes": ["深基坑开挖"]}
        for path, body, part in (
            ("/v1/infer_rules", asked, "items"),
            ("/v1/retrieve_fragments", {"query": "深基坑开挖的要求", "max_results": 5}, "fragments"),
        ):
            answer = send(url, "POST", path, body, search)
            assert answer.status == 200, answer.body
            found = answer.json[part]
            proofs = [e for one in found for e in one["metadata"].get("evidence", ())]
            assert proofs, path
            assert {e["verified"] for e in proofs} == {False}
        shown = send(url, "GET", "/v1/rules/statements/1", None, registry).json
        assert [e["verified"] for e in shown["evidences"]] == [False]
        assert "quote not verified" in made.fetch("far#rule-1").text


def test_an_older_library_has_compared_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of the format before gets the column, and a quote that stands in it is found at the next change."""
    with monkeypatch.context() as older:
        older.setattr(format_upgrades, "MIGRATIONS", format_upgrades.MIGRATIONS[:7])
        older.setattr(format_upgrades, "SCHEMA_VERSION", 7)
        with closing(Catalog.create(tmp_path / "library")) as made, made.database.writer.begin() as connection:
            connection.exec_driver_sql("DROP INDEX rule_evidences_unplaced")
            connection.exec_driver_sql("ALTER TABLE rule_evidences DROP COLUMN verified")
    with closing(Catalog.open(tmp_path / "library")) as catalog, catalog.database.reader.connect() as connection:
        columns = [row[1] for row in connection.exec_driver_sql("PRAGMA table_info(rule_evidences)")]
        assert "verified" in columns
        assert catalog.cited("code") == {}
