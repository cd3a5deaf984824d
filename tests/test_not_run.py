"""What a run of the tests tells of those that it could not run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOME = Path(__file__).parent.parent


@pytest.mark.integration
def test_what_needs_chromium_is_told_in_one_line(tmp_path: Path) -> None:
    """Without Chromium on the path the last words name the files, how many tests of each, and the command that mends it."""
    chosen = ["tests/test_console_browser.py", "-k", "switched or without_scripts"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", *chosen]
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
    assert " of tests/test_console_browser.py. To run them: sudo apt-get install chromium" in line
    assert "passed" not in ran.stdout
