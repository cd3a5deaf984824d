"""How much the vector leg deserves to count in a collection, measured without a judged question.

An inverse cloze task (Lee et al. 2019, "Latent Retrieval for Weakly Supervised Open Domain Question Answering"): a
sentence is taken out of a passage, and its passage, now without it, is searched for with that sentence. What finds it
more often, words or meaning, differs between collections as it does for real questions: the weight of the vector leg
follows it. How the two go together was fitted on judged collections, each left out in turn: docs/explanation/scoring.md.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.model import Passage, heading_text
from wenyuan.core.score import VECTOR_WEIGHT, bm25, squash
from wenyuan.core.sentences import sentences
from wenyuan.core.text import passage_terms, terms

__all__ = [
    "CLOZES",
    "LEAST_CLOZES",
    "WEIGHTS",
    "Cloze",
    "Rivals",
    "clozes",
    "found_by_weight",
    "keyword_of",
    "leaning",
    "weight_across",
    "weight_of",
]

CLOZES = 120
"""Sentences that are asked for. Two halves of them differ in the weight by .05 to .4 between collections."""
LEAST_CLOZES = 30
WEIGHTS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_SHORTEST, _LONGEST = 5, 30  # words of a sentence
_K = 10
_SHARPNESS = 100.0  # of the mean over weights: one that finds .01 less counts e times less
_SLOPE, _PIVOT, _MIDDLE = 1.25, 0.65, 0.75
_LEAST, _MOST = 0.3, 0.9
_EASY, _STILL = 0.5, 0.3

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloze:
    """A sentence, and the passage that it was taken from."""

    passage_id: int
    sentence: str
    heading: str
    rest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rivals:
    """Scores of a cloze's own passage without the sentence, and ``(c,)`` those of other candidates; 0..1."""

    keyword: float
    vector: float
    keywords: Floats
    vectors: Floats


def clozes(passages: Iterable[Passage], count: int = CLOZES) -> list[Cloze]:
    """At most `count` of them, one of a passage; the same of the same passages."""
    found: list[Cloze] = []
    for passage in passages:
        if len(found) == count:
            break
        spans = [(a, b) for a, b in sentences(passage.text) if _SHORTEST <= _words(passage.text[a:b]) <= _LONGEST]
        if not spans:
            continue
        start, end = random.Random(passage.sha256).choice(spans)  # noqa: S311  (it must be repeatable)
        heading = heading_text(passage.title, passage.headings)
        rest = f"{passage.text[:start]} {passage.text[end:]}".strip()
        if terms(f"{heading}\n{rest}"):
            sentence = passage.text[start:end]
            found.append(Cloze(passage_id=passage.passage_id, sentence=sentence, heading=heading, rest=rest))
    return found


def _words(text: str) -> float:
    """Latin words and numbers, and half the Chinese characters, which is about a word each."""
    found = terms(text)
    return sum(0.5 if len(t) == 1 and t > "\u2e80" else t < "\u2e80" for t in found)


def keyword_of(cloze: Cloze, weights: Mapping[str, float], average_length: float) -> float:
    """The keyword score (0..1) of a passage without its sentence.

    Args:
        weights: Inverse document frequency of the sentence's terms.
        average_length: Of passages, in terms.
    """
    total = math.fsum(weights.values())
    if total <= 0:
        return 0.0
    counts = Counter(passage_terms(cloze.heading, cloze.rest))
    return squash(bm25(counts, counts.total(), average_length, weights) / total)


def found_by_weight(asked: Sequence[Rivals]) -> Floats:
    """``(len(WEIGHTS),)``: mean nDCG@10 with the one passage as the answer, under each weight of the vector leg."""
    table = np.zeros((len(asked), len(WEIGHTS)))
    for row, one in enumerate(asked):
        for column, weight in enumerate(WEIGHTS):
            own = weight * one.vector + (1.0 - weight) * one.keyword
            before = int(np.count_nonzero(weight * one.vectors + (1.0 - weight) * one.keywords > own))
            table[row, column] = 1.0 / math.log2(before + 2) if before < _K else 0.0
    mean: Floats = table.mean(axis=0)
    return mean


def leaning(found: Floats) -> float:
    """The weight of the vector leg, .3 … .9, from what each of `WEIGHTS` finds of the sentences' passages."""
    shares = np.exp(_SHARPNESS * (found - found.max()))
    centre = float(np.asarray(WEIGHTS) @ shares / shares.sum())
    return min(_MOST, max(_LEAST, _MIDDLE + _SLOPE * (centre - _PIVOT)))


def weight_of(found: Floats) -> float:
    """The `leaning` with which questions are asked, rounded to .01.

    Where nearly every sentence finds its passage, both legs are good, and the few that do not say little about
    questions: the weight stays nearer to the default.
    """
    telling = min(1.0, max(_STILL, (1.0 - float(found.max())) / _EASY))
    return round(VECTOR_WEIGHT + telling * (leaning(found) - VECTOR_WEIGHT), 2)


def weight_across(weight: float) -> float:
    """The weight in a library of two languages: halfway between that of its sentences and the most.

    A sentence asks for a passage in its own language. A question shares words with those in its own only, and they would
    come before the ones in the other language for that alone.
    """
    return round((weight + _MOST) / 2, 2)
