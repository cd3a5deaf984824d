"""Whether time tells another's from what is made up: each door asked for one and the other in turn, and compared.

    python bench/doors.py [--pairs 200] [--doors "a source"] [--hidden]

With ``--hidden``, what is named is in documents that readers hide from who asks, in sources that he may ask.

Printed, for each door: the pairs, the median of both in milliseconds, the median of the differences in microseconds, and the p value of
Wilcoxon's signed-rank test (two-sided, normal approximation); last, how many doors are below .05 divided by their number.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from named_doors import BY_WORDS, DOORS, HIDDEN, NAMED, askers_in, hidden_world_in, world_in

_WARM = 5  # pairs before those that count
_SIGNIFICANT = 0.05
_SEED = 7

Ask = Callable[[], object]


def seconds(ask: Ask) -> float:
    began = time.perf_counter()
    ask()
    return time.perf_counter() - began


def measured(theirs: Ask, made_up: Ask, pairs: int, draw: random.Random) -> tuple[list[float], list[float]]:
    """Times of both, asked in turn, in a random order within each pair."""
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(_WARM + pairs):
        took = {}
        for which in draw.sample((0, 1), 2):
            took[which] = seconds((theirs, made_up)[which])
        if number >= _WARM:
            for which, value in took.items():
                found[which].append(value)
    return found


def p_value(differences: Sequence[float]) -> float:
    """Of the hypothesis that differences lie around zero: Wilcoxon's signed ranks, two-sided."""
    ranked = sorted((abs(value), value > 0) for value in differences if value)
    count = len(ranked)
    if not count:
        return 1.0
    above = sum(rank for rank, (_, positive) in enumerate(ranked, 1) if positive)
    mean, deviation = count * (count + 1) / 4, math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    return math.erfc(abs(above - mean) / deviation / math.sqrt(2))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pairs", type=int, default=200)
    arguments.add_argument("--doors", nargs="*", choices=sorted(DOORS), default=sorted(DOORS))
    arguments.add_argument("--hidden", action="store_true")
    told = arguments.parse_args()
    if told.hidden:
        told.doors = [door for door in told.doors if DOORS[door][0] in HIDDEN and door not in BY_WORDS]
    draw, least = random.Random(_SEED), _SIGNIFICANT / len(told.doors)
    print(f"{'door':40}{'pairs':>6}{'theirs':>9}{'made up':>9}{'apart µs':>10}{'p':>9}")
    distinct = []
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        for name in ("world", "askers"):
            Path(scratch, name).mkdir()
        world = stack.enter_context((hidden_world_in if told.hidden else world_in)(Path(scratch, "world")))
        askers = stack.enter_context(askers_in(Path(scratch, "askers")))
        for door in told.doors:
            kind, ask = DOORS[door]
            theirs, made_up = NAMED[kind](world)
            pair: tuple[Ask, Ask] = (lambda: ask(world, theirs)), (lambda: ask(world, made_up))  # noqa: B023
            if door in BY_WORDS:  # one name, where another has rules of it and where nobody has
                pair = (lambda: ask(askers[0], theirs)), (lambda: ask(askers[1], theirs))  # noqa: B023
            first, second = measured(*pair, told.pairs, draw)
            apart = [a - b for a, b in zip(first, second, strict=True)]
            p = p_value(apart)
            if p < least:
                distinct.append(door)
            medians = f"{statistics.median(first) * 1e3:9.2f}{statistics.median(second) * 1e3:9.2f}"
            print(f"{door:40}{told.pairs:6}{medians}{statistics.median(apart) * 1e6:10.1f}{p:9.4f}", flush=True)
    print(f"{len(told.doors)} doors, {len(distinct)} below p = {least:.5f}: {', '.join(distinct) or 'none'}")


if __name__ == "__main__":
    main()
