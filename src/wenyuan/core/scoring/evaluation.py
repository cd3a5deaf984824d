"""Retrieval metrics, significance tests, and cross-validation of tunings with folds that share no document."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal

import numpy as np
from numpy.typing import NDArray

# How good an answer to a judged question is, whether scores mean what they say, and whether a change is an accident.
#
# nDCG as Järvelin & Kekäläinen 2002 with linear gains, as ``trec_eval`` reckons it. Expected calibration error as in
# Naeini et al. 2015, "Obtaining Well Calibrated Probabilities Using Bayesian Binning": scores in ten bins of equal
# width; the distance of each bin's mean score from the share of its answers that are relevant, weighted by how many
# answers lie in it. What nobody judged counts as not relevant, so the share is a lower bound.


_BINS = 10
_SURE = 0.05
"""The share of bootstrap means at each end that a verdict leaves aside."""
_RESAMPLES = 2_000


def ndcg(grades: Sequence[float], ideal: Iterable[float], k: int) -> float:
    """Normalised discounted cumulative gain at `k`, 0..1; 0 if there is no answer.

    Args:
        grades: Grades of the ranked results, best first; 0 for what is no answer.
        ideal: Of all answers.
    """
    best = _gain(sorted(ideal, reverse=True)[:k])
    return _gain(grades[:k]) / best if best else 0.0


def _gain(grades: Iterable[float]) -> float:
    return sum(grade / log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def recall(grades: Sequence[float], answers: int, k: int) -> float:
    """The share of all answers that are among the first `k`, 0..1."""
    return sum(grade > 0 for grade in grades[:k]) / answers if answers else 0.0


def reciprocal_rank(grades: Sequence[float], k: int) -> float:
    """1 / rank of the first answer among the first `k`; 0 if there is none."""
    return next((1.0 / rank for rank, grade in enumerate(grades[:k], start=1) if grade > 0), 0.0)


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: the smallest value that at least `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered)) - 1))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Answers whose scores fall into one tenth of 0..1.

    Attributes:
        score: Their mean score.
        relevant: The share of them that is judged an answer.
    """

    count: int
    score: float
    relevant: float


