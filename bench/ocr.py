"""How well are scans read? Made pages of ten kinds with known text: errors, numbers that are wrong but not marked, cost.

    python bench/ocr.py --pages 3
    python bench/ocr.py --kinds clean,noisy --first 10

Prints a table: of each kind the character error rate (insertions, deletions and replacements by the characters of the page; white
space does not count, full-width forms are those of ASCII), the numbers that were read, how many of them are wrong without being marked
as uncertain, which share is marked, the median of processor seconds a page, and the peak of this process's memory.
"""

from __future__ import annotations

import argparse
import io
import json
import resource
import statistics
import time
import unicodedata
from dataclasses import dataclass, field

import numpy as np

from made_pages import KINDS, make
from search import environment
from wenyuan.core.fidelity import Line
from wenyuan.readers.ocr.doubt import numbers, uncertain
from wenyuan.readers.ocr.pages import recognised

_OF_NUMBERS = frozenset("0123456789.,%")
Ops = list[tuple[int | None, int | None]]


@dataclass
class Result:
    """What came of the pages of one kind."""

    errors: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    numbers: int = 0
    marked: int = 0
    wrong: list[str] = field(default_factory=list)


def plain(text: str) -> tuple[str, list[int]]:
    """A text as it is compared, and for each of its characters where it stands in the original."""
    found, places = [], []
    for at, character in enumerate(text):
        for each in unicodedata.normalize("NFKC", character):
            if not each.isspace():
                found.append(each)
                places.append(at)
    return "".join(found), places


def aligned(want: str, got: str) -> tuple[int, Ops]:
    """The edit distance of two texts, and which characters stand for one another (Wagner and Fischer 1974)."""
    codes = np.array([ord(c) for c in got])
    table = np.zeros((len(want) + 1, len(got) + 1), np.int32)
    table[0] = steps = np.arange(len(got) + 1)
    for row, character in enumerate(want, 1):
        best = np.minimum(table[row - 1, :-1] + (codes != ord(character)), table[row - 1, 1:] + 1)
        table[row] = np.minimum.accumulate(np.concatenate(([row], best)) - steps) + steps
    ops: Ops = []
    i, j = len(want), len(got)
    while i or j:
        if i and j and table[i, j] == table[i - 1, j - 1] + (want[i - 1] != got[j - 1]):
            i, j = i - 1, j - 1
            ops.append((i, j))
        elif i and table[i, j] == table[i - 1, j] + 1:
            i -= 1
            ops.append((i, None))
        else:
            j -= 1
            ops.append((None, j))
    return int(table[-1, -1]), ops[::-1]


def read(kind: str, seed: int, result: Result) -> None:
    """Make a page, read it, and compare."""
    page, file = make(kind, seed), io.BytesIO()
    page.picture.save(file, "PNG", compress_level=1)
    begun = time.process_time()
    told = recognised(file.getvalue(), name="page.png", page=1)
    result.seconds.append(time.process_time() - begun)
    text, lines, sure = "", [], {}
    for row in told["rows"]:
        for part in row:
            sure[len(lines)] = part["sure"]
            lines.append(Line(len(text), len(text) + len(part["text"]), 1, (0.0, 0.0, 1.0, 1.0), 0.9))
            text += part["text"] + "\n"
    want, _ = plain("".join(page.lines))
    got, places = plain(text)
    distance, ops = aligned(want, got)
    result.errors.append(distance / len(want))
    doubtful = {(each.start, each.end) for each in uncertain(text, lines, sure)}
    at = {j: n for n, (_, j) in enumerate(ops) if j is not None}
    of_text: dict[int, list[int]] = {}
    for j, place in enumerate(places):
        of_text.setdefault(place, []).append(j)
    for start, end, _ in numbers(text):
        result.numbers += 1
        inside = [j for place in range(start, end) for j in of_text.get(place, ())]
        if (start, end) in doubtful:
            result.marked += 1
        elif not _right(ops[at[inside[0]] : at[inside[-1]] + 1], ops, at[inside[0]], at[inside[-1]], want, got):
            result.wrong.append(f"{kind} {seed}: {text[max(0, start - 6) : end + 6]!r}")


def _right(part: Ops, ops: Ops, first: int, last: int, want: str, got: str) -> bool:
    """Whether a number is as it stands on the page, nothing of it left out before or behind it."""
    if any(i is None or j is None or want[i] != got[j] for i, j in part):
        return False
    beside = ops[first - 1 : first] + ops[last + 1 : last + 2]
    return not any(j is None and i is not None and want[i] in _OF_NUMBERS for i, j in beside)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=1, help="of each kind")
    parser.add_argument("--first", type=int, default=0, help="seed of the first page")
    parser.add_argument("--kinds", default=",".join(KINDS))
    asked = parser.parse_args()
    results = {kind: Result() for kind in asked.kinds.split(",")}
    for seed in range(asked.first, asked.first + asked.pages):
        for kind, result in results.items():
            read(kind, seed, result)
            print(f"# {kind} {seed}: {result.errors[-1]:.4f}, {result.seconds[-1]:.1f} s", flush=True)
    print(environment())
    print("| kind | CER | worst | numbers | wrong but sure | marked | s of a core |")
    print("|---|---|---|---|---|---|---|")
    total = Result()
    for kind, result in results.items():
        _row(kind, result)
        total.errors += result.errors
        total.seconds += result.seconds
        total.numbers += result.numbers
        total.marked += result.marked
        total.wrong += result.wrong
    _row("all", total)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({"peak_gb": round(peak, 2), "wrong": total.wrong}, ensure_ascii=False))


def _row(name: str, result: Result) -> None:
    share = result.marked / max(1, result.numbers)
    cells = (f"{statistics.mean(result.errors):.4f}", f"{max(result.errors):.4f}", result.numbers, len(result.wrong),
             f"{share:.1%}", f"{statistics.median(result.seconds):.1f}")  # fmt: skip
    print(f"| {name} | " + " | ".join(map(str, cells)) + " |")


if __name__ == "__main__":
    main()
