"""A server answers every question while another process writes to its library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import wenyuan
from command_line import runner
from embedding_server import Server

pytestmark = [pytest.mark.slow, pytest.mark.integration]

ASK = {"query": "客户投诉多久响应", "max_results": 3}
SLOW = {"second ": 0.6}
"""Seconds that 32 vectors of the new source take, so for three it is registered and no passage is there yet."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a library with one source, whose vectors a server on this machine makes."""
    with Server() as server:
        server.slow = SLOW
        threading.Thread(target=server.serve_forever, daemon=True).start()
        source = str(Path(wenyuan.__file__).parents[1])
        yield {
            **os.environ, "LC_ALL": "C.UTF-8", "PYTHONPATH": source, "WENYUAN_LIBRARY": str(tmp_path / "library"),
            "WENYUAN_ENCODER__KIND": "http", "WENYUAN_ENCODER__URL": f"{server.url}/v1", "WENYUAN_ENCODER__MODEL": "m",
            "WENYUAN_SEARCH__FLOOR": "0",
        }  # fmt: skip
        server.shutdown()


def documents(folder: Path, count: int, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    for number in range(count):
        (folder / f"{number}.md").write_text(f"# {folder.name} {number}\n\n{text}，由第 {number} 组负责。\n", "utf-8")
    return folder


def run(world: dict[str, str], *command: object) -> None:
    whole = [sys.executable, "-m", "wenyuan.cli", *map(str, command)]
    done = subprocess.run(whole, env=world, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@contextmanager
def serving(world: dict[str, str]) -> Iterator[str]:
    """A server in a process of its own; gives its URL."""
    command = [sys.executable, "-m", "wenyuan.cli", "serve", "--port", "0"]
    with subprocess.Popen(command, env=world, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            line = next(line for line in iter(process.stdout.readline, "") if "http://" in line)
            yield "http://" + line.split("http://")[1].split()[0]
        finally:
            process.terminate()
            process.communicate(timeout=120)


def told(url: str) -> tuple[str, int]:
    """Status and number of fragments of one question."""
    body = json.dumps(ASK).encode()
    request = urllib.request.Request(f"{url}/v1/retrieve_fragments", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        said = json.load(answer)
    return said["status"], len(said["fragments"])


@contextmanager
def asked_all_the_time(url: str) -> Iterator[Counter[tuple[str, int]]]:
    """Ten questions a second; counts what came of them."""
    seen: Counter[tuple[str, int]] = Counter()
    over = threading.Event()

    def poll() -> None:
        while not over.wait(0.1):
            seen[told(url)] += 1

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join(60)


def test_no_question_fails_while_another_process_adds_and_refreshes(world: dict[str, str], tmp_path: Path) -> None:
    """A new source that is slow to come, one that is read anew and one that is removed: every question is answered whole."""
    begun = runner(tmp_path / "library", **world)
    begun("add", documents(tmp_path / "first", 40, "客户投诉在 24 小时内响应"), "--source", "first")
    with serving(world) as url, asked_all_the_time(url) as seen:
        run(world, "add", documents(tmp_path / "second", 200, "混凝土养护不少于七天"), "--source", "second")
        documents(tmp_path / "first", 40, "客户投诉在 48 小时内响应")
        run(world, "refresh", "first")
        run(world, "source", "remove", "second", "--yes")
        time.sleep(0.5)
    assert set(seen) == {("SUCCESS", 3)}
    assert seen.total() > 30
