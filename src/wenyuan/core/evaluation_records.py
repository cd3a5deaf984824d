"""What is kept of an evaluation: how well a library answered questions whose answers are known, on some day."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wenyuan.core.learning_records import QuestionAddress

if TYPE_CHECKING:
    from wenyuan.core.scoring.evaluation import Bin
    from wenyuan.core.scoring.reliability import Reliability


CUT = 10
"""Of the measures: what lies beyond is seldom read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """Evaluation result of one question.

    Attributes:
        ndcg: At `CUT`, 0..1.
        rank: Of the first right answer, from 1; 0 where none was found.
        score: Of what came first; None where nothing was answered.
        known: Whether the library has an answer: an address leads to a passage in force.
        vain: Whether the library must not answer it.
    """

    question: str
    ndcg: float
    rank: int
    score: float | None
    known: bool
    vain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """An evaluation without its questions.

    Attributes:
        at: Seconds since the epoch.
        name: Of the golden file.
        set_id: Of its questions and answers: evaluations of the same set can be compared.
        unknown: How many questions have no answer in the library; they count as not found.
        examples: Some of the addresses that lead nowhere, with where they stand.
        figures: ``ndcg@10``, ``recall@10``, ``mrr@10``, ``hit@1``, ``hit@3`` (0..1); ``answered``: the share of the
            questions that got any answer; ``refused``: the share of nonsense that got none; ``ece`` (None when nothing
            was found); ``p50_ms``, ``p95_ms``. Where questions must not be answered: ``no_answer``, how many;
            ``no_answer_refused``, the share of them that got none; ``no_answer_first``, the mean score of what came first, 0 for none.
            ``answer_refused``: the share of the questions with an answer in the library that got none.
        bins: Of the reliability diagram of the first ten.
        places: The reliability of the fragment in first place and of the two behind it, by the names of
            `core.scoring.reliability.PLACES`; empty in an evaluation of a former version.
        made_of: What answered: ``change``, ``documents``, ``passages``, ``encoder``, ``mode``, ``weight``, ``tuning``,
            ``program``.
    """

    evaluation_id: int
    at: float
    name: str
    set_id: str
    questions: int
    unknown: int
    examples: tuple[tuple[str, str], ...]
    figures: Mapping[str, float | None]
    bins: tuple[Bin, ...]
    made_of: Mapping[str, Any]
    seconds: float
    places: Mapping[str, Reliability] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeEvaluation:
    """An evaluation with the result of each question, in the order of the set.

    Attributes:
        in_vain: Those that must not be answered.
    """

    evaluation: Evaluation
    asked: Sequence[AskedQuestion]
    in_vain: Sequence[AskedQuestion] = ()

    @property
    def refused(self) -> list[AskedQuestion]:
        """The questions that have an answer in the library and got none."""
        return [one for one in self.asked if one.known and one.score is None]

    @property
    def answered_in_vain(self) -> list[AskedQuestion]:
        """The questions that should have been refused and were answered, the surest first."""
        return sorted((one for one in self.in_vain if one.score is not None), key=lambda one: -(one.score or 0.0))


def set_id_of(pairs: Iterable[QuestionAddress]) -> str:
    """An id of a question set that depends only on its questions and answers, not on order or location."""
    rows = sorted([p.question.strip(), p.answer, *p.otherwise, f"{p.grade:g}"] for p in pairs)
    return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()[:16]
