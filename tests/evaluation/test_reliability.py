"""Whether a score means what it says: bins, their error, and the drawing."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from wenyuan.core.scoring.evaluation import calibration_error
from wenyuan.evaluation.diagram import diagram, reliability
from wenyuan.evaluation.run import EngineRun, Ranked

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}


def run_of(**found: list[tuple[str, float]]) -> EngineRun:
    ranked = {q: Ranked(tuple(i for i, _ in hits), tuple(s for _, s in hits)) for q, hits in found.items()}
    return EngineRun("fused", ranked, {"total": [1.0]})


def test_bins() -> None:
    """Answers fall into tenths of the score; what is judged 0 or not at all is not relevant."""
    bins = reliability(run_of(q1=[("a", 0.84), ("b", 0.82)], q2=[("x", 0.11)]), QRELS, 10)
    assert [(b.count, b.relevant) for b in bins] == [(1, 0.0), (2, 0.5)]
    assert bins[1].score == pytest.approx(0.83)


def test_error() -> None:
    """The error is the distance between score and share, weighted by the number of answers."""
    bins = reliability(run_of(q1=[("a", 0.84), ("b", 0.82)], q2=[("x", 0.11)]), QRELS, 10)
    assert calibration_error(bins) == pytest.approx((2 * 0.33 + 0.11) / 3)


def test_scores_that_are_right() -> None:
    """Where every answer with score 1 is relevant and every other scores 0, there is no error."""
    found = run_of(q1=[("a", 1.0), ("b", 0.0)], q2=[("c", 1.0), ("x", 0.0)])
    assert calibration_error(reliability(found, QRELS, 10)) == 0.0


def test_only_the_first_count() -> None:
    """Documents behind the first k bear on nothing."""
    found = run_of(q1=[("a", 1.0), ("x", 0.9)])
    assert calibration_error(reliability(found, QRELS, 1)) == 0.0
    assert calibration_error(reliability(found, QRELS, 2)) == pytest.approx(0.45)


def test_nothing_found() -> None:
    """Without an answer there is no error to speak of, and the drawing is empty but sound."""
    assert calibration_error(reliability(run_of(q1=[]), QRELS, 10)) is None
    assert not ElementTree.fromstring(diagram([])).findall(".//circle")


def test_drawing() -> None:
    """Each bin is a circle: to the right by its score, upwards by its share, the larger the more answers."""
    bins = reliability(run_of(q1=[("a", 0.84), ("b", 0.82)], q2=[("x", 0.11)]), QRELS, 10)
    low, high = ElementTree.fromstring(diagram(bins)).findall(".//circle")
    assert float(low.attrib["cx"]) < float(high.attrib["cx"])
    assert float(low.attrib["cy"]) > float(high.attrib["cy"])
    assert float(low.attrib["r"]) < float(high.attrib["r"])
