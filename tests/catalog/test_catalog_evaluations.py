"""Evaluations in the catalog, in a folder and on PostgreSQL."""

from __future__ import annotations

from typing import Any

from catalog_parts import BOTH
from wenyuan.core.evaluation_records import AskedQuestion, Evaluation
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.core.scoring.evaluation import Bin


@BOTH
def test_evaluations_are_kept_wherever_the_catalog_lies(catalog: Any) -> None:
    """Kept, listed, read whole and removed, in a folder and on PostgreSQL alike."""
    kept = Evaluation(
        evaluation_id=0,
        at=1.5,
        name="甲\x00.csv",
        set_id="s",
        questions=1,
        unknown=0,
        examples=(("a", "b"),),
        figures={"ndcg@10": 0.5, "ece": None},
        bins=(Bin(count=1, score=0.5, relevant=1.0),),
        made_of={"change": 1},
        seconds=0.1,
    )
    pairs = [QuestionAddress(question="问", answer="a", otherwise=("b",))]
    asked = [AskedQuestion(question="问", ndcg=0.5, rank=2, score=None, known=True)]
    first, second = (catalog.keep_evaluation(kept, pairs, asked) for _ in range(2))
    assert second > first
    assert [one.evaluation_id for one in catalog.evaluations()] == [second, first]
    whole = catalog.evaluation(first)
    assert whole.asked == tuple(asked)
    assert whole.evaluation.figures == kept.figures
    assert whole.evaluation.bins == kept.bins
    assert catalog.golden_set("s") == tuple(pairs)
    catalog.remove_evaluation(first)
    assert len(catalog.evaluations()) == 1
