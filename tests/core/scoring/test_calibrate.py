"""Probabilities: they rise with the score, follow the rivals, and can be computed from what is shown."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.ports import Hit
from wenyuan.core.scoring.blending import blended
from wenyuan.core.scoring.curve_fit import JudgedPassages, best_curve, probabilities
from wenyuan.core.scoring.fusion import explain
from wenyuan.core.scoring.probability import (
    CURVES,
    Candidate,
    Curve,
    Field,
    WordMatch,
    candidate,
    curve_of,
    key_of,
    raw_of,
    unsettled,
)

shares = st.floats(0, 1)
fields = st.lists(shares, max_size=60)
curves = st.builds(Curve, st.floats(-2, 2), st.floats(0.2, 6))
USUAL = CURVES["hybrid"]


def field(scores: Sequence[float], curve: Curve = USUAL, answerable: float = 1.0) -> Field:
    """Candidates numbered from 1, whose keyword score is all their score."""
    return Field([Candidate(number, score, score) for number, score in enumerate(scores, 1)], curve, answerable)


def settled(scores: Sequence[float], score: float, curve: Curve = USUAL) -> Hit:
    """The first candidate with that score, or one that is none of them."""
    number = scores.index(score) + 1 if score in scores else 0
    parts = {"keyword": score, "fused": score, "trust": 1.0}
    (hit,) = field(scores, curve).settled([Hit(passage_id=number, score=score, parts=parts)])
    return hit


@given(fields, shares, shares, curves)
def test_order_stays(scores: list[float], one: float, other: float, curve: Curve) -> None:
    """Of two passages the one that scores more is never less likely, and always 0..1, whatever context added."""
    low, high = sorted((one, other))
    hits = [Hit(number, score, parts={"keyword": score}) for number, score in ((-1, low), (-2, high))]
    less, more = (hit.score for hit in field(scores, curve).settled(hits))
    assert 0.0 <= less <= more <= 1.0


@given(fields, shares, curves)
def test_parts_give_the_probability(scores: list[float], score: float, curve: Curve) -> None:
    """Raw score, rivals and spread give the probability again, to 1e-6."""
    hit = settled(scores, score, curve)
    p = hit.parts
    logit = curve.intercept + curve.slope * (p["raw"] - p["rivals"]) / p["spread"]
    assert hit.score == pytest.approx(1 / (1 + math.exp(-max(-700.0, logit))), abs=1e-6)
    assert p["raw"] == raw_of(hit) == score
    assert unsettled(hit) == Hit(
        passage_id=hit.passage_id, score=score, parts={"keyword": score, "fused": score, "trust": 1.0}
    )


@given(st.lists(shares, min_size=1, max_size=60), st.integers(0, 59), st.randoms())
def test_candidates_in_any_order(scores: list[float], which: int, draw: random.Random) -> None:
    """The order in which candidates come does not matter, nor do those behind the thirtieth."""
    own = sorted(scores, reverse=True)[which % min(len(scores), 30)]
    mixed = sorted(scores, reverse=True)[:30]
    draw.shuffle(mixed)
    assert settled(mixed, own).score == pytest.approx(settled(scores, own).score, abs=1e-9)


@given(st.lists(st.floats(0.25, 0.5), min_size=2, max_size=40), st.floats(0, 0.5))
def test_the_level_of_a_collection_does_not_count(scores: list[float], shift: float) -> None:
    """Where all candidates score as much more, each is as likely as before."""
    own = max(scores)
    lifted = [score + shift for score in scores]
    assert settled(lifted, own + shift).score == pytest.approx(settled(scores, own).score, abs=1e-6)


def test_several_may_be_right() -> None:
    """Equal candidates do not share a probability; one that stands out is nearly certain, and those behind it are unlikely."""
    assert settled([0.6] * 10, 0.6).score == pytest.approx(settled([0.6] * 2, 0.6).score)
    assert settled([0.6] * 10, 0.6).score > 0.1
    assert settled([0.9] + [0.5] * 20, 0.9).score > 0.9
    assert settled([0.9] + [0.5] * 20, 0.5).score < 0.05


@given(st.floats(0.4, 0.9), st.floats(0.0, 0.3), st.floats(0.0, 0.3))
def test_a_wider_margin_is_no_less_likely(first: float, one: float, other: float) -> None:
    """The further the next candidate lies behind, the likelier the first one."""
    near, far = sorted((one, other))
    assert settled([first, first - near], first).score <= settled([first, first - far], first).score + 1e-9


def test_both_factors_are_shown() -> None:
    """The score is what the passage is likely to be if anything answers, times that anything does, times trust."""
    one = Hit(1, 0.7, parts={"keyword": 0.7, "fused": 0.7, "trust": 1.01})
    (hit,) = field([0.7, 0.5], answerable=0.4).settled([one])
    assert (hit.parts["answerable"], hit.parts["match"]) == (0.4, settled([0.7, 0.5], 0.7).score)
    assert hit.score == pytest.approx(0.4 * hit.parts["match"] * 1.01)
    assert explain(hit, 0.7, USUAL).endswith(f"answerable 0.400 · trust 1.01 → {hit.score:.3f}")


def test_alone() -> None:
    """The only passage within a scope is the answer if there is any; what is far behind it changes nothing."""
    assert 0.7 < settled([0.6], 0.6).score < 1.0
    assert settled([0.6], 0.6) == settled([0.6, 0.1], 0.6)
    assert settled([], 0.4, Curve(0.0, 1.6)).score <= 1.0


def test_answers_under_one_heading_are_no_rivals() -> None:
    """Four answers under the question that is asked are as likely as one that stands alone before the next question."""
    scores = [0.7, 0.69, 0.69, 0.68, 0.5]
    together = Field(
        [Candidate(n, s, s, words=WordMatch(0.5, "how" if s > 0.6 else None)) for n, s in enumerate(scores)], USUAL
    )
    alone = Field([Candidate(n, s, s, words=WordMatch(0.5)) for n, s in ((0, 0.7), (4, 0.5))], USUAL)
    one = Hit(0, 0.7, parts={"keyword": 0.7})
    (grouped,), (single,) = (
        together.settled([one], {0: WordMatch(0.5, "how")}),
        alone.settled([one], {0: WordMatch(0.5)}),
    )
    assert grouped.score == pytest.approx(single.score, abs=0.2)  # the middle is that of all
    assert grouped.score > 1.5 * settled(scores, 0.7).score


@given(shares, shares, shares, st.booleans())
def test_more_of_the_words_is_no_less_likely(one: float, other: float, rival: float, alone: bool) -> None:
    """The more of what the question says a passage has, the likelier it is; where that is not known, as one that has as much as the next."""
    less, more = sorted((one, other))

    def likely(covered: float | None) -> float:
        words = {1: WordMatch(covered), 2: WordMatch(None if alone else rival)}
        candidates = [Candidate(n, s, s, words=words[n]) for n, s in ((1, 0.6), (2, 0.5))]
        (hit,) = Field(candidates, USUAL).settled([Hit(1, 0.6, parts={"keyword": 0.6})], words)
        return hit.score

    assert likely(less) <= likely(more)
    if not alone:
        assert likely(None) == pytest.approx(likely(rival))


@given(st.lists(st.tuples(shares, shares, shares), min_size=1, max_size=12))
def test_what_the_legs_say_changes_no_order(legs: list[tuple[float, float, float]]) -> None:
    """However the legs disagree, a passage is no likelier than one that stands before it."""
    hits = [Hit(n, s, parts={"keyword": k, "vector": v}) for n, (s, k, v) in enumerate(legs)]
    made = Field([candidate(hit, {}) for hit in hits], USUAL).settled(hits)
    chances = [hit.score for hit in sorted(made, key=lambda hit: -raw_of(hit))]
    assert chances == sorted(chances, reverse=True)
    assert [hit.passage_id for hit in made] == [hit.passage_id for hit in hits]


def test_which_curve_counts() -> None:
    """What was recorded or learned comes before the curve of the mode."""
    assert curve_of({}, "hybrid") == CURVES["hybrid"]
    assert curve_of({"intercept": 1.0, "slope": 2.0}, "keyword-only") == Curve(1.0, 2.0)
    assert curve_of(USUAL.measured(), "keyword-only") == USUAL
    former = {"calibration": 2.0, "intercept": 0.36, "slope": 1.42}
    assert curve_of(former, "hybrid") == USUAL  # numbers of another form say nothing in this one
    assert key_of({"score": 0.2}) == "" != key_of(USUAL.measured())


def test_explanation() -> None:
    """The explanation goes from the legs to the score and from there to the probability; with a reranker, on to its say."""
    hit = settled([0.7, 0.6, 0.5, 0.5], 0.7)
    told = explain(hit, 0.7, USUAL)
    numbers = re.search(
        r"keyword 0.700 = 0.700 → 0.700; (\S+) \+ (\S+)·\(0.7000 − rivals (\S+)\) / spread (\S+) = (\S+), .*→ (\S+)$",
        told,
    )
    assert numbers is not None, told
    intercept, slope, rivals, spread, logit, chance = (float(n.rstrip(",")) for n in numbers.groups())
    assert intercept + slope * (0.7 - rivals) / spread == pytest.approx(logit, abs=0.02)
    assert 1 / (1 + math.exp(-logit)) == pytest.approx(chance, abs=1e-3) == pytest.approx(hit.score, abs=1e-3)
    assert explain(blended(hit, 1, 0.2), 0.7, USUAL).startswith(told)


def drawn(curve: Curve, count: int, seed: int = 3) -> list[JudgedPassages]:
    """Questions with ten candidates each, which are right as often as a curve says."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        scores = sorted((draw.betavariate(4, 5) for _ in range(10)), reverse=True)
        candidates = [Candidate(number, score, score) for number, score in enumerate(scores)]
        question = JudgedPassages(evidence=field(scores).evidences(candidates), right=())
        chances = probabilities(question, curve)
        made.append(replace(question, right=[draw.random() < chance for chance in chances]))
    return made


@pytest.mark.parametrize("curve", [Curve(0.4, 1.4), Curve(-0.5, 3.0)])
def test_a_curve_is_found_again(curve: Curve) -> None:
    """From answers that are right as often as a curve says, that curve is learned."""
    found = best_curve(drawn(curve, 400))
    assert found.intercept == pytest.approx(curve.intercept, abs=0.3)
    assert found.slope == pytest.approx(curve.slope, rel=0.25)


def test_few_questions_change_little() -> None:
    """What is known beforehand counts as much as the questions it is said to stand for, and holds where all are right."""
    few = [JudgedPassages(evidence=[1.0, -0.5], right=[True, True])]
    pulled, alone = best_curve(few, USUAL, 1_000), best_curve(few)
    assert abs(pulled.intercept - USUAL.intercept) < 0.2 < alone.intercept - USUAL.intercept
    assert pulled.slope == pytest.approx(USUAL.slope, rel=0.1)
    with pytest.raises(ValueError, match="judged"):
        best_curve([])
