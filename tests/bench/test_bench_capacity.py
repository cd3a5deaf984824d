"""The capacity plan in the documentation is what its script prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]


def printed(*options: str) -> list[str]:
    script = [sys.executable, str(HOME / "bench" / "capacity.py"), *options]
    return subprocess.run(script, capture_output=True, text=True, check=True).stdout.splitlines()


def figures(lines: list[str]) -> list[list[str]]:
    """The cells behind the names, of each row of the table."""
    rows = [re.split(r" *\| *", line.strip().strip("|").strip()) for line in lines if line.startswith("|")]
    return [cells[1:] for cells in rows if cells[0]]


@pytest.mark.parametrize("page", ["capacity.md", "capacity.zh.md"])
def test_pages_have_what_the_script_prints(page: str) -> None:
    """Every figure of the table, and that of the audit, in both languages."""
    text = (HOME / "docs" / page).read_text("utf-8")
    told = printed()
    table = figures(text.split("\n## ")[0].splitlines())
    assert table == figures(told)
    assert len(table) == 13
    audit = told[-1].rpartition(": ")[2]
    assert audit in text


def test_own_numbers_count() -> None:
    """Twice the dimensions, another encoder: each figure follows."""
    larger = figures(printed("--passages", "1e6", "--dimension", "768", "--rate", "34"))
    names = [line.split("|")[1].strip() for line in printed("--passages", "1e6") if line.startswith("|")]
    found = {name: row[0] for name, row in zip(names, larger, strict=True)}
    assert found["memory: `local`, mapped rows that should fit, GB"] == "3.1"
    assert found["memory: `local`, held, GB"] == "0.26"
    assert found["time: embedding, hours"] == "1"
    assert found["time: a question with `local`, meaning, CPU ms"] == "21"
