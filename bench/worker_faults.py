"""Workers that take one source in together, and what may befall them: is the library that of one worker's run?

python bench/worker_faults.py --rounds 5 --record both

In each round a new library is taken in by three workers, processes of their own, of which some are killed (SIGKILL), stopped for
longer than their lease (SIGSTOP, then SIGCONT), have clocks an hour apart (on PostgreSQL) or one that is set back or forward meanwhile, an older version, one encoder of three that
answers 503, NaN or another dimension, or a document that ends whoever embeds it; or PostgreSQL is ended in immediate mode
and started again. After it every row of documents, passages and vectors is compared with those of one worker's run without
any fault. Prints one line of JSON for each fault, and exits with 1 where something was lost, twice or different.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.core.sources import SourceState

SUPPORT = Path(__file__).parents[1] / "tests" / "support"
DOCUMENTS = 24
POISON = "毒药"
TABLES = (
    "SELECT passage_id, document_id, uri, text, vector_key, label_key, seq, removed_seq FROM passages ORDER BY passage_id",
    "SELECT document_id, uri, title, fingerprint, seq, removed_seq FROM documents ORDER BY document_id",
    "SELECT vector_key, vector, crc FROM vectors ORDER BY vector_key",
)

Workers = Callable[[random.Random], list[dict[str, Any]]]


def _killed(chance: random.Random) -> list[dict[str, Any]]:
    return [{"after": chance.uniform(0.0, 1.2), "delay": 0.1} for _ in range(2)] + [{}]


def _stopped(chance: random.Random) -> list[dict[str, Any]]:
    slow = {"lease": 0.5, "delay": 0.3}
    return [{**slow, "stopped": [chance.uniform(0.1, 0.8), 2.0]}, slow, slow]


def _clocks(_: random.Random) -> list[dict[str, Any]]:
    return [{"clock": -3_600.0, "delay": 0.05}, {"clock": 3_600.0, "delay": 0.05}, {"delay": 0.05}]


def _set(chance: random.Random) -> list[dict[str, Any]]:
    jump = {"clock": chance.choice((-3_600.0, 3_600.0)), "clock_after": chance.uniform(0.3, 1.0), "delay": 0.1}
    return [jump, jump, jump]


def _older(_: random.Random) -> list[dict[str, Any]]:
    return [{}, {"program": "0.0.1+0", "begins": 0.3, "patient": True}, {}]


def _answers(what: str) -> Workers:
    return lambda _: [
        {"answers": what, "patient": True},
        {"delay": 0.2, "patient": True},
        {"delay": 0.2, "patient": True},
    ]


def _poison(_: random.Random) -> list[dict[str, Any]]:
    return [{"lease": 1.0} for _ in range(14)]


def _restarted(_: random.Random) -> list[dict[str, Any]]:
    return [{"delay": 0.1, "patient": True} for _ in range(3)]


FAULTS: dict[str, Workers] = {
    "killed": _killed, "stopped": _stopped, "clocks": _clocks, "set": _set, "older": _older, "503": _answers("unavailable"),
    "NaN": _answers("nan"), "dimension": _answers("dimension"), "poison": _poison, "restarted": _restarted,
}  # fmt: skip
MAY_END = frozenset({"poison", "older", "restarted"})  # faults by which a worker may end with an error, too


class Starter:
    """The process that forks workers; see ``tests/support/worker_child.py``."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, str(SUPPORT / "worker_child.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip

    def run(self, commands: list[dict[str, Any]]) -> dict[str, Any]:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        print(json.dumps(commands), file=self._child.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._child.stdout.readline())
        return answer

    def close(self) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        self._child.wait(60)
        self._child.stdout.close()


def documents(folder: Path, poison: bool) -> None:
    folder.mkdir()
    for number in range(DOCUMENTS):
        text = f"# 第 {number} 章\n\nRule {number}: a complaint is answered within {number + 1} days.\n"
        (folder / f"{number:02}.md").write_text(text, "utf-8")
    if poison:
        (folder / "99.md").write_text(f"# {POISON}\n\nWho embeds this ends.\n", "utf-8")


def rows(library: wenyuan.Library, folder: Path) -> list[list[tuple[Any, ...]]]:
    """All that is stored of documents, without where their folder is."""
    found = []
    with library.catalog.database.reading("comparing") as connection:
        for query in TABLES:
            made = []
            for row in connection.exec_driver_sql(query).all():
                plain = (bytes(value) if isinstance(value, memoryview) else value for value in row)
                made.append(
                    tuple(value.replace(folder.as_uri(), "") if isinstance(value, str) else value for value in plain)
                )
            found.append(made)
    return found


