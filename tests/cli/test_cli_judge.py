"""``wenyuan tune --judge``: what it says, as text in both languages and as JSON, and what it refuses."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import Run, runner
from judge_server import JudgeServer, judging
from judged_library import JUDGES, SUBJECTS, asked, golden, judged, knowing
from liars_server import KEY


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    with judging() as running:
        yield running


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory, server: JudgeServer) -> tuple[Run, Path]:
    """The command line of a library with a judge, and its golden file."""
    folder = tmp_path_factory.mktemp("judged")
    with judged(folder, server):
        pass
    table = folder / "questions.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("question", "uri"), *((pair.question, pair.answer) for pair in golden(folder))])
    chosen = {"DIALECT": "systemone", "URL": server.url, "MODEL": "j-1", "KEY": KEY, "TIMEOUT": "30"}
    settings = {f"WENYUAN_JUDGE__{name}": value for name, value in chosen.items()}
    return runner(folder / "library", **settings, WENYUAN_SEARCH__FLOOR="0"), table


def test_it_is_adopted_told_of_and_taken_back(at: tuple[Run, Path], server: JudgeServer) -> None:
    """The errors of both stand in the report, and how it is taken back; ``--status`` says which counts."""
    call, table = at
    server.begin("perfect")
    server.sure = knowing
    assert "no calibrated judge" in call("tune", "--judge", "--status").output
    dry = json.loads(call("--json", "tune", "--judge", "--golden", table, "--dry-run").output)["report"]
    assert (dry["outcome"], dry["questions"], dry["risk"]) == ("would be adopted", SUBJECTS, 0.1)
    assert dry["compared"]["error"][0] < dry["compared"]["error"][1]
    said = call("tune", "--judge", "--golden", table).output
    assert f"The judge j-1 was tried on {SUBJECTS} questions" in said
    assert "Error of the probabilities (ECE)" in said
    assert "Adopted as calibration 1" in said
    assert "risk below 10%" in " ".join(call("tune", "--judge", "--status").output.split())
    counts = json.loads(call("--json", "tune", "--judge", "--status").output)["calibration"]
    assert (counts["counts"], counts["questions"], counts["steps"]) == (True, SUBJECTS, [1, 3, 5, 8])
    call("agent", "set", "helper", "--scope", "house:confidence")
    for language, says in (("en", "sure, risk at most 10% by 44 questions"), ("zh", "依据 44 个问题，风险至多 10%")):
        context = " ".join(call("--lang", language, "context", asked(4), "--agent", "helper").output.split())
        assert says in context
    given = json.loads(call("--json", "context", asked(4), "--agent", "helper").output)["confidence"]["house"]
    assert given["state"] == "stopped"
    record = json.loads(call("--json", "audit", "list", "--limit", "1").output)["records"][0]
    assert "risk at most 10%" in " ".join(call("audit", "show", record["audit_id"]).output.split())
    other = call("tune", "--judge", "--status", WENYUAN_JUDGE__MODEL="j-2").output
    assert "does not count" in other
    undone = call("--lang", "zh", "tune", "--judge", "--undo").output
    assert "已撤销校准 1" in undone
    assert "no calibrated judge" in call("tune", "--judge", "--undo", code=2).output


@pytest.mark.parametrize(("language", "says"), [("en", "Not adopted"), ("zh", "未采用")])
@pytest.mark.parametrize("name", ["coin", "always"])
def test_it_is_not_adopted(at: tuple[Run, Path], server: JudgeServer, name: str, language: str, says: str) -> None:
    call, table = at
    server.begin("perfect")
    server.sure = JUDGES[name]
    assert says in call("--lang", language, "tune", "--judge", "--golden", table).output


def test_what_it_refuses(at: tuple[Run, Path], server: JudgeServer) -> None:
    """A judge without a golden file, or with what is of tunings; a judge that fails, by its name."""
    call, table = at
    server.begin("401")
    assert "--judge wants" in call("tune", "--judge", code=2).output
    assert "--judge wants" in call("tune", "--judge", "--golden", table, "--same-documents", code=2).output
    assert "judge j-1 at 127.0.0.1" in " ".join(call("tune", "--judge", "--golden", table, code=1).output.split())


MISSING: dict[str | None, dict[str, str]] = {
    "lighting of it": {"en": "for what the judge misses, “lighting of it”", "zh": "再检索一次“lighting of it”"},
    "NOTHING": {"en": "the judge names nothing", "zh": "裁判未指出"},
    "a limit of 777 kilograms": {"en": "a number that nobody said", "zh": "未予检索"},
    None: {"en": "wrote no text", "zh": "它未写出文字"},
}
"""What the judge writes when it is asked what is missing, and what is said of that."""


def test_what_is_missing_is_told(tmp_path: Path, server: JudgeServer) -> None:
    """With a context and with its record, in both languages."""
    server.begin("perfect")
    server.sure = knowing
    with judged(tmp_path, server, judge={"dialect": "logprobs"}) as library:
        assert library.tune_judge(golden(tmp_path)).outcome == "adopted"
    server.sure = lambda question, passages: 0.0
    chosen = {"DIALECT": "logprobs", "URL": server.url, "MODEL": "j-1", "KEY": KEY, "TIMEOUT": "30", "FOLLOW_UP": "1"}
    settings = {f"WENYUAN_JUDGE__{name}": value for name, value in chosen.items()}
    call = runner(tmp_path / "library", **settings, WENYUAN_SEARCH__FLOOR="0")
    call("agent", "set", "helper", "--scope", "house:confidence")
    for lacks, says in MISSING.items():
        server.lacks = lambda question, passages, written=lacks: written  # type: ignore[misc]
        for language, told in says.items():
            context = call("--lang", language, "context", asked(5), "--agent", "helper").output
            assert told in "".join(context.splitlines())
            record = json.loads(call("--json", "audit", "list", "--limit", "1").output)["records"][0]
            assert told in "".join(call("--lang", language, "audit", "show", record["audit_id"]).output.splitlines())
