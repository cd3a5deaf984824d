"""Gaps: what was asked of a library and not answered well, and what its owner decided about that."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from wenyuan.core.text.analysis import fold

GapReason = Literal["nothing", "withheld", "marked_bad", "weak", "asked_again"]
REASONS: tuple[GapReason, ...] = get_args(GapReason)
"""Why a question counts as not answered, what weighs most first: nothing was given; what was found was withheld (by
copyright or trust); its caller called it wrong; nothing given was probable; its caller asked again in other words."""

GapState = Literal["open", "later", "out_of_scope"]
STATES: tuple[GapState, ...] = get_args(GapState)

DAYS, MOST_DAYS = 30.0, 36_500.0
"""How far back is looked unless said otherwise, and at most."""
MOST_NOTE = 1_000
"""Characters of the note of a decision."""
REPEAT_SECONDS = 600.0
"""Within so many seconds a question of the same caller in other words counts as asked again."""


def digest_of(question: str) -> str:
    """A short name of a question, 16 hexadecimal digits: equal for what differs in case, width, spaces and end marks."""
    whole = "".join(fold(question).split())
    same = whole.rstrip("?？!！.。") or whole
    return hashlib.sha256(same.encode(errors="surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnansweredQuestion:
    """One audited question that was not answered well.

    Attributes:
        audit_id: Of its answer.
        at: Seconds since the epoch.
        text: As asked, where questions are kept (`asked` has it then); else the masked beginning of it.
        agent: The agent that asked; ``""`` for none.
        caller: Id of the key that asked.
        person: Whom it asked for, ``user:li``; "" for itself.
        score: Probability of the first fragment; 0 without one.
        address: Of the first fragment; ``""`` without one.
        source_id: The source of the first fragment; ``""`` without one.
    """

    audit_id: str
    at: float
    text: str
    asked: Mapping[str, Any] | None
    reason: GapReason
    agent: str
    caller: str
    person: str = ""
    score: float
    address: str
    source_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedQuestion:
    """A question whose answer was FAILED; it is a fault of the service, never a gap of the library."""

    audit_id: str
    at: float
    text: str
    agent: str
    code: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GapDecision:
    """What an owner decided about a question.

    Attributes:
        digest: Of the question, see `digest_of`; its words are kept nowhere but in the audit, where they can be erased.
        actor: Id of the key, or ``local``.
        at: Seconds since the epoch.
    """

    digest: str
    state: GapState
    note: str
    actor: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeGap:
    """Questions that mean the same, none of which was answered well.

    Attributes:
        gap_id: The digest of its first wording; those of the others name it, too.
        question: The wording asked most often, the latest of equals.
        wordings: All of them, those asked most often first.
        count: How often it was asked.
        reasons: How often for which reason.
        agents: Who asked; ``""`` where no agent did.
        first_at, last_at: Seconds since the epoch.
        score: The highest probability that a first fragment had.
        address, source_id: Of that fragment: what lies nearest. ``""`` where nothing was given.
        audit_ids: Of the latest answers, newest first.
        decision: What was decided; None: nothing.
    """

    gap_id: str
    question: str
    wordings: tuple[str, ...]
    count: int
    reasons: Mapping[GapReason, int]
    agents: tuple[str, ...]
    first_at: float
    last_at: float
    score: float
    address: str
    source_id: str
    audit_ids: tuple[str, ...]
    decision: GapDecision | None

    @property
    def state(self) -> GapState:
        """``open``, unless something was decided."""
        return "open" if self.decision is None else self.decision.state

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "state": self.state}


@dataclass(frozen=True, slots=True, kw_only=True)
class GapReport:
    """What the audit of a time knows of questions that were not answered well.

    Attributes:
        gaps: Those asked most often first.
        failed: Questions whose answer was FAILED, newest first.
        questions: How many were read, answered ones too.
        closed: Questions that were not answered well at first, and were when they were last asked.
        since: Seconds since the epoch: where reading stopped.
        complete: Whether everything since the time asked for was read; False where that was too much.
    """

    gaps: tuple[KnowledgeGap, ...]
    failed: tuple[FailedQuestion, ...]
    questions: int
    closed: int
    since: float
    complete: bool

    def described(self, state: GapState | None = None) -> dict[str, Any]:
        """As JSON has it, with the gaps in one state or all."""
        gaps = [gap.described() for gap in self.gaps if state in (None, gap.state)]
        return {
            "gaps": gaps, "failed": [asdict(one) for one in self.failed], "questions": self.questions,
            "closed": self.closed, "since": self.since, "complete": self.complete,
        }  # fmt: skip
