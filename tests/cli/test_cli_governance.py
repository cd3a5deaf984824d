"""Governing a library by the command line: registry files, descriptions, agents, keys, refreshes, workers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from typer.testing import Result

import wenyuan
from command_line import HASHING, Run, runner
from wenyuan.core.records import KINDS
from wenyuan.i18n.translation import translated

CLI = Path(wenyuan.__file__).parent / "cli"
COMMANDS = ["apply", "refresh", "worker", "source set", "source export"]
COMMANDS += ["agent list", "agent show", "agent set", "agent remove", "key create", "key list", "key revoke"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command line in this process, on a library of its own that is made with the first call."""
    return runner(tmp_path / "library", **HASHING)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# 投诉\n\n客户投诉应在 24 小时内答复。\n")
    return folder


@pytest.fixture
def registry(tmp_path: Path, docs: Path) -> Path:
    file = tmp_path / "registry.yaml"
    file.write_text(
        "sources:\n"
        "  - source_id: crm_policy\n"
        "    title: 客户关系政策\n"
        "    path: ./docs\n"
        "    trust_level: 5\n"
        "    refresh_cycle: daily\n"
        "    tags: [投诉, crm]\n"
        "  - {source_id: gone, path: ./nowhere, refresh_cycle: PT6H}\n"
        "agents:\n"
        "  - {agent_id: support, knowledge_scope: [{domain: crm_policy, top_k: 3}]}\n",
        "utf-8",
    )
    return file


def document(done: Result) -> Any:
    return json.loads(done.stdout)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example_and_a_chinese_line(run: Run, command: str) -> None:
    """The help of each command shows how to call it, and says what it does in Chinese."""
    shown = run(*command.split(), "--help").stdout
    chinese = run(*command.split(), "--help", LC_ALL="zh_CN.UTF-8").stdout
    assert all(re.search(rf"^ +wenyuan {command}", one, re.MULTILINE) for one in (shown, chinese))
    assert re.search(r"[\u4e00-\u9fff]{4}", chinese)


# -- apply and export -------------------------------------------------------------------------------------


def test_a_registry_file_is_applied(run: Run, registry: Path) -> None:
    """What would change is shown first; applying it registers, and the second time nothing changes."""
    shown = run("apply", registry, "--dry-run").stdout
    assert "+ source crm_policy" in shown
    assert "+ agent support" in shown
    assert "nothing done: 3 added" in shown
    assert document(run("source", "list", "--json"))["sources"] == []
    assert "Applied: 3 added" in run("apply", registry).stdout
    again = document(run("apply", registry, "--json"))
    assert (again["added"], again["changed"], len(again["unchanged"])) == ([], [], 3)
    assert "新增 0，修改 0，未变 3" in run("apply", registry, "--lang", "zh").stdout


def test_a_difference_is_shown_field_by_field(run: Run, registry: Path) -> None:
    """Each field that differs is shown with both values, in text and as JSON."""
    run("apply", registry)
    registry.write_text(
        registry.read_text("utf-8").replace("trust_level: 5", "trust_level: 4").replace("[投诉, crm]", "[]")
    )
    shown = run("apply", registry, "--dry-run").stdout
    assert "~ source crm_policy" in shown
    assert "    trust_level: 5 → 4\n" in shown
    assert "    tags: 投诉, crm → –\n" in shown
    changed = document(run("apply", registry, "--json"))["changed"]
    assert changed[0] == {"kind": "source", "id": "crm_policy", "field": "trust_level", "old": 5, "new": 4}
    assert document(run("source", "show", "crm_policy", "--json"))["source"]["trust"] == 4


def test_what_the_file_does_not_name_goes_only_by_order(run: Run, registry: Path, docs: Path) -> None:
    """A source that is not in the file is left alone and said to be; `--prune` removes it."""
    run("add", docs, "--source", "other")
    assert "? source other  not in the file; left alone" in run("apply", registry).stdout
    assert document(run("apply", registry, "--json"))["missing"] == [{"kind": "source", "id": "other"}]
    assert "- source other  not in the file; removed" in run("apply", registry, "--prune", "--dry-run").stdout
    assert "other" in run("source", "list").stdout
    run("apply", registry, "--prune")
    assert "other" not in run("source", "list").stdout


