"""Whether the first question of a process is answered in time on a busy machine, and how long it takes.

    python bench/first_question.py [--rounds 5] [--busy 6] [--deadline 2] [--passages 200] [--most 120] [--doors python cli http]

Processes that compute without end keep the machine busy. Then a process is started, opens a library with the built-in
encoder and rules, and asks one question, through Python, the command line (``wenyuan search``) or a server that has just
said where it listens. Prints the environment, each round as it ends, and by door how many first questions were answered, the seconds
from the start of the process to the answer, and the seconds of processor that the process took. A round that takes longer
than `--most` seconds is broken off, and was not answered.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
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


def run(most: float, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=most)


def python(folder: Path, most: float) -> str:
    done = run(most, sys.executable, "-c", _PYTHON, str(folder), QUESTION)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def cli(folder: Path, most: float) -> str:
    done = run(most, sys.executable, "-m", "wenyuan.cli", "--library", str(folder), "search", QUESTION)
    return "" if not done.returncode and "养护" in done.stdout else (done.stderr or done.stdout)[-200:]


def http(folder: Path, most: float) -> str:
    command = [sys.executable, "-m", "wenyuan.cli", "--library", str(folder), "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        late = threading.Timer(most, process.kill)
        late.start()
        try:
            line = next((line for line in iter(process.stdout.readline, "") if "http://" in line), "")
            if not line:
                return f"it did not listen within {most:g} s"
            url = "http://" + line.split("http://")[1].split()[0]
            answer = httpx2.post(
                f"{url}/v1/retrieve_fragments", json={"query": QUESTION, "max_results": 3}, timeout=most
            )
        except httpx2.HTTPError as error:
            return f"{type(error).__name__}: {error}"
        finally:
            late.cancel()
            process.terminate()
    said = answer.json()
    return "" if said["status"] == "SUCCESS" and said["fragments"] else str(said)[:200]


def spent() -> float:
    """Seconds of processor of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


DOORS: dict[str, Callable[[Path, float], str]] = {"python": python, "cli": cli, "http": http}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--busy", type=int, default=6)
    parser.add_argument("--deadline", type=float, default=2.0)
    parser.add_argument("--passages", type=int, default=200)
    parser.add_argument("--most", type=float, default=120.0, help="seconds of a round")
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
                seconds, used, wrong = [], [], []
                for number in range(options.rounds):
                    begun, before = time.perf_counter(), spent()
                    try:
                        trouble = DOORS[door](place / "library", options.most)
                    except subprocess.TimeoutExpired:
                        trouble = f"no answer within {options.most:g} s"
                    seconds.append(time.perf_counter() - begun)
                    used.append(spent() - before)
                    if trouble:
                        wrong.append(trouble)
                    print(f"  {door} {number + 1}: {seconds[-1]:.1f} s {trouble}", file=sys.stderr, flush=True)
                told = f"{options.rounds - len(wrong)} of {options.rounds} answered"
                print(
                    f"{door:<7} {told:<18} median {statistics.median(seconds):5.1f} s, most {max(seconds):5.1f} s,"
                    f" processor {statistics.median(used):4.1f} s",
                    *wrong[:1],
                    flush=True,
                )


if __name__ == "__main__":
    main()
