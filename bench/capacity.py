"""What a library of a given size needs, on paper: multiplication of constants that other scripts print.

    python bench/capacity.py [--passages 1e6 1e7 1e8] [--characters 109] [--dimension 384] [--rate 17] [--cores 8]
                             [--questions 100000]

Nothing is measured here. Put in your own numbers: characters of a passage, dimensions of its vector, passages that the
encoder embeds in a second on one core (bench/encoder.py), cores, and questions a day.
docs/capacity.md says where each constant comes from.
"""

from __future__ import annotations

import argparse
import sys

GB = 1e9
ROW = 1_000  # bytes of catalog a passage, beside text and vector: addresses, hashes, indexes (bench/scale.py)
UTF8 = 3  # bytes a Chinese character
WORDS = 2.6  # bytes of keyword index a character (bench/scale.py)
COLUMNS = 60  # bytes a row, held in memory (bench/scale.py)
CODE = 8  # bytes of a row's code beside two bits a dimension
BUILDING = 3_500  # bytes a row at most in memory while an index is built anew, at 384 dimensions (bench/scale.py)
FOLLOWED = 6_300  # rows indexed in a CPU second (bench/scale.py)
SCAN = 9.2e-3  # CPU seconds of a vector scan of a million rows of 384 dimensions (bench/scale.py)
QUERY = 3.0e-3  # CPU seconds to embed a question (bench/parts.py)
KEYWORDS = (0.1e-3, 8.0e-3)  # CPU seconds of a keyword search: always, and more a million rows (bench/scale.py)
ON_POSTGRES = 9_600  # bytes of the index on PostgreSQL a passage at 384 dimensions, without graph (bench/engines.py)
LINKS = 400  # bytes a row of a graph with m = 16 beside its vector: an estimate
RECORD = 3_700  # bytes of a record of the audit with ten fragments (bench/audit.py)
DAYS = 180  # for which it is kept: audit.retention_days


def plan(passages: float, given: argparse.Namespace) -> dict[str, str]:
    """Name → figure."""
    vector = 4 * given.dimension
    catalog = ROW + UTF8 * given.characters + vector
    held = COLUMNS + CODE + given.dimension / 4
    local = vector + held + WORDS * given.characters
    share = given.dimension / 384
    millions = passages / 1e6
    scan = SCAN * millions * share
    keyword = KEYWORDS[0] + KEYWORDS[1] * millions
    return {
        "disk: catalog, GB": _said(passages * catalog / GB),
        "disk: index `local`, GB": _said(passages * local / GB),
        "disk: index `postgres` without graph, GB": _said(passages * (ON_POSTGRES - 1536 + vector) / GB),
        "memory: `local`, held, GB": _said(passages * held / GB),
        "memory: `local`, mapped rows that should fit, GB": _said(passages * vector / GB),
        "memory: `local`, while the index is built anew, GB": _said(passages * BUILDING * share / GB),
        "memory: a graph in PostgreSQL or Milvus, GB": _said(passages * (vector + LINKS) / GB),
        "time: embedding, hours": _said(passages / given.rate / given.cores / 3600),
        "time: indexing with `local`, CPU hours": _said(passages / FOLLOWED / 3600),
        "time: a question with `local`, meaning, CPU ms": _said(1e3 * (QUERY + scan)),
        "time: a question with `local`, words, CPU ms at most": _said(1e3 * keyword),
    }


def _said(figure: float) -> str:
    """Two digits that count."""
    if figure >= 100:
        rounded = round(figure, 1 - len(str(int(figure))) + 1)
        return f"{rounded:,.0f}"
    return f"{figure:.2g}" if figure < 10 else f"{figure:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=float, nargs="+", default=[1e6, 1e7, 1e8])
    parser.add_argument("--characters", type=float, default=109)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--rate", type=float, default=17)
    parser.add_argument("--cores", type=int, default=8)
    parser.add_argument("--questions", type=float, default=100_000)
    given = parser.parse_args()
    plans = [plan(passages, given) for passages in given.passages]
    print("| passages | " + " | ".join(f"{passages:,.0f}" for passages in given.passages) + " |")
    print("|---|" + "---:|" * len(plans))
    for name in plans[0]:
        print(f"| {name} | " + " | ".join(one[name] for one in plans) + " |")
    audit = given.questions * RECORD * DAYS / GB
    print(f"\naudit of {given.questions:,.0f} questions a day, {DAYS} days: {_said(audit)} GB")


if __name__ == "__main__":
    sys.exit(main())
