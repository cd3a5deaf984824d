"""A proposed rule while it is checked."""

from __future__ import annotations

from dataclasses import dataclass, field

from wenyuan.core.model import Passage
from wenyuan.core.rules.model import Node, Statement
from wenyuan.core.rules.proposals import Proposal
from wenyuan.core.text.boundaries import Span

GATES = frozenset((
    "instruction", "not_said", "stitched", "number_changed", "unit_changed", "date_changed", "negation_changed",
    "modality_changed", "relation_changed", "wrong_kind", "sentence_as_name", "end_not_said", "in_force", "proposed_before", "rejected_before",
    "retired_before", "conflict",
))  # fmt: skip
"""The reasons that nothing but their own check refuses a proposal for; without a quote, or of another form, it is no statement
at all.
"""


class ProposalRefused(Exception):
    """Raised to refuse a proposal."""

    def __init__(self, reason: str, detail: str = "", rival: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.detail, self.rival = reason, detail, rival


def gate(reason: str, detail: str = "", rival: int = 0) -> None:
    """Refuse a proposal for a reason of `GATES`."""
    if reason in GATES:
        raise ProposalRefused(reason, detail, rival)


@dataclass(slots=True)
class ProposalCase:
    """A proposal with the results of the checks so far."""

    proposal: Proposal
    passage: Passage | None = None
    span: Span = (0, 0)
    quote: str = ""
    verbatim: bool = False
    refused: ProposalRefused | None = None
    statement: Statement | None = None
    beside: tuple[str, ...] = ()
    """What was shown of its document: clauses before it may say what it is about."""
    ends: dict[str, Node] = field(default_factory=dict)
    """The nodes that its ends may mean, by key."""