@pytest.mark.parametrize("language", ["en", "zh"])
def test_faults_of_a_file_are_listed_with_their_lines(run: Run, registry: Path, language: str) -> None:
    """A wrong file ends with 2, changes nothing, and each fault is a line of its own in the caller's language."""
    text = registry.read_text("utf-8")
    registry.write_text(
        text.replace("trust_level: 5", "trust_level: 0\n    titel: x").replace("daily", "dialy"), "utf-8"
    )
    told = run("apply", registry, "--lang", language, code=2).stderr
    wanted = {
        "en": ["3 faults in the file", "line 5  sources[0].trust_level: trust is 0; it must be an integer from 1 to 5",
               "line 6  sources[0].titel: is no field of a source; did you mean 'title'?",
               "line 7  sources[0].refresh_cycle: 'dialy' is no refresh cycle; did you mean 'daily'?"],
        "zh": ["3 处错误", "第 5 行  sources[0].trust_level: 可信度为 0，应为 1 至 5 的整数",
               "第 6 行  sources[0].titel: 不是来源的字段；您是否想写 'title'？",
               "第 7 行  sources[0].refresh_cycle: 'dialy' 不是有效的更新周期；您是否想写 'daily'？"],
    }  # fmt: skip
    for line in wanted[language]:
        assert line in told
    failed = document(run("apply", registry, "--json", code=2))
    assert [(f["line"], f["path"]) for f in failed["error"]["faults"]] == [
        (5, "sources[0].trust_level"), (6, "sources[0].titel"), (7, "sources[0].refresh_cycle"),
    ]  # fmt: skip
    assert document(run("source", "list", "--json"))["sources"] == []


def test_a_missing_file_is_named(run: Run, tmp_path: Path) -> None:
    """A registry file that is not there is wrong usage, told with its name."""
    assert "cannot read" in run("apply", tmp_path / "none.yaml", code=2).stderr
    assert "无法读取" in run("apply", tmp_path / "none.yaml", "--lang", "zh", code=2).stderr


def test_an_exported_registry_changes_nothing(run: Run, registry: Path, tmp_path: Path) -> None:
    """What `source export` writes, to a file or to standard output, `apply` finds nothing in to change."""
    run("apply", registry)
    text = run("source", "export").stdout
    assert "客户关系政策" in text
    assert "Wrote 2 sources" in run("source", "export", tmp_path / "exported.yaml").stdout
    run("source", "export", tmp_path, code=1)
    assert (tmp_path / "exported.yaml").read_text("utf-8") == text
    assert document(run("source", "export", "--json"))["registry"] == text
    again = document(run("apply", tmp_path / "exported.yaml", "--prune", "--json"))
    assert (again["added"], again["changed"], again["missing"]) == ([], [], [])


# -- describing sources -----------------------------------------------------------------------------------


def test_a_source_is_added_with_its_governance(run: Run, docs: Path) -> None:
    """`add` takes cycle, owner, sensitivity, tags and status; `source show` shows them and when it was read."""
    more = ["--refresh-cycle", "每天", "--owner", "李四", "--sensitivity", "internal", "--tags", "投诉、crm"]
    run("add", docs, "--source", "p", *more, "--status", "现行")
    shown = document(run("source", "show", "p", "--json"))
    described = shown["source"]
    assert (described["refresh_cycle"], described["owner"], described["sensitivity"]) == ("每天", "李四", "internal")
    assert (described["tags"], described["status"]) == (["投诉", "crm"], "in_force")
    state = shown["state"]
    last, upcoming = (datetime.fromisoformat(state[name]) for name in ("last_success", "next_refresh"))
    assert (upcoming - last).total_seconds() == 86_400
    assert (state["reason"], state["stale_since"], state["failures_in_a_row"]) == ("", None, 0)
    text = run("source", "show", "p", "--lang", "zh").stdout
    for line in ("负责人: 李四", "标签: 投诉, crm", "状态: 有效", "更新周期: 每天", "上次更新成功: "):
        assert line in text
    assert max(map(cell_len, text.splitlines())) <= 80 + len(str(docs))


@pytest.mark.parametrize(
    ("option", "value", "english", "chinese"),
    [
        ("--refresh-cycle", "dialy", "did you mean 'daily'?", "不是有效的更新周期"),
        ("--sensitivity", "secret", "must be one of public", "应为以下之一"),
        ("--status", "drft", "did you mean 'draft'?", "不是有效状态"),
        ("--trust", "6", "from 1 to 5", "1 至 5"),
    ],
)
def test_a_wrong_description_is_explained(
    run: Run, docs: Path, option: str, value: str, english: str, chinese: str
) -> None:
    """`add` and `source set` refuse what no source can be, say what was meant, and change nothing."""
    assert english in run("add", docs, "--source", "p", option, value, code=2).stderr
    run("add", docs, "--source", "p")
    assert english in run("source", "set", "p", option, value, code=2).stderr
    assert chinese in run("source", "set", "p", option, value, "--lang", "zh", code=2).stderr
    assert document(run("source", "show", "p", "--json"))["source"]["trust"] == 3


