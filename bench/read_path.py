"""How many places one question passes, or one added file: named functions, files, and how often the file changes.

    python bench/read_path.py LIBRARY "QUESTION" [--list]
    python bench/read_path.py LIBRARY --add FILE.md [--list]

LIBRARY is a folder that `wenyuan init` made. Of a question the least of nine is printed, asked when the library is warm. With
``--add`` a folder with a copy of the file becomes a source; then three more copies are put there and taken in, one at a time, and the
least of the three is printed: use a copy of a library.

Functions of all threads of this process count, the audit's writer included; lambdas, comprehensions, what libraries of others run,
and the process that reads foreign files do not. A change of file is a call of a function that stands in another file than the one
called before it in the same thread. With ``--list`` the functions are named, file by file, with their calls.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import wenyuan
from search import environment
from wenyuan.core.model import RetrievalRequest, Source

PACKAGE = f"{Path(wenyuan.__file__).parent}/"
PAUSE = 0.1
"""Seconds between two rounds, in which the audit's writer ends the one before."""
QUESTIONS, DOCUMENTS = 9, 3
EMBEDDING = "names"
"""The thread that embeds names of rules, which the first question of a library begins: a warm one has them."""


class Places:
    """Counts the calls of each (file, function) of the package while it is on."""

    def __init__(self) -> None:
        self.on = False
        self.clear()

    def clear(self) -> None:
        """Count from the beginning."""
        self.calls: Counter[tuple[str, str]] = Counter()
        self.changes = 0
        self._last: dict[int, str] = {}

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if self.on and event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<"):
            file, thread = code.co_filename.removeprefix(PACKAGE), threading.get_ident()
            self.calls[file, code.co_qualname] += 1
            self.changes += self._last.get(thread) != file
            self._last[thread] = file

    def counted(self, call: Callable[[], str]) -> tuple[Counter[tuple[str, str]], int, str]:
        """Calls by place, changes of file, and what came of it."""
        time.sleep(PAUSE)
        self.clear()
        sys.setprofile(self)
        self.on = True
        try:
            outcome = call()
        finally:
            self.on = False
            sys.setprofile(None)
        return self.calls, self.changes, outcome


def asked(library: wenyuan.Library, question: str) -> str:
    """Ask; what came of it."""
    answer = library.retrieve_fragments(RetrievalRequest(query=question, max_results=10))
    return f"{answer.status}, {len(answer.fragments)} fragments"


def added(library: wenyuan.Library, file: Path, folder: Path, number: int) -> str:
    """Put a copy of a file into a folder that is a source, and take it in; what came of it."""
    copy = folder / f"{file.stem}-{number}{file.suffix}"
    copy.write_text(f"{file.read_text(encoding='utf-8')}\n\nCopy {number}.\n", encoding="utf-8")
    source = Source(source_id="read-path", path=str(folder))
    report = library.ingest(source.source_id) if number else library.add(source)
    return f"{report.added} added"


def main() -> None:
    """Ask or add, count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("question", nargs="?", default="")
    parser.add_argument("--add", type=Path, metavar="FILE")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    if bool(given.question) == bool(given.add):
        parser.error("a question, or --add FILE")
    places = Places()
    threading.setprofile(places)  # for the threads that the library begins
    with wenyuan.open(given.library) as library, tempfile.TemporaryDirectory() as folder:
        if given.add:
            added(library, given.add, Path(folder), 0)
            calls = [
                lambda n=n: added(library, given.add, Path(folder), n)  # type: ignore[misc]
                for n in range(1, DOCUMENTS + 1)
            ]
        else:
            for _ in range(5):
                asked(library, given.question)
            while any(one.name == EMBEDDING for one in threading.enumerate()):
                time.sleep(PAUSE)
            calls = [lambda: asked(library, given.question)] * QUESTIONS
        rounds = [places.counted(call) for call in calls]
    least, changes, outcome = min(rounds, key=lambda one: (len(one[0]), one[1]))
    files = sorted({file for file, _ in least})
    print(environment())
    print(
        f"{outcome}: {len(least)} functions in {len(files)} files, {changes} changes of file, {least.total()} calls"
    )
    if given.list:
        for file in files:
            print(file)
            for (_, name), count in sorted((place, n) for place, n in least.items() if place[0] == file):
                print(f"    {count:5} {name}")


if __name__ == "__main__":
    main()
