"""What the command line says can be written and pasted: full disks, readers that have gone, folders with spaces."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import wenyuan
from wenyuan.cli.terminal import INTERRUPTED, Terminal

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


def run(*args: object, stdout: int | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """The command line as a process of its own, without a word on standard output unless that is given."""
    own = {"WENYUAN_ENCODER__KIND": "hashing", "LC_ALL": "C.UTF-8"}
    own["PYTHONPATH"] = str(Path(wenyuan.__file__).parents[1])
    command = [sys.executable, "-m", "wenyuan.cli", *map(str, args)]
    out = subprocess.PIPE if stdout is None else stdout
    return subprocess.run(
        command, stdout=out, stderr=subprocess.PIPE, env=os.environ | own | env, text=True, check=False, timeout=60
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "知识 库's"
    assert run("init", "--library", folder).returncode == 0
    return folder


@needs_full
@pytest.mark.parametrize(
    ("arguments", "language", "unbuffered"),
    [
        ("--help", "zh", ""),
        ("--version", "en", "1"),
        ("search -h", "en", ""),
        ("search x", "zh", "1"),
        ("search x --json", "en", ""),
        ("source list --json", "zh", "1"),
        ("doctor", "en", "1"),
        ("doctor", "zh", ""),
    ],
)
def test_output_that_cannot_be_written_is_told(library: Path, arguments: str, language: str, unbuffered: str) -> None:
    """On a full disk the reason stands on standard error, in one language, and nothing of the inside."""
    why = {"en": "No space left on device", "zh": "原因："}[language]
    own = {"LC_ALL": f"{language}_CN.UTF-8", "PYTHONUNBUFFERED": unbuffered}
    with FULL.open("w") as full:
        done = run("--library", library, *arguments.split(), stdout=full.fileno(), **own)
    assert done.returncode == 1
    assert why in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@needs_full
def test_an_interrupt_is_told_on_a_full_disk(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is kept and how to go on is said even where its document cannot be written."""
    with pytest.raises(OSError, match="No space"), FULL.open("w") as full:  # its own closing fails, too
        monkeypatch.setattr(sys, "stdout", full)
        assert (
            Terminal(language="en", as_json=True, library=Path("my library")).interrupted(
                "2 documents", "wenyuan ingest policy"
            )
            == INTERRUPTED
        )
        monkeypatch.undo()
    said = capsys.readouterr().err
    assert "2 documents" in said
    assert "wenyuan ingest policy --library 'my library'" in said


def test_a_reader_that_has_gone_ends_it_quietly(library: Path) -> None:
    """A pipe that nobody reads is no failure to speak of."""
    for arguments in (["search", "x", "--json"], ["search", "--json"], ["doctor"], ["--help"]):
        ear, mouth = os.pipe()
        os.close(ear)
        done = run("--library", library, *arguments, stdout=mouth, PYTHONUNBUFFERED="")
        os.close(mouth)
        assert done.stderr == ""


def test_a_command_that_is_offered_can_be_pasted(library: Path, tmp_path: Path) -> None:
    """Where the folder has spaces and quotes, the next command names it as a shell reads it."""
    nowhere = tmp_path / "not here's"
    told = run("--library", nowhere, "search", "x").stderr
    (after,) = [line.partition("next:")[2] for line in told.splitlines() if "next:" in line]
    assert shlex.split(after) == ["wenyuan", "--library", str(nowhere), "init"]
    made = run("init", "--library", nowhere, COLUMNS="200")
    offered = [line[line.index("wenyuan add") :] for line in made.stdout.splitlines() if "wenyuan add" in line]
    assert shlex.split(offered[0])[-2:] == ["--library", str(nowhere)]


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_are_not_wanted(library: Path, closed: str) -> None:
    """Without a standard stream a command does what it does: it ends well, and says what it says on the others."""
    command = shlex.join([sys.executable, "-m", "wenyuan.cli", "--library", str(library), "source", "list", "--json"])
    own = {"WENYUAN_ENCODER__KIND": "hashing", "PYTHONPATH": str(Path(wenyuan.__file__).parents[1])}
    done = subprocess.run(
        ["sh", "-c", f"{command} {closed}"],
        capture_output=True,
        env=os.environ | own,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert bool(done.stdout) != (">&-" in closed.split())
