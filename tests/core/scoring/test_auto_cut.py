"""How many passages are worth giving."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.scoring.auto_cut import auto_cut

_SCORES = st.lists(st.floats(0, 1, allow_subnormal=False), max_size=20).map(lambda s: sorted(s, reverse=True))


@given(_SCORES, st.integers(0, 5), st.integers(0, 10), st.floats(0, 1))
def test_the_cut_keeps_its_bounds_and_the_floor(scores, low, more, floor):
    """At least `low`, at most `high` are given, and beyond `low` none below the floor."""
    k = auto_cut(scores, low=low, high=low + more, floor=floor)
    assert min(low, len(scores)) <= k <= min(low + more, len(scores))
    assert all(score >= floor for score in scores[low:k])


@given(_SCORES, st.floats(0, 0.99))
def test_what_is_cut_away_lies_below_the_floor_or_behind_a_step(scores, floor):
    """Nothing is cut away without one of the two reasons that the rule names."""
    k = auto_cut(scores, high=20, floor=floor)
    if 0 < k < len(scores) and scores[k] >= floor:
        assert scores[k - 1] - scores[k] >= 0.35 * (scores[0] - floor) > 0


@pytest.mark.parametrize(
    ("scores", "floor", "k"),
    [
        ([], 0.4, 0),
        ([0.9], 0.4, 1),
        ([0.9, 0.88, 0.85, 0.6, 0.58], 0.4, 3),
        ([0.9, 0.5, 0.48, 0.47], 0.4, 1),
        ([0.9, 0.85, 0.8, 0.75, 0.7], 0.4, 5),
        ([0.9, 0.85, 0.8, 0.39, 0.38], 0.4, 3),
        ([0.9, 0.6, 0.3], 0.0, 3),
        ([0.9, 0.5, 0.1], 0.0, 1),
        ([0.5] * 15, 0.0, 10),
    ],
)
def test_known_cuts(scores, floor, k):
    """The cut falls where a person would draw the line."""
    assert auto_cut(scores, floor=floor) == k


def test_low_holds_even_below_the_floor():
    """Who asks for two gets two, whatever their scores."""
    assert auto_cut([0.3, 0.2, 0.1], low=2, floor=0.5) == 2
    assert auto_cut([0.3, 0.2, 0.1], low=0, floor=0.5) == 0


@pytest.mark.parametrize(
    ("scores", "options"),
    [([0.1, 0.2], {}), ([1.2], {}), ([float("nan")], {}), ([0.5], {"low": 3, "high": 2}), ([0.5], {"drop": 0}),
     ([0.5], {"floor": 2})],
)  # fmt: skip
def test_nonsense_is_refused(scores, options):
    """Rising scores, scores outside 0..1 and impossible bounds are errors."""
    with pytest.raises(ValueError, match=r"scores|cut"):
        auto_cut(scores, **options)
