"""The command line, run for real on temporary libraries: what it says, in which language, and its exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from command_line import HASHING, run
from wenyuan.cli.terminal import language_here
from wenyuan.cli.wrapping import cells
from wenyuan.i18n.translation import texts, translated
from wenyuan.runtime.installation import upgrade_command

CLI = Path(wenyuan.__file__).parent / "cli"
DOCUMENTS = CLI / "demo" / "documents"
POLICY, HANDBOOK = DOCUMENTS / "zh" / "policy", DOCUMENTS / "en" / "handbook"
COMMANDS = ["init", "add", "ingest", "search", "serve", "conformance", "eval", "doctor", "demo"]
COMMANDS += ["tune", "feedback", "source list", "source show", "source remove"]

PATIENT = {
    "WENYUAN_SEARCH__DEADLINE": "60"
}  # on a busy machine even the nonsense that the floor is measured with is slow


def start(*args: object, **env: str) -> subprocess.Popen[str]:
    """The command line as a process of its own."""
    world = {**os.environ, **HASHING, "LC_ALL": "C.UTF-8", "PYTHONPATH": str(CLI.parents[1]), **env}
    # Whoever is started in the background of a script hands on that Ctrl-C is ignored.
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(
        [sys.executable, "-m", "wenyuan.cli", *map(str, args)],
        preexec_fn=heard,  # noqa: PLW1509
        env=world,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with two sources, only read by tests."""
    folder = tmp_path_factory.mktemp("stocked") / "library"
    assert run("init", "--library", folder).exit_code == 0
    for source, trust in ((POLICY, 5), (HANDBOOK, 4)):
        done = run("--library", folder, "add", source, "--source", source.name, "--trust", trust)
        assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    assert run("init", "--library", folder).exit_code == 0
    return folder


# -- help and start ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example(command: str) -> None:
    """The help of each command shows how to call it, on lines of their own, and says what it does in either language."""
    for language, chinese in (("en", False), ("zh", True)):
        shown = run(*command.split(), "--help", LC_ALL=f"{language}_XX.UTF-8").stdout
        assert re.search(rf"^ +wenyuan {command}", shown, re.MULTILINE)
        assert bool(re.search(r"[\u4e00-\u9fff]{4}", shown)) is chinese


def test_the_help_documents_the_exit_codes() -> None:
    """`wenyuan --help` lists each exit code with its meaning."""
    shown = run("--help").stdout
    for code in (0, 1, 2, 3, 4, 130):
        assert re.search(rf"^ +{code}  \w", shown, re.MULTILINE)


