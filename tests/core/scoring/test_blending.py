"""Blending: pure, bounded by the place before, and shown as a sum that adds up."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.errors import ScoresRejected
from wenyuan.core.ports import Hit
from wenyuan.core.scoring.blending import SHARES, before, blended, checked_scores, probability, share_at
from wenyuan.core.scoring.fusion import explain

unit = st.floats(0, 1)
hits = st.builds(lambda score: Hit(passage_id=1, score=score, parts={"fused": score, "keyword": score}), unit)


@given(hits, st.integers(1, 100), unit, st.tuples(unit, unit, unit))
def test_a_blended_score_is_absolute_and_adds_up(
    hit: Hit, place: int, score: float, shares: tuple[float, float, float]
) -> None:
    """It lies between the two scores, its parts give it to 1e-6, and what it was before can be had back."""
    got = blended(hit, place, score, shares)
    assert min(hit.score, score) - 1e-9 <= got.score <= max(hit.score, score) + 1e-9
    assert 0.0 <= got.score <= 1.0
    p = got.parts
    assert math.isclose((1 - p["share"]) * p["retrieved"] + p["share"] * p["reranker"], got.score, abs_tol=1e-6)
    assert before(got) == hit
    assert before(hit) is hit


def test_the_search_keeps_most_of_its_say_at_the_top() -> None:
    """The reranker's share grows in three steps with the place."""
    assert [share_at(place, SHARES) for place in (1, 3, 4, 10, 11, 100)] == [0.25, 0.25, 0.4, 0.4, 0.6, 0.6]


def test_the_reranker_alone() -> None:
    """With full shares its word is the score."""
    assert blended(Hit(passage_id=1, score=0.9), 1, 0.2, (1.0, 1.0, 1.0)).score == pytest.approx(0.2)


def test_explain_shows_the_blend_behind_the_search() -> None:
    """First the sum of the search, then that of the blend, with the numbers that were used."""
    hit = Hit(passage_id=1, score=0.6, parts={"keyword": 0.6, "fused": 0.6, "trust": 1.0})
    assert explain(blended(hit, 1, 0.9), 0.7) == (
        "keyword 0.600 = 0.600 → 0.600; 0.75·0.600 + 0.25·reranker 0.900 → 0.675"
    )
    outside = Hit(passage_id=-1, score=0.5, parts={"outside": 0.5, "trust": 1.0})
    assert "0.60·0.500 + 0.40·reranker 1.000 → 0.700" in explain(blended(outside, 4, 1.0), 0.7)


@given(st.floats(allow_nan=False))
def test_a_logit_becomes_a_probability_without_overflow(logit: float) -> None:
    """Any number is mapped into 0..1, zero to one half, and opposite numbers to opposite chances."""
    got = probability(logit)
    assert 0.0 <= got <= 1.0
    assert math.isclose(got + probability(-logit), 1.0, abs_tol=1e-12)
    assert probability(0.0) == 0.5


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ([0.5], "2 texts went in, 1 scores came out"),
        ([0.5, 0.5, 0.5], "3 scores came out"),
        ([0.5, math.nan], "text 2 is NaN"),
        ([-math.inf, 0.5], "text 1 is NaN or infinite"),
        ([0.5, 1.0001], r"not in 0\.\.1"),
        ([-0.1, 0.5], r"not in 0\.\.1"),
        ([0.5, None], "text 2 is no number"),
        ([0.5, "1"], "text 2 is no number"),
        ([True, 0.5], "text 1 is no number"),
        ([10**400, 0.5], "NaN or infinite"),
    ],
)
def test_what_is_no_score_is_refused(scores: list[object], says: str) -> None:
    """Count, kind and range are checked, and the message names the text."""
    with pytest.raises(ScoresRejected, match=says):
        checked_scores(scores, 2, "reranker m", logits=False)


def test_logits_may_be_any_finite_number() -> None:
    """They become probabilities; NaN and infinity are refused all the same."""
    assert checked_scores([-800, 0, 3.0], 3, "m", logits=True) == pytest.approx([0.0, 0.5, 0.9525741])
    with pytest.raises(ScoresRejected, match="NaN"):
        checked_scores([math.nan], 1, "m", logits=True)
