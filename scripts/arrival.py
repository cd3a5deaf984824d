"""How a newcomer arrives: installs the program from a package index on this machine, in fresh environments, and runs its demo.

Each way begins with empty caches and an empty home. The index is on loopback and has the wheel alone; what the wheel needs
comes from the index that pip and uv are set up for. Prints a table: seconds until the installation is done, until the first
answer and until the end, megabytes of the environment, and which packages weigh most.

    python scripts/arrival.py dist/wenyuan-0.2.0-py3-none-any.whl --pythons python3.11 python3.13 --ways pip uvx pipx
"""

from __future__ import annotations

import argparse
import functools
import html
import http.server
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_ANSWER = "Found "  # what the demo's first answer begins with
_LONGEST = 1_800.0  # seconds
_WEIGH = """
import importlib.metadata as metadata, json, os
found = {}
for one in metadata.distributions():
    files = [str(one.locate_file(file)) for file in one.files or ()]
    found[one.name] = sum(os.path.getsize(file) for file in files if os.path.exists(file))
print(json.dumps(found))
"""


@dataclass
class Arrival:
    """What came of one way to arrive; `failed` says why it led nowhere."""

    way: str
    python: str
    commands: int = 1
    installed: float | None = None
    answered: float | None = None
    done: float | None = None
    megabytes: float = 0.0
    packages: Mapping[str, int] = field(default_factory=dict)
    failed: str = ""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing is said of requests."""


@contextmanager
def index(wheel: Path, folder: Path) -> Iterator[str]:
    """A simple index on loopback that has one wheel; yields its address."""
    project = folder / "simple" / "wenyuan"
    project.mkdir(parents=True)
    shutil.copy(wheel, project / wheel.name)
    (project / "index.html").write_text(f'<a href="{html.escape(wheel.name)}">{html.escape(wheel.name)}</a>', "utf-8")
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/simple"
    finally:
        server.shutdown()


def world(room: Path) -> Mapping[str, str]:
    """An environment without anything that an earlier arrival left."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WENYUAN_", "VIRTUAL_ENV"))}
    own = {"HOME": room, "UV_CACHE_DIR": room / "uv", "PIP_CACHE_DIR": room / "pip", "PIPX_HOME": room / "pipx"}
    told = {"LC_ALL": "C.UTF-8", "PYTHONUNBUFFERED": "1", "COLUMNS": "80", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return {**kept, **told, **{name: str(path) for name, path in own.items()}}


def demo(command: Sequence[str], room: Path, arrival: Arrival, begun: float) -> None:
    """Run a command that ends with the demo, and note when it answered first."""
    with subprocess.Popen(
        command, cwd=room, env=world(room), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        stop = threading.Timer(_LONGEST, child.kill)
        stop.start()
        tail: list[str] = []
        for line in child.stdout or ():
            tail = [*tail[-8:], line.rstrip()]
            if arrival.answered is None and line.lstrip().startswith(_ANSWER):
                arrival.answered = time.monotonic() - begun
        stop.cancel()
    arrival.done = time.monotonic() - begun
    if child.returncode:
        arrival.failed = f"exit code {child.returncode}: " + " | ".join(filter(None, tail))[-300:]


def weigh(python: Path, root: Path, arrival: Arrival) -> None:
    """Note the size of an environment, and of its packages."""
    files = [one for one in root.rglob("*") if one.is_file() and not one.is_symlink()]
    arrival.megabytes = sum(one.stat().st_size for one in files) / 1e6
    told = subprocess.run([python, "-c", _WEIGH], capture_output=True, text=True, check=False)
    arrival.packages = json.loads(told.stdout) if told.returncode == 0 else {}


def by_pip(python: str, address: str, room: Path) -> Arrival:
    """A virtual environment, pip, and the program's own command."""
    arrival, begun, place = Arrival("pip", python, commands=3), time.monotonic(), room / "venv"
    subprocess.run([python, "-m", "venv", place], check=True, env=world(room))
    pip = [place / "bin" / "python", "-m", "pip", "install", "--quiet", "--extra-index-url", address, "wenyuan"]
    made = subprocess.run(pip, env=world(room), capture_output=True, text=True, check=False)
    arrival.installed = time.monotonic() - begun
    if made.returncode:
        arrival.failed = " ".join(made.stderr.split())[-300:]
        return arrival
    demo([str(place / "bin" / "wenyuan"), "demo"], room, arrival, begun)
    weigh(place / "bin" / "python", place, arrival)
    return arrival


def by_uvx(python: str, address: str, room: Path) -> Arrival:
    """One command; the environment is in uv's cache."""
    arrival, begun = Arrival("uvx", python), time.monotonic()
    demo(["uvx", "--python", python, "--index", address, "wenyuan", "demo"], room, arrival, begun)
    for found in sorted((room / "uv").glob("archive-v*/*/pyvenv.cfg")):
        weigh(found.parent / "bin" / "python", found.parent, arrival)
    return arrival


def by_pipx(python: str, address: str, room: Path) -> Arrival:
    """One command; the environment is in pipx's own folder."""
    arrival, begun = Arrival("pipx", python), time.monotonic()
    given = ["--python", python, "--pip-args", f"--extra-index-url {address}"]
    demo(["pipx", "run", *given, "wenyuan", "demo"], room, arrival, begun)
    for found in sorted((room).rglob("pyvenv.cfg")):
        if list(found.parent.glob("lib/python*/site-packages/wenyuan")):
            weigh(found.parent / "bin" / "python", found.parent, arrival)
    return arrival


_WAYS = {"pip": by_pip, "uvx": by_uvx, "pipx": by_pipx}


def shown(arrival: Arrival) -> str:
    """A row of the table."""
    times = ["—" if one is None else f"{one:.0f}" for one in (arrival.installed, arrival.answered, arrival.done)]
    size = f"{arrival.megabytes:.0f}" if arrival.megabytes else "—"
    row = [
        arrival.way,
        arrival.python,
        str(arrival.commands),
        *times,
        size,
        arrival.failed.replace("|", "/") or "yes",
    ]
    return "| " + " | ".join(row) + " |"


def main() -> int:
    """Arrive in every way that there is, one after the other; 1 where one of them failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--pythons", nargs="+", default=[sys.executable])
    parser.add_argument("--ways", nargs="+", choices=sorted(_WAYS), default=sorted(_WAYS))
    parser.add_argument("--heaviest", type=int, default=12, help="packages that are listed")
    given = parser.parse_args()
    print(f"{platform.platform()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}\n")
    print("| way | Python | commands | installed, s | first answer, s | end, s | environment, MB | arrived |")
    print("|---|---|---|---|---|---|---|---|")
    arrivals: list[Arrival] = []
    for way in given.ways:
        tool = {"pip": sys.executable, "uvx": "uvx", "pipx": "pipx"}[way]
        for python in given.pythons if shutil.which(tool) else ():
            with (
                tempfile.TemporaryDirectory(prefix="arrival-") as room,
                index(given.wheel, Path(room, "index")) as at,
            ):
                arrivals.append(_WAYS[way](python, at, Path(room)))
                print(shown(arrivals[-1]), flush=True)
        if not shutil.which(tool):
            print(f"| {way} | — | — | — | — | — | — | {way} is not on this machine |")
    heaviest = next((one.packages for one in arrivals if one.packages), {})
    print("\n" + ", ".join(
        f"{name} {size / 1e6:.0f} MB" for name, size in sorted(heaviest.items(), key=lambda one: -one[1])[: given.heaviest]
    ))  # fmt: skip
    return 1 if not arrivals or any(one.failed for one in arrivals) else 0


if __name__ == "__main__":
    sys.exit(main())
