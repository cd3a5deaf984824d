"""How many places one question passes: the named functions and the files that a warm search runs, the least of nine.

    python bench/read_path.py LIBRARY "QUESTION" [--list]

LIBRARY is a folder that `wenyuan init` made. Functions of all threads count, the audit's writer included; lambdas,
comprehensions and what libraries of others run do not. With ``--list`` they are named, file by file, with their calls.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import wenyuan
from search import environment
from wenyuan.core.model import RetrievalRequest

PACKAGE = f"{Path(wenyuan.__file__).parent}/"
PAUSE = 0.1
"""Seconds between two questions, in which the audit's writer ends the one before."""


class Places:
    """Counts the calls of each (file, function) of the package while it is on."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.on = False

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if self.on and event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<"):
            self.calls[code.co_filename.removeprefix(PACKAGE), code.co_qualname] += 1


def main() -> None:
    """Ask, count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("question")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    places = Places()
    threading.setprofile(places)  # for the threads that the library begins
    rounds: list[Counter[tuple[str, str]]] = []
    with wenyuan.open(given.library) as library:
        request = RetrievalRequest(query=given.question, max_results=10)
        for _ in range(5):
            library.retrieve_fragments(request)
        for _ in range(9):
            time.sleep(PAUSE)
            places.calls = Counter()
            sys.setprofile(places)
            places.on = True
            answer = library.retrieve_fragments(request)
            places.on = False
            sys.setprofile(None)
            rounds.append(places.calls)
    calls = min(rounds, key=len)
    files = sorted({file for file, _ in calls})
    print(environment())
    print(
        f"{answer.status}, {len(answer.fragments)} fragments: {len(files)} files, {len(calls)} functions, {calls.total()} calls"
    )
    if given.list:
        for file in files:
            print(file)
            for (_, name), count in sorted((place, n) for place, n in calls.items() if place[0] == file):
                print(f"    {count:5} {name}")


if __name__ == "__main__":
    main()
