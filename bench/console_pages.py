"""How long each page of the console takes where much was taken in and asked.

    python bench/console_pages.py [--passages 100000] [--records 100000] [--rounds 5] [--folder DIR]

A library of rows of questions and answers is made, and an audit of as many questions over the last 30 days, for six
agents. Each page is asked for over HTTP; what is printed is the median and the longest of the rounds in milliseconds of the
processor (the server's, the caller's and what runs beside them), and the median by the clock.
"""

from __future__ import annotations

import argparse
import csv
import http.client
import random
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import wenyuan
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.console import with_console
from wenyuan.server.app import create_app
from wenyuan.server.running import start_in_thread

SOURCES = 20
AGENTS = ("", "hotline", "support", "site", "school", "clinic")
_DAY = 86_400.0
_ROWS = 500  # of one file
PAGES = (
    "overview", "overview?days=365", "search?q={question}", "documents", "documents?sort=title", "documents?sort=newest",
    "documents?sort=fidelity", "documents?kind=csv&q=7", "sources", "sources/s0", "sources/s0/documents", "documents/1",
    "audit", "audit?kind=retrieval&outcome=failed", "audit?kind=retrieval&outcome=any&agent=site&since={day}&until={day}",
    "audit?kind=retrieval&outcome=weak&source=s3", "gaps", "gaps?days=365&state=later", "impact", "conflicts", "rules",
    "review", "evaluation", "people", "health", "context?q={question}", "answer", "verify", "erasures", "corrections",
    "documents/1/history", "sources/s0/readers", "sources/+new",
)  # fmt: skip


def fill(folder: Path, passages: int) -> None:
    """A library of so many rows, in twenty sources."""
    drawn = random.Random(7)
    per = -(-passages // SOURCES)
    with wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"}) as library:
        for number in range(SOURCES):
            place = folder / "docs" / f"s{number}"
            place.mkdir(parents=True)
            for start in range(0, per, _ROWS):
                with (place / f"{start}.csv").open("w", encoding="utf-8", newline="") as lines:
                    rows = csv.writer(lines)
                    rows.writerow(["问题", "答案"])
                    for at in range(start, min(start + _ROWS, per)):
                        rows.writerow(
                            [
                                f"设备 {number}-{at} 多久检查一次",
                                f"设备 {number}-{at} 每 {drawn.randint(2, 900)} 小时检查一次。",
                            ]
                        )
            library.add(wenyuan.Source(source_id=f"s{number}", path=str(place), trust=1 + number % 5))


def ask(folder: Path, records: int) -> None:
    """An audit of so many questions over the last 30 days."""
    drawn, now = random.Random(8), time.time()
    clock = [now - 30 * _DAY]
    with closing(AuditLog(folder / "library", clock=lambda: clock[0])) as log:
        for at in range(records):
            clock[0] = now - 30 * _DAY * (1 - at / records)
            log.append(_record(drawn, at), {"query": f"设备 {at} 多久检查一次"})
            if at % 2_000 == 0:
                log.flush()


def _record(drawn: random.Random, at: int) -> dict[str, Any]:
    source = f"s{drawn.randrange(SOURCES)}"
    given = drawn.random() < 0.85
    fragments = [
        {"ref": f"{source}#{rank}", "passage_id": rank, "sha256": "0" * 64, "score": drawn.random() / (rank + 1), "trust": 3,
         "quoted_chars": 40, "source_id": source, "uri": f"file:///docs/{source}/{rank}.csv#row={rank}"}
        for rank in range(10 if given else 0)
    ]  # fmt: skip
    legs = [
        {"name": name, "state": "ok", "ms": round(drawn.expovariate(0.05), 1), "hits": drawn.randrange(2)}
        for name in ("keyword", "vector")
    ]
    return {
        "kind": "retrieval", "principal": "local", "door": "search", "agent": drawn.choice(AGENTS) or None,
        "preview": f"设备 {at} 多久检查一次", "status": "FAILED" if drawn.random() < 0.01 else "SUCCESS", "legs": legs,
        "fragments": fragments, "generation": 1, "settings": "0" * 16, "encoder": "hashing", "cache_hit": False,
    }  # fmt: skip


def timed(url: str, path: str) -> tuple[float, float]:
    """Milliseconds of the processor and by the clock from asking for a page to its last byte; RuntimeError where it is none."""
    begun, spent = time.perf_counter(), time.process_time()
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=600)
    with closing(connection):
        connection.request("GET", quote(f"/console/{path}", safe="/?=&%"))
        response = connection.getresponse()
        response.read()
    if response.status != 200:
        raise RuntimeError(f"{path}: {response.status}")
    return (time.process_time() - spent) * 1_000, (time.perf_counter() - begun) * 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        if not (folder / "library").exists():
            fill(folder, given.passages)
            ask(folder, given.records)
        values = {
            "question": "设备 3-7 多久检查一次",
            "day": time.strftime("%Y-%m-%d", time.localtime(time.time() - 3 * _DAY)),
        }
        with wenyuan.open(folder / "library", encoder={"kind": "hashing"}, cache={"seconds": 0}) as library:
            url, stop = start_in_thread(with_console(create_app(library)))
            try:
                for page in PAGES:
                    path = page.format(**values)
                    timed(url, path)
                    took = [timed(url, path) for _ in range(given.rounds)]
                    spent = [processor for processor, _ in took]
                    clock = statistics.median(one for _, one in took)
                    print(f"{statistics.median(spent):7.0f} {max(spent):7.0f} {clock:7.0f}  {page}", flush=True)
            finally:
                stop()


if __name__ == "__main__":
    main()
