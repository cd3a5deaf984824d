"""What unified retrieval speaks in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wenyuan.core.united import RetrievalItem
from wenyuan.core.united import UnifiedResponse as RetrievalResponse

__all__ = ["ProcessRequirements", "RetrievalItem", "RetrievalResponse", "RetrievalResult"]


@dataclass(slots=True)
class RetrievalResult:
    """A passage that `VectorRetriever` found.

    Attributes:
        score: 0..1.
        file_id: URI of the document, with the fragment that finds the place.
        context: Title and headings above the passage.
    """

    content: str
    score: float
    collection: str = ""
    file_id: str = ""
    context: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class ProcessRequirements:
    """What a process demands, by the rules graph.

    Attributes:
        safety_measures: By hazard, the measures against it.
        other: What else the pattern collects, by group (``mandatory``, ``emergency`` …).
        items: The same as results with score, path and evidence, where the engine knows them.
    """

    process_name: str
    equipment: list[str] = field(default_factory=list)
    hazards: list[str] = field(default_factory=list)
    safety_measures: dict[str, list[str]] = field(default_factory=dict)
    quality_points: list[str] = field(default_factory=list)
    other: dict[str, list[str]] = field(default_factory=dict)
    items: list[RetrievalItem] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, without `items`."""
        return {
            "process_name": self.process_name,
            "equipment": list(self.equipment),
            "hazards": list(self.hazards),
            "safety_measures": {hazard: list(measures) for hazard, measures in self.safety_measures.items()},
            "quality_points": list(self.quality_points),
            **({"other": {group: list(names) for group, names in self.other.items()}} if self.other else {}),
        }