def in_bins(scored: Iterable[tuple[float, bool]]) -> list[Bin]:
    """Non-empty bins by rising score, from scores (0..1) and whether each answer is right."""
    counts, scores, answers = [0] * _BINS, [0.0] * _BINS, [0] * _BINS
    for score, right in scored:
        place = min(_BINS - 1, int(score * _BINS))
        counts[place] += 1
        scores[place] += score
        answers[place] += right
    return [
        Bin(count=count, score=score / count, relevant=relevant / count)
        for count, score, relevant in zip(counts, scores, answers, strict=True)
        if count
    ]


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """Expected calibration error (ECE), 0..1; None without any answer."""
    total = sum(one.count for one in bins)
    return sum(one.count * abs(one.score - one.relevant) for one in bins) / total if total else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The paired difference of two evaluations of the same questions.

    Attributes:
        mean: By how much they gained, on average; negative: lost.
        lower, upper: Between which nine in ten bootstrap means lie (Efron 1979).
        gained, lost: How many questions did.
        verdict: ``better`` or ``worse`` where zero lies outside, else ``no difference`` that these questions can tell.
    """

    mean: float
    lower: float
    upper: float
    gained: int
    lost: int
    verdict: Literal["better", "worse", "no difference"]


def changed(before: Sequence[float], after: Sequence[float], *, seed: int = 7) -> Change:
    """Compare two evaluations of the same questions, in the same order, by paired bootstrap.

    Raises:
        ValueError: there are none, or not equally many.
    """
    if not before or len(before) != len(after):
        raise ValueError("the same questions are needed on both sides, at least one")
    gains = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    draw = np.random.default_rng(seed)
    means = [gains[draw.integers(0, len(gains), len(gains))].mean() for _ in range(_RESAMPLES)]
    lower, upper = (float(np.quantile(means, share)) for share in (_SURE, 1.0 - _SURE))
    verdict: Literal["better", "worse", "no difference"] = "no difference"
    if lower > 0.0:
        verdict = "better"
    elif upper < 0.0:
        verdict = "worse"
    return Change(
        mean=float(gains.mean()),
        lower=lower,
        upper=upper,
        gained=int((gains > 0).sum()),
        lost=int((gains < 0).sum()),
        verdict=verdict,
    )


# Whether something that was learned helps on other data: cross-validation, and a verdict.
#
# Questions are dealt into folds (`core.scoring.evaluation`). What is learned from the other folds ranks the candidates of each
# question, under every strength of the map and every weight of the vector leg (`Trial`). Which of these choices is best is
# decided for each fold by the others, so that the gain that is reported was neither learned nor chosen on the question
# itself. It counts when its mean is worth having, a bootstrap (Efron 1979) says that it is no accident, and no fold loses for
# certain: what helps most questions and spoils one part of them is not adopted. The bootstrap draws documents with all their
# questions (a cluster bootstrap; Davison & Hinkley 1997, 3.8): what helps one question of a document helps the next.


STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
WEIGHTS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
LEAST_GAIN = 0.005
"""Of mean nDCG@10: less is not worth a change of every score."""
_FOLDS_SURE = 0.01
"""The share of bootstrap means that may lie at or below no gain."""
_LOST = 0.05
"""The share of a fold's bootstrap means that may lie above no loss where it loses for certain."""
_K = 10

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """The candidates of one question, with their scores under every strength of the map.

    Attributes:
        units: ``(c,)`` integers: what a candidate counts as, its document or itself; each counts once, at its best.
        grades: ``(c,)``: the grade of its unit, 0 for no answer.
        ideal: Grades of all answers, found or not.
        keyword: ``(c,)``, 0..1.
        vector: ``(strengths, c)``, 0..1.
        kept: ``(strengths, c)``: what a candidate keeps of its score (see `laws`).
    """

    units: NDArray[np.int64]
    grades: Floats
    ideal: Sequence[float]
    keyword: Floats
    vector: Floats
    kept: Floats

    def scores(self, strength: int, weight: float) -> Floats:
        """Fused scores, ``(c,)``, under the strength with that index and a weight of the vector leg."""
        scores: Floats = (weight * self.vector[strength] + (1.0 - weight) * self.keyword) * self.kept[strength]
        return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of a cross-validation.

    Attributes:
        before, after: Mean nDCG@10 on held-out questions, 0..1: with the present settings, and with those chosen on
            the other folds.
        lower, upper: The gains that 99 % of the bootstrap exceed, and stay below: what is promised.
        by_fold: ``(before, after)`` of each fold.
        collapsed: Folds, counted from 1, whose questions lose, and no accident.
        better, worse: How many questions gain and lose.
        strength, weight: The choice that is best over all folds.
    """

    questions: int
    before: float
    after: float
    lower: float
    upper: float
    by_fold: tuple[tuple[float, float], ...]
    collapsed: tuple[int, ...]
    better: int
    worse: int
    strength: float
    weight: float

    @property
    def gain(self) -> float:
        return self.after - self.before

    @property
    def adopt(self) -> bool:
        """Whether the gain is large enough and significant, and no fold loses significantly."""
        return self.gain >= LEAST_GAIN and self.lower > 0.0 and not self.collapsed


def ndcg_table(trial: Trial, weights: Sequence[float]) -> Floats:
    """``(strengths, weights)``: nDCG@10 (Järvelin & Kekäläinen 2002) of a question for each choice of strength and
    weight.
    """
    discounts = 1.0 / np.log2(np.arange(2, _K + 2))
    best = np.sort(np.asarray(trial.ideal, dtype=np.float64))[::-1][:_K]
    ideal = float(best @ discounts[: len(best)])
    table = np.zeros((len(trial.vector), len(weights)))
    for row in range(len(trial.vector)):
        for column, weight in enumerate(weights):
            order = np.argsort(-trial.scores(row, weight), kind="stable")
            _, first = np.unique(trial.units[order], return_index=True)
            ranked = trial.grades[order[np.sort(first)[:_K]]]
            table[row, column] = ranked @ discounts[: len(ranked)] / ideal
    return table


def judge(
    trials: Sequence[Trial],
    dealt: NDArray[np.int64],
    groups: NDArray[np.int64] | None = None,
    *,
    weight: float,
    seed: int = 7,
) -> Verdict:
    """The cross-validated verdict over all held-out questions.

    Args:
        trials: Of each question, by what was learned from the other folds; strength 0 comes first.
        dealt: The fold of each.
        groups: Equal for questions that tell of one another, which the bootstrap draws together; None: each by itself.
        weight: The present weight of the vector leg.

    Raises:
        ValueError: there are fewer than two folds: nothing could be chosen by others.
    """
    if len(np.unique(dealt)) < 2:
        raise ValueError("judging needs at least two folds")
    weights = sorted({*WEIGHTS, weight}, key=lambda w: (abs(w - weight), w))  # of equals, the nearest to what is
    values = np.array([ndcg_table(trial, weights).ravel() for trial in trials])  # (questions, choices)
    before, after = values[:, 0], np.empty(len(trials))
    folds = np.unique(dealt)
    for fold in folds:
        held = dealt == fold
        after[held] = values[held, int(np.argmax(_rounded(values[~held].mean(axis=0))))]
    chosen = int(np.argmax(_rounded(values.mean(axis=0))))
    gains = after - before
    together = np.arange(len(trials)) if groups is None else groups
    lower, upper = np.quantile(drawn_means(gains, together, seed), (_FOLDS_SURE, 1.0 - _FOLDS_SURE))
    return Verdict(
        questions=len(trials),
        before=float(before.mean()),
        after=float(after.mean()),
        lower=float(lower),
        upper=float(upper),
        by_fold=tuple((float(before[dealt == f].mean()), float(after[dealt == f].mean())) for f in folds),
        collapsed=tuple(
            number
            for number, fold in enumerate(folds, 1)
            if np.quantile(drawn_means(gains[dealt == fold], together[dealt == fold], seed), 1.0 - _LOST) < 0.0
        ),
        better=int((gains > 0).sum()),
        worse=int((gains < 0).sum()),
        strength=STRENGTHS[chosen // len(weights)],
        weight=weights[chosen % len(weights)],
    )


def drawn_means(gains: Floats, groups: NDArray[np.int64], seed: int) -> Floats:
    """Bootstrap means of gains: `_RESAMPLES` draws of groups with all their questions; of single questions if there
    is one group.
    """
    known, place = np.unique(groups, return_inverse=True)
    if len(known) == 1:
        known, place = np.arange(len(gains)), np.arange(len(gains))
    sums, counts = np.bincount(place, gains), np.bincount(place)
    draw = np.random.default_rng(seed)
    drawn = (draw.integers(0, len(known), len(known)) for _ in range(_RESAMPLES))
    return np.array([sums[some].sum() / counts[some].sum() for some in drawn])


def _rounded(means: Floats) -> Floats:
    """Rounded values, so that summation order does not decide between equal choices."""
    return np.round(means, 9)


# Distributing questions to independent folds.
#
# A fold is to tell what something learned is worth for questions that are yet to come. It cannot where its questions are also
# on the other side: in nearly the same words, or about the same document. So it is documents that are dealt, each with
# all its questions, and what is learned for a fold is learned from questions about other documents and in other words.
#
# Questions with several answers tie documents together. Documents that are tied by the most questions go into one group, as
# long as no group outgrows a fold; a question whose documents come to lie in several folds is held out in none, and
# nothing is learned from it for a fold that holds one of them.


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
