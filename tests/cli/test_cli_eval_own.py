"""`wenyuan eval --golden` as people type it: figures, what changed since, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import run

TEXTS = {
    "complaints": "客户投诉应在七个工作日内答复。", "leave": "年假可以结转至次年三月。", "rooms": "会议室须提前一天预订。",
    "badges": "Visitors must wear a badge at all times.",
}  # fmt: skip
QUESTIONS = {
    "complaints": "客户投诉几天答复",
    "leave": "年假结转到什么时候",
    "rooms": "会议室 预订",
    "badges": "visitors badge",
}


@pytest.fixture
def house(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "docs" / f"{name}.md").write_text(f"{text}\n", "utf-8")
    rows = "".join(f"{question},{name}.md\n" for name, question in QUESTIONS.items())
    (tmp_path / "golden.csv").write_text("问题,来源\n" + rows, "utf-8")
    library = tmp_path / "library"
    assert run("init", "--library", library).exit_code == 0
    assert run("add", tmp_path / "docs", "--source", "house", "--library", library).exit_code == 0
    return tmp_path


def test_figures_are_shown_and_kept(house: Path) -> None:
    """The first time figures, the second time what changed, with the verdict; --runs lists both."""
    args = ("--library", house / "library", "--golden", house / "golden.csv")
    first = run("eval", *args)
    assert first.exit_code == 0, first.stderr
    assert "golden.csv: 4 questions" in first.stdout
    figures = dict(line.rsplit(maxsplit=1) for line in first.stdout.splitlines() if "@" in line or "error" in line)
    assert figures["nDCG@10"] == "1.000"
    assert "calibration error" in figures, "a label stays on its line"
    assert "Kept as evaluation 1." in first.stdout
    for name in ("leave", "rooms", "badges"):
        (house / "docs" / f"{name}.md").unlink()
    run("ingest", "house", "--library", house / "library")
    second = run("eval", *args, "--lang", "zh")
    assert "0.250  -0.750" in second.stdout
    assert "知识库中没有答案的问题（计为未找到）：3 个" in second.stdout
    assert "比第 1 次评测" in second.stdout
    assert "0 个问题变好，3 个变差" in second.stdout
    listed = run("eval", "--runs", "--library", house / "library")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["number", "2", "1"]
    document = json.loads(run("eval", *args, "--no-save", "--json").stdout)
    assert (document["against"], document["change"]["verdict"]) == (2, "no difference")
    assert document["evaluation"]["evaluation_id"] == 0
    assert len(document["asked"]) == 4


def test_both_errors_are_listed_and_the_first_fragment_is_measured_apart(house: Path) -> None:
    """Refused though it is answered, answered though it must not be, by question, in both languages; bins with n."""
    with (house / "golden.csv").open("a", encoding="utf-8") as file:
        file.write("年假怎么结转给别人,no answer\n地球的卫星,complaints.md\n")
    args = ("--library", house / "library", "--golden", house / "golden.csv", "--no-save")
    for lang, first, refused, answered in (
        ("en", "First fragment", "Refused, though", "Answered, though"), ("zh", "首位片段", "有答案却拒答", "应当拒答却作答"),
    ):  # fmt: skip
        lines = run("eval", *args, "--lang", lang).stdout.splitlines()
        assert any(line.startswith(first) for line in lines) and any("AUC" in line for line in lines)
        for heading, question in ((refused, "地球的卫星"), (answered, "年假怎么结转给别人")):
            (at,) = (number for number, line in enumerate(lines) if heading in line)
            assert question in lines[at + 1]
    document = json.loads(run("eval", *args, "--json").stdout)
    assert sum(one["count"] for one in document["evaluation"]["places"]["first"]["bins"]) == 5
    assert [one["question"] for one in document["in_vain"]] == ["年假怎么结转给别人"]


def test_a_wrong_address_beside_a_right_one_is_shown(house: Path) -> None:
    """The question has an answer, so none is lacking; the address is named with its line all the same."""
    with (house / "golden.csv").open("a", encoding="utf-8") as file:
        file.write("visitors badge,bagdes.md\n")
    done = run("eval", "--library", house / "library", "--golden", house / "golden.csv")
    assert "counted as not found" not in done.stdout
    assert "Addresses that are not in the library" in done.stdout
    assert "line 6: bagdes.md" in done.stdout


def test_nothing_kept_is_said(house: Path) -> None:
    """Before the first evaluation, --runs says how to make one."""
    assert "wenyuan eval --golden" in run("eval", "--runs", "--library", house / "library").stderr


@pytest.mark.parametrize(
    "args", [(), ("--runs", "--golden", "x.csv"), ("dir", "--golden", "x.csv"), ("--golden", "x.csv", "-k", "3")]
)
def test_options_that_do_not_go_together_are_refused(args: tuple[str, ...]) -> None:
    """Judged sets, a golden file or the list: one of them, and only with its own options."""
    done = run("eval", *args)
    assert done.exit_code == 2
    assert "--golden" in done.stderr
