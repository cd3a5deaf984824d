"""Distributing questions to independent folds.

A fold is to tell what something learned is worth for questions that are yet to come. It cannot where its questions are also
on the other side: in nearly the same words, or about the same document. So it is documents that are dealt, each with
all its questions, and what is learned for a fold is learned from questions about other documents and in other words.

Questions with several answers tie documents together. Documents that are tied by the most questions go into one group, as
long as no group outgrows a fold; a question whose documents come to lie in several folds is held out in none, and
nothing is learned from it for a fold that holds one of them.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FOLDS = 5
LEAST_GROUPS = 10
"""With fewer documents apart from one another, a mean over them says little of others: a judgement, not a measurement."""
ACROSS = -1
"""The fold of a question whose documents lie in several."""
_OVERLAP = 0.8
"""The share of the terms of two questions, taken together, that both have where they are nearly the same."""

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Deal:
    """The assignment of questions to folds.

    Attributes:
        folds: ``(n,)``: from 0; `ACROSS` for one that is held out in none.
        groups: ``(n,)``: equal for questions that tell of one another: their gains are no independent witnesses.
        wording: ``(n,)``: equal for questions in nearly the same words.
        touched: The folds that hold a document of each.
        largest: The share of the questions that the largest group has, 0..1.
    """

    folds: Numbers
    groups: Numbers
    wording: Numbers
    touched: Sequence[frozenset[int]]
    largest: float

    @property
    def held(self) -> Numbers:
        """Indices of the questions that are held out in some fold."""
        return np.flatnonzero(self.folds != ACROSS)

    def own(self, fold: int) -> Numbers:
        """Indices of the questions that a fold holds out."""
        return np.flatnonzero(self.folds == fold)

    def others(self, fold: int) -> Numbers:
        """Indices of the questions that a fold may be trained on: about other documents, and worded differently."""
        apart = np.array([fold not in touched for touched in self.touched], dtype=bool)
        return np.flatnonzero(apart & ~np.isin(self.wording, self.wording[self.folds == fold]))

    @property
    def sound(self) -> bool:
        """Whether cross-validation is meaningful: enough documents, no group with most questions, and most questions
        held out.
        """
        groups = len(np.unique(self.groups[self.held]))
        return groups >= LEAST_GROUPS and self.largest <= 0.5 and 2 * len(self.held) > len(self.folds)


def deal(questions: Sequence[Collection[str]], documents: Sequence[Collection[Hashable]], folds: int = FOLDS) -> Deal:
    """Assign documents to folds, largest groups first, each to the fold with the fewest questions.

    Args:
        questions: The terms of each.
        documents: Those that answer each, at least one, by any name that tells them apart.
    """
    names = [sorted(set(map(repr, own))) for own in documents]
    wording = roots(len(questions), near_equal(questions))
    group_of, sizes = _grouped(names, wording, len(questions) / (2 * folds))
    fold_of = _spread(sizes, folds)
    touched = [frozenset(fold_of[group_of[name]] for name in own) for own in names]
    numbers = {group: number for number, group in enumerate(sorted(sizes))}
    return Deal(
        folds=np.array([next(iter(own)) if len(own) == 1 else ACROSS for own in touched], dtype=np.int64),
        groups=np.array([numbers[group_of[own[0]]] for own in names], dtype=np.int64),
        wording=np.array(wording, dtype=np.int64),
        touched=touched,
        largest=max(sizes.values(), default=0.0) / max(1, len(questions)),
    )


def near_equal(questions: Sequence[Collection[str]]) -> Iterator[tuple[int, int]]:
    """Pairs (by index) of questions that share at least four fifths of their terms; each pair once.

    Only questions that share one of their rarest terms are compared (prefix filtering; Chaudhuri, Ganti & Kaushik 2006, "A
    Primitive Operator for Similarity Joins"): two sets that overlap so much cannot differ in more of them.
    """
    often = Counter(term for terms in questions for term in set(terms))
    sets = [sorted(set(terms), key=lambda term: (often[term], term)) for terms in questions]
    having: dict[str, list[int]] = defaultdict(list)
    for number, terms in enumerate(sets):
        first = terms[: len(terms) - math.ceil(_OVERLAP * len(terms)) + 1]
        for other in sorted({other for term in first for other in having[term]}):
            shared = len(set(terms) & set(sets[other]))
            if shared >= _OVERLAP * (len(terms) + len(sets[other]) - shared):
                yield other, number
        for term in first:
            having[term].append(number)


def roots(count: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Union-find: for each number below `count`, the least number that pairs connect it to."""
    root = list(range(count))
    for pair in pairs:
        low, high = sorted(_root(root, number) for number in pair)
        root[high] = low
    return [_root(root, number) for number in range(count)]


def _root(root: list[int], number: int) -> int:
    while root[number] != number:
        root[number] = root[root[number]]
        number = root[number]
    return number


def _grouped(
    names: Sequence[Sequence[str]], wording: Sequence[int], most: float
) -> tuple[dict[str, str], dict[str, float]]:
    """The group of each document, named by one of its documents, and the number of questions of each group."""
    size: dict[str, float] = defaultdict(float)
    together: dict[int, dict[str, None]] = defaultdict(dict)
    for own, root in zip(names, wording, strict=True):
        for name in own:
            size[name] += 1 / len(own)
            together[root][name] = None
    ties: Counter[tuple[str, str]] = Counter()
    voices = Counter(wording)
    for root, known in together.items():
        first, *others = sorted(known)
        for other in others:
            ties[first, other] += voices[root]
    places = {name: number for number, name in enumerate(sorted(size))}
    listed, root_of = sorted(size), list(range(len(size)))
    weights = [size[name] for name in listed]
    for (one, other), _ in sorted(ties.items(), key=lambda tie: (-tie[1], tie[0])):
        low, high = sorted(_root(root_of, places[name]) for name in (one, other))
        if low != high and weights[low] + weights[high] <= most:
            root_of[high] = low
            weights[low] += weights[high]
    group_of = {name: listed[_root(root_of, number)] for number, name in enumerate(listed)}
    return group_of, {group: weights[places[group]] for group in sorted(set(group_of.values()))}


def _spread(sizes: dict[str, float], folds: int) -> dict[str, int]:
    """The fold of each group. Ties are broken by a hash, so that neighbours in a list are spread."""
    filled = [0.0] * folds
    fold_of = {}
    for group in sorted(sizes, key=lambda g: (-round(sizes[g], 6), hashlib.sha256(g.encode()).digest())):
        fold_of[group] = min(range(folds), key=lambda fold: (round(filled[fold], 6), fold))
        filled[fold_of[group]] += sizes[group]
    return fold_of
