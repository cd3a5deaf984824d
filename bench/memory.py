"""What `wenyuan serve` takes of memory while many ask it and another process writes: does it level off?

    python bench/memory.py [--minutes 6] [--clients 32] [--documents 200] [--pause 1] [--settings KEY=VALUE …]

A library with the built-in encoder is served by ``wenyuan serve``; callers ask without a pause, 500 questions in turn, while
another process changes a document every `--pause` seconds and takes its source in. Prints the environment, and for each
half minute: seconds, MB of the server's RSS, of these its own pages (anonymous) and pages of files, open files, mapped
files, threads, answers and changes so far.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import wenyuan
from serve import load
from writing import WORDS, documents, serving

_WRITER = """
import itertools, sys, time
from pathlib import Path
import wenyuan
folder, docs, pause = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
source = wenyuan.Source(source_id="docs", path=str(docs))
with wenyuan.open(folder) as library:
    for number in itertools.count(1):
        changed = docs / f"{number % 50}.md"
        changed.write_text(changed.read_text("utf-8") + f"\\n第{number}次复核，由质检小组签字。\\n", "utf-8")
        library.add(source)
        print(number, flush=True)
        time.sleep(pause)
"""


def state(pid: int) -> dict[str, int]:
    """What the system says of a process."""
    about = Path(f"/proc/{pid}")
    lines = dict(line.split(":", 1) for line in (about / "status").read_text().splitlines())
    mb = {
        name: int(lines[key].split()[0]) // 1024
        for name, key in (("rss", "VmRSS"), ("own", "RssAnon"), ("files", "RssFile"))
    }
    maps = [line.split(maxsplit=5)[-1] for line in (about / "maps").read_text().splitlines() if "/" in line]
    return {
        **mb,
        "open": len(list((about / "fd").iterdir())),
        "mapped": len(set(maps)),
        "threads": int(lines["Threads"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between two changes")
    parser.add_argument("--each", type=float, default=30.0, help="seconds between two lines")
    parser.add_argument("--settings", nargs="*", default=[], metavar="KEY=VALUE", help="environment of the server")
    options = parser.parse_args()
    os.environ["WENYUAN_SERVER__RATE_PER_KEY"] = "0"
    os.environ.update(one.split("=", 1) for one in options.settings)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        with wenyuan.open(place / "library", create=True, search={"deadline": 60}) as library:
            library.add(
                wenyuan.Source(source_id="docs", path=str(documents(place / "docs", options.documents, "docs")))
            )
        asked = [f"{WORDS[n % len(WORDS)]}{WORDS[n // len(WORDS) % len(WORDS)]} {n} 怎么办" for n in range(500)]
        contract = [json.dumps({"query": text, "max_results": 10}).encode() for text in asked]
        search = [json.dumps({"query": text, "limit": 10}).encode() for text in asked]
        with serving(place / "library") as (url, server):  # its audit is on, as it is by default
            port = int(url.rpartition(":")[2])
            writer = subprocess.Popen(
                [sys.executable, "-c", _WRITER, str(place / "library"), str(place / "docs"), str(options.pause)],
                stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            changes: list[str] = []
            assert writer.stdout
            threading.Thread(target=changes.extend, args=(writer.stdout,), daemon=True).start()
            try:
                watch(port, server, (contract, search), changes, options)
            finally:
                writer.terminate()
                writer.wait()


def watch(
    port: int, server: int, bodies: tuple[list[bytes], list[bytes]], changes: list[str], options: argparse.Namespace
) -> None:
    """Ask, and print what the server takes, until the time is up."""
    begun, answers, errors = time.monotonic(), 0, 0
    while True:
        now = state(server)
        if not answers:
            print(f"{'s':>5} " + " ".join(f"{name:>7}" for name in now) + "  answers  errors changes")
        numbers = " ".join(f"{value:>7}" for value in now.values())
        print(f"{time.monotonic() - begun:>5.0f} {numbers} {answers:>8} {errors:>7} {len(changes):>7}", flush=True)
        if time.monotonic() - begun > options.minutes * 60:
            return
        for said in asyncio.run(both(port, bodies, options.clients // 2, options.each)):
            answers += int(said["requests"])
            errors += int(said["errors"])


async def both(
    port: int, bodies: tuple[list[bytes], list[bytes]], clients: int, seconds: float
) -> list[dict[str, float]]:
    """Half of the callers ask by the contract, half the knowledge service, whose answers are kept for a while."""
    contract, search = bodies
    return await asyncio.gather(
        load(port, contract, clients, seconds), load(port, search, clients, seconds, "/v1/search")
    )


if __name__ == "__main__":
    main()
