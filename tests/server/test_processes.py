"""Several processes that one server has started: ``server.processes``. They answer as one."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import wenyuan
from http_door import url_of
from patience import HANGS
from wenyuan.server.member import VARIABLE, Member
from wenyuan.server.process_counts import SharedNumbers

pytestmark = [pytest.mark.integration, pytest.mark.slow]
KIND = {"kind": "hashing"}


class Served:
    """A server of two processes, as its callers see it and as the system does."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process, self.url = process, url
        self.host = urllib.parse.urlsplit(url).netloc

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """An answer, by a connection of its own."""
        connection = http.client.HTTPConnection(self.host, timeout=HANGS)
        try:
            content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            sent = {"content-type": "application/json", **headers} if content is not None else headers
            connection.request(method, path, content, sent)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def ask(self, query: str = "年假几天", **headers: str) -> Any:
        return json.loads(
            self.send("POST", "/v1/retrieve_fragments", {"query": query, "max_results": 3}, **headers)[2]
        )

    def number(self, name: str, **headers: str) -> float:
        """The sum of the samples of a metric."""
        lines = self.send("GET", "/metrics", **headers)[2].decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))

    def members(self) -> dict[int, tuple[int, Member]]:
        """Process id and place of each process, by its number."""
        found = {}
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for pid in map(int, children):
            try:
                world = Path(f"/proc/{pid}/environ").read_text()
            except OSError:  # it has just ended
                continue
            told = dict(one.partition("=")[::2] for one in world.split("\0"))
            if VARIABLE in told:
                member = Member(**json.loads(told[VARIABLE]))
                found[member.number] = pid, member
        return found

    def answered(self, number: int) -> int:
        """How many questions one process has answered, as it has written down."""
        member = self.members()[number][1]
        before = SharedNumbers(member)._before
        return sum(
            count for part in before for (door, _, _), count in part.requests.items() if door == "retrieve_fragments"
        )


def eventually(true: Callable[[], object]) -> None:
    until = time.monotonic() + HANGS
    while not true():
        assert time.monotonic() < until
        time.sleep(0.1)


