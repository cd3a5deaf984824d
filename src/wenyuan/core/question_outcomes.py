"""What became of a question, by its audit record: answered well, hardly, not at all and why, or failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from wenyuan.core.likelihood import LIKELY

Outcome = Literal["answered", "weak", "withheld", "refused", "empty", "failed"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""``answered``: something probable was given; ``weak``: only what is improbable; ``withheld``: what was found may not be
given; ``refused``: what was found was too improbable to give; ``empty``: nothing was found; ``failed``: no answer."""
ANY = "any"
"""Whatever became of it."""
SLOT = 900
"""Seconds of a slot of time; a day begins with one in every zone there is."""
_NOT_ASKED = ("gaps", "infer_rules")
"""Doors whose questions nobody asked: gaps that are asked again, and names of processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOutcome:
    """What became of one question, or of one of its parts.

    Attributes:
        agent: For which agent; ``""`` for none.
        source_id: Of the most probable fragment; ``""`` without one.
        score: Its probability, 0 without one.
        ms: How long the longest leg took, in milliseconds; 0 where the answer was kept from before.
    """

    agent: str
    source_id: str
    outcome: Outcome
    score: float
    ms: float

    def with_part(self, part: QuestionOutcome) -> QuestionOutcome:
        """The outcome of a question of which this is one part and `part` another: its better one, unless one failed."""
        failed = "failed" in (self.outcome, part.outcome)
        best = min(self, part, key=lambda one: (OUTCOMES.index(one.outcome), -one.score))
        return QuestionOutcome(
            agent=self.agent,
            source_id=best.source_id,
            outcome="failed" if failed else best.outcome,
            score=best.score,
            ms=max(self.ms, part.ms),
        )


def outcome_of(record: Mapping[str, Any]) -> QuestionOutcome | None:
    """What became of the question of a record of kind ``retrieval``; None where nobody asked it, or it was erased."""
    if "status" not in record or record.get("door") in _NOT_ASKED:
        return None
    fragments = record.get("fragments", ())
    best: Mapping[str, Any] = max(fragments, key=lambda one: one.get("score", 0.0), default={})
    legs = record.get("legs", ())
    return QuestionOutcome(
        agent=record.get("agent") or "",
        source_id=best.get("source_id", ""),
        outcome=_outcome(record, float(best.get("score", 0.0))),
        score=float(best.get("score", 0.0)),
        ms=0.0 if record.get("cache_hit") else max((float(leg.get("ms", 0.0)) for leg in legs), default=0.0),
    )


def _outcome(record: Mapping[str, Any], score: float) -> Outcome:
    if record["status"] != "SUCCESS":
        return "failed"
    if any(fragment.get("quoted_chars") for fragment in record.get("fragments", ())):
        return "answered" if score >= LIKELY else "weak"
    if record.get("withheld") or record.get("fragments"):
        return "withheld"
    return "refused" if any(leg.get("hits") for leg in record.get("legs", ())) else "empty"