def test_terms_that_say_nothing_are_refused(run: Run, docs: Path) -> None:
    """A copyright that names no terms is refused, with what to write instead."""
    assert "licence=… or holder=…" in run("add", docs, "--source", "p", "--copyright", "Spruce", code=2).stderr
    run("add", docs, "--source", "p", "--copyright", "摘录<=200")
    assert "is no copyright rule" in run("source", "set", "p", "--copyright", "Spruce", code=2).stderr


def test_a_source_is_described_anew(run: Run, docs: Path) -> None:
    """`source set` changes what it names and nothing else; an empty text takes a value away."""
    run("add", docs, "--source", "p", "--title", "甲", "--tags", "a,b", "--effective-until", "2030-01-01")
    changes = ["--trust", "5", "--title", "乙", "--effective-from", "2025年3月1日", "--status", "draft"]
    done = run("source", "set", "p", *changes)
    assert "changed title, trust_level, status, effective_from" in done.stdout
    run("source", "set", "p", "--tags", "", "--effective-until", "", "--refresh-cycle", "PT6H")
    shown = document(run("source", "show", "p", "--json"))["source"]
    assert (shown["title"], shown["trust"], shown["status"]) == ("乙", 5, "draft")
    assert (shown["tags"], shown["effective_from"], shown["effective_until"]) == ([], "2025-03-01", None)
    assert (shown["refresh_cycle"], shown["documents"]) == ("PT6H", 1)
    assert document(run("source", "set", "p", "--trust", "5", "--json"))["changed"] == []
    run("source", "set", "p", code=2)
    run("source", "set", "nobody", "--trust", "5", code=2)


def test_a_loop_of_supersession_is_refused(run: Run, docs: Path) -> None:
    """`source set --supersedes` refuses the unknown and what would come back to the source."""
    run("add", docs, "--source", "new")
    run("add", docs, "--source", "old")
    run("source", "set", "new", "--supersedes", "old")
    failed = document(run("source", "set", "old", "--supersedes", "new", "--json", code=2))
    assert "supersedes itself: old → new → old" in failed["error"]["message"]
    assert "which is unknown" in run("source", "set", "old", "--supersedes", "nwe", code=2).stderr


# -- agents -----------------------------------------------------------------------------------------------


def test_agents_are_registered_listed_shown_and_removed(run: Run, docs: Path) -> None:
    """An agent keeps what a later `set` does not name; removing it revokes its keys."""
    run("add", docs, "--source", "crm_policy")
    assert "no agents yet" in run("agent", "list").stderr
    scope = ["--scope", "crm_policy:3", "--scope", "gb:2024:auto", "--scope", "faq"]
    made = run("agent", "set", "support", *scope, "--min-trust", "2")
    assert "gb:2024, faq" in made.stderr
    changed = document(run("agent", "set", "support", "--token-budget", "900", "--allow-low-trust", "--json"))[
        "agent"
    ]
    assert changed == {
        "agent_id": "support", "title": "", "min_trust": 2, "allow_low_trust": True, "token_budget": 900,
        "knowledge_scope": [{"domain": "crm_policy", "top_k": 3}, {"domain": "gb:2024", "top_k": "auto"},
                            {"domain": "faq", "top_k": 3}],
    }  # fmt: skip
    key = document(run("key", "create", "--agent", "support", "--rights", "search", "--json"))["key"]["key_id"]
    shown = run("agent", "show", "support", "--lang", "zh").stdout
    assert "知识范围: crm_policy:3, gb:2024:auto, faq:3" in shown
    assert f"密钥: {key}" in shown
    assert "support" in run("agent", "list").stdout
    assert document(run("agent", "remove", "support", "--json"))["keys_revoked"] == 1
    assert document(run("agent", "list", "--json"))["agents"] == []
    run("agent", "show", "support", code=2)


