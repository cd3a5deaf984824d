"""Learning a map of query vectors: what it is made of, and what of it is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wenyuan.core.errors import IndexCorrupt
from wenyuan.core.scoring.adapt import LEARNING, QueryMap, Tuning, _pool, learn, levelled

DIMENSION, PASSAGES, QUESTIONS = 16, 40, 30
NOTHING = (np.zeros(0, np.int64), np.zeros(0, np.float32))


def units(count: int, seed: int) -> Any:
    drawn = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@pytest.fixture
def lesson() -> tuple[Any, list[list[Any]], Any]:
    """Questions at random, each answered by a passage at random: all that they have in common is to be learned."""
    answers = np.random.default_rng(3).integers(0, PASSAGES, QUESTIONS)
    return units(QUESTIONS, 1), [[np.array([row])] for row in answers], units(PASSAGES, 2)


def moved(learned: QueryMap) -> float:
    """How far a map is from leaving things as they are."""
    return float(np.abs(learned.matrix - np.eye(DIMENSION)).sum() + np.abs(learned.shift).sum())


def test_a_map_brings_questions_to_their_answers(lesson: Any) -> None:
    """The cosines of questions to their answers rise."""
    queries, answers, passages = lesson
    learned = learn(queries, answers, passages, [NOTHING] * QUESTIONS)
    rows = [own[0][0] for own in answers]
    before, after = (np.vecdot(vectors, passages[rows]).mean() for vectors in (queries, learned.apply(queries)))
    assert after > before + 0.1


def test_what_keywords_find_need_not_be_learned(lesson: Any) -> None:
    """Where keywords put the answers far ahead of all else, there is nothing left to learn, and next to nothing is."""
    queries, answers, passages = lesson
    found = [(own[0], np.ones(1, np.float32)) for own in answers]
    certain = replace(LEARNING, words=3.0)
    alone = learn(queries, answers, passages, [NOTHING] * QUESTIONS, certain)
    beside = learn(queries, answers, passages, found, certain)
    assert moved(beside) < 0.01 * moved(alone)


def test_what_keywords_find_elsewhere_is_of_no_account(lesson: Any) -> None:
    """Passages that are not compared with, of a large collection, are passed over, whatever keywords say of them."""
    queries, answers, passages = lesson
    few = replace(LEARNING, pool=35, chance=2)
    beyond = np.setdiff1d(np.arange(PASSAGES), _pool(queries, answers, passages, few))
    assert len(beyond)
    far, near = (
        [(rows, np.ones(len(rows), np.float32))] * QUESTIONS for rows in (beyond, np.array([answers[0][0][0]]))
    )
    plain, same, other = (
        learn(queries, answers, passages, words, few).matrix for words in ([NOTHING] * QUESTIONS, far, near)
    )
    assert np.array_equal(plain, same)
    assert not np.array_equal(plain, other)


@pytest.mark.parametrize("missing", ["queries", "answers", "words"])
def test_a_lesson_with_a_part_missing_is_refused(lesson: Any, missing: str) -> None:
    """Every question needs an answer, and to be told what keywords find of it."""
    queries, answers, passages = lesson
    words = [NOTHING] * QUESTIONS
    given = {"queries": queries, "answers": answers, "words": words}
    given[missing] = given[missing][:-1]
    with pytest.raises(ValueError, match="every query needs"):
        learn(given["queries"], given["answers"], passages, given["words"])


def test_a_levelled_map_keeps_the_spread_that_counts_without_it(lesson: Any) -> None:
    """Mean and spread of the best cosines are those that counted: of a cosine stretched and shifted, those."""
    queries, answers, passages = lesson
    learned = learn(queries, answers, passages, [NOTHING] * QUESTIONS)
    levels = np.tile(np.array([[0.5, 0.3]], np.float32), (QUESTIONS, 1))
    held = levelled(learned, queries, levels, passages)
    best = np.sort(queries @ passages.T, axis=1)[:, -20:] * 0.5 + 0.3
    mapped = held.level(np.sort(held.apply(queries) @ passages.T, axis=1)[:, -20:])
    assert (mapped.mean(), mapped.std()) == pytest.approx((best.mean(), best.std()), abs=1e-5)


@pytest.mark.parametrize("aimed", [True, False])
def test_a_map_is_read_as_it_was_written(lesson: Any, aimed: bool) -> None:
    """Of either kind, and the two kinds of one map are two tunings."""
    queries, answers, passages = lesson
    learned = replace(learn(queries, answers, passages, [NOTHING] * QUESTIONS).weakened(0.5), aimed=aimed)
    again = QueryMap.from_bytes(learned.to_bytes())
    assert again.aimed == aimed
    assert np.array_equal(again.matrix, learned.matrix)
    kinds = [Tuning(weight=0.7, map=replace(learned, aimed=kind)).fingerprint for kind in (True, False)]
    assert kinds[0] != kinds[1]


@pytest.mark.parametrize("at", [0, 18, 60, -1])
def test_a_damaged_map_is_refused(lesson: Any, at: int) -> None:
    """A byte that differs, wherever it stands, and what is cut short."""
    queries, answers, passages = lesson
    stored = bytearray(learn(queries, answers, passages, [NOTHING] * QUESTIONS).to_bytes())
    stored[at] ^= 0xFF
    for broken in (bytes(stored), bytes(stored[:50]), b""):
        with pytest.raises(IndexCorrupt):
            QueryMap.from_bytes(broken)
