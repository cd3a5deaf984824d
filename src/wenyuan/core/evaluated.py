"""What is kept of an evaluation: how well a library answered questions whose answers are known, on some day."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wenyuan.core.learned import Pair
from wenyuan.core.measures import Bin

__all__ = ["CUT", "AskedQuestion", "Evaluation", "WholeEvaluation", "set_id_of"]

CUT = 10
"""Of the measures: what lies beyond is seldom read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """What became of one question.

    Attributes:
        ndcg: At `CUT`, 0..1.
        rank: Of the first right answer, from 1; 0 where none was found.
        score: Of what came first; None where nothing was answered.
        known: Whether the library has an answer at all: an address of it leads to a passage in force.
    """

    question: str
    ndcg: float
    rank: int
    score: float | None
    known: bool


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
        bins: Of the reliability diagram.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeEvaluation:
    """An evaluation with what became of each question, in the order of the set."""

    evaluation: Evaluation
    asked: Sequence[AskedQuestion]


def set_id_of(pairs: Iterable[Pair]) -> str:
    """A name for the same questions with the same answers, in whatever order and wherever they stand."""
    rows = sorted([p.question.strip(), p.answer, *p.otherwise, f"{p.grade:g}"] for p in pairs)
    return hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()[:16]
