"""Rules by the command line: import with a diff, review, export, inference and unified retrieval."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner, Result

from command_line import Run, runner
from rules_door import BOOK, TWICE, WRONG
from wenyuan.cli.retrieve import _screen, parameters
from wenyuan.cli.root import app
from wenyuan.cli.terminal import Terminal
from wenyuan.i18n.translation import translated

COMMANDS = [f"rules {name}" for name in "import export template list show review remove infer packs".split()]
COMMANDS += ["retrieve"]
PIT = "深基坑开挖"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return runner(tmp_path / "library")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A library with the construction pack, only read by tests."""
    made = runner(tmp_path_factory.mktemp("built") / "library")
    shown = made("rules", "import", "construction").stdout
    assert "added 548, changed 0" in shown
    assert "Pack Construction safety and quality rules (construction):" in shown
    assert "imported 143 nodes and 405 rules; refused 0 and 0" in shown
    return made


@pytest.fixture
def book(tmp_path: Path) -> Path:
    file = tmp_path / "little.yaml"
    file.write_text(BOOK, "utf-8")
    return file


def document(done: Result) -> Any:
    return json.loads(done.stdout)


def narrow(text: str) -> bool:
    return max(map(cell_len, text.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example_and_a_chinese_line(run: Run, command: str) -> None:
    """The help of each command shows how to call it, and says what it does in Chinese."""
    shown = run(*command.split(), "--help").stdout
    chinese = run(*command.split(), "--help", LC_ALL="zh_CN.UTF-8").stdout
    assert all(re.search(rf"^ +wenyuan {command}", one, re.MULTILINE) for one in (shown, chinese))
    assert re.search(r"[\u4e00-\u9fff]{4}", chinese)


# -- import -----------------------------------------------------------------------------------------------


def test_an_import_shows_its_diff_first(run: Run, book: Path) -> None:
    """A dry run shows each change with file and line and does nothing; the second import changes nothing."""
    dry = run("rules", "import", book, "--dry-run").stdout
    assert "added 5, changed 0" in dry
    assert f"+ {PIT} —has the hazard→ 坍塌 [depth ≥ 5 m]  (little.yaml:22)" in dry
    assert "Would register sources: code_a, code_b" in dry
    assert document(run("rules", "list", "--json"))["counts"]["nodes"] == 0
    assert "Registered sources: code_a, code_b" in run("rules", "import", book).stdout
    again = document(run("rules", "import", book, "--json"))
    assert (again["status"], again["counts"]["added"], again["counts"]["unchanged"]) == ("SUCCESS", 0, 5)
    assert "新增 0，变更 0，停用 0，冲突 0，不变 5" in run("rules", "import", book, "--lang", "zh").stdout


@pytest.mark.parametrize(
    ("language", "wanted"),
    [
        ("en", ["no such relation: 'requires_equipmnt'", "did you mean", "'requires_equipment'?", "refused 0 and 1"]),
        ("zh", ["没有这种关系：'requires_equipmnt'", "您是否想写", "'requires_equipment'？", "规则 1 条"]),
    ],
)
def test_a_dirty_book_ends_with_3_and_the_rest_is_imported(
    run: Run, book: Path, language: str, wanted: list[str]
) -> None:
    """What is wrong is told with file and line in the caller's language; what is right is served."""
    book.write_text(BOOK + WRONG, "utf-8")
    shown = run("rules", "import", book, "--lang", language, code=3).stdout
    for text in (*wanted, f"little.yaml:{len(BOOK.splitlines()) + 1}: "):
        assert text in shown
    failed = document(run("rules", "import", book, "--json", code=3))
    assert (failed["status"], failed["complete"], failed["faults"][0]["code"]) == (
        "SUCCESS",
        False,
        "unknown_relation",
    )
    assert len(document(run("rules", "infer", PIT, "--json"))["items"]) == 2


@pytest.mark.parametrize(
    ("language", "more"),
    [("en", r"… and 529 more changes: --all shows them"), ("zh", r"……另有 529 项变更：用 --all 显示全部")],
)
def test_an_import_of_a_pack_is_a_screen(run: Run, language: str, more: str) -> None:
    """Twenty lines of the diff, one that counts the rest, and its notes by kind."""
    shown = run("rules", "import", "construction", "--lang", language).stdout
    assert more in shown
    assert ("quote_unverified" in shown) == (language == "en")  # a code is no word
    assert len(shown.splitlines()) <= 50
    assert narrow(shown)


def test_many_faults_are_grouped(run: Run, book: Path) -> None:
    """More than twenty faults are counted by code with the first of each; `--all` shows each."""
    book.write_text(BOOK + WRONG * 30, "utf-8")
    shown = run("rules", "import", book, "--dry-run", code=3).stdout
    assert "30 × unknown_relation" in shown
    assert shown.count("no such relation") == 1
    assert run("rules", "import", book, "--dry-run", "--all", code=3).stdout.count("no such relation") == 30


@pytest.mark.parametrize(
    ("name", "english", "chinese"),
    [
        ("none.yaml", "no such file, folder or shipped pack", "没有这个文件、目录或随附规则包"),
        ("empty", "no file of rules in", "没有规则文件"),
        ("notes.txt", "is of no kind that is read", "不是可读取的种类"),
        ("two.yaml", "two.yaml: line 2: it is not well-formed YAML", "格式有误"),
    ],
)
def test_what_cannot_be_read_is_told(run: Run, tmp_path: Path, name: str, english: str, chinese: str) -> None:
    """A missing file, a folder without rules and a file of another kind are wrong usage; a broken one is a fault."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "two.yaml").write_text("nodes: [")
    code = 1 if name == "two.yaml" else 2
    assert english in " ".join(run("rules", "import", tmp_path / name, code=code).output.split())
    assert chinese in run("rules", "import", tmp_path / name, "--lang", "zh", code=code).output


def test_a_pack_is_found_by_its_name(run: Run) -> None:
    """Shipped packs are listed and imported by name, under another one too; a wrong name is answered with the right."""
    assert "did you mean 'construction'?" in run("rules", "import", "constructoin", code=2).stderr
    assert document(run("rules", "import", "customer_service", "--pack", "crm", "--json"))["pack"] == "crm"
    listed = document(run("rules", "packs", "--json"))
    assert (listed["shipped"], listed["imported"]) == (["construction", "customer_service"], ["crm"])
    assert re.search(r"crm +yes", run("rules", "packs").stdout)
    for language, title in (("en", "Construction safety and quality rules"), ("zh", "建设工程安全与质量规则")):
        assert title in run("rules", "packs", "--lang", language).stdout


def test_packs_are_listed_without_a_library(tmp_path: Path) -> None:
    """`rules packs` needs no library, and makes none."""
    done = CliRunner().invoke(app, ["rules", "packs", "--json", "--library", str(tmp_path / "none")])
    assert (done.exit_code, document(done)["imported"]) == (0, [])
    assert not (tmp_path / "none").exists()


# -- files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["yaml", "jsonl"])
def test_an_export_reads_back(run: Run, book: Path, tmp_path: Path, form: str) -> None:
    """What is exported, imported into an empty library, is the same; imported into this one, it changes nothing."""
    run("rules", "import", book)
    file = tmp_path / f"out.{form}"
    assert "Wrote 3 nodes and 2 rules" in run("rules", "export", "--pack", "little", "-o", file).stdout
    assert document(run("rules", "import", file, "--json"))["counts"]["unchanged"] == 5
    other = runner(tmp_path / "other")
    taken = document(other("rules", "import", file, "--json"))
    assert (taken["complete"], taken["counts"]["added"]) == (True, 5)
    assert other("rules", "export", "--format", form).stdout == file.read_text("utf-8")
    assert "already" in run("rules", "export", "-o", file, code=2).stderr
    assert "there is no pack" in run("rules", "export", "--pack", "litle", code=2).stderr


def test_workbooks_are_written_and_read(run: Run, book: Path, tmp_path: Path) -> None:
    """A template is empty and reads without a fault; an exported workbook changes nothing when imported."""
    run("rules", "template", tmp_path / "t.xlsx", code=2)
    run("rules", "template", tmp_path / "t.xlsx", "--pack", "construction")
    run("rules", "import", book)
    run("rules", "template", tmp_path / "t.xlsx", code=2)
    empty = document(run("rules", "import", tmp_path / "t.xlsx", "--pack", "mine", "--json"))
    assert (empty["complete"], empty["counts"]["written"]) == (True, {"nodes": 0, "statements": 0})
    run("rules", "export", "--format", "xlsx", code=2)
    run("rules", "export", "-o", tmp_path / "all.xlsx", "--lang", "zh")
    same = document(run("rules", "import", tmp_path / "all.xlsx", "--pack", "little", "--json"))
    assert (same["complete"], same["counts"]["added"], same["counts"]["changed"]) == (True, 0, 0)


# -- looking and reviewing --------------------------------------------------------------------------------


def test_the_graph_is_listed(built: Run, run: Run) -> None:
    """Nodes are found by name and kind in either language; an empty graph says how to fill it."""
    shown = built("rules", "list", "基坑", "--kind", "工序").stdout
    assert "Nodes 143 · rules 405" in shown
    assert "Deep excavation" in shown
    assert narrow(shown)
    pages = document(built("rules", "list", "--kind", "hazard", "-k", "5", "--json"))
    more = document(built("rules", "list", "--kind", "hazard", "--after", pages["next"], "--json"))
    assert len(pages["nodes"] + more["nodes"]) == pages["counts"]["kinds"]["hazard"]
    assert "did you mean" in built("rules", "list", "--kind", "hazrd", code=2).stderr
    assert "Nothing in the graph" in built("rules", "list", "量子").stderr
    assert "wenyuan rules import" in run("rules", "list").stderr


def test_rules_wait_for_a_review(run: Run, book: Path) -> None:
    """Proposed rules are shown with their quotes; decisions are kept with their reason and audited."""
    run("rules", "import", book, "--status", "proposed")
    assert document(run("rules", "infer", PIT, "--json"))["items"] == []
    queue = document(run("rules", "review", "--json"))["statements"]
    assert [s["dst"]["name"] for s in queue] == ["挖掘机", "坍塌"]
    shown = run("rules", "review").stdout
    assert "应当配备挖掘机" in shown
    assert narrow(shown)
    first, second = (s["statement_id"] for s in queue)
    assert "approved: 2 rules" in run("rules", "review", "--approve", f"{first}、{second}").stdout
    run("rules", "review", "--retire", second, code=2)
    assert "停用：1 条规则" in run("rules", "review", "--retire", second, "--reason", "已废止", "--lang", "zh").stdout
    told = document(run("rules", "show", second, "--json"))["rule"]
    assert (told["state"], [r["action"] for r in told["reviews"]]) == ("retired", ["approve", "retire"])
    assert "已废止" in run("rules", "show", second).stdout
    assert "已停用" in run("rules", "show", second, "--lang", "zh").stdout
    assert "没有待审核的规则" in run("rules", "review", "--lang", "zh").stdout
    records = document(run("audit", "list", "--kind", "rule", "--json"))["records"]
    assert [r["record"]["action"] for r in records] == ["retire", "approve", "approve", "imported"]
    assert "停用 statement" in run("audit", "list", "--kind", "rule", "--lang", "zh").stdout


@pytest.mark.parametrize(
    "options",
    [["--approve", "1", "--reject", "2"], ["--approve", "one"], ["--approve", ""], ["--reject", "999"]],
)
def test_a_senseless_review_changes_nothing(run: Run, book: Path, options: list[str]) -> None:
    """Two decisions at once, what is no number, and rules that do not exist are wrong usage."""
    run("rules", "import", book)
    run("rules", "review", *options, code=2)
    assert document(run("rules", "list", "--json"))["counts"]["statements"] == {"approved": 2}
    run("rules", "show", "99999999999999999999999", code=2)


def test_removing_a_source_or_a_pack_retires_its_rules(run: Run, book: Path) -> None:
    """A removed source takes what only it supports; a removed pack the rest; the rule still tells why it is gone."""
    run("rules", "import", book)
    ids = {i["metadata"]["name"]: i["metadata"]["statement_id"]
           for i in document(run("rules", "infer", PIT, "--json"))["items"]}  # fmt: skip
    run("source", "remove", "code_a", "--yes")
    left = document(run("rules", "infer", PIT, "--json"))["items"]
    assert [i["metadata"]["name"] for i in left] == ["坍塌"]
    assert "来源 code_a 已移除" in run("rules", "show", ids["挖掘机"], "--lang", "zh").stdout
    gone = document(run("rules", "remove", "little", "--yes", "--json"))
    assert (gone["statements"], gone["evidences"]) == (1, 1)
    run("rules", "remove", "little", code=2)
    assert document(run("rules", "infer", PIT, "--json"))["items"] == []


def test_no_line_of_a_diff_is_wider_than_the_terminal(run: Run) -> None:
    """A dry run of a pack with long names and conditions fits into 80 columns, in both languages."""
    for language in ("zh", "en"):
        lines = run("rules", "import", "construction", "--dry-run", "--all", "--lang", language).stdout.splitlines()
        assert len(lines) > 500
        assert max(map(cell_len, lines)) <= 80


def test_groups_are_called_as_the_schema_calls_them(run: Run) -> None:
    """Rules stand below the labels of their kinds in the language that is spoken, not below ids."""
    run("rules", "import", "construction")
    for language, wanted in (
        ("zh", ["危险源", "安全措施", "设备"]),
        ("en", ["hazard", "safety measure", "equipment"]),
    ):
        shown = run("rules", "infer", PIT, "--lang", language).stdout
        headings = {m[1] for m in re.finditer(r"^(\S.*) \(\d+\)$", shown, re.MULTILINE)}
        assert headings >= set(wanted)
        assert "safety_measures" not in shown


# -- inference and unified retrieval ----------------------------------------------------------------------


def test_rules_are_grouped_with_condition_and_clause(built: Run) -> None:
    """Each group has its rules with score, strength, the state of the condition and the clause; 80 columns."""
    shown = built("rules", "infer", PIT, "--param", "depth_m=6", "--param", "dpth=2", "--all").stdout
    assert re.search(r"^requirement \(\d+\)$", shown, re.MULTILINE)
    assert "1.00  mandatory" in shown
    assert "第十一条" in shown
    assert "condition met: 开挖深度 ≥ 5 m" in shown
    assert "did you mean 'depth_m'?" in shown
    assert narrow(shown)
    open_ = built("rules", "infer", PIT, "--all", "--lang", "zh").stdout
    assert "条件未核实：" in open_
    assert "需要参数" in open_
    assert narrow(open_)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_heading_stands_once(built: Run, language: str) -> None:
    """Patterns that are called the same are one group, wherever their first rule stands."""
    shown = built("rules", "infer", PIT, "--param", "depth_m=6", "--lang", language).stdout
    headings = re.findall(r"^(\S.*) \(\d+\)$", shown, re.MULTILINE)
    assert len(headings) >= 5
    assert sorted(set(headings)) == sorted(headings)


def test_an_explanation_has_path_quote_and_parts(built: Run) -> None:
    """`--explain` adds the derivation, the evidence word for word, and what the score is made of."""
    shown = built("rules", "infer", "深基坑開挖", "--param", "depth_m=６", "--explain", "--lang", "zh").stdout
    flat = "".join(shown.split())
    assert f"{PIT}—产生危险源→坍塌" in flat
    assert "“" in flat
    assert "识别1.00×权重1.00×可信度1.00" in flat
    assert narrow(shown)


@pytest.mark.parametrize(
    ("language", "more"),
    [
        ("en", r"… and (\d+) more: --all shows them, --json lists them"),
        ("zh", r"……另有 (\d+) 条：用 --all 显示全部，或用 --json 列出"),
    ],
)
@pytest.mark.parametrize("command", [("rules", "infer", PIT), ("retrieve", f"{PIT}的安全措施")])
def test_many_hits_are_cut_at_a_screen_and_the_rest_is_counted(
    built: Run, command: tuple[str, ...], language: str, more: str
) -> None:
    """Twenty are shown, the best of every group among them; `--all` and `--json` have all."""
    entry = r"^ *\d+  \[" if command[0] == "retrieve" else r"^ {4}[01]\.\d\d  "
    count = len(document(built(*command, "--json"))["items"])
    assert count > 40
    shown = built(*command, "--lang", language).stdout
    assert len(re.findall(entry, shown, re.MULTILINE)) == 20
    assert [int(n) for n in re.findall(more, shown)] == [count - 20]
    assert not re.search(r"^\S.* \(\d+\)\n\n", shown, re.MULTILINE)
    assert narrow(shown)
    whole = built(*command, "--all", "--lang", language).stdout
    assert len(re.findall(entry, whole, re.MULTILINE)) == count
    assert not re.search(more, whole)


def test_a_screen_of_many_rules_leaves_room_for_cases_and_templates() -> None:
    """Of fifty rules and nine others fourteen and six are shown; without others, or without rules, twenty."""
    item = SimpleNamespace
    many = [item(source="kg_rule")] * 50
    others = [item(source="vector")] * 9
    for items, rules, rest in ((many + others, 14, 6), (many, 20, 0), (others * 3, 0, 20), (many[:5] + others, 5, 9)):
        shown: Any = _screen(list(enumerate(items, 1)))  # type: ignore[arg-type]
        assert [sum(one.source == name for _, one in shown) for name in ("kg_rule", "vector")] == [rules, rest]
        assert [rank for rank, _ in shown] == sorted(rank for rank, _ in shown)


def test_names_that_are_unknown_are_told(built: Run) -> None:
    """An unknown process is no process without rules; text without one says so; neither is an error."""
    shown = built("rules", "infer", "量子挖掘", "--lang", "zh").stdout
    assert "规则图中没有：量子挖掘" in shown
    assert "没有识别出" in built("rules", "infer", "--text", "天气很好", "--lang", "zh").stdout
    found = document(built("rules", "infer", "--text", "Deep excavation next week", "--json"))
    assert found["recognised"][0]["text"].lower() == "deep excavation"
    built("rules", "infer", code=2)


@pytest.mark.parametrize(
    ("given", "named"),
    [("depth_m=deep", "parameters.depth_m"), ("depth_m=true", "parameters.depth_m"), ("depth_m", "depth_m=6"),
     ("=6", "depth_m=6")],
)  # fmt: skip
def test_a_wrong_parameter_is_named(built: Run, given: str, named: str) -> None:
    """A value of another type than the schema says, and what is no NAME=VALUE, end with 2 and name it."""
    for command in (["rules", "infer", PIT], ["retrieve", PIT]):
        assert named in built(*command, "--param", given, code=2).stderr
    failed = built("rules", "infer", PIT, "--param", "depth_m=深", "--json", "--lang", "zh", code=2)
    assert document(failed)["error"]["faults"][0]["path"] == "parameters.depth_m"
    assert "应为有限的数" in failed.stderr


def test_parameters_are_read_by_their_look() -> None:
    """Numbers, true and false are such, also in full-width form; all else is text; a name stands once."""
    given = ["a=6", "b=-2.5", "c=TRUE", "d=软土", "ｅ＝６．５", "f=1e3", "g=1.2.3", "h=nan", "i= x ", "j=1_0"]
    assert parameters(Terminal(), given) == {
        "a": 6, "b": -2.5, "c": True, "d": "软土", "e": 6.5, "f": 1000.0, "g": "1.2.3", "h": "nan", "i": "x",
        "j": "1_0",
    }  # fmt: skip
    with pytest.raises(Exception, match=r"twice|重复"):
        parameters(Terminal(), ["a=1", "a=2"])


def test_unified_retrieval_marks_origins(run: Run, book: Path, tmp_path: Path) -> None:
    """Rules come before cases, each marked; unknown processes and engines that were not asked are told."""
    cases = tmp_path / "cases"
    cases.mkdir()
    (cases / "a.md").write_text("# 案例\n\n某项目深基坑开挖采用分层放坡，监测每日两次。\n", "utf-8")
    run("add", cases, "--source", "cases")
    before = run("retrieve", PIT).stdout
    assert "rules: not configured" in before
    run("rules", "import", book)
    env = {"WENYUAN_RULES__CASE_THRESHOLD": "0.1"}
    shown = run("retrieve", f"{PIT} 监测", "--process", PIT, "--process", "量子挖掘", "--explain", **env).stdout
    assert shown.index("[rule]") < shown.index("[case]")
    assert "Not in the rules graph: 量子挖掘" in shown
    assert "第一条" in shown
    assert "规则: not" not in shown
    found = document(run("retrieve", PIT, "--chapter", "ch01", "--json", **env))
    assert (found["regulations"], [i["source"] for i in found["items"]]) == ([], ["vector"])
    assert "本章节不需要" in run("retrieve", PIT, "--chapter", "ch01", "--lang", "zh").stdout
    run("retrieve", " ", code=2)
    run("retrieve", PIT, "-k", "0", code=2)


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("no such node: '坍踏'; did you mean '坍塌'?", "没有这个对象：'坍踏'；您是否想写 '坍塌'？"),
        ("57 rules cut at 50", "57 条规则，只给出 50 条"),
        ("mandatory rules left out: 7", "未给出的强制规则 7 条"),
        ("trust is 9; it must be an integer from 1 to 5", "可信度为 9，应为 1 至 5 的整数"),
        ("weight is 'x'; it must be a number from 0 to 1", "weight 为 'x'，应为 0 至 1 的数"),
        ("the quote '甲' is not in urn:a", "引文 '甲' 不在 urn:a 中"),
        (
            "condition 'd >=': is no CEL: column 5: mismatched input '<EOF>'",
            "条件 'd >='：不是有效的条件表达式：第 5 列：此处不能出现 '<EOF>'",
        ),
        ("'d == x' compares a number with a text", "'d == x' 将 数 与 文字 相比较"),
        (
            "valid_until is '2024-01-01'; it must be no earlier than valid_from, 2025-01-01",
            "valid_until 为 '2024-01-01'，应为 不早于 valid_from（2025-01-01）",
        ),
        ("line 3: it has more than 1,000,000 nodes and edges", "第 3 行：节点与边超过 1,000,000 个"),
        (
            "two schemas contradict one another: kinds.hazard.labels.zh is '危险' here and '危害' there; "
            "limits are A here and B there",
            "两个模式互相矛盾：kinds.hazard.labels.zh 一处为 '危险'，另一处为 '危害'；limits 一处为 A，另一处为 B",
        ),
    ],
)
def test_what_rules_say_is_translated(english: str, chinese: str) -> None:
    """A known message about rules becomes Chinese with its values, and takes no other message's place."""
    assert translated(english) == chinese


def test_sources_that_only_rules_quote_read_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pack's sources have no path: what lies in the folder of the process does not become an article of law."""
    folder = tmp_path / "somewhere"
    folder.mkdir()
    (folder / "diary.md").write_text("# Diary\n\nNobody is to find this.", "utf-8")
    monkeypatch.chdir(folder)
    run("rules", "import", "construction")
    for command in ("ingest", "refresh"):
        done = run(command, "--all")
        assert "14 (" in done.stderr
        assert "construction_law" in done.stderr
        for language, said in (("en", "has no path"), ("zh", "没有路径")):
            assert said in run(command, "construction_law", "--lang", language, code=1).stderr
    listed = json.loads(run("source", "list", "--json").stdout)["sources"]
    assert {source["documents"] for source in listed} == {0}
    assert "by a source without a path" in run("add", folder, "--source", "fire_law", code=2).stderr


def test_a_measure_against_two_hazards_is_shown_under_both(tmp_path: Path) -> None:
    """For people what reads alike has its derivation; for machines both pairs stand there."""
    run = runner(tmp_path / "library")
    (tmp_path / "twice.yaml").write_text(TWICE, encoding="utf-8")
    run("rules", "import", tmp_path / "twice.yaml")
    shown = run("rules", "infer", PIT, "--lang", "zh").stdout
    assert shown.count("应设置临边防护") == 2
    assert "坍塌 —防范措施→ 临边防护" in shown and "坠落 —防范措施→ 临边防护" in shown
    items = json.loads(run("rules", "infer", PIT, "--json").stdout)["items"]
    pairs = {(i["metadata"]["subject"], i["metadata"]["name"]) for i in items}
    assert {("坍塌", "临边防护"), ("坠落", "临边防护")} < pairs


def test_sources_that_are_only_quoted_do_not_hide_ones_own(tmp_path: Path) -> None:
    """What a pack quotes and nobody took in is counted under the list of sources; ``--all`` and JSON name it."""
    world = {"WENYUAN_LIBRARY": str(tmp_path / "library"), "WENYUAN_ENCODER__KIND": "none", "LC_ALL": "C.UTF-8"}
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# 制度\n\n投诉应当答复。\n", "utf-8")

    def said(*args: object) -> str:
        done = CliRunner().invoke(app, [str(arg) for arg in args], env=world, prog_name="wenyuan")
        assert done.exit_code == 0, done.output
        return done.stdout

    said("init")
    said("add", docs, "--source", "mine")
    said("rules", "import", "construction")
    listed = json.loads(said("source", "list", "--json"))["sources"]
    lines = said("source", "list").strip().splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["mine"]
    assert lines[-1].startswith(f"{len(listed) - 1} sources more")
    assert len(said("source", "list", "--all").strip().splitlines()) > len(listed)
