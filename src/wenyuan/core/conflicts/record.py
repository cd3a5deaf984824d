"""A conflict as it is kept, decided about and shown: two statements, what differs, and which of both holds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Literal, get_args

from wenyuan.core.difference_kind import DifferenceKind
from wenyuan.core.model import Passage
from wenyuan.core.places import ClaimDifference

ConflictState = Literal["open", "first", "second", "both", "later"]
"""What was decided: nothing, that the first or the second statement holds, that both hold (there is no conflict), or to decide
later.
"""
STATES: tuple[ConflictState, ...] = get_args(ConflictState)
Holds = Literal["first", "second", ""]
Why = Literal["decision", "trust", "date", ""]
MOST_NOTE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredConflict:
    """Where two statements that contradict one another stand.

    Attributes:
        first_start, first_end: Offsets in the text of the passage; the same of the second.
    """

    conflict_id: str
    kind: DifferenceKind
    first_passage: int
    first_start: int
    first_end: int
    second_passage: int
    second_start: int
    second_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictDecision:
    """What an owner decided about a conflict.

    Attributes:
        actor: Id of the key, or ``local``.
        at: Seconds since the epoch.
    """

    conflict_id: str
    state: ConflictState
    note: str
    actor: str
    at: float


@dataclass(frozen=True, slots=True)
class ConflictSide:
    """One of two statements, where it stands."""

    passage: Passage
    start: int
    end: int

    @property
    def quote(self) -> str:
        return self.passage.text[self.start : self.end]

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        one = self.passage
        since = one.effective_from
        return {
            "quote": self.quote, "passage_id": one.ref, "uri": one.uri, "title": one.title, "heading": " > ".join(one.headings),
            "source_id": one.source_id, "trust": one.trust, "effective_from": None if since is None else since.isoformat(),
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementConflict:
    """Two statements that say the same with another number, unit, date, duty or negation.

    Attributes:
        changes: ``was`` of the first statement, ``said`` of the second.
        holds: Which of both holds, as far as that is known.
        why: By what: a decision, the trust of its source, or the later day from which on it counts.
        decision: None: nothing was decided.
    """

    conflict_id: str
    kind: DifferenceKind
    changes: tuple[ClaimDifference, ...]
    first: ConflictSide
    second: ConflictSide
    decision: ConflictDecision | None

    @property
    def state(self) -> ConflictState:
        """``open``, unless something was decided."""
        return "open" if self.decision is None else self.decision.state

    @property
    def verdict(self) -> tuple[Holds, Why]:
        """Which statement holds, and by what."""
        return holding(self.first.passage, self.second.passage, self.state)

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        holds, why = self.verdict
        return {
            "conflict_id": self.conflict_id, "kind": self.kind, "state": self.state,
            "changes": [asdict(change) for change in self.changes], "first": self.first.described(),
            "second": self.second.described(), "holds": holds, "why": why,
            "decision": None if self.decision is None else asdict(self.decision),
        }  # fmt: skip


def holding(first: Passage, second: Passage, state: ConflictState) -> tuple[Holds, Why]:
    """Which of two statements holds, and by what; both ``""`` where nobody can tell but their owner."""
    if state in ("first", "second"):
        return state, "decision"
    if first.trust != second.trust:
        return ("first" if first.trust > second.trust else "second"), "trust"
    since, until = first.effective_from or date.min, second.effective_from or date.min
    if since != until and date.min not in (since, until):
        return ("first" if since > until else "second"), "date"
    return "", ""


def conflict_id(first: tuple[str, str], second: tuple[str, str]) -> str:
    """The id of a conflict, 16 hexadecimal digits: of the documents' addresses and the statements' words, so that a decision stays
    while both say what they say, however often they are read anew.
    """
    told = "\0".join(part for side in sorted((first, second)) for part in side)
    return hashlib.sha256(told.encode(errors="surrogatepass")).hexdigest()[:16]


def dispute(conflict: StatementConflict, passage_id: int) -> Mapping[str, Any]:
    """What the reader of a passage is told of a conflict that it is in: what the other one says, and which of both holds."""
    mine = "first" if conflict.first.passage.passage_id == passage_id else "second"
    other = conflict.second if mine == "first" else conflict.first
    own = conflict.first if mine == "first" else conflict.second
    holds, why = conflict.verdict
    return {
        "conflict_id": conflict.conflict_id, "kind": conflict.kind, "quote": own.quote, "other": other.quote,
        "other_uri": other.passage.uri, "other_title": other.passage.title, "holds": ("this" if holds == mine else "other") if holds else "",
        "why": why,
    }  # fmt: skip


def disputes_of(passage: Passage, start: int, end: int) -> list[Mapping[str, Any]]:
    """What contradicts a part of a passage's text; offsets into the text."""
    found = [(passage.text.find(one["quote"]), one) for one in passage.disputes]
    return [one for at, one in found if at < end and start < at + len(one["quote"])]
