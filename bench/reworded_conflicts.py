"""Would contradictions in other words be found by slots, and by vectors of the built-in encoder? What was tried, and is not used.

    python bench/reworded_conflicts.py [--vectors]

Of each subject of `conflict_subjects` both wordings are compared: with values that differ (a contradiction), with equal ones, of another
thing, and of a narrower one (*a senior nurse*), which are innocent. Two statements are taken for a contradiction where one quantity of
a kind differs, and the other one has a share of the shorter one's words; with ``--vectors`` also only where the vectors of both without
their figures are near. For each share the precision and the recall are printed, on the half that was looked at and on the other.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from conflict_subjects import APART, SEEN, Subject
from wenyuan.core.conflicts.statement import ComparedStatement, statements_of
from wenyuan.core.model import Passage
from wenyuan.encoders.selection import open_encoder
from wenyuan.settings import EncoderSettings

SHARES = (0.6, 0.7, 0.8, 0.9, 1.0)
NEAR = (0.85, 0.9, 0.95)
_UNIT = re.compile(r"[=\d.]+")


def statement(text: str) -> ComparedStatement | None:
    passage = Passage(
        passage_id=1, source_id="bench", document_id=1, uri="1", title="", headings=(), text=text, sha256="", start=0, end=len(text)
    )  # fmt: skip
    return next(iter(statements_of(passage)), None)


def pairs(subjects: tuple[Subject, ...]) -> Iterator[tuple[bool, ComparedStatement, ComparedStatement]]:
    """Two statements in different wordings, and whether they contradict one another."""
    for one in subjects:
        for name in one.names:
            narrower = ("senior " if name.isascii() else "高级") + name
            for first in one.values:
                here = statement(one.words.format(n=name, v=first))
                for other in (*one.names, narrower):
                    for second in one.values:
                        there = statement(one.other.format(n=other, v=second))
                        if here is not None and there is not None:
                            yield other == name and first != second, here, there


def one_quantity(one: ComparedStatement, other: ComparedStatement) -> bool:
    """Whether they differ in one figure, of one unit."""
    mine, theirs = one.figures - other.figures, other.figures - one.figures
    return len(mine) == len(theirs) == 1 and _UNIT.sub("", next(iter(mine))) == _UNIT.sub("", next(iter(theirs)))


def share(one: ComparedStatement, other: ComparedStatement) -> float:
    return len(one.words & other.words) / max(1, min(len(one.words), len(other.words)))


def without_figures(one: ComparedStatement) -> str:
    return " ".join(token.value for token in one.tokens.tokens if token.kind == "word")


def shown(
    name: str, found: Sequence[tuple[bool, ComparedStatement, ComparedStatement]], near: Sequence[float], least: float
) -> None:
    every = sum(right for right, _, _ in found)
    said = f", cosine {least:.2f}" if least else ""
    for wanted in SHARES:
        hits = [
            right
            for (right, a, b), cosine in zip(found, near, strict=True)
            if cosine >= least and a.codes == b.codes and one_quantity(a, b) and share(a, b) >= wanted
        ]
        if hits:
            print(
                f"| {name}{said} | {wanted:.1f} | {len(hits):,} | {sum(hits) / len(hits):.2f} | {sum(hits) / every:.2f} |"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vectors", action="store_true", help="compare vectors, too")
    arguments = parser.parse_args()
    print("| half | share of words | called a contradiction | precision | recall |\n|---|---:|---:|---:|---:|")
    for half, subjects in (("looked at", SEEN), ("held apart", APART)):
        found = list(pairs(subjects))
        cosines: list[float] = [1.0] * len(found)
        if arguments.vectors:
            texts = list({without_figures(one) for _, a, b in found for one in (a, b)})
            encoder: Any = open_encoder(EncoderSettings())
            rows = np.asarray(encoder.encode_passages(texts))
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            vectors = dict(zip(texts, rows, strict=True))
            cosines = [float(vectors[without_figures(a)] @ vectors[without_figures(b)]) for _, a, b in found]
        for least in (0.0, *(NEAR if arguments.vectors else ())):
            shown(half, found, cosines, least)
        print(
            f"{half}: {sum(right for right, _, _ in found):,} contradictions, {sum(not right for right, _, _ in found):,} innocent pairs"
        )
