"""What a long line takes of the memory of the process that takes it in."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_TAKEN_IN = """
import json, sys
from pathlib import Path
import wenyuan
folder, files = Path(sys.argv[1]), Path(sys.argv[2])
with wenyuan.open(folder, create=True, encoder={"kind": "none"}) as library:
    added = library.add(wenyuan.Source(source_id="lines", path=str(files), sensitivity="restricted")).added
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(json.dumps([added, int(status["VmHWM"].split()[0]) * 1024]))
"""
_SENTENCE = "Each valve &amp; each pipe is looked at before the work begins, and what was found is written down. "
_PART = 20 * _SENTENCE + "A list is sent by valves@example.com to whoever asks. "


def _peak(place: Path, size: int) -> int:
    """The most memory in bytes of a process that takes in a file with one line of so many bytes."""
    files = place / str(size)
    files.mkdir()
    (files / "line.txt").write_text(_PART * (size // len(_PART)), "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _TAKEN_IN, str(place / f"library-{size}"), str(files)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    added, peak = json.loads(done.stdout)
    assert added == 1
    return int(peak)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what a process takes")
def test_a_long_line_takes_some_times_its_space_and_no_more(tmp_path: Path) -> None:
    """A line of two MB takes at most 35 bytes of memory for each of its own beyond what a short one takes."""
    size = 2_000_000
    short, long = _peak(tmp_path, 100_000), _peak(tmp_path, size)
    assert (long - short) / size < 35
