"""Several servers, a process each, on one port and one library in a folder: ``server.shared_port``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from http_door import url_of
from wenyuan.core.errors import ConfigError
from wenyuan.server.running import serve

pytestmark = pytest.mark.integration
SETTINGS = {"WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_SERVER__SHARED_PORT": "true"}


def started(stack: ExitStack, folder: Path, port: int) -> tuple[subprocess.Popen[str], str]:
    """A server that is listening, and its URL."""
    environment = {**os.environ, **SETTINGS, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "wenyuan.cli", "--library", str(folder), "serve", "--port", str(port), "--json"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    stack.callback(process.communicate)
    stack.callback(process.kill)
    return process, url_of(process)


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[tuple[Path, Path, str, list[subprocess.Popen[str]]]]:
    """Library, its documents, URL and the two servers behind it."""
    docs, folder = tmp_path / "docs", tmp_path / "library"
    docs.mkdir()
    (docs / "leave.md").write_text("# 年假\n\n职工累计工作满一年的，年休假五天。\n", "utf-8")
    with wenyuan.open(folder, create=True, encoder={"kind": "hashing"}) as library:
        library.add(wenyuan.Source(source_id="hr", path=str(docs)))
    with ExitStack() as stack:
        first, url = started(stack, folder, 0)
        second, again = started(stack, folder, int(url.rpartition(":")[2]))
        assert again == url
        yield folder, docs, url, [first, second]


def asked(url: str, query: str) -> Any:
    """An answer, by a connection of its own."""
    body = json.dumps({"query": query, "max_results": 3}).encode()
    request = urllib.request.Request(f"{url}/v1/retrieve_fragments", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def requests(url: str) -> int:
    """How many questions the server behind a new connection has answered."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    counts = [
        line for line in lines if line.startswith("wenyuan_http_requests_total") and "retrieve_fragments" in line
    ]
    return round(sum(float(line.split()[-1]) for line in counts))


def stop(server: subprocess.Popen[str]) -> None:
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=120)
    assert server.returncode == 0


def test_two_servers_answer_as_one(shared: tuple[Path, Path, str, list[subprocess.Popen[str]]]) -> None:
    """Connections reach both, each sees what the other's process or a third one changes, and the audit is one chain.

    Who does not share the port cannot listen beside them.
    """
    folder, docs, url, servers = shared

    class Nothing:
        def readiness(self) -> Any: ...

    with pytest.raises(ConfigError, match="cannot listen"):
        serve(Nothing(), port=int(url.rpartition(":")[2]))  # type: ignore[arg-type]
    assert all("五天" in asked(url, "年假几天")["fragments"][0]["content"] for _ in range(31))
    counts = {requests(url) for _ in range(30)}  # never equal: the sum is odd
    assert len(counts) == 2
    assert sum(counts) == 31  # each counts its own
    (docs / "leave.md").write_text("# 年假\n\n职工累计工作满一年的，年休假十五天。\n", "utf-8")
    with wenyuan.open(folder, encoder={"kind": "hashing"}) as library:
        library.ingest("hr")
    assert all("十五天" in asked(url, "年假几天")["fragments"][0]["content"] for _ in range(30))
    stop(servers[0])
    assert all(asked(url, "年假几天")["status"] == "SUCCESS" for _ in range(20))
    stop(servers[1])  # what it has answered is in the audit by then
    with wenyuan.open(folder, encoder={"kind": "hashing"}) as library:
        assert library.audit.verify().ok
        assert len([r for r in library.audit.list(limit=200) if "retriev" in r.kind]) == 81