def test_starting_loads_no_driver() -> None:
    """`--help` imports neither numpy nor pydantic, neither a database nor a web library, nor rich."""
    code = (
        "import sys; from wenyuan.cli import main\n"
        "sys.argv = ['wenyuan', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sorted({m.partition('.')[0] for m in sys.modules}), file=sys.stderr)"
    )
    env = {**os.environ, "PYTHONPATH": str(CLI.parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    heavy = {"numpy", "pydantic", "sqlalchemy", "fastapi", "starlette", "uvicorn", "tantivy", "faiss", "onnxruntime"}
    assert not heavy.union({"rich", "httpx2"}).intersection(done.stderr.split())
    assert "Commands:" in done.stdout


def test_the_version_is_the_packages() -> None:
    """`--version` says the version and nothing else."""
    assert run("--version").stdout == f"wenyuan {wenyuan.__version__}\n"


# -- languages --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "en_GB.UTF-8"}, "en"),
        ({"LC_MESSAGES": "zh_TW.UTF-8", "LANG": "C"}, "zh"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_locale_decides_the_language(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], language: str
) -> None:
    """LC_ALL comes before LC_MESSAGES, that before LANG; what is not Chinese is answered in English."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert language_here() == language


def test_every_message_is_used() -> None:
    """The catalogue holds no message that nothing says."""
    code = "\n".join(file.read_text("utf-8") for file in CLI.rglob("*.py") if file.parent.name != "messages")
    families = (
        "mode_",
        "part_",
        "state_",
        "check_",
        "d_",
        "doctor_",
        "col_",
        "audit_",
        "did_",
        "history_",
        "gap_",
        "impact_",
        "detail_",
        "review_failed_",
        "conflict_",
        "verify_disputed_",
        "readers_of_",
        "withheld_",
        "where_",
        "type_",
        "sensitivity_",
        "refresh_cycle_",
        "query_",
        "cause_",
        "verdict_",
        "document_",
        "words_",
        "kept_from_",
        "judge_",
        "follow_up_",
        "propose_",
        "left_out_",
        "rewrite_left_",
        "left_out_",
        "correction_",
        "uploaded_",
        "leg_",
        "connect_",
        "tune_",
        "eval_",
        "move_",
        "reembed_",
        "encoder_",
        "confidence_",
        "found_",
        "erasure_",
        "place_",
        "field_",
        "outcome_",
    )
    described = ("title type domain trust language collection copyright path effective_from effective_until "
                 "documents passages vectors failures source_id keyword vector ok").split()  # fmt: skip
    described.append("not configured")
    unused = [
        key
        for key in texts("command_line", "en")
        if not any(f"{mark}{key}{mark}" in code for mark in "\"'")
        and not key.startswith(families)
        and key not in described
    ]
    assert not unused


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("there is no library in /a b/c", "/a b/c 中没有知识库"),
        ("a.zip: entry 'big.txt' unpacks to more than 100 times its size: a decompression bomb",
         "a.zip：条目 'big.txt' 解压后超过其大小的 100 倍，疑为解压炸弹"),
        ("catalog closed the door", "catalog closed the door"),
        ("the best passage scores 0.101, below the floor 0.200 that is set",
         "得分最高的段落只有 0.101，低于设定的门槛 0.200"),
        ("trust is 9; it must be an integer from 1 to 5", "可信度为 9，应为 1 至 5 的整数"),
        ("""--filter '{"language": "zh", "metadata.year": {"ge": 2024}}'""",
         """--filter '{"language": "zh", "metadata.year": {"ge": 2024}}'"""),
        ("query must not be blank; max_results must be from 1 to 100", "问题不能为空；结果数应为 1 至 100"),
    ],
)  # fmt: skip
def test_the_librarys_own_messages_are_translated(english: str, chinese: str) -> None:
    """A known message becomes Chinese with its values; an unknown one stays as it is."""
    assert translated(english) == chinese


# -- what comes in ----------------------------------------------------------------------------------------


def test_a_library_is_made_once(tmp_path: Path) -> None:
    """`init` makes a library; a second time it refuses, and says what to do."""
    folder = tmp_path / "a" / "b"
    first = run("init", "--library", folder)
    assert (first.exit_code, (folder / "catalog.db").exists()) == (0, True)
    again = run("init", "--library", folder)
    assert again.exit_code == 1
    assert "there is a library in" in again.stderr
    assert "choose another folder" in again.stderr


def test_the_environment_names_the_library(empty: Path) -> None:
    """Without `--library`, WENYUAN_LIBRARY says where it is; the option comes first."""
    assert run("source", "list", WENYUAN_LIBRARY=str(empty)).exit_code == 0
    assert run("source", "list", "--library", empty, WENYUAN_LIBRARY="/nowhere").exit_code == 0
    assert run("source", "list", WENYUAN_LIBRARY="/nowhere").exit_code == 1


def test_what_was_added_is_reported(empty: Path) -> None:
    """The report counts documents and passages; a second run finds nothing to do."""
    args = ("--library", empty, "add", POLICY, "--source", "policy")
    first = run(*args, "--json")
    report = json.loads(first.stdout)["report"]
    assert (first.exit_code, report["added"], report["failed"]) == (0, 2, {})
    assert report["passages"] == report["embedded"] > 30
    again = json.loads(run(*args, "--json").stdout)["report"]
    assert (again["added"], again["unchanged"], again["embedded"]) == (0, 2, 0)
    assert "新增 0，更新 0，未变 2" in run(*args, "--lang", "zh").stdout


def test_some_failed_documents_make_exit_code_3(empty: Path, tmp_path: Path) -> None:
    """A broken file among good ones is named with its reason; skipped kinds are counted; the rest is kept."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "good.md").write_text("# Fire doors\n\nFire doors stay closed.\n")
    (folder / "blank.txt").write_text(" \n")
    (folder / "film.mp4").write_bytes(b"\0")
    done = run("--library", empty, "add", folder, "--source", "mixed")
    assert done.exit_code == 3
    assert re.search(r"blank\.txt: it holds no text", done.stdout)
    assert "1 × .mp4" in done.stdout
    assert "文件中没有文字" in run("--library", empty, "ingest", "mixed", "--lang", "zh").stdout
    shown = run("--library", empty, "source", "show", "mixed", "--json")
    assert list(json.loads(shown.stdout)["failed"].values()) == ["blank.txt: it holds no text"]


@pytest.mark.parametrize("count", [3, 14])
def test_many_failures_are_not_all_listed(empty: Path, tmp_path: Path, count: int) -> None:
    """Ten failed documents are named; of more, the number is given."""
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / "good.md").write_text("Fire doors stay closed.\n")
    for number in range(count):
        (folder / f"blank{number}.txt").write_text("\n")
    shown = run("--library", empty, "add", folder, "--source", "bad", **PATIENT).stdout
    assert len(re.findall(r"blank\d+\.txt:", shown)) == min(count, 10)
    assert ("and 4 more" in shown) == (count == 14)


def test_one_source_that_is_gone_does_not_stop_the_others(empty: Path, tmp_path: Path) -> None:
    """`ingest --all` goes on after a source that cannot be read, names it, and ends with 1."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.md").write_text(f"Text of {name}.\n")
        assert run("--library", empty, "add", tmp_path / name, "--source", name).exit_code == 0
    (tmp_path / "a" / "x.md").unlink()
    (tmp_path / "b" / "x.md").write_text("Another text.\n")
    done = run("--library", empty, "ingest", "--all", "--json")
    document = json.loads(done.stdout)
    assert (done.exit_code, list(document["errors"]), document["status"]) == (1, ["a"], "FAILED")
    assert [(r["source_id"], r["changed"]) for r in document["reports"]] == [("b", 1)]
    assert "nothing to read" in done.stderr


# -- wrong input ------------------------------------------------------------------------------------------


@pytest.fixture
def hollow(tmp_path: Path) -> Path:
    """A folder without a readable file; beside it a conversation."""
    (tmp_path / "talk.json").write_text('[{"role": "user", "text": "x"}]')
    (tmp_path / "hollow").mkdir()
    (tmp_path / "hollow" / "film.mp4").write_bytes(b"\0")
    return tmp_path / "hollow"


WRONG: dict[str, tuple[list[str], int, str, str]] = {
    "no such path": (["add", "/no/such/path", "--source", "x"], 1, "there is no file or folder", "不存在"),
    "nothing to read": (["add", "HOLLOW", "--source", "x"], 1, "nothing to read", "没有可读的文件"),
    "taken id": (["add", "HOLLOW", "--source", "policy"], 2, "is taken", "已被占用"),
    "invalid id": (["add", "HOLLOW", "--source", "a/b"], 2, "is no source id", "不是有效的来源标识"),
    "trust 9": (["add", "HOLLOW", "--source", "x", "--trust", "9"], 2, "from 1 to 5", "1 至 5"),
    "unknown source": (["ingest", "polcy"], 2, "there is no source 'polcy'", "没有来源 'polcy'"),
    "unknown source in search": (["search", "x", "--source", "polcy"], 2, "no source 'polcy'", "没有来源"),
    "removing an unknown source": (["source", "remove", "polcy"], 2, "no source 'polcy'", "没有来源"),
    "filter that is no JSON": (
        ["search", "x", "--filter", "{a"],
        2,
        "the filter is not JSON: error at line 1",
        "不是 JSON：第 1 行第 2 列有误",
    ),
    "filter too deep": (["search", "x", "--filter", "[" * 9_000], 2, "nested deeper than 32", "嵌套超过 32 层"),
    "filter with a key twice": (
        ["search", "x", "--filter", '{"language": "zh", "language": "en"}'],
        2,
        "the filter: language must occur only once",
        "过滤条件：language 在其对象中只能出现一次",
    ),
    "filter with half a character": (
        ["search", "x", "--filter", r'{"language": "\ud800"}'],
        2,
        "half of a surrogate pair",
        "半个代理对",
    ),
    "filter of broken bytes": (["search", "x", "--filter", '{"language": "\udcff"}'], 2, "not UTF-8", "UTF-8"),
    "filter on an unknown field": (["search", "x", "--filter", '{"x": 1}'], 2, "no such filter field", "过滤字段"),
    "blank query": (["search", "  "], 2, "must not be blank", "不能为空"),
    "too many results": (["search", "x", "-k", "101"], 2, "from 1 to 100", "1 至 100"),
    "talk for nothing": (["search", "x", "--history", "TALK"], 2, "only where rewrite is true", "rewrite 为 true"),
}


def _in_place(args: list[str], hollow: Path) -> list[str]:
    """Arguments with the paths of what they name."""
    paths = {"HOLLOW": hollow, "TALK": hollow.parent / "talk.json"}
    return [str(paths.get(arg, arg)) for arg in args]


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_wrong_input_is_explained(stocked: Path, hollow: Path, case: str, language: str) -> None:
    """Each wrong input ends with its exit code, a reason in the caller's language, and what to do next."""
    args, code, english, chinese = WRONG[case]
    done = run("--library", stocked, *_in_place(args, hollow), "--lang", language)
    assert done.exit_code == code, done.output
    assert done.stdout == ""
    assert (english if language == "en" else chinese) in done.stderr
    assert ("next: " if language == "en" else "下一步：") in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "command"),
    [
        (["search", "x", "-k", "0"], "wenyuan search -h"),
        (["source", "set", "policy", "--trust", "6"], "wenyuan source set -h"),
    ],
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_refused_request_leads_to_the_commands_own_help(
    stocked: Path, args: list[str], command: str, language: str
) -> None:
    """Where only what was typed is wrong, the next step is the help of that command, which exists."""
    done = run("--library", stocked, *args, "--lang", language)
    following = done.stderr.strip().splitlines()[-1]
    assert (done.exit_code, following.endswith(command)) == (2, True), done.stderr
    assert run(*command.split()[1:]).exit_code == 0


