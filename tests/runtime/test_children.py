"""A child process that is somebody's program ends with this process, however that ends, with all that it started."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from patience import in_time
from wenyuan.runtime.children import child

START = """
import os, subprocess, sys, time
from pathlib import Path
from wenyuan.runtime.children import child
folder = Path(sys.argv[1])
inner = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(1000)"
outer = f"import subprocess, sys, os; open(sys.argv[1] + '.outer', 'w').write(str(os.getpid())); subprocess.run([sys.executable, '-c', {inner!r}, sys.argv[1]])"
with child([sys.executable, "-c", outer, str(folder / "pid")]) as process:
    while not (folder / "pid").exists() or not (folder / "pid").read_text():
        time.sleep(0.01)
    print("started", flush=True)
    process.wait()
"""


def lives(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_all_end_when_we_are_killed(tmp_path: Path, how: signal.Signals) -> None:
    """The program and what it started are gone once whoever started it is."""
    with subprocess.Popen([sys.executable, "-c", START, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        numbers = [int((tmp_path / name).read_text()) for name in ("pid", "pid.outer")]
        assert all(map(lives, numbers))
        process.send_signal(how)
        process.wait()
    with in_time():
        while any(map(lives, numbers)):
            time.sleep(0.01)


def test_it_ends_as_the_program_ended() -> None:
    """Its status, its output, and the signal that ended it are those of the program; one that is not there gives 127."""
    for code, status in (("raise SystemExit(3)", 3), ("", 0), ("import os; os.kill(os.getpid(), 9)", -9)):
        with child([sys.executable, "-c", f"print('said'); {code}"], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            with process.stdout:
                said = process.stdout.read()
            assert process.wait() == status
        assert said == b"said\n" or status < 0
    with child(["/nowhere/program"], stderr=subprocess.DEVNULL) as process:
        assert process.wait() == 127


def test_what_it_leaves_behind_goes_with_it(tmp_path: Path) -> None:
    """A process that the program started and left is ended with the block, and no handle is left open."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    left = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)']); open({str(tmp_path / 'pid')!r}, 'w').write(str(p.pid))"
    with child([sys.executable, "-c", left]) as process:
        assert process.wait() == 0
        number = int((tmp_path / "pid").read_text())
        assert lives(number)
    with in_time():
        while lives(number):
            time.sleep(0.01)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
