"""Spoken questions of the shipped packs: how often the rule that answers is among the first three, and how often none is recognised.

Run: ``PYTHONPATH=src python bench/spoken.py [--missed] [--limit N] [--lang zh] [--packs NAME ...] [FILE ...]``

Prints the table of docs/rules.md, with ``--lang zh`` that of docs/rules.zh.md. The sets are those of ``tests/data``; a FILE of your own has the same form: by pack, questions (``ask``) with the names of
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
    "thirty, words added for them": ("spoken_questions_apart", "looked at"),
    "thirty written with them, kept apart": ("spoken_questions_apart", "apart"),
    "thirty more": ("spoken_questions_again", "looked at"),
    "thirty more, kept apart": ("spoken_questions_again", "apart"),
}
"""What each set is called, its file, and which part of it."""
CHINESE = dict(
    zip(
        SETS,
        (
            "六十个问题", "三十个口语问题", "四十个口语问题", "二十个从未用于调整的", "六十个，增加说法时已知", "二十个，有意避开说法",
            "由规则设想的", "三十个，为其增加了说法", "与其同时写成的三十个，单独存放", "又三十个", "又三十个，单独存放",
        ),
        strict=True,
    )
)  # fmt: skip
HEADS = {
    "en": "| set | questions | among the first three | nothing recognised |",
    "zh": "| 集 | 问题 | 答案排在前三 | 什么都认不出 |",
}
FIRST = 3
PATIENT = {"search": {"deadline": 60.0}}
"""However busy the machine is."""


def questions(tree: Mapping[str, Any], part: str) -> Iterator[Mapping[str, Any]]:
    """The questions of one part of a file."""
    for group, asked in tree.items():
        if group in ("none", "beside") or (group == "unseen") != (part == "unseen"):
            continue
        for one in asked:
            fresh, words, apart = (bool(one.get(mark)) for mark in ("fresh", "words", "apart"))
            asked_for = {"plain": not fresh, "fresh": fresh, "words": words, "avoiding": not words}
            if {**asked_for, "looked at": not apart, "apart": apart}.get(part, True):
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
) -> list[float]:
    """Print one line of the table, and the questions that were missed; gives how long each took, in milliseconds."""
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
    print(f"| {name} | {count} | {right} ({right / count:.2f}) | {nothing} |".replace("(0.", "(."), flush=True)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="sets of your own")
    parser.add_argument("--missed", action="store_true", help="name what was missed")
    parser.add_argument("--limit", type=int, help="questions of each set, at most")
    parser.add_argument("--lang", choices=("en", "zh"), default="en", help="of the table")
    parser.add_argument("--packs", nargs="+", default=shipped(), help="import only these")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, wenyuan.create(Path(folder) / "library", **PATIENT) as library:
        for pack in args.packs:
            with located(pack) as at:
                library.rules.take(read_book(at))
        library.embed_names()
        labels = names_of_nodes()
        print(f"{HEADS[args.lang]}\n|---|---|---|---|")
        trees = {file: yaml.safe_load((DATA / f"{file}.yaml").read_text("utf-8")) for file, _ in SETS.values()}
        took: list[float] = []
        for name, (file, part) in SETS.items():
            asked = list(questions(trees[file], part))[: args.limit]
            took += row(library, labels, name if args.lang == "en" else CHINESE[name], asked, args.missed)
        for own in args.files:
            tree = trees[own.stem] = yaml.safe_load(own.read_text("utf-8"))
            took += row(library, labels, own.stem, list(questions(tree, "packs"))[: args.limit], args.missed)
        print()
        for file, tree in trees.items():
            for kind in ("none", "beside"):
                asked = tree.get(kind, [])[: args.limit]
                given = [text for text in asked if library.infer_rules(RuleQuestion(text=text)).items]
                if asked:
                    print(f"{file}, {kind}: of {len(asked)} that no rule answers {len(given)} are given rules")
                    print("".join(f"  {text}\n" for text in given if args.missed), end="")
        print(f"median of a question: {statistics.median(took):.0f} ms")


if __name__ == "__main__":
    main()
