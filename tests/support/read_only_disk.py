"""A folder that becomes read-only under a program that has it open, as after an error of its disk: by a library loaded before C's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_name("read_only_disk.c")


def environment(below: Path, flag: Path, build: Path) -> dict[str, str]:
    """The environment of a program for which whatever changes files below a folder fails while a file, `flag`, is there.

    Args:
        build: A folder for what is compiled; the test is skipped without a compiler of C.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("this machine has no compiler of C")
    made = build / "read_only_disk.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-w", "-o", str(made), str(_SOURCE), "-ldl"], check=True)
    shut = {"LD_PRELOAD": str(made), "READ_ONLY_BELOW": f"{below}/", "READ_ONLY_WHILE": str(flag)}
    return {**os.environ, **shut}
