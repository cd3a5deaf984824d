"""How long short writes wait beside an ingest, in the server's own process and in another; and whether a key that was
revoked meanwhile still opens the door.

    python bench/writing.py [--documents 400] [--where same other]

A library with the built-in encoder is served by ``wenyuan serve``. ``same``: the server itself takes a source in, asked
over HTTP. ``other``: ``wenyuan add`` does so in another process. All that time agents, keys, tasks, feedback, corrections
and readings of the audit are asked for over HTTP, one after another without a pause, as one person at a console could
at most; each key that was made asks a question, is revoked and asks again. Prints the environment, seconds by kind, how
long the ingest took, what was refused, and how many questions a revoked key had answered, which has to be none.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

import wenyuan
from wenyuan.app import create_library

WORDS = "混凝土 养护 不少于 七天 由 质检 小组 记录 复核 签字 存档 巡检 人员 每日 两次 检查 温度 湿度 并 上报".split()
RIGHTS = frozenset({"retrieve", "search", "ingest", "registry", "audit", "admin"})


def documents(folder: Path, count: int, name: str) -> Path:
    """Files of about four passages each, none like another."""
    drawn = random.Random(name)
    folder.mkdir()
    for number in range(count):
        parts = [
            f"## {name} {number}.{part}\n\n" + "，".join("".join(drawn.choices(WORDS, k=8)) for _ in range(12)) + "。"
            for part in range(4)
        ]
        (folder / f"{number}.md").write_text(f"# {name} {number}\n\n" + "\n\n".join(parts) + "\n", "utf-8")
    return folder


class Desk:
    """One person who writes over HTTP, and what it took."""

    def __init__(self, url: str, token: str) -> None:
        self.client = httpx2.Client(base_url=url, timeout=120)
        self.own = {"Authorization": f"Bearer {token}"}
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.refused: Counter[str] = Counter()
        self.after_revocation = 0

    def do(self, kind: str, method: str, path: str, body: Any = None, token: str = "") -> Any:
        """The answer's JSON; counted under `kind` unless that is empty."""
        headers = {"Authorization": f"Bearer {token}"} if token else self.own
        begun = time.perf_counter()
        answer = self.client.request(method, path, json=body, headers=headers)
        if kind:
            self.seconds[kind].append(time.perf_counter() - begun)
            if answer.status_code >= 300:
                self.refused[f"{kind}: {answer.status_code} {answer.json().get('code', '')}"] += 1
        return answer.json() if answer.content else {}

    def ask(self, token: str = "") -> Any:
        return self.do("", "POST", "/v1/search", {"query": "混凝土养护几天", "limit": 3}, token)

    def round(self, number: int) -> None:
        """Each kind of write once."""
        self.do(
            "agent",
            "POST",
            "/v1/agents",
            {"agent_id": "helper", "title": str(number), "knowledge_scope": [{"domain": "first"}]},
        )
        key = self.do("key made", "POST", "/v1/keys", {"rights": ["search"]})
        if not self.ask(key["key"]).get("passages"):
            self.refused["a key that was just made: no answer"] += 1
        self.do("key revoked", "DELETE", f"/v1/keys/{key['key_id']}")
        self.after_revocation += bool(self.ask(key["key"]).get("passages"))
        task = {"profile_id": "survey", "tasks": ["survey"], "domains": ["first"], "title": str(number)}
        self.do("task", "POST", "/v1/tasks", task)
        found = self.ask()
        first = found["passages"][0]["source"]
        self.do("feedback", "POST", "/v1/feedback", {"audit_id": found["metadata"]["audit_ids"][0], "good": [first]})
        wanted = {"action": "questions", "ref": first, "questions": [f"要养护多久？{number}"]}
        made = self.do("correction", "POST", "/v1/corrections", wanted)
        if "correction_id" in made:
            self.do("correction undone", "DELETE", f"/v1/corrections/{made['correction_id']}")
        self.do("audit", "GET", "/v1/audit?limit=10")


def under_way(desk: Desk) -> bool:
    """Whether the server is at the source ``same``."""
    return bool(desk.do("", "GET", "/v1/sources/same/refresh")["running"])


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, int]]:
    """The address of `wenyuan serve`, and the id of its process."""
    command = [sys.executable, "-m", "wenyuan.cli", "--library", str(folder), "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        try:
            line = next(line for line in iter(process.stdout.readline, "") if "http://" in line)
            yield "http://" + line.split("http://")[1].split()[0], process.pid
        finally:
            process.terminate()


def beside(desk: Desk, begin: Callable[[], Callable[[], bool]]) -> float:
    """Write while an ingest lasts; returns its seconds."""
    begun, running, number = time.perf_counter(), begin(), 0
    while running():
        number += 1
        desk.round(number)
    return time.perf_counter() - begun


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def report(where: str, desk: Desk, took: float) -> None:
    print(f"\n{where}: the ingest took {took:.0f} s")
    print(f"{'':<18} {'n':>5} {'median':>8} {'p95':>8} {'most':>8}  s")
    every = [one for values in desk.seconds.values() for one in values]
    for kind, values in [*desk.seconds.items(), ("all", every)]:
        print(
            f"{kind:<18} {len(values):>5} {quantile(values, 0.5):>8.3f} {quantile(values, 0.95):>8.3f} {max(values):>8.3f}"
        )
    print(
        f"refused: {dict(desk.refused) or 'none'}; questions that a revoked key had answered: {desk.after_revocation}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=400)
    parser.add_argument("--where", nargs="+", choices=("same", "other"), default=("same", "other"))
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        with create_library(place / "library") as library:
            library.add(wenyuan.Source(source_id="first", path=str(documents(place / "first", 5, "first"))))
            library.catalog.put_source(
                wenyuan.Source(source_id="same", path=str(documents(place / "same", options.documents, "same")))
            )
            _, token = library.catalog.create_key(None, RIGHTS, None)
        documents(place / "other", options.documents, "other")
        add = ["--library", str(place / "library"), "add", str(place / "other"), "--source", "other"]
        with serving(place / "library") as (url, _):
            for where in options.where:
                desk = Desk(url, token)

                def begin(where: str = where, desk: Desk = desk) -> Callable[[], bool]:
                    if where == "same":
                        asked = threading.Thread(
                            target=Desk(url, token).do, args=("", "POST", "/v1/sources/same/refresh")
                        )
                        asked.start()
                        while not under_way(desk):
                            time.sleep(0.05)
                        return asked.is_alive
                    process = subprocess.Popen(
                        [sys.executable, "-m", "wenyuan.cli", *add],
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL,
                    )
                    return lambda: process.poll() is None

                took = beside(desk, begin)
                report(where, desk, took)
                if desk.after_revocation:
                    sys.exit(1)


if __name__ == "__main__":
    main()
