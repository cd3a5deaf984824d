"""Spoken questions of the shipped packs: how often the rule that answers is among the first three, and how often none is recognised.

Run: ``PYTHONPATH=src python bench/spoken.py [--missed] [--limit N] [--packs NAME ...] [FILE ...]``

The sets are those of ``tests/data``; a FILE of your own has the same form: by pack, questions (``ask``) with the names of
what the answering rules lead to (``answers``), and under ``none`` questions that no rule answers.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

import wenyuan
from wenyuan.packs.shipped import located, shipped
from wenyuan.readers.rulebooks.selection import read_book
from wenyuan.service.library import Library
from wenyuan.service.rules.unified import RuleItems, RuleQuestion

DATA = Path(__file__).parents[1] / "tests" / "data"
SETS: Mapping[str, tuple[str, str]] = {
    "sixty questions": ("rule_questions", "plain"),
    "thirty in spoken words": ("rule_questions", "fresh"),
    "forty spoken": ("spoken_questions", "packs"),
    "twenty never tuned on": ("spoken_questions", "unseen"),
    "sixty the words were widened with": ("spoken_questions_more", "words"),
    "twenty meant to avoid the words": ("spoken_questions_more", "avoiding"),
    "imagined from the rules": ("spoken_questions_meant", "packs"),
}
"""What each set is called, its file, and which part of it."""
FIRST = 3


def questions(tree: Mapping[str, Any], part: str) -> Iterator[Mapping[str, Any]]:
    """The questions of one part of a file."""
    for group, asked in tree.items():
        if group == "none" or (group == "unseen") != (part == "unseen"):
            continue
        for one in asked:
            fresh, words = bool(one.get("fresh")), bool(one.get("words"))
            if {"plain": not fresh, "fresh": fresh, "words": words, "avoiding": not words}.get(part, True):
                yield one


def names_of_nodes() -> dict[str, str]:
    """The Chinese name of each node of the shipped packs, by each of its labels."""
    labels: dict[str, str] = {}
    for pack in shipped():
        with located(pack) as folder:
            for node in read_book(folder).nodes:
                labels |= dict.fromkeys((node.name, *node.labels.values()), node.name)
    return labels


def answered(library: Library, labels: Mapping[str, str], one: Mapping[str, Any]) -> tuple[bool, RuleItems]:
    """Whether the rule that answers is among the first three."""
    found = library.infer_rules(RuleQuestion(text=one["ask"]))
    assert isinstance(found, RuleItems)
    first = [item.metadata for item in found.items[:FIRST]]
    wanted = set(one["answers"])
    right = any(
        wanted & {labels[m["name"]], labels.get(m["subject"], "")} and one.get("of", m["subject"])
        in (m["subject"], labels.get(m["subject"], ""))
        for m in first
    )  # fmt: skip
    return right, found


def row(
    library: Library, labels: Mapping[str, str], name: str, asked: Sequence[Mapping[str, Any]], missed: bool
) -> None:
    """Print one line of the table, and the questions that were missed."""
    right, nothing, took = 0, 0, []
    for one in asked:
        begun = time.perf_counter()
        ok, found = answered(library, labels, one)
        took.append(1e3 * (time.perf_counter() - begun))
        right += ok
        nothing += not found.items
        if missed and not ok:
            print(f"  {one['ask']}: {[item.metadata['name'] for item in found.items[:FIRST]]}")
    count = len(asked)
    print(f"| {name} | {count} | {right} ({right / count:.2f}) | {nothing} | {statistics.median(took):.0f} ms |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="sets of your own")
    parser.add_argument("--missed", action="store_true", help="name what was missed")
    parser.add_argument("--limit", type=int, help="questions of each set, at most")
    parser.add_argument("--packs", nargs="+", default=shipped(), help="import only these")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, wenyuan.create(Path(folder) / "library") as library:
        for pack in args.packs:
            with located(pack) as at:
                library.rules.take(read_book(at))
        library.embed_names()
        labels = names_of_nodes()
        print("| set | questions | among the first three | nothing recognised | median |\n|---|---|---|---|---|")
        trees = {file: yaml.safe_load((DATA / f"{file}.yaml").read_text("utf-8")) for file, _ in SETS.values()}
        for name, (file, part) in SETS.items():
            row(library, labels, name, list(questions(trees[file], part))[: args.limit], args.missed)
        for own in args.files:
            tree = trees[own.stem] = yaml.safe_load(own.read_text("utf-8"))
            row(library, labels, own.stem, list(questions(tree, "packs"))[: args.limit], args.missed)
        for file, tree in trees.items():
            none = tree.get("none", [])[: args.limit]
            false = [text for text in none if library.infer_rules(RuleQuestion(text=text)).items]
            if none:
                print(f"\nof {len(none)} of {file} that no rule answers, {len(false)} are given rules")
                print("".join(f"  {text}\n" for text in false if args.missed), end="")


if __name__ == "__main__":
    main()
