"""Tutorials as they are followed: the commands of a page, run in a shell one after the other, and what the page shows of them.

In a block marked ``console`` a line that begins with ``$`` is a command, up to the end of what it feeds itself (``<<'END'``);
the lines behind it are what it prints. ``…`` stands for anything; white space is not compared, since lines are as long as the
folder's name makes them, and neither is the second decimal of a score, which may be another on another processor.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import patience

_SCORE = re.compile(r"(?<![0-9])(0\\\.[0-9])[0-9](?![0-9])")  # in what re.escape gives
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A command, and the lines that a page shows below it; none where it shows none."""

    command: str
    shown: tuple[str, ...]


def steps(text: str) -> Iterator[Step]:
    """The commands of a page, in order."""
    for block in _BLOCK.findall(text):
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = piece.rstrip("\n").split("\n")
            length = 1
            if lines[0].endswith("<<'END'"):
                length = lines.index("END") + 1
            while lines[length - 1].endswith("\\"):
                length += 1
            yield Step("\n".join(lines[:length]), tuple(lines[length:]))


def said(step: Step, folder: Path, more: Mapping[str, str]) -> str:
    """What a command prints, errors with the rest; it must end with 0."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(folder), "COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", **more}
    done = subprocess.run(
        ["bash", "-c", f"set -euo pipefail\n{step.command}"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=10 * patience.HANGS,
        check=False,
    )
    assert done.returncode == 0, f"$ {step.command}\n{done.stdout}"
    return done.stdout


def is_shown(step: Step, printed: str) -> bool:
    """Whether what was printed is what the page shows."""
    if not step.shown:
        return True
    wanted = "".join("".join(step.shown).split())
    parts = [_SCORE.sub(r"\1[0-9]", re.escape(part)) for part in wanted.split("…")]
    return re.fullmatch(".*".join(parts), "".join(printed.split()), re.DOTALL) is not None


def followed(page: Path, folder: Path, **more: str) -> int:
    """Follow a page in an empty folder: every command ends well and prints what is shown; returns how many there were."""
    count = 0
    for step in steps(page.read_text("utf-8")):
        printed = said(step, folder, more)
        assert is_shown(step, printed), f"$ {step.command}\n{printed}\nis not what {page.name} shows:\n" + "\n".join(
            step.shown
        )
        count += 1
    return count
