"""What a run of the tests tells of those that it could not run, and which of them another Python runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parents[2]


@pytest.mark.integration
def test_what_needs_chromium_is_told_in_one_line(tmp_path: Path) -> None:
    """Without Chromium on the path the last words name the files, how many tests of each, and the command that mends it."""
    chosen = ["tests/console/test_console_browser.py", "-k", "switched or without_scripts"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--disable-plugin-autoload", *chosen]
    ran = subprocess.run(
        command,
        check=False,
        cwd=HOME,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (line,) = [line for line in ran.stdout.splitlines() if "Chromium" in line]
    assert line.startswith("NOT RUN for want of Chromium: ")
    assert " of tests/console/test_console_browser.py. To run them: sudo apt-get install chromium" in line
    assert "passed" not in ran.stdout


def test_the_part_for_another_python_names_files_that_there_are() -> None:
    """`make test-part` runs more than thirty test files, each of them once."""
    makefile = (HOME / "Makefile").read_text("utf-8").replace("\\\n", " ")
    (part,) = re.findall(r"^PART := (.+)$", makefile, re.MULTILINE)
    files = {file.name for file in (HOME / "tests").rglob("test_*.py")}
    assert {f"test_{name}.py" for name in part.split()} <= files
    assert len(set(part.split())) == len(part.split()) > 30
    assert "tests/*/test_$(name).py" in makefile
