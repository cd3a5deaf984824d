"""A library whose folder becomes read-only while it is open: each change is refused and said, and nothing is lost when it can be written again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import patience
from read_only_disk import environment

pytestmark = [pytest.mark.slow, pytest.mark.integration]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a program said that had a library open meanwhile."""
    home = tmp_path_factory.mktemp("read_only")
    (home / "library").mkdir()
    script = Path(__file__).parents[1] / "support" / "read_only_child.py"
    run = subprocess.run(
        [sys.executable, str(script), str(home)], env=environment(home / "library", home / "flag", home),
        capture_output=True, text=True, check=False, timeout=5 * patience.HANGS,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    return dict(json.loads(run.stdout.splitlines()[-1]))


def test_each_change_is_refused_with_its_reason(told: dict[str, Any]) -> None:
    """Uploads, changes of documents and sources, corrections: none is done, and none ends in another error."""
    said = told["shut"]
    assert {name for name, outcome in said.items() if outcome == "done"} == set()
    assert [name for name, outcome in said.items() if "Read-only" not in outcome and "written" not in outcome] == []


def test_nothing_is_changed_meanwhile_and_the_next_question_is_answered(told: dict[str, Any]) -> None:
    """What was served before is, until the audit has found that it cannot write."""
    assert told["while shut"] == told["before"]
    assert told["first question"] == told["asked"]


def test_all_goes_on_when_it_can_be_written_again(told: dict[str, Any]) -> None:
    """Without another start: questions, each change, the record of all, and what is served after the next start."""
    assert told["asked again"] == told["asked"]
    assert set(told["open"].values()) == {"done"}, told["open"]
    assert set(told["after"]) == {"b.md", "c.md", "z.md"}
    assert told["opened again"] == told["after"]
    assert told["audit"]
    assert told["ready"]
