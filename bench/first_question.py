"""Whether the first question of a process is answered in time on a busy machine, and how long it takes.

    python bench/first_question.py [--rounds 5] [--busy 6] [--deadline 2] [--passages 2000] [--doors python cli http]

Processes that compute without end keep the machine busy. Then a process is started, opens a library with the built-in
encoder and rules, and asks one question, through Python, the command line (``wenyuan search``) or a server that has just
said where it listens. Prints the environment, and by door how many first questions were answered, and the seconds from the
start of the process to the answer.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

import wenyuan
from writing import documents

QUESTION = "混凝土养护几天"
_PYTHON = """
import sys, wenyuan
with wenyuan.open(sys.argv[1]) as library:
    answer = library.retrieve_fragments(wenyuan.RetrievalRequest(query=sys.argv[2], max_results=3))
assert answer.status == "SUCCESS" and answer.fragments, answer.error_message
"""


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes that compute."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for one in spinning:
            one.kill()
            one.wait()


def python(folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _PYTHON, str(folder), QUESTION], capture_output=True, text=True, check=False
    )
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def cli(folder: Path) -> str:
    command = [sys.executable, "-m", "wenyuan.cli", "--library", str(folder), "search", QUESTION]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if not done.returncode and "养护" in done.stdout else (done.stderr or done.stdout)[-200:]


def http(folder: Path) -> str:
    command = [sys.executable, "-m", "wenyuan.cli", "--library", str(folder), "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        line = next(line for line in iter(process.stdout.readline, "") if "http://" in line)
        url = "http://" + line.split("http://")[1].split()[0]
        try:
            answer = httpx2.post(
                f"{url}/v1/retrieve_fragments", json={"query": QUESTION, "max_results": 3}, timeout=120
            )
        finally:
            process.terminate()
    said = answer.json()
    return "" if said["status"] == "SUCCESS" and said["fragments"] else str(said)[:200]


DOORS: dict[str, Callable[[Path], str]] = {"python": python, "cli": cli, "http": http}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--busy", type=int, default=6)
    parser.add_argument("--deadline", type=float, default=2.0)
    parser.add_argument("--passages", type=int, default=2000)
    parser.add_argument("--doors", nargs="+", choices=DOORS, default=list(DOORS))
    options = parser.parse_args()
    os.environ["WENYUAN_SEARCH__DEADLINE"] = str(options.deadline)
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {options.busy} processes more"
    )
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        with wenyuan.open(place / "library", create=True, search={"deadline": 60}) as library:
            library.add(
                wenyuan.Source(source_id="docs", path=str(documents(place / "docs", options.passages // 4, "docs")))
            )
        with busy(options.busy):
            for door in options.doors:
                seconds, wrong = [], []
                for _ in range(options.rounds):
                    begun = time.perf_counter()
                    trouble = DOORS[door](place / "library")
                    seconds.append(time.perf_counter() - begun)
                    if trouble:
                        wrong.append(trouble)
                told = f"{options.rounds - len(wrong)} of {options.rounds} answered"
                print(
                    f"{door:<7} {told:<18} median {statistics.median(seconds):5.1f} s, most {max(seconds):5.1f} s",
                    *wrong[:1],
                )


if __name__ == "__main__":
    main()
