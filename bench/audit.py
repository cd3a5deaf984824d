"""What the audit costs: appending, a whole record with its builder, groups on the disk, bytes, verifying.

    python bench/audit.py [--records 20000] [--folder DIR] [--json]

Records have ten fragments and a kept query of 20 Chinese characters. A request is one of the embedded library with
the hashing encoder and 60 documents, asked with and without its record, in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from datetime import date
from pathlib import Path
from typing import Any

import wenyuan
from wenyuan.catalog.audit.log import AuditLog
from wenyuan.core.access import Principal
from wenyuan.core.filters import Scope
from wenyuan.core.model import Source
from wenyuan.service.audit.request_entry import request_of
from wenyuan.service.audit.retrieval_entry import digest_of, fragment_entries, retrieval_record
from wenyuan.service.query import Query
from wenyuan.service.search.retriever import Retriever

QUERY = Query(text="客户投诉处理的期限是多少天，由谁负责答复", limit=10)


def parts(times: list[float], unit: float = 1e3) -> dict[str, float]:
    """Percentiles, in ms unless `unit` says otherwise."""
    ranked = sorted(times)
    shown = {"p50": ranked[len(ranked) // 2], "p99": ranked[len(ranked) * 99 // 100], "max": ranked[-1]}
    return {name: round(value * unit, 4) for name, value in shown.items()}


def made_fragments() -> list[dict[str, Any]]:
    return [
        {
            "ref": f"docs#{n}", "passage_id": n, "sha256": digest_of(n) * 4, "score": 0.9 - n / 100, "trust": 4,
            "quoted_chars": 400, "source_id": "docs", "uri": f"file:///kb/customer-service/policy-{n}.md#第三章-投诉处理",
        }
        for n in range(1, 11)
    ]  # fmt: skip


def record_of(fragments: list[dict[str, Any]]) -> dict[str, Any]:
    return retrieval_record(
        principal=Principal(key_id="0a1b2c3d", agent_id="writer"), request=request_of(QUERY),
        scope=Scope(sources=frozenset({"docs", "faq"}), as_of=date(2026, 6, 1)), generation=12,
        settings_digest="0" * 16, encoder_key="model|0123456789abcdef|384|||mean|int8", fragments=fragments,
        trusts={"docs": 4, "faq": 3},
    )  # fmt: skip


def appending(folder: Path, count: int) -> dict[str, Any]:
    """At 1,000 records a second, as a busy service would; then as fast as it goes."""
    log = AuditLog(folder)
    fragments, record, request = made_fragments(), record_of(made_fragments()), request_of(QUERY)
    only, whole = [], []
    for n in range(count // 4):
        begun = time.perf_counter()
        log.append(record, request)
        only.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        log.append(record_of(fragments), request)
        whole.append(time.perf_counter() - begun)
        if n % 2:
            time.sleep(0.002)
    log.flush()
    begun = time.perf_counter()
    for n in range(count // 2):
        if n % 5_000 == 4_999:
            log.flush()
        log.append(record, request)
    log.flush()
    rate = (count // 2) / (time.perf_counter() - begun)
    flushes = []
    for _ in range(50):
        log.append(record, request)
        begun = time.perf_counter()
        log.flush()
        flushes.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    verified = log.verify()
    seconds = time.perf_counter() - begun
    assert verified.ok
    log.close()
    size = (folder / "audit.db").stat().st_size
    return {
        "append, ms": parts(only),
        "build and append, ms": parts(whole),
        "flush of one record, ms": parts(flushes),
        "records/s, one thread, to the disk": round(rate),
        "bytes/record": round(size / verified.records),
        "verified records/s": round(verified.records / seconds),
        "records": verified.records,
    }


def writers(folder: Path, threads: int = 8, each: int = 500) -> dict[str, Any]:
    """Eight threads that append at once."""
    log = AuditLog(folder)
    record, request = record_of(made_fragments()), request_of(QUERY)
    times: list[list[float]] = [[] for _ in range(threads)]

    def work(own: list[float]) -> None:
        for _ in range(each):
            begun = time.perf_counter()
            log.append(record, request)
            own.append(time.perf_counter() - begun)
            time.sleep(0.004)

    executor = [threading.Thread(target=work, args=(own,)) for own in times]
    for thread in executor:
        thread.start()
    for thread in executor:
        thread.join()
    log.close()
    return {"append by 8 threads, ms": parts([t for own in times for t in own])}


def requests(folder: Path, count: int = 600) -> dict[str, Any]:
    """A request with its record and one without, in turns."""
    docs = folder / "docs"
    docs.mkdir()
    for n in range(60):
        text = f"# 制度 {n}\n\n" + "\n\n".join(f"## 第{i}节\n\n客户投诉第{n}号规定，{i} 日内答复。" for i in range(5))
        (docs / f"{n}.md").write_text(text, "utf-8")
    with_audit, without = [], []
    with wenyuan.open(folder / "library", create=True, encoder={"kind": "hashing"}) as library:
        library.add(Source(source_id="docs", path=str(docs)))
        log = AuditLog(folder / "library")
        retriever = Retriever(library.catalog, library.engine, library.encoder, library.settings.search)
        for n in range(2 * count):
            begun = time.perf_counter()
            answer = retriever.retrieve(QUERY)
            if n % 2:
                log.append(
                    record_of(fragment_entries((h, answer.passages[h.passage_id]) for h in answer.hits)),
                    request_of(QUERY),
                )
            (with_audit if n % 2 else without).append(time.perf_counter() - begun)
        retriever.close()
        log.close()
    return {"request, ms": parts(without), "request with record, ms": parts(with_audit)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as made:
        found: dict[str, Any] = {"load": [round(x, 2) for x in os.getloadavg()], "cores": os.cpu_count()}
        for name, measure in (
            ("a", lambda folder: appending(folder, given.records)),
            ("w", writers),
            ("r", requests),
        ):
            folder = Path(made) / name
            folder.mkdir()
            found |= measure(folder)
    if given.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:36} {value}")


if __name__ == "__main__":
    main()
