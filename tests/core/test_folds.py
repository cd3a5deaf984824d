"""The verdict over folds: what gains everywhere is adopted, what spoils one part of the questions is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wenyuan.core.scoring.cross_validation import STRENGTHS, Trial, judge
from wenyuan.core.scoring.curve_fit import JudgedPassages, best_curve, calibrated, error_of, probabilities
from wenyuan.core.scoring.probability import CURVES, Curve

FOLDS, EACH = 5, 12
DEALT = np.repeat(np.arange(FOLDS), EACH)


def trial(*, gains: bool) -> Trial:
    """Two candidates; without a map the answer comes first or second, with any map it is the other way round."""
    plain, mapped = ((0.4, 0.6) if gains else (0.6, 0.4)), ((0.6, 0.4) if gains else (0.4, 0.6))
    return Trial(
        units=np.array([1, 2]),
        grades=np.array([1.0, 0.0]),
        ideal=[1.0],
        keyword=np.array([0.5, 0.5]),
        vector=np.array([plain] + [mapped] * (len(STRENGTHS) - 1)),
        kept=np.ones((len(STRENGTHS), 2)),
    )


def test_what_a_candidate_keeps_is_part_of_its_score() -> None:
    """A score is what both legs say, less what the candidate loses for its law under that strength."""
    one = replace(trial(gains=True), kept=np.array([[1.0, 0.9]] * len(STRENGTHS)))
    assert one.scores(0, 0.5).tolist() == pytest.approx([0.45, 0.55 * 0.9])


@pytest.mark.parametrize("spoiled", [None, 0, 3])
def test_a_fold_that_loses_for_certain_stands_against_adoption(spoiled: int | None) -> None:
    """The mean gains in any case; where one fold's questions all lose it is named, and nothing is adopted."""
    verdict = judge([trial(gains=fold != spoiled) for fold in DEALT], DEALT, weight=0.7)
    assert verdict.gain > 0.1
    assert verdict.lower > 0
    assert verdict.collapsed == (() if spoiled is None else (spoiled + 1,))
    assert verdict.adopt == (spoiled is None)


def test_a_fold_that_loses_by_accident_does_not() -> None:
    """One question that loses among twelve is no collapse."""
    trials = [trial(gains=number != 0) for number in range(len(DEALT))]
    verdict = judge(trials, DEALT, weight=0.7)
    assert (verdict.collapsed, verdict.worse, verdict.adopt) == ((), 1, True)


def test_questions_about_one_document_are_one_witness() -> None:
    """Seven in ten gain: sure where each question is about a document of its own, and a guess where they are about ten."""
    trials = [trial(gains=number % 10 < 7) for number in range(200)]
    dealt = np.arange(200) % 5
    alone, together = judge(trials, dealt, weight=0.7), judge(trials, dealt, np.arange(200) % 10, weight=0.7)
    assert alone.gain == together.gain > 0
    assert alone.adopt and not together.adopt
    assert together.lower < alone.lower < alone.gain < alone.upper < together.upper


def answers(right: int) -> JudgedPassages:
    """Five candidates a little apart, of which one answers."""
    return JudgedPassages(evidence=[1.2, 0.1, -0.4, -0.7, -1.0], right=[place == right for place in range(5)])


def test_a_curve_is_learned_where_it_makes_held_out_questions_surer() -> None:
    """The first one always answers: the learned curve says so, and errs less than the usual one."""
    questions = [answers(0)] * len(DEALT)
    curve, error = calibrated(questions, DEALT, CURVES["hybrid"], 40)
    assert curve == best_curve(questions, CURVES["hybrid"], 40)
    assert error < error_of(questions, [CURVES["hybrid"]] * len(questions))
    assert probabilities(questions[0], curve)[0] > probabilities(questions[0], CURVES["hybrid"])[0]


def test_a_curve_that_errs_more_on_held_out_questions_is_not_learned() -> None:
    """Each fold has its answers at another place, so that what the others teach is wrong: the prior stays."""
    questions = [answers(0 if fold == 0 else 4) for fold in DEALT]
    prior = best_curve([answers(0), answers(4)])
    curve, error = calibrated(questions[:24], DEALT[:24], prior, 0)
    assert (curve, error) == (prior, error_of(questions[:24], [prior] * 24))
    assert isinstance(curve, Curve)
