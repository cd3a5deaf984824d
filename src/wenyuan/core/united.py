"""One list out of two engines: mandatory rules above similar cases above templates.

Order is (priority, −score): a rule outranks any case, whatever the scores. What two engines both found stands
once: with the rule, where a case merely repeats it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wenyuan.core.errors import Fault, InvalidRequest
from wenyuan.core.model import ORIGIN_PRIORITY
from wenyuan.core.text import fold, terms

__all__ = ["PRIORITY_FREE_GEN", "RetrievalItem", "UnifiedResponse", "united"]

PRIORITY_FREE_GEN = 4
"""What a language model writes by itself; retrieval never gives it."""
_REPEATS = 0.95  # share of a case's terms that the rule has too: then the case says nothing more
_NO_LONGER = 1.5  # …unless it is longer than the rule by this factor


@dataclass(slots=True)
class RetrievalItem:
    """One result of unified retrieval.

    Attributes:
        content: What is given to whoever writes.
        source: Which engine it is from: ``kg_rule``, ``vector`` or ``template``.
        priority: 1 (a rule) … 4 (free generation); lower goes first.
        score: Relevance, 0..1.
        metadata: What else is known: ``uri``, ``path``, ``evidence``, ``collection``, ``file_id`` …

    Raises:
        InvalidRequest: on construction, listing every fault.
    """

    content: str
    source: str
    priority: int
    score: float
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        faults = []
        if not isinstance(self.content, str) or not self.content.strip():
            faults.append(Fault("content", "must be a text that is not blank"))
        if self.source not in ORIGIN_PRIORITY:
            faults.append(Fault("source", f"is {self.source!r}, not one of {', '.join(ORIGIN_PRIORITY)}"))
        if type(self.priority) is not int or not 1 <= self.priority <= PRIORITY_FREE_GEN:
            faults.append(Fault("priority", f"is {self.priority!r}, not an integer from 1 to {PRIORITY_FREE_GEN}"))
        number = isinstance(self.score, (int, float)) and not isinstance(self.score, bool)
        if not number or not 0.0 <= self.score <= 1.0:  # false for NaN too
            faults.append(Fault("score", f"is {self.score!r}, not a number from 0 to 1"))
        if not isinstance(self.metadata, dict):
            faults.append(Fault("metadata", "must be a dict"))
        if faults:
            raise InvalidRequest("; ".join(f"{f.path} {f.message}" for f in faults), faults=tuple(faults))

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "content": self.content,
            "source": self.source,
            "priority": self.priority,
            "score": self.score,
            "metadata": dict(self.metadata),
        }


@dataclass(slots=True)
class UnifiedResponse:
    """What unified retrieval gives back.

    Attributes:
        items: All, by (priority, −score).
        regulations: Those of them that are rules.
        cases: Those of them that are similar cases; templates are in `items` alone.
        query_context: What was asked, what was recognised, which engines answered, what was left out and why.
    """

    items: list[RetrievalItem] = field(default_factory=list)
    regulations: list[RetrievalItem] = field(default_factory=list)
    cases: list[RetrievalItem] = field(default_factory=list)
    query_context: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "items": [item.to_dict() for item in self.items],
            "regulations": [item.to_dict() for item in self.regulations],
            "cases": [item.to_dict() for item in self.cases],
            "query_context": dict(self.query_context),
        }


def united(found: Iterable[RetrievalItem], query_context: Mapping[str, Any] | None = None) -> UnifiedResponse:
    """Merge what the engines found: once each, rules first.

    Returns:
        Also how many items were left out as repetitions, under ``query_context["repeated"]``.
    """
    ordered = sorted(found, key=lambda item: (item.priority, -item.score))
    kept: list[RetrievalItem] = []
    rules: list[tuple[str, frozenset[str]]] = []
    seen: set[str] = set()
    for item in ordered:
        same = _identity(item)
        if same & seen or (item.source != "kg_rule" and _repeats(item.content, rules)):
            continue
        seen |= same
        kept.append(item)
        if item.source == "kg_rule":
            rules += _said(item)
    context = dict(query_context or {})
    if len(kept) < len(ordered):
        context["repeated"] = len(ordered) - len(kept)
    return UnifiedResponse(
        items=kept,
        regulations=[item for item in kept if item.source == "kg_rule"],
        cases=[item for item in kept if item.source == "vector"],
        query_context=context,
    )


def _identity(item: RetrievalItem) -> set[str]:
    """What makes two items the same one: their text, and where they come from."""
    passage = item.metadata.get("passage_id")
    return {f"text {item.source == 'kg_rule'} {_plain(item.content)}"} | (
        {f"passage {passage}"} if passage else set()
    )


def _plain(text: str) -> str:
    return "".join(c for c in fold(text) if c.isalnum())


def _said(rule: RetrievalItem) -> list[tuple[str, frozenset[str]]]:
    """What a rule says, in its own words and in those of its evidence."""
    evidences: Sequence[Any] = rule.metadata.get("evidence") or ()
    quotes = [e["quote"] for e in evidences if isinstance(e, Mapping) and e.get("quote")]
    return [(_plain(text), frozenset(terms(text))) for text in (rule.content, *quotes)]


def _repeats(content: str, rules: Sequence[tuple[str, frozenset[str]]]) -> bool:
    plain = _plain(content)
    own: frozenset[str] | None = None
    for said, words in rules:
        if plain and plain in said:
            return True
        if len(plain) > _NO_LONGER * len(said):
            continue
        own = frozenset(terms(content)) if own is None else own
        if own and len(own & words) >= _REPEATS * len(own):
            return True
    return False
