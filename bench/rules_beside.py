"""What rules do to questions that documents answer: judged sets are asked with the shipped packs beside them, and without.

    python bench/rules_beside.py DIR … [--limit 60] [--cache DIR] [--missed]

DIR is a judged set in BEIR layout, none of whose questions the packs are about. Of each it prints how many questions are given
any rule, of how many a rule stands first, how many right documents stand lower than without rules, how many of these had stood
first, and the median time of a question without rules and with them, asked in turn.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import wenyuan
from scoring import opened
from wenyuan.core.ports import Ranking
from wenyuan.evaluation.built_library import default_cache, entries_of
from wenyuan.evaluation.questions import read_judged
from wenyuan.packs.shipped import located, shipped
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.query import Query

PLACES = 5


class Comparison:
    """The questions of one set, asked with rules and without."""

    def __init__(self, folder: Path, limit: int, cache: Path, scratch: Path) -> None:
        corpus, built = opened(folder, cache)
        with built:
            self.judged = read_judged(folder, corpus.uris, limit=limit)
            self.entries = entries_of(built, corpus)
            place = scratch / folder.name
            shutil.copytree(built.folder, place)
        self.library = wenyuan.open(place, search={"deadline": 60}, audit={"enabled": False})
        for pack in shipped():
            with located(pack) as at:
                self.library.rules.take(read_book(at))
        self.library.embed_names()
        self.library.warm_up()

    def asked(self, text: str, rules: Literal["within", "none"]) -> tuple[Ranking, float]:
        begun = time.perf_counter()
        answer = self.library._retriever.retrieve(Query(text=text, limit=PLACES, rules=rules))
        return answer.hits, 1e3 * (time.perf_counter() - begun)


def place(hits: Ranking, entries: Mapping[int, str], right: Mapping[str, int]) -> int:
    """The place of the first right document; one after the last where there is none."""
    at = (n for n, hit in enumerate(hits, 1) if right.get(entries.get(hit.passage_id, ""), 0) > 0)
    return next(at, PLACES + 1)


def row(folder: Path, limit: int, cache: Path, scratch: Path, missed: bool) -> str:
    compared = Comparison(folder, limit, cache, scratch)
    given = first = lower = displaced = 0
    took: dict[str, list[float]] = {"none": [], "within": []}
    with compared.library:
        for question in compared.judged.questions:
            right = compared.judged.qrels[question.query_id]
            without, ms = compared.asked(question.text, "none")
            took["none"].append(ms)
            beside, ms = compared.asked(question.text, "within")
            took["within"].append(ms)
            before, after = (place(hits, compared.entries, right) for hits in (without, beside))
            given += any(hit.origin == "kg_rule" for hit in beside)
            first += bool(beside) and beside[0].origin == "kg_rule"
            lower += after > before
            displaced += before == 1 < after
            if missed and (after > before or (beside and beside[0].origin == "kg_rule")):
                print(f"  {question.text}: {before} -> {after}")
    count = len(compared.judged.questions)
    times = " | ".join(f"{statistics.median(took[name]):.1f} ms" for name in ("none", "within"))
    return f"| {folder.name} | {count} | {given} | {first} | {lower} | {displaced} | {times} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--limit", type=int, default=60, help="questions of each set")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where libraries are built")
    parser.add_argument(
        "--missed", action="store_true", help="name the questions that a rule answers first, or changes"
    )
    args = parser.parse_args()
    print(
        "| set | questions | given rules | a rule first | the right document lower | it was first | without | with rules |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for folder in args.folders:
            print(row(folder, args.limit, args.cache, Path(scratch), args.missed), flush=True)


if __name__ == "__main__":
    main()
