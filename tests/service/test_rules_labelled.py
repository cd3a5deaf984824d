"""Conditions and relations by their labels: in words, and at every door of the rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from command_line import Run, runner
from rules_door import BOOK
from wenyuan.core.rules.labels import condition_label, joined_conditions
from wenyuan.core.rules.schema import Parameter
from wenyuan.readers.rulebooks.selection import read_book

PIT = "深基坑开挖"
DEPTH = Parameter("depth_m", "number", "m", {"zh": "开挖深度", "en": "depth"})
RAIN = Parameter("rain", "boolean", "", {"zh": "雨天", "en": "rain"})
DAYS = Parameter("days", "integer", "d", {"zh": "天数", "en": "days kept"})
SOIL = Parameter("soil", "string")
PARAMETERS = {each.name: each for each in (DEPTH, RAIN, DAYS, SOIL)}


@pytest.mark.parametrize(
    ("written", "zh", "en"),
    [
        ("depth_m >= 5.0", "开挖深度 ≥ 5 m", "depth ≥ 5 m"),
        ("depth_m >= 5.25 && !rain", "开挖深度 ≥ 5.25 m 且 并非雨天", "depth ≥ 5.25 m and not rain"),
        ("rain == false || rain == true", "并非雨天 或 雨天", "not rain or rain"),
        ("!(depth_m > -2.5 || days == 30)", "并非（开挖深度 > -2.5 m 或 天数 = 30 天）", "not (depth > -2.5 m or days kept = 30 days)"),
        ("depth_m * 2.0 > 10.0", "开挖深度 × 2 > 10", "depth × 2 > 10"),
        ("soil == 'depth_m' && double(days) != 100.0", "soil = 'depth_m' 且 天数 ≠ 100", "soil = 'depth_m' and days kept ≠ 100"),
        ("soil in ['a', 'b'] && soil.contains('软')", "soil 属于 ['a'、'b'] 且 soil 包含 '软'", "soil is one of ['a', 'b'] and soil contains '软'"),
        ("开挖深度 ≥ 5", "开挖深度 ≥ 5", "开挖深度 ≥ 5"),
    ],
)  # fmt: skip
def test_a_condition_reads_as_people_write_it(written: str, zh: str, en: str) -> None:
    """Labels for names, signs and units as in a text; quotes, sums and what is no condition stay as they are."""
    assert [condition_label(written, PARAMETERS, tag) for tag in ("zh", "zh-Hant", "en")] == [zh, zh, en]


def test_conditions_on_a_path_are_told_once_each() -> None:
    """Two steps under the same condition are one; what is always is none."""
    assert joined_conditions(["depth_m > 1.0", "", "rain", "rain"], PARAMETERS, "zh") == "开挖深度 > 1 m；雨天"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A library with the little book, two of whose rules wait for a review."""
    made, book = runner(tmp_path / "library"), tmp_path / "little.yaml"
    book.write_text(BOOK, "utf-8")
    made("rules", "import", book, "--status", "proposed")
    return made


@pytest.mark.parametrize(
    ("language", "relation", "condition"), [("zh", "产生危险源", "开挖深度 ≥ 5 m"), ("en", "has the hazard", "depth ≥ 5 m")]
)  # fmt: skip
def test_the_command_line_shows_no_raw_condition(run: Run, language: str, relation: str, condition: str) -> None:
    """Queue, rule, derivation and diff have labels in the caller's language, and no name of a program's."""
    book = run("rules", "export").stdout
    queue = run("rules", "review", "--lang", language).stdout
    run("rules", "review", "--approve", "all")
    asked = PIT if language == "zh" else "Deep excavation"
    pages = [queue, run("rules", "show", "2", "--lang", language).stdout]
    pages.append(run("rules", "infer", asked, "--lang", language).stdout if language == "zh" else queue)
    for page in pages:
        assert condition in page
        assert "depth_m >=" not in page
    assert relation in queue
    assert "produces_hazard" not in "".join(pages)
    assert "depth_m >= 5" in book  # a file for the next import keeps what is written


def test_machines_get_the_expression_and_the_words(run: Run) -> None:
    """`--json` keeps what is written and has the labels beside it: of a queue by language, of an answer in its own."""
    waiting = json.loads(run("rules", "review", "--json").stdout)["statements"][1]
    assert waiting["condition"] == "depth_m >= 5.0"
    assert waiting["condition_labels"] == {"zh": "开挖深度 ≥ 5 m", "en": "depth ≥ 5 m"}
    assert waiting["relation_labels"]["zh"] == "产生危险源"
    run("rules", "review", "--approve", "all")
    items = json.loads(run("rules", "infer", PIT, "--json").stdout)["items"]
    known: dict[str, Any] = next(item["metadata"] for item in items if item["metadata"]["name"] == "坍塌")
    assert (known["condition"], known["condition_label"]) == ("depth_m >= 5.0", "开挖深度 ≥ 5 m")
    assert (known["missing_parameters"], known["missing_labels"]) == (["depth_m"], ["开挖深度"])
    assert known["path"][-1]["condition_label"] == "开挖深度 ≥ 5 m"


def test_a_changed_rule_is_shown_in_the_callers_language(run: Run, tmp_path: Path) -> None:
    """The second import says what is different in words: the field and its values, the kind of a node, the relation."""
    changed = tmp_path / "changed.yaml"
    again = BOOK.replace("    when: depth_m", "    strength: recommended\n    when: depth_m") + (
        "  - {src: 深基坑开挖, rel: requires_equipment, dst: 水泵, evidence: [{source: code_a, clause: 第三条}]}\n"
    )
    changed.write_text(again.replace("statements:\n", "  - {kind: equipment, name: 水泵}\nstatements:\n", 1), "utf-8")
    shown = run("rules", "import", changed, "--dry-run", "--lang", "zh").stdout
    assert "+ 深基坑开挖 —需要设备→ 水泵" in shown
    assert "+ 设备: 水泵" in shown
    assert "强制程度：强制 → 推荐" in shown
    assert "mandatory" not in shown


def test_a_rule_that_is_read_whole_has_words(tmp_path: Path) -> None:
    """What `fetch` gives of a rule names relation and condition in both languages."""
    book = tmp_path / "little.yaml"
    book.write_text(BOOK, "utf-8")
    with wenyuan.open(tmp_path / "read", create=True, encoder={"kind": "none"}) as library:
        library.rules.take(read_book(book))
        read = library.fetch("code_a#rule-2")
    assert "产生危险源 / has the hazard" in read.title
    assert "条件 condition: 开挖深度 ≥ 5 m / depth ≥ 5 m" in read.text