@pytest.mark.parametrize("case", WRONG)
def test_an_error_as_json_is_one_document(stocked: Path, hollow: Path, case: str) -> None:
    """With `--json` a failure is one JSON document on standard output: code, message, hint."""
    args, code, english, _ = WRONG[case]
    done = run("--library", stocked, *_in_place(args, hollow), "--json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["status"]) == (code, "FAILED")
    assert english in document["error"]["message"]
    assert document["error"]["hint"]


@pytest.mark.parametrize(
    "args",
    [
        ["search"],
        ["search", "x", "--as-of", "yesterday"],
        ["search", "x", "-k", "three"],
        ["ingest"],
        ["ingest", "policy", "--all"],
        ["conformance"],
        ["conformance", "http://127.0.0.1:1", "--self"],
        ["serch", "x"],
        ["--lang", "fr", "search", "x"],
    ],
)
def test_wrong_usage_ends_with_2(stocked: Path, args: list[str]) -> None:
    """What the parser refuses ends with 2 and says so on standard error."""
    done = run("--library", stocked, *args)
    assert (done.exit_code, done.stdout) == (2, "")
    assert re.search(r"^  next:  wenyuan( [a-z]+)? -h$", done.stderr, re.MULTILINE)


@pytest.mark.parametrize("command", [["search", "x"], ["ingest", "--all"], ["source", "list"], ["serve"]])
def test_a_missing_library_is_told_how_to_be_made(tmp_path: Path, command: list[str]) -> None:
    """Without a library every command fails with 1 and names `init`."""
    done = run("--library", tmp_path / "none", *command)
    assert done.exit_code == 1
    assert "init" in done.stderr
    assert not (tmp_path / "none").exists()


def test_a_library_of_a_newer_version_is_refused(empty: Path) -> None:
    """A library in a format of the future is left alone; the next step is to upgrade."""
    with sqlite3.connect(empty / "catalog.db") as connection:
        connection.execute("UPDATE library SET value = '99' WHERE key = 'schema'")
    connection.close()
    done = run("--library", empty, "search", "x", "--lang", "zh")
    assert done.exit_code == 1
    assert "知识库格式为 99" in done.stderr
    assert upgrade_command() in done.stderr


def test_another_encoder_is_refused(stocked: Path) -> None:
    """A library is not searched with another encoder than it was built with."""
    done = run("--library", stocked, "search", "x", WENYUAN_ENCODER__DIMENSION="64")
    assert done.exit_code == 1
    assert "cannot be compared" in done.stderr


def test_a_wrong_setting_is_named(stocked: Path) -> None:
    """A setting that does not exist is an error with a near miss, not ignored."""
    done = run("--library", stocked, "search", "x", WENYUAN_ENCODER__KIND="hasing")
    assert done.exit_code == 1
    assert "encoder.kind" in done.stderr


def test_what_nobody_expected_is_no_traceback(empty: Path) -> None:
    """An operating system's error becomes a message with the file's name."""
    (empty / "index").rename(empty / "moved")
    (empty / "index").write_text("a file where a folder should be")
    done = run("--library", empty, "search", "x")
    assert done.exit_code == 1
    assert "Traceback" not in done.output
    assert str(empty) in done.stderr


def test_a_terminal_is_sent_no_control_characters(stocked: Path) -> None:
    """What a caller or a file name says cannot steer the terminal."""
    done = run("--library", stocked, "add", "/no/\x1b[31mred", "--source", "x")
    assert done.exit_code == 1
    assert "\x1b[31m" not in done.stderr


# -- search -----------------------------------------------------------------------------------------------


def search(folder: Path, *args: object, **env: str) -> dict[str, Any]:
    done = run("--library", folder, "search", *args, "--json", **env)
    assert done.exit_code == 0, done.output
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_the_answer_as_json_is_the_librarys(stocked: Path) -> None:
    """The JSON document holds the fragments that the library answers, in its order, with their evidence."""
    found = search(stocked, "carry unused leave over", "-k", 3)
    with wenyuan.open(stocked, encoder={"kind": "hashing"}) as library:
        answer = library.search("carry unused leave over", limit=3)
    assert found["status"] == "SUCCESS"
    assert [f["retrieval_score"] for f in found["fragments"]] == [hit.score for hit in answer.hits]
    first = found["fragments"][0]
    assert first["source"].endswith("handbook.en.md#22-carrying-leave-over")
    assert first["metadata"]["effective_from"] == "2025-01-01"
    assert first["metadata"]["trust"] == 4


def test_an_answer_fits_on_80_columns(stocked: Path) -> None:
    """No line but a source's URI is wider than 80 columns, and the URI is whole."""
    done = run("--library", stocked, "search", "投诉 complaint 答复 leave", "-k", 8, "--explain", "--lang", "zh")
    lines = done.stdout.splitlines()
    uris = [line.strip() for line in lines if "file://" in line]
    assert len(uris) == 8
    assert uris == [f["source"] for f in search(stocked, "投诉 complaint 答复 leave", "-k", 8)["fragments"]]
    narrow = [line for line in lines if "file://" not in line]
    assert max(map(cells, narrow)) <= 80
    assert not any(line != line.rstrip() for line in narrow)


def test_an_answer_shows_what_a_person_checks(stocked: Path) -> None:
    """Rank, bar, score, trust, heading path, validity and the marked words are shown."""
    shown = run("--library", stocked, "search", "投訴分幾級", "-k", 1).stdout
    assert re.search(r"^ 1  █+░* 0\.\d\d  ★★★★★  policy$", shown, re.MULTILINE)
    assert "    客户投诉处理办法 › 第三章 分级与时限 › 第八条\n" in shown
    assert "    in force since 2025-03-01\n" in shown
    assert "*投诉*" in shown


def test_explained_parts_add_up(stocked: Path) -> None:
    """`--explain` shows each score as a sum, and the legs with their times."""
    shown = run("--library", stocked, "search", "overtime", "-k", 1, "--explain", "--lang", "zh").stdout
    parts = re.search(r"= ([\d.]+)·向量 ([\d.]+) \+ ([\d.]+)·关键词 ([\d.]+) = ([\d.]+)", shown)
    assert parts
    weight, vector, rest, keyword, total = map(float, parts.groups())
    assert weight + rest == pytest.approx(1.0)
    assert weight * vector + rest * keyword == pytest.approx(total, abs=0.01)  # the weight is shown to two places
    formula = next(line for line in shown.splitlines() if line.startswith("    = "))
    assert not re.search("[a-z]{2,}", formula)  # each part has its Chinese name
    assert re.search(r"关键词分支：正常，命中 \d+，[\d.]+ 毫秒", shown)


def test_colours_are_for_terminals_only(stocked: Path) -> None:
    """A pipe gets plain text; a terminal gets colours instead of asterisks."""
    assert "\x1b" not in run("--library", stocked, "search", "overtime").stdout
    shown = run("--library", stocked, "search", "overtime", FORCE_COLOR="1", TERM="xterm").stdout
    assert "\x1b[1;33mOvertime" in shown


@pytest.mark.parametrize(("language", "reason"), [("en", "Reason: "), ("zh", "原因：")])
def test_to_find_nothing_is_done_and_has_a_reason(stocked: Path, language: str, reason: str) -> None:
    """An empty answer ends with 0 and says why it is empty."""
    done = run("--library", stocked, "search", "xqvz xqvz xqvz xqvz", "--lang", language)
    assert done.exit_code == 0
    assert reason in done.stdout
    found = search(stocked, "xqvz xqvz xqvz xqvz")
    assert (found["status"], found["fragments"]) == ("SUCCESS", [])
    assert found["reason"]


def test_a_search_can_be_narrowed(stocked: Path) -> None:
    """`--source`, `--filter` and `--as-of` narrow what is found."""
    names = {f["metadata"]["source_id"] for f in search(stocked, "complaint leave 投诉", "-k", 50)["fragments"]}
    assert names == {"policy", "handbook"}
    only = search(stocked, "complaint leave 投诉", "-k", 50, "--source", "policy")["fragments"]
    assert {f["metadata"]["source_id"] for f in only} == {"policy"}
    english = search(stocked, "complaint leave 投诉", "-k", 50, "--filter", '{"language": "en"}')["fragments"]
    assert {f["metadata"]["language"] for f in english} == {"en"}
    before = search(stocked, "投诉答复时限", "-k", 50, "--as-of", "2025-02-01")["fragments"]
    assert not any("complaints" in f["source"] for f in before)


def test_keyword_only_is_said(tmp_path: Path) -> None:
    """A library without an encoder says so when it is made, filled and searched."""
    folder, none = tmp_path / "library", {"WENYUAN_ENCODER__KIND": "none"}
    assert "Keyword-only" in run("init", "--library", folder, **none).stderr
    added = run("--library", folder, "add", POLICY, "--source", "p", "--lang", "zh", **none)
    assert "仅关键词检索：按设置仅用关键词检索" in added.stderr
    assert "keyword-only" in run("--library", folder, "search", "投诉", **none).stdout
    assert search(folder, "投诉", **none)["mode"] == "keyword-only"


# -- sources ----------------------------------------------------------------------------------------------


def test_sources_are_listed_shown_and_removed(empty: Path) -> None:
    """A source's description is kept; once removed it is gone from the list and from the answers."""
    described = ["--title", "公司制度", "--trust", "5", "--copyright", "© Spruce", "--effective-from", "2025-01-01"]
    assert run("--library", empty, "add", POLICY, "--source", "p", *described).exit_code == 0
    listed = json.loads(run("--library", empty, "source", "list", "--json").stdout)["sources"]
    assert [(s["source_id"], s["title"], s["documents"]) for s in listed] == [("p", "公司制度", 2)]
    assert "★★★★★" in run("--library", empty, "source", "list").stdout
    shown = run("--library", empty, "source", "show", "p", "--lang", "zh").stdout
    assert "生效日期: 2025-01-01" in shown
    assert "版权: © Spruce" in shown
    removed = run("--library", empty, "source", "remove", "p", "--yes", "--json")
    assert json.loads(removed.stdout)["documents"] == 2
    assert "no sources yet" in run("--library", empty, "source", "list").stderr
    assert search(empty, "投诉")["fragments"] == []


# -- doctor -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("language", "told"), [("en", "may hide that it is dead"), ("zh", "可能掩盖编码器故障")])
def test_the_doctor_names_what_may_hide_a_dead_encoder(stocked: Path, language: str, told: str) -> None:
    """With query vectors remembered the line of the encoder says so; by default it does not."""
    asked = ("--library", stocked, "doctor", "--lang", language, "--json")
    assert told not in run(*asked).stdout
    shown = json.loads(run(*asked, WENYUAN_SEARCH__QUERY_VECTORS="7").stdout)
    assert [told in check["detail"] for check in shown["checks"] if check["name"] == "encoder"] == [True]


def test_the_doctor_looks_at_everything(stocked: Path) -> None:
    """A sound library passes; versions, counts, fingerprint, floor, origins and sizes are told."""
    done = run("--library", stocked, "doctor", "--json")
    document = json.loads(done.stdout)
    found = {check["name"]: check for check in document["checks"]}
    assert (done.exit_code, document["status"]) == (0, "ok")
    assert found["content"]["more"]["documents"] == 4
    assert found["encoder"]["more"]["fingerprint"].startswith("hashing|")
    assert found["settings"]["more"]["origins"] == ["WENYUAN_ENCODER__KIND", "WENYUAN_SEARCH__DEADLINE"]
    assert found["packages"]["more"]["versions"]["tantivy"]
    assert found["disk"]["more"]["catalog"] > 0
    assert found["ocr"]["more"]["version"].startswith("ppocr-v6-")
    assert found["floor"]["state"] == "ok"
    assert "一切正常" in run("--library", stocked, "doctor", "--lang", "zh").stdout


def test_the_doctor_names_the_command_that_helps(tmp_path: Path, empty: Path) -> None:
    """No library fails with 1 and `init`; an empty one is a remark with `add`."""
    none = run("--library", tmp_path / "none", "doctor")
    assert none.exit_code == 1
    assert re.search(r"FAIL  library: there is no library in .*\n +next: +wenyuan --library .* init", none.stdout)
    bare = run("--library", empty, "doctor")
    assert bare.exit_code == 0
    assert re.search(r"warn  content: no documents yet\n +next: +wenyuan add", bare.stdout)


def test_the_doctor_finds_a_damaged_catalog(empty: Path) -> None:
    """A catalog that is no database any more is a failed check, not a crash."""
    for file in empty.glob("catalog.db*"):
        file.write_bytes(b"no database at all" * 400)
    done = run("--library", empty, "doctor", "--json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["status"]) == (1, "fail")
    assert [check["name"] for check in document["checks"] if check["state"] == "fail"] == ["library"]


def test_the_doctor_finds_an_emptied_catalog(empty: Path) -> None:
    """A library cut to nothing is a failed check, and a question to it fails, in both languages."""
    (empty / "catalog.db").write_bytes(b"")
    done = run("--library", empty, "doctor")
    assert done.exit_code == 1
    assert re.search(r"FAIL  library: the library in .* was emptied", done.stdout)
    asked = run("--library", empty, "search", "notice", "--lang", "zh")
    assert asked.exit_code == 1
    assert "已被清空" in asked.stderr


def test_the_doctor_does_not_show_secrets(stocked: Path) -> None:
    """Of a setting from the environment only the name is shown."""
    done = run("--library", stocked, "doctor", "--json", WENYUAN_ENCODER__KEY="s3cret-value")
    assert "WENYUAN_ENCODER__KEY" in done.stdout
    assert "s3cret-value" not in done.output


# -- conformance, serve, eval -----------------------------------------------------------------------------


@pytest.mark.parametrize(("engine", "encoder"), [("local", "hashing"), ("memory", "hashing"), ("local", "none")])
def test_our_own_service_is_conformant(engine: str, encoder: str) -> None:
    """All eleven cases pass over HTTP on both engines, with and without vectors, with faults that happen."""
    done = run("conformance", "--self", "--engine", engine, "--json", WENYUAN_ENCODER__KIND=encoder)
    document = json.loads(done.stdout)
    assert (done.exit_code, document["passed"], document["failed"]) == (0, 11, 0)
    failure = next(case for case in document["cases"] if case["id"] == "TC-DP3-06")
    assert f"engine {engine}: made to fail" in failure["detail"]
    assert all(case["passed"] for case in document["extra"])


def test_a_service_that_hides_its_failures_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python object that is not conformant ends with 4; the JUnit file names the case."""
    (tmp_path / "masking_service.py").write_text(
        "class Masking:\n"
        "    accepts = 'dict'\n"
        "    def retrieve_fragments(self, request):\n"
        "        return {'status': 'SUCCESS', 'fragments': []}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    junit = tmp_path / "report.xml"
    args = ("conformance", "--python", "masking_service:Masking", "--fault-env", "BROKEN=1", "--junit", junit)
    done = run(*args, "--lang", "zh")
    assert done.exit_code == 4
    assert "失败  TC-DP3-06  内部故障为 FAILED" in done.stdout
    assert "不符合规范" in done.stdout
    failed = [case.get("name") for case in ET.parse(junit).iter("testcase") if case.find("failure") is not None]
    assert "TC-DP3-06" in failed


def test_nobody_there_is_not_conformant() -> None:
    """A URL where nothing listens fails its cases: it is not an error of the kit."""
    done = run("conformance", "http://127.0.0.1:9", "--json")
    assert (done.exit_code, json.loads(done.stdout)["passed"]) == (4, 0)


def test_the_kits_documents_can_be_written(tmp_path: Path) -> None:
    """`--export-data` alone writes the documents that a service under test takes in."""
    done = run("conformance", "--export-data", tmp_path / "kit", "--json")
    files = json.loads(done.stdout)["files"]
    assert done.exit_code == 0
    assert len(files) == len(list((tmp_path / "kit").rglob("*.*"))) > 5


@pytest.fixture
def served(stocked: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = start("--library", stocked, "serve", "--port", "0", "--lang", "zh")
    lines: list[str] = []
    assert process.stdout
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C" in line:
            break
    try:
        yield process, "".join(lines)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.integration
def test_a_server_says_at_once_what_it_does(stocked: Path) -> None:
    """Before it loads what takes seconds, `serve` tells which library it opens."""
    process = start("--library", stocked, "serve", "--port", "0", "--lang", "zh")
    assert process.stderr
    try:
        assert process.stderr.readline() == f"正在打开知识库 {stocked} …\n"
    finally:
        process.kill()
        process.communicate()


@pytest.mark.integration
def test_a_served_library_answers_and_stops(served: tuple[subprocess.Popen[str], str]) -> None:
    """`serve` says where it listens and how its parts are, the curl it shows works, and Ctrl-C ends it with 0."""
    process, shown = served
    url = re.search(r"http://127\.0\.0\.1:\d+", shown)
    query = re.search(r"-d '(.*)'", shown)
    assert url
    assert query
    assert "就绪" in shown
    assert "  规则: 正常" in shown
    request = urllib.request.Request(
        url[0] + "/v1/retrieve_fragments", query[1].encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        answer = json.load(response)
    assert answer["status"] == "SUCCESS"
    assert "complaints" in answer["fragments"][0]["source"]
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "已停止" in told


@pytest.mark.parametrize(("option", "value"), [("--host", "0.0.0.0"), ("--host", "192.0.2.1")])
def test_other_addresses_than_loopback_are_refused(stocked: Path, option: str, value: str) -> None:
    """Without keys nobody else may read: `serve` refuses to listen to the network."""
    done = run("--library", stocked, "serve", option, value)
    assert done.exit_code == 1
    assert "is not a loopback address" in done.stderr


def test_retrieval_is_measured(tmp_path: Path) -> None:
    """`eval` is the door to the evaluation: its figures come out as one JSON document."""
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "a", "text": "kiwi plum"}\n{"_id": "b", "text": "oak elm"}\n')
    (folder / "queries.jsonl").write_text('{"_id": "1", "text": "kiwi"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n")
    done = run("eval", folder, "--engine", "keyword", "--json", XDG_CACHE_HOME=str(tmp_path))
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["queries"] == 1
    missing = run("eval", tmp_path / "none", "--json")
    assert (missing.exit_code, json.loads(missing.stdout)["status"]) == (1, "FAILED")


@pytest.mark.slow
def test_an_interrupted_ingest_says_what_is_kept(empty: Path, tmp_path: Path) -> None:
    """Ctrl-C ends with 130; what was committed stays, and the command to go on is named and works."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(300):
        words = " ".join(f"word{number * k % 997}" for k in range(150))
        (folder / f"{number}.md").write_text("\n".join(f"## Part {part}\n\n{words}\n" for part in range(3)))
    process = start("--library", empty, "add", folder, "--source", "many", **PATIENT)
    assert process.stderr
    progress = process.stderr.readline()
    assert re.match(r"file \d+/300, passages \d+", progress)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=300)
    assert process.returncode == 130
    kept = re.search(r"Kept: (\d+) documents", told)
    assert kept
    assert int(kept[1]) < 300
    assert "Go on with: wenyuan ingest many" in told
    assert "Traceback" not in told
    report = json.loads(run("--library", empty, "ingest", "many", "--json", **PATIENT).stdout)["reports"][0]
    assert report["unchanged"] == int(kept[1])
    assert report["unchanged"] + report["added"] == 300


def test_a_library_that_is_being_written_is_named(
    empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While somebody else writes, `add` waits, then fails and says who holds the library."""
    from wenyuan.catalog.locks import WriterLock

    (tmp_path / "x.md").write_text("Text.\n")
    held, take = WriterLock(empty / "writer.lock"), WriterLock._take
    with held.held():
        # It waits for ten seconds otherwise.
        monkeypatch.setattr(WriterLock, "_take", lambda lock, until: take(lock, min(until, time.monotonic() + 0.2)))
        told = run("--library", empty, "add", tmp_path / "x.md", "--source", "x", "--lang", "zh")
    assert told.exit_code == 1
    assert f"进程 {os.getpid()} 正在写入知识库" in told.stderr
