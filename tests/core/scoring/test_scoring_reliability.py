"""How far scores are probabilities: three numbers and bins, of any fragments."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from wenyuan.core.scoring.reliability import auc, reliability, reliability_of


def test_numbers_and_bins() -> None:
    """The mean, the share that is right, the squared distance, and how often a right one stands above a wrong one."""
    found = reliability([(0.9, True), (0.8, False), (0.8, True), (0.2, False)])
    assert (found.count, found.score, found.right) == (4, 0.675, 0.5)
    assert found.brier == pytest.approx((0.01 + 0.64 + 0.04 + 0.04) / 4, abs=1e-4)
    assert found.auc == pytest.approx((1 + 1 + 0.5 + 1) / 4)
    assert [(one.count, one.relevant) for one in found.bins] == [(1, 0.0), (2, 0.5), (1, 1.0)]
    assert found.ece == pytest.approx((0.2 + 2 * 0.3 + 0.1) / 4, abs=1e-4)


def test_nothing_is_no_number() -> None:
    """Without fragments there are none; without a wrong one there is no area."""
    nothing = reliability([])
    assert (nothing.count, nothing.score, nothing.brier, nothing.auc, nothing.bins) == (0, None, None, None, ())
    assert reliability([(0.7, True)]).auc is None


def test_it_comes_back_from_json() -> None:
    """What is kept is read as it was."""
    for made in (reliability([(0.9, True), (0.1, False)]), reliability([])):
        assert reliability_of(json.loads(json.dumps(asdict(made)))) == made


def test_the_area_is_that_of_all_pairs() -> None:
    """Counted pair by pair it is the same."""
    right, wrong = [0.3, 0.5, 0.5, 0.9], [0.5, 0.1, 0.6]
    pairs = [(a > b) + 0.5 * (a == b) for a in right for b in wrong]
    assert auc(right, wrong) == pytest.approx(sum(pairs) / len(pairs))
