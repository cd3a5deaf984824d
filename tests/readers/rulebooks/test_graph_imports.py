"""Graphs that programs extract: imported as the documentation says, every relation counted, nothing to guess."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import wenyuan
from graph_parts import LARGE, LARGE_EDGES, lists, write_folders
from wenyuan.cli.root import app
from wenyuan.core.access import Principal, parse_agent
from wenyuan.packs.shipped import located
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.rules.unified import RuleQuestion

DOCS = Path(__file__).parents[3] / "docs"
SMALL = {"process": 4, "equipment": 3, "hazard": 3, "safety_measure": 5, "quality_point": 2}
SMALL_EDGES = {"requires_equipment": 3, "produces_hazard": 3, "mitigated_by": 4, "requires_quality_check": 2}
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line in a folder with the small graph; ``site`` is a source of the library."""
    write_folders(tmp_path, SMALL, SMALL_EDGES)
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "hazard_sources.md").write_text("# 危险源\n第1处有危险。\n", "utf-8")
    monkeypatch.chdir(tmp_path)

    def call(*args: str, code: int = 0) -> Result:
        world = {
            "WENYUAN_ENCODER__KIND": "none",
            "WENYUAN_SEARCH__DEADLINE": "30",
            "LC_ALL": "C.UTF-8",
            "COLUMNS": "80",
        }
        done = CliRunner().invoke(app, [*args], env=world, prog_name="wenyuan")
        assert done.exit_code == code, done.output
        return done

    call("init")
    return call


def test_a_large_graph_arrives_whole(tmp_path: Path) -> None:
    """With the shipped pack, all 1,977 nodes and 1,206 relations come but those of six measures that are sentences."""
    refused = (6, 7)
    write_folders(tmp_path, LARGE, LARGE_EDGES)
    with wenyuan.create(tmp_path / "library", encoder={"kind": "none"}) as library:
        library.catalog.put_source(wenyuan.Source(source_id="site", path=""))
        with located("construction") as pack:
            assert not library.rules.take(read_book(pack)).errors
        before = library.catalog.rules.counts()["statements"]["approved"]
        report = library.rules.take(read_book(tmp_path / "lightrag"), default_source="site")
        assert (report.checked.written.nodes, report.checked.written.statements) == (1977, 1206)
        assert (report.checked.refused.nodes, report.checked.refused.statements) == refused
        arrived = [s.rel for s in report.checked.statements]
        assert arrived.count("mitigated_by") == 569 - refused[1]
        assert len(arrived) == 1206 - refused[1]
        assert {f.code for f in report.errors} == {"sentence_as_name", "dangling_end"}
        assert report.waiting == len(arrived)
        library.rules.review(library.rules.waiting(), "approve")
        assert library.catalog.rules.counts()["statements"]["approved"] == before + len(arrived)


@pytest.mark.parametrize("form", ["kg", "both.json"])
def test_a_large_graph_is_the_same_in_every_form(tmp_path: Path, form: str) -> None:
    """Two lists, or both in one file, give the nodes and relations of the working folder, and nothing is refused."""
    write_folders(tmp_path, LARGE, LARGE_EDGES)
    one, other = read_book(tmp_path / "lightrag"), read_book(tmp_path / form)
    assert (len(other.nodes), len(other.links), other.faults) == (1977, 1206, ())
    assert {(node.kind, node.name) for node in other.nodes} == {(node.kind, node.name) for node in one.nodes}
    counts = [sorted(Counter(link.rel for link in book.links).values()) for book in (one, other)]
    assert counts[0] == counts[1] == sorted(LARGE_EDGES.values())  # each form has words of its own for them


def test_without_a_schema_one_fault_names_the_pack_that_has_it(run: Run) -> None:
    """On an empty library nothing can be checked: that is said once, with the pack to import first."""
    shown = run("rules", "import", "lightrag", code=1)
    assert "Errors: 1\n" in shown.stdout
    assert "refused 17 and 12" in shown.stdout
    assert "wenyuan rules import construction" in shown.stderr
    assert "请先导入" in run("rules", "import", "both.json", "--lang", "zh", code=1).stderr


def test_what_names_no_source_is_said_once(run: Run) -> None:
    """However many relations lack a source, one line says the option that gives it."""
    run("rules", "import", "construction")
    shown = run("rules", "import", "lightrag", code=3)
    assert shown.stderr.count("--source ID") == 2  # the option, and how to register one
    assert "12 rules name no source" in shown.stderr
    assert max(map(len, shown.stderr.splitlines())) <= 80