@pytest.mark.parametrize(
    "args",
    [
        ["set", "x"],
        ["set", "x", "--scope", "a:0"],
        ["set", "x", "--scope", "a:101"],
        ["set", "a b", "--scope", "a"],
        ["set", "x", "--scope", "a", "--scope", "a:2"],
        ["set", "x", "--scope", "a", "--min-trust", "6"],
        ["remove", "x"],
        ["show", "x"],
    ],
)
def test_what_no_agent_can_be_is_refused(run: Run, args: list[str]) -> None:
    """No scope, a wrong top_k, a wrong id, a domain twice, a wrong trust, and unknown agents end with 2."""
    told = run("agent", *args, code=2).stderr
    assert "Traceback" not in told
    assert "next: " in told


# -- keys -------------------------------------------------------------------------------------------------


def test_the_secret_of_a_key_is_shown_once(run: Run) -> None:
    """`key create` prints the secret and nothing else on standard output; no later command shows it."""
    done = run("key", "create", "--rights", "retrieve,search")
    token = done.stdout.strip()
    assert re.fullmatch(r"wy_[0-9a-f]{8}_\S{40,}", token)
    assert "not shown again" in done.stderr
    secret = token.split("_", 2)[2]  # which may have such a mark itself
    for shown in (run("key", "list"), run("key", "list", "--json")):
        assert secret not in shown.output
    (key,) = document(run("key", "list", "--json"))["keys"]
    assert (key["key_id"], key["agent_id"], key["state"]) == (token.split("_")[1], None, "valid")
    assert (key["rights"], key["expires_at"]) == (["retrieve", "search"], None)


@pytest.mark.parametrize(
    ("expires", "hours"), [("12h", 12), ("９０ｄ", 2160), ("4w", 672), ("2099-12-31", None), ("2099年12月31日", None)]
)
def test_a_key_can_end(run: Run, expires: str, hours: int | None) -> None:
    """A key ends after a span, or with the end of a day here."""
    made = document(run("key", "create", "--rights", "search", "--expires", expires, "--json"))
    end = datetime.fromisoformat(made["key"]["expires_at"])
    if hours is None:
        assert end == datetime(2100, 1, 1).astimezone()
    else:
        assert abs((end - datetime.now().astimezone()).total_seconds() - hours * 3_600) < 60


@pytest.mark.parametrize(
    ("args", "english", "chinese"),
    [
        (["--rights", "retreive,search"], "did you mean 'retrieve'?", "不是有效权限"),
        (["--rights", ","], "at least one right", "至少需要一项权限"),
        (["--rights", "search", "--expires", "0d"], "is over already", "已经过去"),
        (["--rights", "search", "--expires", "2020-01-01"], "is over already", "已经过去"),
        (["--rights", "search", "--expires", "soon"], "says no time", "不是有效期"),
        (["--rights", "search", "--expires", "2099-02-30"], "says no time", "不是有效期"),
        (["--rights", "search", "--agent", "nobody"], "there is no agent", "没有智能体"),
    ],
)
def test_what_no_key_can_be_is_refused(run: Run, args: list[str], english: str, chinese: str) -> None:
    """Unknown rights, no right, ends that are over or no time, and unknown agents end with 2; no key is made."""
    assert english in run("key", "create", *args, code=2).stderr
    assert chinese in run("key", "create", *args, "--lang", "zh", code=2).stderr
    assert "no keys yet" in run("key", "list").stderr


def test_a_key_is_revoked_for_good(run: Run) -> None:
    """A revoked key is listed as revoked; an unknown one ends with 2."""
    key = document(run("key", "create", "--rights", "admin", "--json"))["key"]["key_id"]
    run("key", "revoke", key)
    assert "已吊销" in run("key", "list", "--lang", "zh").stdout
    run("key", "revoke", "ffffffff", code=2)


def test_a_key_has_a_name(run: Run) -> None:
    """A key is listed by the name that it was made with; one that is no line of text is refused."""
    made = document(run("key", "create", "--rights", "search", "--name", " 客服  小王 ", "--json"))["key"]
    assert made["name"] == "客服 小王"
    assert "客服 小王" in run("key", "list").stdout
    assert (
        "最多 100 个字符"
        in run("key", "create", "--rights", "search", "--name", "长" * 101, "--lang", "zh", code=2).stderr
    )
    assert "control characters" in run("key", "create", "--rights", "search", "--name", "a\x1b[31m", code=2).stderr
    assert len(document(run("key", "list", "--json"))["keys"]) == 1


