"""Folds that know nothing of one another: documents are dealt, and nothing is learned from questions that read the same."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

import numpy as np
import pytest

from wenyuan.core.scoring.folds import ACROSS, LEAST_GROUPS, deal, near_equal
from wenyuan.core.text.analysis import query_terms


def asked(count: int) -> list[list[str]]:
    """Questions that have no word in common."""
    return [[f"w{number}"] for number in range(count)]


def test_questions_about_one_document_lie_in_one_fold() -> None:
    """Also where a third question ties them: its answers stand in both documents."""
    documents: list[Collection[str]] = [("a",), ("b",), ("a", "b"), *((f"d{number}",) for number in range(57))]
    dealt = deal(asked(60), documents)
    assert len(set(dealt.folds[:3].tolist())) == len(set(dealt.groups[:3].tolist())) == 1
    assert len(set(dealt.groups.tolist())) == 58
    assert sorted(np.bincount(dealt.folds).tolist()) == [12] * 5


def test_what_is_learned_from_for_a_fold_shares_no_document_with_it() -> None:
    """Over random questions with one to three answers each: no document stands on both sides of any fold."""
    draw = random.Random(3)
    documents = [draw.sample(range(60), draw.choice((1, 1, 1, 2, 3))) for _ in range(300)]
    dealt = deal(asked(300), documents)
    for fold in range(5):
        held = {name for number in dealt.own(fold) for name in documents[number]}
        learned = {name for number in dealt.others(fold) for name in documents[number]}
        assert len(held) > 0 and len(learned) > 0 and not held & learned
    assert set(dealt.held.tolist()) == {n for fold in range(5) for n in dealt.own(fold).tolist()}


def test_large_documents_are_dealt_first_so_that_folds_are_of_a_size() -> None:
    """Five documents with twenty questions and a hundred with one: each fold has one of the five."""
    documents = [(f"large{number % 5}",) for number in range(100)] + [(f"small{number}",) for number in range(100)]
    dealt = deal(asked(200), documents)
    assert np.bincount(dealt.folds).tolist() == [40] * 5
    assert len({dealt.folds[number] for number in range(5)}) == 5


def test_a_question_that_ties_what_is_too_large_for_a_fold_is_held_out_in_none() -> None:
    """Twelve documents in a chain: what would make one group of them all is left out, and the others are dealt."""
    documents: list[Collection[str]] = [(f"d{number % 12}",) for number in range(240)]
    documents += [(f"d{number}", f"d{number + 1}") for number in range(11)]
    dealt = deal(asked(251), documents)
    across = np.flatnonzero(dealt.folds == ACROSS)
    assert 0 < len(across) <= 11
    assert across.min() >= 240
    assert dealt.sound
    for fold in range(5):
        assert not {n for n in across.tolist() if fold in dealt.touched[n]} & set(dealt.others(fold).tolist())


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("How do I renew my passport?", "how do i renew my passport", True),
        ("请问如何办理居住证", "請問如何辦理居住證？", True),
        ("试用期最长几个月？", "试用期 最长几个月", True),
        ("ＶＰＮ 怎么申请", "VPN怎么申请", True),
        ("How do I renew my passport?", "How do I renew my driving licence?", False),
        ("年假几天", "病假几天", False),
    ],
)
def test_questions_that_read_the_same_are_near(one: str, other: str, near: bool) -> None:
    """Case, marks, width and Traditional characters do not count; another word for what is asked about does."""
    assert bool(list(near_equal([query_terms(one), query_terms(other)]))) is near


def test_every_near_pair_is_found() -> None:
    """Over random questions the same pairs as by comparing all with all."""
    draw = random.Random(5)
    sets = [draw.sample("abcdefghij", draw.randint(1, 9)) for _ in range(200)]
    near = [
        (one, other)
        for other in range(200)
        for one in range(other)
        if 5 * len({*sets[one]} & {*sets[other]}) >= 4 * len({*sets[one]} | {*sets[other]})
    ]
    assert near
    assert sorted(near_equal(sets)) == sorted(near)


def test_nothing_is_learned_from_a_question_that_reads_as_one_that_is_held_out() -> None:
    """Two documents answer the same words, and both are too large to lie together: each is learned from without them."""
    documents = [(f"d{number % 10}",) for number in range(200)]
    questions = asked(200)
    questions[0] = questions[1] = ["the", "same", "words"]
    dealt = deal(questions, documents)
    assert dealt.folds[0] != dealt.folds[1]
    assert 1 not in dealt.others(int(dealt.folds[0]))
    assert 0 not in dealt.others(int(dealt.folds[1]))


@pytest.mark.parametrize(
    ("documents", "sound"),
    [
        ([f"d{number % LEAST_GROUPS}" for number in range(100)], True),
        ([f"d{number % (LEAST_GROUPS - 1)}" for number in range(100)], False),
        (["one"] * 60 + [f"d{number}" for number in range(40)], False),
        (["one"] * 40 + [f"d{number}" for number in range(60)], True),
    ],
)
def test_folds_say_whether_they_can_tell(documents: Sequence[str], sound: bool) -> None:
    """Not with nine documents, nor where one has most of the questions."""
    assert deal(asked(100), [(name,) for name in documents]).sound is sound


def test_the_same_questions_are_dealt_the_same_way() -> None:
    """Whatever order documents are named in."""
    documents = [(f"d{number % 30}", f"e{number % 30}") for number in range(90)]
    one, other = deal(asked(90), documents), deal(asked(90), [own[::-1] for own in documents])
    assert one.folds.tolist() == other.folds.tolist()
