"""A judge's numbers: calibrated, compared, and never believed further than the stated risk."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wenyuan.core.scoring.risk import (
    DELTA,
    Monotone,
    allowed,
    bound_of,
    compared,
    highest_wrong,
    least_questions,
    monotone,
    threshold,
)

shares = st.floats(0, 1, allow_subnormal=False)
pairs = st.lists(st.tuples(st.integers(0, 20).map(lambda n: n / 20), st.booleans()), min_size=1, max_size=80)


def _bench() -> ModuleType:
    """The script that measures what docs/judge.md says: its simulated judges are tried here."""
    path = Path(__file__).parents[3] / "bench" / "judge.py"
    found = importlib.util.spec_from_file_location("bench_judge", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


BENCH = _bench()
JUDGES, STEPS, simulated = BENCH.JUDGES, BENCH.STEPS, BENCH.simulated


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize(("questions", "epsilon"), [(60, 0.1), (200, 0.05)])
def test_stated_risk_holds(judge: str, questions: int, epsilon: float) -> None:
    """With at least 1 − δ of 1,000 sets of questions, no more than ε of the questions to come are stopped too early."""
    seen = highest_wrong(*simulated(judge, questions, 1, sets=1_000))
    to_come = np.sort(highest_wrong(*simulated(judge, 100_000, 2))[0])
    lost = allowed(questions, epsilon)
    assert lost is not None
    bounds = bound_of(seen, lost)
    risks = 1.0 - np.searchsorted(to_come, bounds, side="right") / len(to_come)
    sampling = 3 * math.sqrt(epsilon * (1 - epsilon) / len(to_come))
    held = float((risks <= epsilon + sampling).mean())
    assert held >= 1.0 - DELTA - 3 * math.sqrt(DELTA * (1 - DELTA) / 1_000)


def test_bound_is_used_up() -> None:
    """The guarantee is no more cautious than it must be: one more lost question would break it."""
    seen = highest_wrong(*simulated("noisy", 200, 3, sets=1_000))
    to_come = np.sort(highest_wrong(*simulated("noisy", 100_000, 4))[0])
    lost = allowed(200, 0.1)
    assert lost is not None

    def held(count: int) -> float:
        bounds = bound_of(seen, count)
        return float((1.0 - np.searchsorted(to_come, bounds, side="right") / len(to_come) <= 0.1).mean())

    assert held(lost) >= 0.9 > held(lost + 4)


@pytest.mark.parametrize(("judge", "share"), [("perfect", 0.95), ("noisy", 0.05), ("always .95", 0.0), ("coin", 0.0)])
def test_only_judges_that_know_something_stop(judge: str, share: float) -> None:
    """How many questions are stopped before the most, by what the judge is worth."""
    raw, sufficient = (one[0] for one in simulated(judge, 300, 5))
    curve = monotone(raw.ravel(), sufficient.ravel())
    lost = allowed(300, 0.1)
    assert lost is not None
    least = threshold(curve, float(bound_of(highest_wrong(raw, sufficient), lost)))
    stops = np.zeros(300, bool) if least is None else (curve.probabilities(raw) >= least).any(axis=1)
    assert stops.mean() >= share * sufficient[:, -1].mean()
    if judge == "always .95":
        assert least is None


@pytest.mark.parametrize(
    ("judge", "better"),
    [("perfect", True), ("noisy", True), ("always .95", False), ("coin", False), ("inverted", False)],
)
def test_better_than_what_is_known_anyway(judge: str, better: bool) -> None:
    """A judge is worth asking only where it tells more of other questions than the library's own probability."""
    raw, sufficient = (one[0] for one in simulated(judge, 150, 6))
    own = np.clip(0.4 + 0.05 * STEPS + np.random.default_rng(7).normal(0, 0.1, raw.shape), 0, 1)
    found = compared(raw, own, sufficient, np.arange(150) % 5)
    assert found.better is better
    assert found.error[0] <= found.raw_error or judge == "perfect"
    assert max(found.error) < 0.15


def drawn(share: float, count: int) -> float:
    """A share of so many pairs, with one right and one wrong pair added."""
    return (share * count + 1) / (count + 2)


@given(pairs)
def test_curve_rises_and_keeps_the_mean(judged: list[tuple[float, bool]]) -> None:
    """The curve rises, and says of the questions that it was made of as much as is right of them."""
    raw, right = np.array([r for r, _ in judged]), np.array([y for _, y in judged])
    curve = monotone(raw, right)
    chances = curve.probabilities(np.sort(raw))
    assert np.all(np.diff(chances) >= 0)
    assert curve.probabilities(raw).mean() == pytest.approx(drawn(right.mean(), len(judged)))
    assert 0.0 < curve.chances[0] <= curve.chances[-1] < 1.0
    assert curve.probability(-1.0) == curve.chances[0]


@given(pairs)
def test_curve_is_the_best_one(judged: list[tuple[float, bool]]) -> None:
    """No other rising curve has less squared error: that of the min-max formula is the same."""
    raw, right = np.array([r for r, _ in judged]), np.array([float(y) for _, y in judged])
    curve = monotone(raw, right > 0)
    values = np.unique(raw)
    for at, value in enumerate(values):
        means = [min(right[(raw >= low) & (raw <= high)].mean() for high in values[at:]) for low in values[: at + 1]]
        assert curve.probability(float(value)) == pytest.approx(drawn(max(means), len(judged)))


@given(st.integers(1, 300), st.floats(0.01, 0.5))
def test_too_few_questions(questions: int, epsilon: float) -> None:
    """With fewer than are needed nothing can be stated, with as many no question may be lost."""
    assert (allowed(questions, epsilon) is None) is (questions < least_questions(epsilon))
    assert allowed(least_questions(epsilon), epsilon) is not None


@pytest.mark.parametrize(
    ("questions", "epsilon", "lost"), [(21, 0.1, None), (22, 0.1, 0), (38, 0.1, 1), (45, 0.05, 0), (100, 0.1, 5)]
)
def test_known_bounds(questions: int, epsilon: float, lost: int | None) -> None:
    """The exact binomial bounds."""
    assert allowed(questions, epsilon) == lost
    if lost is not None:
        tail = sum(math.comb(questions, i) * epsilon**i * (1 - epsilon) ** (questions - i) for i in range(lost + 2))
        assert (
            tail - math.comb(questions, lost + 1) * epsilon ** (lost + 1) * (1 - epsilon) ** (questions - lost - 1)
            <= DELTA
            < tail
        )


@given(pairs, shares)
def test_threshold_lies_above_the_bound(judged: list[tuple[float, bool]], bound: float) -> None:
    """Whatever reaches the threshold has a raw number above the bound."""
    raw, right = np.array([r for r, _ in judged]), np.array([y for _, y in judged])
    curve = monotone(raw, right)
    least = threshold(curve, bound)
    if least is not None:
        assert raw[curve.probabilities(raw) >= least].min() > bound


@pytest.mark.parametrize(
    ("starts", "chances"), [((), ()), ((0.1,), (0.1, 0.2)), ((0.2, 0.1), (0.1, 0.2)), ((0.1, 0.2), (0.2, 0.2)), ((0.1,), (1.2,)), ((0.1,), (float("nan"),))]
)  # fmt: skip
def test_no_such_curve(starts: tuple[float, ...], chances: tuple[float, ...]) -> None:
    """A curve that does not rise, or leaves 0..1, cannot be made; neither can one of nothing."""
    with pytest.raises(ValueError):
        Monotone(starts=starts, chances=chances)
    with pytest.raises(ValueError):
        monotone(np.array([]), np.array([], bool))