def test_times_are_of_here_and_say_their_zone(run: Run, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person reads has the clock of this machine with its zone, in every list; a document has ISO in UTC."""
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        run("add", docs, "--source", "crm")
        run("source", "set", "crm", "--refresh-cycle", "daily")
        run("refresh", "crm")
        run("key", "create", "--rights", "search", "--expires", "2099-12-31")
        assert "2100-01-01 00:00 UTC+8" in re.sub(r"\s+", " ", run("key", "list").stdout)
        assert document(run("key", "list", "--json"))["keys"][0]["expires_at"] == "2099-12-31T16:00:00+00:00"
        number = str(document(run("document", "list", "--json"))["documents"][0]["document_id"])
        for said in (
            run("source", "show", "crm"), run("audit", "list"), run("document", "show", number), run("refresh", "crm"),
        ):  # fmt: skip
            assert re.search(r"\d\d:\d\d(:\d\d)? UTC\+8", said.stdout), said.stdout
            assert not re.search(r"\d\dT\d\d:|\+00:00", said.stdout), said.stdout
        state = document(run("source", "show", "crm", "--json"))["state"]
        outcome = document(run("refresh", "crm", "--json"))["outcomes"][0]
        for at in (state["last_success"], outcome["next_refresh"]):
            assert at.endswith("+00:00"), at
    finally:
        monkeypatch.undo()
        time.tzset()


def test_tables_fit_on_80_columns(run: Run, docs: Path) -> None:
    """Lists of agents and keys are no wider than a terminal."""
    run(
        "agent",
        "set",
        "a" * 40,
        *(arg for n in range(12) for arg in ("--scope", f"domain_{n}:3")),
        "--title",
        "标题" * 30,
    )
    run("key", "create", "--agent", "a" * 40, "--rights", "retrieve,search,ingest,registry,audit,admin")
    for group in ("agent", "key"):
        for language in ("en", "zh"):
            lines = run(group, "list", "--lang", language).stdout.splitlines()
            assert max(map(cell_len, lines)) <= 80


# -- refresh and worker -----------------------------------------------------------------------------------


def test_due_sources_are_refreshed(run: Run, registry: Path) -> None:
    """`refresh --due` takes in what is due, tells what failed and when it is tried again, and ends with 1."""
    assert "no sources" in run("refresh", "--due").stderr
    run("apply", registry)
    done = run("refresh", "--due", code=1)
    assert "Source crm_policy: done" in done.stdout
    assert "Source gone: failed: there is no file or folder" in done.stderr
    assert "tried again: " in done.stderr
    assert "Nothing is due." in run("refresh", "--due").stderr
    shown = run("source", "show", "gone", "--lang", "zh").stdout
    assert re.search(r"失败原因: 文件或目录 \S+ 不存在", shown)
    assert "连续失败次数: 1" in shown


def test_a_source_is_refreshed_by_name(run: Run, registry: Path, docs: Path) -> None:
    """`refresh ID` does it now, due or not; a broken document makes exit code 3; the outcome is JSON."""
    run("apply", registry)
    first = document(run("refresh", "crm_policy", "--json"))["outcomes"][0]
    assert (first["source_id"], first["failure"], first["report"]["added"]) == ("crm_policy", "", 1)
    assert datetime.fromisoformat(first["next_refresh"])
    (docs / "blank.md").write_text(" \n")
    again = document(run("refresh", "crm_policy", "--json", code=3))["outcomes"][0]["report"]
    assert (again["unchanged"], len(again["failed"])) == (1, 1)
    failed = document(run("refresh", "gone", "--json", code=1))
    assert (failed["status"], failed["outcomes"][0]["report"]) == ("FAILED", None)
    everything = document(run("refresh", "--all", "--json", code=1))["outcomes"]
    assert [outcome["source_id"] for outcome in everything] == ["crm_policy", "gone"]
    for args in ([], ["crm_policy", "--all"], ["--all", "--due"], ["nobody"]):
        run("refresh", *args, code=2)


def test_reading_by_hand_counts_as_a_refresh(run: Run, registry: Path, docs: Path) -> None:
    """After `add` or `ingest` a source is not due; an `ingest` that fails is written down with its reason."""
    run("add", docs, "--source", "p", "--refresh-cycle", "daily")
    assert "Nothing is due." in run("refresh", "--due").stderr
    docs.rename(docs.with_name("moved"))
    run("ingest", "p", code=1)
    state = document(run("source", "show", "p", "--json"))["state"]
    assert "there is no file or folder" in state["reason"]
    assert (state["failures_in_a_row"], state["last_success"] is None) == (1, False)


def test_outside_sources_are_not_taken_in(run: Run, tmp_path: Path) -> None:
    """`ingest` of an api source is refused with the command that helps; `ingest --all` leaves it out."""
    file = tmp_path / "far.yaml"
    file.write_text("sources:\n  - {source_id: far, type: api, settings: {url: 'http://127.0.0.1:9/'}}\n")
    run("apply", file)
    assert "wenyuan refresh far" in run("ingest", "far", code=2).stderr
    assert document(run("ingest", "--all", "--json"))["reports"] == []
    assert "Source far: failed: " in run("refresh", "far", code=1).stderr


def test_a_worker_can_do_one_round(run: Run, registry: Path) -> None:
    """`worker --once` refreshes what is due and ends with 1 when something failed."""
    run("apply", registry)
    done = document(run("worker", "--once", "--json", code=1))
    assert (done["refreshed"], done["failed"], len(done["outcomes"])) == (1, 1, 2)
    again = document(run("worker", "--once", "--json"))
    assert (again["status"], again["outcomes"]) == ("SUCCESS", [])


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_works_until_it_is_told_to_stop(run: Run, registry: Path, number: int) -> None:
    """A worker refreshes what is due, then what becomes due, and ends with 0 soon after SIGTERM or Ctrl-C."""
    run("apply", registry)
    world = {**os.environ, **HASHING, "LC_ALL": "C.UTF-8", "PYTHONPATH": str(CLI.parents[1])}
    command = ["--library", registry.with_name("library"), "worker", "--poll", "0.1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "wenyuan.cli", *map(str, command)],
        env=world, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline().startswith("Source crm_policy: done")
    registry.write_text(registry.read_text("utf-8").replace("agents:", "  - {source_id: later, path: ./docs, refresh_cycle: daily}\nagents:"), "utf-8")  # fmt: skip
    run("apply", registry)
    while "later" not in (line := process.stdout.readline()):
        assert line
    os.killpg(process.pid, number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Stopped; 2 refreshed, 1 failed." in told
    assert "Source gone: failed" in told
    assert "Traceback" not in told


@pytest.mark.slow
@pytest.mark.parametrize("command", ["refresh", "ingest"])
def test_a_reading_that_is_terminated_leaves_no_claim(run: Run, registry: Path, tmp_path: Path, command: str) -> None:
    """SIGTERM ends a refresh or an ingest as Ctrl-C does: it is told, and the next one may begin at once."""
    many = tmp_path / "many"
    many.mkdir()
    for number in range(1_500):
        (many / f"{number}.md").write_text(f"# {number}\n\n" + f"第{number}号窗口负责投诉。" * 40, "utf-8")
    registry.write_text("sources:\n  - {source_id: many, path: ./many}\n", "utf-8")
    run("apply", registry)
    world = {**os.environ, **HASHING, "LC_ALL": "C.UTF-8", "PYTHONPATH": str(CLI.parents[1])}
    process = subprocess.Popen(
        [sys.executable, "-m", "wenyuan.cli", "--library", registry.with_name("library"), command, "many"],
        env=world, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stderr
    assert "/1500, " in process.stderr.readline().replace("1,500", "1500")
    os.killpg(process.pid, signal.SIGTERM)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted." in told
    assert "Traceback" not in told
    with wenyuan.open(registry.with_name("library"), encoder={"kind": "hashing"}) as library:
        state = library.catalog.source_states().get("many")
        assert state is None or not state.held_by(time.time())
        assert library.catalog.counts()["documents"] < 1_500


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("trust_level: trust is 9; it must be an integer from 1 to 5", "trust_level：可信度为 9，应为 1 至 5 的整数"),
        ("status: 'x' is no status; write in_force, draft or retired",
         "status：'x' 不是有效状态；请写 in_force、draft 或 retired"),
        ("supersedes 'a', which is unknown; did you mean 'b'?", "取代了未知的来源 'a'；您是否想写 'b'？"),
        ("the source 'a' is being refreshed by w", "来源 'a' 正由 w 更新"),
    ],
)  # fmt: skip
def test_the_librarys_own_messages_are_translated(english: str, chinese: str) -> None:
    """What a description or a refresh is refused for is said in Chinese, with its place."""
    assert translated(english) == chinese


def test_the_help_names_every_kind_of_record(run: Run) -> None:
    """Whoever looks for evaluations or tunings in the audit learns that they are there."""
    shown = run("audit", "list", "--help").stdout
    assert [kind for kind in KINDS if not re.search(rf"\W{kind}[,.]", shown)] == []
