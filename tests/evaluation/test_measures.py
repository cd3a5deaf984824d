"""Our own measures against those of the field, and the verdict on a change."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wenyuan.core.scoring.evaluation import changed, ndcg, recall, reciprocal_rank
from wenyuan.evaluation.measures import require_measures

GRADES = st.lists(st.integers(0, 3), min_size=1, max_size=30)


@settings(max_examples=60)
@given(found=GRADES, missed=st.lists(st.integers(1, 3), max_size=5))
def test_they_are_those_of_trec_eval(found: list[int], missed: list[int]) -> None:
    """nDCG, recall and reciprocal rank at ten are what ir-measures says of the same ranking."""
    measures = require_measures()
    qrels = {f"d{n}": grade for n, grade in enumerate([*found, *missed])}
    ideal = [grade for grade in qrels.values() if grade]
    if not ideal:
        assert ndcg(found, ideal, 10) == recall(found, 0, 10) == reciprocal_rank(found, 10) == 0.0
        return
    run = {f"d{n}": float(-n) for n in range(len(found))}
    metrics = [measures.nDCG @ 10, measures.R @ 10, measures.RR @ 10]
    expected = measures.calc_aggregate(metrics, {"q": qrels}, {"q": run})
    ours = (ndcg(found, ideal, 10), recall(found, len(ideal), 10), reciprocal_rank(found, 10))
    assert ours == pytest.approx([expected[metric] for metric in metrics])


def test_a_change_of_many_questions_is_told_from_an_accident() -> None:
    """Where most questions gain it is better, the other way round worse, and a coin's toss is no difference."""
    before, after = [0.5] * 60, [0.6] * 50 + [0.4] * 10
    found = changed(before, after)
    assert (found.verdict, found.gained, found.lost) == ("better", 50, 10)
    assert found.lower <= found.mean <= found.upper
    assert found.mean == pytest.approx((50 * 0.1 - 10 * 0.1) / 60)
    assert changed(after, before).verdict == "worse"
    assert changed(before, [0.6] * 30 + [0.4] * 30).verdict == "no difference"
    assert changed(before, before).verdict == "no difference"


@pytest.mark.parametrize(("before", "after"), [([], []), ([0.1], [0.1, 0.2])])
def test_other_questions_cannot_be_compared(before: list[float], after: list[float]) -> None:
    """Without questions, or with others, there is no verdict."""
    with pytest.raises(ValueError, match="same questions"):
        changed(before, after)
