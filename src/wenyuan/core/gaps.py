"""Gaps: what was asked of a library and not answered well, and what its owner decided about that."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Literal, get_args

from wenyuan.core.text.folding import fold

GapReason = Literal["nothing", "withheld", "marked_bad", "weak", "asked_again"]
REASONS: tuple[GapReason, ...] = get_args(GapReason)
"""Why a question counts as not answered, what weighs most first: nothing was given; what was found was withheld (by
copyright or trust); its caller called it wrong; nothing given was probable; its caller asked again in other words."""

GapState = Literal["open", "later", "out_of_scope"]
STATES: tuple[GapState, ...] = get_args(GapState)
ANSWERED: Literal["answered"] = "answered"
"""What a decision says where somebody has written an answer, or has said where it stands. The gap stays open until those who
asked are answered by it."""

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
        text: As asked, where questions are kept (`kept` has it then); else the masked beginning of it.
        digest: Of the text, see `digest_of`.
        kept: The request as it is kept, as JSON; "" where it is not.
        agent: The agent that asked; ``""`` for none.
        caller: Id of the key that asked.
        person: Whom it asked for, ``user:li``; "" for itself.
        score: Probability of the first fragment; 0 without one.
        address: Of the first fragment; ``""`` without one.
        source_id: The source of the first fragment; ``""`` without one.
        searched: The sources that were searched; empty where they were too many to be recorded.
    """

    audit_id: str
    at: float
    text: str
    digest: str
    kept: str
    reason: GapReason
    agent: str
    caller: str
    person: str = ""
    score: float
    address: str
    source_id: str
    searched: tuple[str, ...] = ()

    @property
    def asked(self) -> Mapping[str, Any] | None:
        """The request as it is kept; None where it is not."""
        found: Mapping[str, Any] | None = json.loads(self.kept) if self.kept else None
        return found


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
        until: The day from which on it counts no more; None: it stays.
    """

    digest: str
    state: GapState | Literal["answered"]
    note: str
    actor: str
    at: float
    until: date | None = None

    def counts(self, day: date) -> bool:
        """Whether it counts on a day."""
        return self.until is None or day < self.until


def state_of(decision: GapDecision | None) -> GapState:
    """The state of a gap about which this was decided, None: nothing; what somebody has answered stays open."""
    return "open" if decision is None or decision.state == ANSWERED else decision.state


@dataclass(frozen=True, slots=True, kw_only=True)
class GapClosing:
    """What answers a question that was a gap.

    Attributes:
        digest: Of the question.
        at: Seconds since the epoch: when it was asked again.
        audit_id: Of the answer that closed it.
        source_id, uri, title: Of the first fragment.
        score: Its probability.
    """

    digest: str
    at: float
    audit_id: str
    source_id: str
    uri: str
    title: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedGap:
    """A question that was a gap, and what answers it; `closing` is None where that was not seen by asking again."""

    question: str
    closing: GapClosing | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenAnswer:
    """An answer that somebody has written for a gap, or the passage that he says has it.

    Attributes:
        digest: Of the question.
        question: As it stands in the answer; its words are redacted as the source's documents are.
        uri: Of the document that holds it.
        author: Who wrote it: what he said, else the id of the key.
        at: Seconds since the epoch.
        review_on: The day on which somebody should look at it again; None: never.
    """

    digest: str
    question: str
    source_id: str
    uri: str
    author: str
    at: float
    review_on: date | None


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
        decision: What was decided and counts today; None: nothing.
        owner: Who answers for the source of what lies nearest; ``""`` where nobody is named.
        closing: What answers it now; None while nothing does.
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
    owner: str = ""
    closing: GapClosing | None = None

    @property
    def state(self) -> GapState:
        """``open``, unless it was put off or called out of scope."""
        return state_of(self.decision)

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        told = asdict(self)
        if self.decision is not None:
            told["decision"]["until"] = self.decision.until and self.decision.until.isoformat()
        return {**told, "state": self.state}


@dataclass(frozen=True, slots=True, kw_only=True)
class GapReport:
    """What the audit of a time knows of questions that were not answered well.

    Attributes:
        gaps: Those asked most often first, as many as were wanted.
        total: How many there are in the state that was wanted.
        failed: Questions whose answer was FAILED, newest first, as many as gaps were wanted.
        failures: How many there are.
        questions: How many were read, answered ones too.
        closed: Questions that were not answered well at first, and were when they were last asked.
        since: Seconds since the epoch: where reading stopped.
        complete: Whether everything since the time asked for was read; False where that was too much.
        reviews: Written answers that somebody should look at again, those due longest first.
        answered: The questions that are no gaps any more, those closed last first.
    """

    gaps: tuple[KnowledgeGap, ...]
    failed: tuple[FailedQuestion, ...]
    questions: int
    closed: int
    since: float
    complete: bool
    total: int = 0
    failures: int = 0
    reviews: tuple[WrittenAnswer, ...] = ()
    answered: tuple[ClosedGap, ...] = ()

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "gaps": [gap.described() for gap in self.gaps], "total": self.total, "failed": [asdict(one) for one in self.failed],
            "failures": self.failures, "questions": self.questions,
            "closed": self.closed, "since": self.since, "complete": self.complete,
            "answered": [asdict(one) for one in self.answered],
            "reviews": [{**asdict(one), "review_on": one.review_on and one.review_on.isoformat()} for one in self.reviews],
        }  # fmt: skip