class Rounds:
    """New libraries, one after the other, taken in by workers."""

    def __init__(self, home: Path, server: Any, starter: Starter) -> None:
        self._home, self._server, self._starter, self._number = home, server, starter, 0

    @contextmanager
    def library(self, record: str, poison: bool = False) -> Iterator[tuple[dict[str, Any], Path]]:
        """A library with documents that are due; the command of a worker on it, and the documents' folder."""
        self._number += 1
        folder, docs = self._home / f"library{self._number}", self._home / f"docs{self._number}"
        documents(docs, poison)
        where: dict[str, Any] = {}
        if record == "postgres":
            where = {"dsn": self._server.dsn, "schema_name": f"faults{self._number}", "sessions": 4}
        with wenyuan.open(
            folder, create=True, encoder={"kind": "hashing"}, **({"catalog": where} if where else {})
        ) as made:
            made.catalog.put_source(wenyuan.Source(source_id="docs", path=str(docs), refresh_cycle="P365D"))
            made.catalog.put_source_state(SourceState(source_id="docs", next_refresh=0.0))
        yield {"folder": str(folder), "catalog": where or None}, docs

    def taken_in(
        self, record: str, workers: list[dict[str, Any]], fault: str = ""
    ) -> tuple[Any, list[str], dict[str, Any]]:
        """What is then in the library, what failed of the source, and how the workers ended."""
        with self.library(record, fault == "poison") as (command, docs):
            restart = threading.Timer(0.8, self._restart) if fault == "restarted" else None
            if restart is not None:
                restart.start()
            answer = self._starter.run([{**command, **one} for one in workers])
            if restart is not None:
                restart.join()
            more = {"catalog": command["catalog"]} if command["catalog"] else {}
            with wenyuan.open(Path(command["folder"]), encoder={"kind": "hashing"}, **more) as library:
                left = "batches are left in the queue" if _count(library, "embedding_batches") else ""
                failed = [uri[-5:] for uri in library.catalog.failures("docs")]
                if not library.audit.verify().ok:
                    left = "the audit does not verify"
                return rows(library, docs), [*failed, *filter(None, [left])], answer

    def _restart(self) -> None:
        self._server.crash()
        time.sleep(0.5)
        self._server.start()


def _count(library: wenyuan.Library, table: str) -> int:
    with library.catalog.database.reading("counting") as connection:
        return int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())


def compare(rounds: Rounds, record: str, fault: str, count: int, alone: Any, chance: random.Random) -> dict[str, Any]:
    """Some rounds of one fault."""
    wrong, ended, begun = [], 0, time.monotonic()
    for _ in range(count):
        found, failed, answer = rounds.taken_in(record, FAULTS[fault](chance), fault)
        ended += sum(answer["killed"]) + sum(answer["failed"])
        if any(answer["failed"]) and fault not in MAY_END:
            wrong.append("a worker ended with an error")
        if failed != (["99.md"] if fault == "poison" else []):
            wrong.append(f"failed: {failed}")
        if fault == "poison":  # what was tried alone is numbered as it was committed: the same texts, each once
            found, expected = (
                [sorted(row[3] for row in found[0]), found[2]],
                [sorted(row[3] for row in alone[0]), alone[2]],
            )
        else:
            expected = alone
        if found != expected:
            wrong.append(f"other rows: {[len(table) for table in found]} for {[len(table) for table in expected]}")
    return {
        "record": record, "fault": fault, "rounds": count, "workers that ended": ended, "wrong": len(wrong),
        "examples": wrong[:3], "seconds": round(time.monotonic() - begun, 1),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--record", choices=["folder", "postgres", "both"], default="both")
    parser.add_argument("--faults", nargs="+", choices=list(FAULTS), default=list(FAULTS))
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args()
    sys.path.insert(0, str(SUPPORT))
    import postgres_server

    bad = 0
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wenyuan-faults-")))
        records = ["folder", "postgres"] if asked.record == "both" else [asked.record]
        server = stack.enter_context(postgres_server.own()) if "postgres" in records else None
        starter = Starter()
        stack.callback(starter.close)
        rounds, chance = Rounds(home, server, starter), random.Random(asked.seed)
        for record in records:
            alone, failed, _ = rounds.taken_in(record, [{}])
            assert not failed, failed
            for fault in asked.faults:
                if fault not in ("restarted", "clocks") or record == "postgres":
                    found = compare(rounds, record, fault, asked.rounds, alone, chance)
                    print(json.dumps(found, ensure_ascii=False), flush=True)
                    bad += found["wrong"]
    print(json.dumps({"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "wrong": bad}))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
