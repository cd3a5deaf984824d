"""What unified retrieval answers in: items and responses, cases, and the requirements of a process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wenyuan.core.rules.results import Items
from wenyuan.core.rules.results import UnifiedResponse as RetrievalResponse
from wenyuan.core.rules.retrieval_item import RetrievalItem

__all__ = ["Items", "ProcessRequirements", "RetrievalItem", "RetrievalResponse", "RetrievalResult"]


@dataclass(slots=True)
class RetrievalResult:
    """A passage that `VectorRetriever` found.

    Attributes:
        score: 0..1.
        file_id: URI of the document, with the fragment that finds the place.
        context: Title and headings above the passage; None where there are none.
        uri, title: Of the document; the URI with the fragment that finds the place.
        trust: Of its source, 1..5; None: not known.
        audit_id: Of the record of the search; ``""`` where there is none.
        probability: That the passage answers, 0..1: falls with how many others answer as well. None: not known.
    """

    content: str
    score: float
    collection: str = ""
    file_id: str = ""
    context: str | None = None
    uri: str = ""
    title: str = ""
    trust: int | None = None
    audit_id: str = ""
    probability: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class ProcessRequirements:
    """The requirements of a process according to the rules graph.

    Attributes:
        safety_measures: By hazard, the measures against it.
        other: What else the pattern collects, by group (``mandatory``, ``emergency`` …).
        items: The same as results with score, path and evidence, where the engine knows them.
        cut: Limits that cut what there is, in words; empty: this is the complete chain.
    """

    process_name: str
    equipment: list[str] = field(default_factory=list)
    hazards: list[str] = field(default_factory=list)
    safety_measures: dict[str, list[str]] = field(default_factory=dict)
    quality_points: list[str] = field(default_factory=list)
    other: dict[str, list[str]] = field(default_factory=dict)
    items: list[RetrievalItem] = field(default_factory=list)
    cut: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, without `items`; `other` and `cut` where there are any."""
        return {
            "process_name": self.process_name,
            "equipment": list(self.equipment),
            "hazards": list(self.hazards),
            "safety_measures": {hazard: list(measures) for hazard, measures in self.safety_measures.items()},
            "quality_points": list(self.quality_points),
            **({"other": {group: list(names) for group, names in self.other.items()}} if self.other else {}),
            **({"cut": list(self.cut)} if self.cut else {}),
        }
