"""What became of a question, by its audit record."""

from __future__ import annotations

from typing import Any

import pytest

from wenyuan.core.question_outcomes import QuestionOutcome, outcome_of


def fragment(score: float, chars: int = 10, source: str = "s") -> dict[str, Any]:
    return {"score": score, "quoted_chars": chars, "source_id": source}


@pytest.mark.parametrize(
    ("record", "outcome"),
    [
        ({"status": "SUCCESS", "fragments": [fragment(0.9)]}, "answered"),
        ({"status": "SUCCESS", "fragments": [fragment(0.49)]}, "weak"),
        ({"status": "SUCCESS", "fragments": [fragment(0.9, chars=0)]}, "withheld"),
        ({"status": "SUCCESS", "withheld": {"trust": {"s#1": 9}}}, "withheld"),
        ({"status": "SUCCESS", "legs": [{"hits": 3, "ms": 2.0}]}, "refused"),
        ({"status": "SUCCESS", "legs": [{"hits": 0, "ms": 2.0}]}, "empty"),
        ({"status": "FAILED", "fragments": []}, "failed"),
    ],
)
def test_each_outcome(record: dict[str, Any], outcome: str) -> None:
    """What was given, how probable it is, and whether anything was found decide."""
    found = outcome_of(record)
    assert found is not None
    assert found.outcome == outcome


@pytest.mark.parametrize("record", [{"erased": "e-1"}, {"status": "SUCCESS", "door": "gaps"}, {}])
def test_what_nobody_asked_has_none(record: dict[str, Any]) -> None:
    """Erased records, gaps that are asked again, and changes are no questions."""
    assert outcome_of(record) is None


def test_the_best_fragment_names_the_source_and_a_kept_answer_took_no_time() -> None:
    """The source is that of the most probable fragment; the time is that of the longest leg, unless the answer was kept."""
    record = {
        "status": "SUCCESS",
        "agent": "support",
        "fragments": [fragment(0.2), fragment(0.8, source="other")],
        "legs": [{"ms": 3.0, "hits": 1}, {"ms": 9.5, "hits": 1}],
    }
    found = outcome_of(record)
    assert found == QuestionOutcome(agent="support", source_id="other", outcome="answered", score=0.8, ms=9.5)
    kept = outcome_of({**record, "cache_hit": True})
    assert kept is not None
    assert kept.ms == 0.0


def test_a_question_in_parts_is_as_good_as_its_best_part_unless_one_failed() -> None:
    """One part that found nothing does not undo the other's answer; one that failed makes it failed."""
    answered = QuestionOutcome(agent="a", source_id="s", outcome="answered", score=0.8, ms=1.0)
    empty = QuestionOutcome(agent="a", source_id="", outcome="empty", score=0.0, ms=4.0)
    failed = QuestionOutcome(agent="a", source_id="", outcome="failed", score=0.0, ms=0.0)
    for united in (answered.with_part(empty), empty.with_part(answered)):
        assert united == QuestionOutcome(agent="a", source_id="s", outcome="answered", score=0.8, ms=4.0)
    assert answered.with_part(failed).outcome == failed.with_part(answered).outcome == "failed"
