"""A server whose index files are cut off, replaced by another library's or removed under it: it lives, and is never wrong."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from http_door import url_of

pytestmark = pytest.mark.integration

ENCODER = {"kind": "hashing", "dimension": 8192}
SECTIONS = 600  # with so many dimensions, their vectors take more than what is read into memory
FILLING = "此外，经办人应当登记来件，写明来源、日期与事由，并在规定时限内逐级报送。" * 12
SOON = 20.0  # seconds; the files are looked at twice a second, and rows are read from the catalog in less than one
ANSWERS = 250  # and as many answers at least: a busy machine gives fewer in that time, and mends later


def library(folder: Path, word: str) -> Path:
    """A library in which each section answers one question."""
    docs = folder.with_name(folder.name + "-docs")
    docs.mkdir()
    for first in range(0, SECTIONS, 100):
        sections = (
            f"## {word} 编号{n}\n\n{word}编号{n}的答复时限为{n}天。{FILLING}\n" for n in range(first, first + 100)
        )
        (docs / f"{first}.md").write_text(f"# 手册{first}\n\n" + "\n".join(sections), "utf-8")
    with wenyuan.open(folder, create=True, encoder=ENCODER) as made:
        made.add(wenyuan.Source(source_id="s", path=str(docs)))
    with wenyuan.open(folder, encoder=ENCODER) as made:
        (docs / "0.md").unlink()
        made.ingest("s")
        checkpoint: Any = made.engine
        checkpoint.checkpoint(always=True)
    return folder


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place: Path = tmp_path_factory.mktemp("libraries")
    return library(place / "ours", "甲库"), library(place / "theirs", "乙库")


class Server:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        settings = {"WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_ENCODER__DIMENSION": "8192"}
        environment = {**os.environ, **settings, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "wenyuan.cli", "--library", str(folder), "serve", "--port", "0", "--json"]
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.url = url_of(self.process)

    def ask(self, number: int = 234) -> str:
        """``right``, ``FAILED`` or what else was answered to a question whose answer is known."""
        body = json.dumps({"query": f"甲库编号{number}的答复时限", "max_results": 3}).encode()
        request = urllib.request.Request(
            f"{self.url}/v1/retrieve_fragments", body, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            said = json.load(answer)
        if said["status"] == "FAILED":
            return "FAILED"
        right = any(f"编号{number}的答复时限为{number}天" in fragment["content"] for fragment in said["fragments"])
        return "right" if right else json.dumps(said, ensure_ascii=False)

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=60):
                return True
        except urllib.error.HTTPError as error:
            assert error.code == 503
            return False

    def until(self, wanted: Callable[[], bool]) -> None:
        """Ask until something is so; every answer on the way is right or FAILED, and the process lives."""
        end, asked = time.monotonic() + SOON, 0
        while True:
            asked += 1
            assert self.ask() in ("right", "FAILED")
            assert self.process.poll() is None
            if wanted():
                return
            assert time.monotonic() < end or asked < ANSWERS
            time.sleep(0.05)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.fixture(scope="module")
def server(libraries: tuple[Path, Path]) -> Iterator[Server]:
    running = Server(libraries[0])
    yield running
    assert running.stop() == 0


def index_files(folder: Path) -> dict[str, list[Path]]:
    """The files of an index by what they are."""
    found: dict[str, list[Path]] = {}
    for path in sorted((folder / "index").rglob("*")):
        if path.is_file():
            found.setdefault(path.suffix if path.suffix != ".json" else path.name, []).append(path)
    return found


def digests(folder: Path) -> dict[str, str]:
    """What the files hold, by name, without those that are named anew each time they are written."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for paths in index_files(folder).values()
        for path in paths
        if path.parent.name == "keyword"
    }


def truncate(file: Path, other: Path) -> None:
    os.truncate(file, 0)


def cut(file: Path, other: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def swap(file: Path, other: Path) -> None:
    shutil.copyfile(other, file)


def remove(file: Path, other: Path) -> None:
    file.unlink()


KINDS = [".term", ".idx", ".pos", ".store", ".fast", ".fieldnorm", ".del", "watermark.json", "rows.json", ".npz",
         ".f32"]  # fmt: skip


@pytest.mark.parametrize("how", [truncate, cut, swap, remove])
@pytest.mark.parametrize("kind", KINDS)
def test_files_of_the_index(server: Server, libraries: tuple[Path, Path], kind: str, how: Any) -> None:
    """Answers are right, or FAILED until the file is written again; the server lives and is ready."""
    ours, theirs = (index_files(folder)[kind] for folder in libraries)
    before = digests(libraries[0])
    for number, file in enumerate(ours):
        how(file, theirs[number % len(theirs)])
    damaged = [hashlib.sha256(file.read_bytes()).hexdigest() for file in ours if file.exists()]

    def mended() -> bool:
        try:
            found = index_files(libraries[0]).get(kind, [])
            held = [hashlib.sha256(file.read_bytes()).hexdigest() for file in found]
            whole = digests(libraries[0]) == before
        except OSError:  # it is being written
            return False
        named_anew = kind in (".npz", ".f32", "rows.json")
        return whole and bool(found) and not (named_anew and any(one in damaged for one in held))

    server.until(mended)
    server.until(server.ready)
    server.until(lambda: server.ask() == "right")


def test_the_whole_index(server: Server, libraries: tuple[Path, Path]) -> None:
    """It can be removed altogether."""
    before = digests(libraries[0])
    shutil.rmtree(libraries[0] / "index")
    server.until(lambda: digests(libraries[0]) == before if (libraries[0] / "index").is_dir() else False)
    assert server.ask() == "right"
