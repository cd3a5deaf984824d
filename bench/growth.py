"""How the time of every parser grows with hostile input: processor seconds by size, and the ratio of the last to an eighth.

    python bench/growth.py [--parsers .md redaction] [--shapes "open tags"] [--above 12]

Printed: a line for each parser and shape whose ratio is above ``--above``; the last line says how many were measured.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from growing_answers import ANSWERS
from growing_files import FILES
from growth import PARSERS, SHAPES, curve, of_answers, of_files, ratio


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--parsers", nargs="*", choices=sorted(PARSERS), default=list(PARSERS))
    arguments.add_argument("--shapes", nargs="*", choices=sorted(SHAPES), default=list(SHAPES))
    arguments.add_argument("--above", type=float, default=0.0)
    told = arguments.parse_args()
    worst = 0.0
    for parser in told.parsers:
        for shape in told.shapes:
            found = ratio(PARSERS[parser], SHAPES[shape])
            worst = max(worst, found)
            if found >= told.above:
                points = "  ".join(f"{n:,}: {took:.3f} s" for n, took in curve(PARSERS[parser], SHAPES[shape]))
                print(f"{parser:22}{shape:18}{found:6.1f}  {points}", flush=True)
    for name in FILES if told.parsers == list(PARSERS) else ():
        parse, shape = of_files(name)
        found = ratio(parse, shape)
        worst = max(worst, found)
        if found >= told.above:
            points = "  ".join(f"{n:,}: {took:.3f} s" for n, took in curve(parse, shape))
            print(f"{FILES[name][0]:22}{name:18}{found:6.1f}  {points}", flush=True)
    for name in ANSWERS if told.parsers == list(PARSERS) else ():
        parse, shape = of_answers(name)
        found = ratio(parse, shape)
        worst = max(worst, found)
        if found >= told.above:
            points = "  ".join(f"{n:,}: {took:.3f} s" for n, took in curve(parse, shape))
            print(f"{'answer':22}{name:36}{found:6.1f}  {points}", flush=True)
    print(
        f"{len(told.parsers) * len(told.shapes)} pairs and {len(FILES)} kinds of files, {len(ANSWERS)} of answers, the worst ratio {worst:.1f}"
    )


if __name__ == "__main__":
    main()