@pytest.mark.parametrize("page", ["rules.md", "rules.zh.md"])
def test_the_words_of_the_documentation_import_a_graph(run: Run, page: str) -> None:
    """Both ways that the page shows end with approved rules, from an empty library on."""
    blocks = re.findall(r"((?:    wenyuan [^\n]+\n)+)", (DOCS / page).read_text("utf-8"))
    (block,) = [block for block in blocks if "./lightrag" in block]
    for line in block.splitlines():
        words = line.split("#")[0].split()[1:]
        run(*words)
    told = json.loads(run("rules", "list", "--json").stdout)["counts"]
    assert told["packs"]["lightrag"] == told["packs"]["kg"] == 12
    assert "proposed" not in told["statements"]


def test_what_waits_is_counted_and_approved_by_ranges(run: Run) -> None:
    """The import, the inference and the review say how much waits; `all` and ranges decide on no more than that."""
    run("add", "documents", "--source", "site")
    run("rules", "import", "construction")
    shown = run("rules", "import", "lightrag", "--source", "site")
    assert "12 rules wait for review: wenyuan rules review" in shown.stderr
    told = json.loads(run("rules", "infer", "工序第1项", "--json").stdout)
    assert told["notes"] == ["rules that wait for a review and would apply: 4"]
    assert "待审核" in run("rules", "infer", "工序第1项", "--lang", "zh").stdout
    waiting = [s["statement_id"] for s in json.loads(run("rules", "review", "--json").stdout)["statements"]]
    assert "approved: 2 rules" in run("rules", "review", "--approve", f"1－{waiting[1]}").stdout
    assert "rejected: 1 rule" in run("rules", "review", "--reject", f"{waiting[2]}").stdout
    assert "approved: 9 rules" in run("rules", "review", "--approve", "all").stdout
    assert "no rule waits for a review" in run("rules", "review", "--approve", "全部", code=2).stderr
    run("rules", "review", "--retire", "1-5", "--reason", "x", code=2)
    assert json.loads(run("rules", "infer", "工序第1项", "--json").stdout)["notes"] == []


def test_the_diff_shows_a_change_of_status(run: Run) -> None:
    """An import that approves what waited says so of each rule, and the dry run says the same as what then happens."""
    run("add", "documents", "--source", "site")
    run("rules", "import", "construction")
    run("rules", "import", "lightrag", "--source", "site")
    first = json.loads(run("rules", "review", "--json").stdout)["statements"][0]["statement_id"]
    run("rules", "review", "--reject", str(first))
    for more in (["--dry-run"], []):
        told = json.loads(
            run("rules", "import", "lightrag", "--source", "site", "--status", "approved", *more, "--json").stdout
        )
        assert told["counts"]["changed"] == 11  # what people rejected stays rejected
        assert {d for change in told["diff"]["changed"] for d in change["details"]} == {"status: proposed → approved"}
    counts = json.loads(run("rules", "list", "--json").stdout)["counts"]["statements"]
    assert counts["rejected"] == 1


def test_an_agent_is_not_told_what_waits(tmp_path: Path) -> None:
    """How many rules wait is for those who review; an agent gets the same answer as if there were none."""
    write_folders(tmp_path, SMALL, SMALL_EDGES)
    with wenyuan.create(tmp_path / "library", encoder={"kind": "none"}) as library:
        library.catalog.put_source(wenyuan.Source(source_id="site", path="", domain="site"))
        library.catalog.put_agent(parse_agent({"agent_id": "a", "knowledge_scope": [{"domain": "site", "top_k": 3}]}))
        with located("construction") as pack:
            library.rules.take(read_book(pack))
        library.rules.take(read_book(tmp_path / "lightrag"), default_source="site")
        question = RuleQuestion(processes=("工序第1项",))
        assert library.infer_rules(question).notes
        assert library.infer_rules(question, Principal(key_id="k", agent_id="a")).notes == ()


def test_relations_alone_name_the_entities_of_another_file(tmp_path: Path) -> None:
    """In a folder, relations find the entities of the other file by id; a file that is neither is refused by name."""
    write_folders(tmp_path, SMALL, SMALL_EDGES)
    book = read_book(tmp_path / "kg")
    assert (len(book.nodes), len(book.links), book.faults) == (17, 12, ())
    ids = {alias.text for node in book.nodes for alias in node.aliases if alias.type == "code"}
    assert ids == {one["id"] for one in lists(SMALL, SMALL_EDGES)[0]}
    (fault,) = read_book(tmp_path / "lightrag" / "kv_store_text_chunks.json").faults
    assert fault.code == "bad_file"
    assert "neither entities nor relations" in fault.message
    assert {dict(node.attributes)["engineering_type"] for node in book.nodes} == {"土建"}