@contextmanager
def serving(folder: Path, **settings: str) -> Iterator[Served]:
    environment = {
        **os.environ, "WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_SERVER__PROCESSES": "2",
        "PYTHONPATH": os.pathsep.join(sys.path), **settings,
    }  # fmt: skip
    command = [sys.executable, "-m", "wenyuan.cli", "--library", folder.name, "serve", "--port", "0", "--json"]
    process = subprocess.Popen(
        command, env=environment, cwd=folder.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield Served(process, url_of(process))
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=HANGS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A library with a source of one document, and one for uploads."""
    docs, place = tmp_path / "docs", tmp_path / "library"
    docs.mkdir()
    (docs / "leave.md").write_text("# 年假\n\n职工累计工作满一年的，年休假五天。\n", "utf-8")
    with wenyuan.open(place, create=True, encoder=KIND) as library:
        library.add(wenyuan.Source(source_id="hr", path=str(docs)))
    return place


def test_two_processes_answer_as_one(folder: Path) -> None:
    """Both answer, numbers are added up, a process that is killed is replaced and said to be, and the audit is one chain."""
    with serving(folder) as door:
        eventually(lambda: door.number("wenyuan_processes ") == 2)
        eventually(lambda: door.ask()["status"] == "SUCCESS" and door.answered(0) and door.answered(1))
        asked = door.answered(0) + door.answered(1)
        eventually(lambda: door.number('wenyuan_http_requests_total{door="retrieve_fragments"') >= asked)
        time.sleep(1.5)  # what was counted last is written
        asked = round(door.number('wenyuan_http_requests_total{door="retrieve_fragments"'))
        for _ in range(25):
            assert "五天" in door.ask()["fragments"][0]["content"]
        eventually(lambda: door.number('wenyuan_http_requests_total{door="retrieve_fragments"') == asked + 25)
        for number in (1, 0):  # the second one, and the one that has what is not shared
            time.sleep(1.5)
            pid = door.members()[number][0]
            os.kill(pid, signal.SIGKILL)
            eventually(lambda pid=pid: pid not in [one for one, _ in door.members().values()])
            assert all(door.ask()["status"] == "SUCCESS" for _ in range(10))
            eventually(lambda: len(door.members()) == 2)
            eventually(lambda: door.send("GET", "/metrics")[0] == 200 and door.number("wenyuan_processes ") == 2)
        asked += 45
        eventually(lambda: door.number('wenyuan_http_requests_total{door="retrieve_fragments"') == asked)
        assert door.number("wenyuan_processes_restarted_total") == 2
        pids = [pid for pid, _ in door.members().values()]
        door.process.send_signal(signal.SIGTERM)
        _, said = door.process.communicate(timeout=HANGS)
        assert door.process.returncode == 0, said
        assert said.count("another one takes its place") == 2
        assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    with wenyuan.open(folder, encoder=KIND) as library:
        assert library.audit.verify().ok
        kept = sum("retriev" in one.kind for one in library.audit.list(limit=1_000))
        assert kept == asked  # each answer that was given has its record, whoever was killed


def test_limits_are_those_of_all(folder: Path) -> None:
    """A key that may ask twenty times at once may do so twenty times, whichever process takes its connections."""
    with wenyuan.open(folder, encoder=KIND) as library:
        key = library.catalog.create_key(None, frozenset({"retrieve"}), None)[1]
        watching = library.catalog.create_key(None, frozenset({"audit"}), None)[1]
    limits = {"WENYUAN_SERVER__RATE_PER_KEY": "0.01", "WENYUAN_SERVER__CONCURRENCY_PER_KEY": "0"}
    with serving(folder, **limits) as door:
        watch = {"authorization": f"Bearer {watching}"}
        eventually(lambda: len(door.members()) == 2 and door.members()[1][1].ready.exists())
        with ThreadPoolExecutor(8) as pool:
            body = {"query": "年假几天", "max_results": 1}
            sent = [
                pool.submit(door.send, "POST", "/v1/retrieve_fragments", body, authorization=f"Bearer {key}")
                for _ in range(40)
            ]
            statuses = [one.result()[0] for one in sent]
        assert sorted(statuses) == [200] + [429] * 39
        time.sleep(1.5)
        assert door.number("wenyuan_http_rate_limited_total", **watch) == 39


def test_who_is_signed_in_is_so_at_each(folder: Path) -> None:
    """A session, and the limit on keys that are tried, hold whichever process takes the connection; so do uploads."""
    with wenyuan.open(folder, encoder=KIND) as library:
        key = library.catalog.create_key(
            None, frozenset({"retrieve", "search", "registry", "ingest", "audit", "admin"}), None
        )[1]
    with serving(folder) as door:
        eventually(lambda: len(door.members()) == 2 and door.members()[1][1].ready.exists())
        form = {"content-type": "application/x-www-form-urlencoded", "origin": door.url}
        wrong = [
            door.send("POST", "/console/sign-in", b"key=wy_no&next=%2Fconsole%2Fsearch", **form)[0] for _ in range(12)
        ]
        assert wrong == [401] * 5 + [429] * 7
        bearer = {"authorization": f"Bearer {key}"}
        for number in range(6):
            made = {"source_id": f"s{number}", "title": "t"}
            assert door.send("POST", "/v1/sources", made, **bearer)[0] in (200, 201)
            assert f"s{number}" in door.send("GET", "/v1/sources", **bearer)[2].decode()
        text = "# 说明\n\n" + "阀门每月检查一次。\n\n" * 20_000
        for number in range(4):
            sent = b'--x\r\nContent-Disposition: form-data; name="file"; filename="%d.md"\r\n\r\n%s\r\n--x--\r\n'
            content, told = sent % (number, text.encode()), {"content-type": "multipart/form-data; boundary=x"}
            status, _, said = door.send("POST", "/v1/sources/s0/documents", content, **bearer, **told)
            assert status in (200, 201), said
            listed = door.send("GET", "/v1/documents?source=s0", **bearer)[2].decode()
            assert f"{number}.md" in listed
            status, headers, said = door.send("GET", "/v1/nowhere", **bearer, **{"x-request-id": "mine"})
            assert (status, headers["x-request-id"], json.loads(said)["code"]) == (404, "mine", "not_found")


def test_they_end_with_the_server(folder: Path) -> None:
    """A server that is killed leaves no process behind."""
    with serving(folder) as door:
        eventually(lambda: len(door.members()) == 2 and door.members()[1][1].ready.exists())
        pids = [pid for pid, _ in door.members().values()]
        door.process.kill()
        eventually(lambda: not [pid for pid in pids if Path(f"/proc/{pid}").exists()])


def test_what_cannot_start_is_said_once(tmp_path: Path) -> None:
    """A library that is not there ends the server with its reason; so do two settings that contradict one another."""
    command = [sys.executable, "-m", "wenyuan.cli", "--library", str(tmp_path / "none"), "serve", "--port", "0"]
    world = {**os.environ, "WENYUAN_SERVER__PROCESSES": "2", "PYTHONPATH": os.pathsep.join(sys.path), "LC_ALL": "C"}
    done = subprocess.run(command, env=world, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 1
    assert done.stderr.count("there is no library") == 1
    world["WENYUAN_SERVER__SHARED_PORT"] = "true"
    done = subprocess.run(command, env=world, capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 1
    assert "exclude one another" in done.stderr
