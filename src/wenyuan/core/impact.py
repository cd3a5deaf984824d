"""What rests on a document, a passage or a rule: answers that quoted it, and what the same questions are answered now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

AnswerOutcome = Literal["same", "differs", "unknown"]
OUTCOMES: tuple[AnswerOutcome, ...] = get_args(AnswerOutcome)
"""Of an answer that quoted what is not there any more: what it was asked for is still given, is not, or nobody knows."""
DAYS, MOST_DAYS = 30.0, 36_500.0
MOST_ASKED, MOST_SECONDS = 200, 300.0
"""Questions that are asked again at most, and seconds for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactedAnswer:
    """An answer that quoted words which are not there any more.

    Attributes:
        audit_id, at: Of the newest of those with the same question.
        count: How many answers were given to the same question of the same caller.
        question: The redacted beginning of it.
        agent, task: Who asked, and for what; "" for nobody and nothing.
        was: The sentences that were quoted and are nearest to the question; "" where the text is not kept.
        now: What is given first now; "" for nothing.
        why: Why nobody knows, where the outcome is ``unknown``.
    """

    audit_id: str
    at: float
    count: int
    question: str
    agent: str
    task: str
    outcome: AnswerOutcome
    was: str = ""
    now: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactReport:
    """What rests on something, and what a change of it touches.

    Attributes:
        target: What was asked about; of a change, the addresses of its documents.
        answers: Answers of the time that quoted it.
        resting: Those that quoted words which are not there any more.
        same, differs, unknown: Of these, by outcome.
        left: Of these, how many were not asked again, as there were too many, or there was no time.
        agents: By agent, how many answers quoted it; ``""`` for no agent.
        tasks: By task, likewise; what was asked for no task is not counted.
        rules: Ids of the statements that rest on it.
        examples: The answers that rest on it, those that read otherwise first.
        since: Seconds since the epoch: from when on answers are known.
        complete: Whether all answers of the time asked for are; False where the audit was cut, or has too many.
    """

    target: str
    answers: int
    resting: int
    same: int
    differs: int
    unknown: int
    left: int
    agents: Mapping[str, int]
    tasks: Mapping[str, int]
    rules: tuple[int, ...]
    examples: tuple[ImpactedAnswer, ...]
    since: float
    complete: bool

    def described(self, most: int | None = None) -> dict[str, Any]:
        """As JSON has it, with so many of its answers; None: all of them."""
        return asdict(replace(self, examples=self.examples[:most]))
