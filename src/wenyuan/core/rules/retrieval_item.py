"""One result of unified retrieval: a rule, a similar case or a template."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from wenyuan.core.errors import Fault, InvalidRequest, listed, msg
from wenyuan.core.json_values import as_json, between, one_of
from wenyuan.core.model import ORIGIN_PRIORITY

PRIORITY_FREE_GEN = 4
"""What a language model writes by itself; retrieval never gives it."""


@dataclass(slots=True)
class RetrievalItem:
    """One result.

    Attributes:
        content: The text for the author of a document.
        source: Which engine it is from: ``kg_rule``, ``vector`` or ``template``.
        priority: 1 (a rule) … 4 (free generation); lower goes first.
        score: Relevance, 0..1.
        metadata: What else is known: ``uri``, ``path``, ``evidence``, ``collection``, ``file_id`` …

    Raises:
        InvalidRequest: on construction, listing every fault.
    """

    content: str
    source: Annotated[str, one_of("kg_rule", "vector", "template")]
    priority: int
    score: Annotated[float, between(0.0, 1.0)]
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        faults = []
        if not isinstance(self.content, str) or not self.content.strip():
            faults.append(Fault("content", "must be a text that is not blank"))
        if self.source not in ORIGIN_PRIORITY:
            faults.append(
                Fault(
                    "source",
                    msg(
                        "is {source}, not one of {origin_priority}",
                        source=repr(self.source),
                        origin_priority=", ".join(ORIGIN_PRIORITY),
                    ),
                )
            )
        if type(self.priority) is not int or not 1 <= self.priority <= PRIORITY_FREE_GEN:
            faults.append(
                Fault(
                    "priority",
                    msg(
                        "is {priority}, not an integer from 1 to {priority_free_gen}",
                        priority=repr(self.priority),
                        priority_free_gen=PRIORITY_FREE_GEN,
                    ),
                )
            )
        number = isinstance(self.score, (int, float)) and not isinstance(self.score, bool)
        if not number or not 0.0 <= self.score <= 1.0:  # false for NaN too
            faults.append(Fault("score", msg("is {score}, not a number from 0 to 1", score=repr(self.score))))
        if not isinstance(self.metadata, dict):
            faults.append(Fault("metadata", "must be a dict"))
        if faults:
            raise InvalidRequest(listed(faults), faults=tuple(faults))

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        told: dict[str, Any] = as_json(self)
        return told
