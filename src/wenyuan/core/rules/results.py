"""One list out of two engines: mandatory rules above similar cases above templates.

Order is (priority, −score): a rule outranks any case, whatever the scores. What two engines both found stands
once: with the rule, where a case merely repeats it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wenyuan.core.rules.retrieval_item import RetrievalItem
from wenyuan.core.text.boundaries import sentences
from wenyuan.core.text.excerpts import compared
from wenyuan.core.text.structure import CLAUSE

_EDGE = "\x00"
_BESIDE_HAN = re.compile(r"\s+(?=[\u3400-\u9fff])|(?<=[\u3400-\u9fff])\s+")


class Items(list[RetrievalItem]):
    """Results of one engine, with remarks.

    Attributes:
        cut: Limits that cut the answer, in words; empty: these are all.
        unmatched: Names that were given and are not known.
        reason: Why there is nothing, where there is nothing.
        notes: What else the caller should know.
        audit_id: Of the record of the question; ``""`` where there is none.
        stale_by: Seconds since the oldest change not yet in the index; 0 for none.
    """

    def __init__(
        self,
        items: Iterable[RetrievalItem] = (),
        *,
        cut: Iterable[str] = (),
        unmatched: Iterable[str] = (),
        reason: str = "",
        notes: Iterable[str] = (),
        audit_id: str = "",
        stale_by: float = 0.0,
    ) -> None:
        super().__init__(items)
        self.cut, self.unmatched, self.notes = tuple(cut), tuple(unmatched), tuple(notes)
        self.reason, self.audit_id, self.stale_by = reason, audit_id, stale_by


@dataclass(slots=True)
class UnifiedResponse:
    """The response of unified retrieval.

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
        """As JSON values."""
        return {
            "items": [item.to_dict() for item in self.items],
            "regulations": [item.to_dict() for item in self.regulations],
            "cases": [item.to_dict() for item in self.cases],
            "query_context": dict(self.query_context),
        }


def united(found: Iterable[RetrievalItem], query_context: Mapping[str, Any] | None = None) -> UnifiedResponse:
    """Merge the results of the engines: no duplicates, rules first.

    Returns:
        Also how many items were left out as repetitions, under ``query_context["repeated"]``.
    """
    ordered = sorted(found, key=lambda item: (item.priority, -item.score))
    kept: list[RetrievalItem] = []
    rules: list[str] = []
    seen: set[str] = set()
    for item in ordered:
        same = _item_identity(item)
        if same & seen or (item.source != "kg_rule" and _repeats(item.content, rules)):
            continue
        seen |= same
        kept.append(item)
        if item.source == "kg_rule":
            rules.append(_rule_texts(item))
    context = dict(query_context or {})
    if len(kept) < len(ordered):
        context["repeated"] = len(ordered) - len(kept)
    return UnifiedResponse(
        items=kept,
        regulations=[item for item in kept if item.source == "kg_rule"],
        cases=[item for item in kept if item.source == "vector"],
        query_context=context,
    )


def _item_identity(item: RetrievalItem) -> set[str]:
    """The identity of an item: its text and its source."""
    passage = item.metadata.get("passage_id")
    text = compared(item.content) or item.content
    return {f"text {item.source == 'kg_rule'} {text}"} | ({f"passage {passage}"} if passage else set())


def _rule_texts(rule: RetrievalItem) -> str:
    """The texts of a rule: its sentence and the quotes of its evidence."""
    evidences: Sequence[Any] = rule.metadata.get("evidence") or ()
    quotes = [e["quote"] for e in evidences if isinstance(e, Mapping) and e.get("quote")]
    return "".join(form for text in (rule.content, *quotes) for form in _forms(text))


def _repeats(content: str, rules: Sequence[str]) -> bool:
    """Whether a rule contains every sentence of a text literally; one word more or less may reverse the meaning."""
    text = _unnumbered(content)
    forms = (_forms(text[start:end]) for start, end in sentences(text))
    asked = [pair for pair in forms if pair[0].strip(_EDGE)]  # marks alone say nothing
    return bool(asked) and any(all(any(form in said for form in pair) for pair in asked) for said in rules)


def _unnumbered(text: str) -> str:
    """A text without the clause number at its beginning: quotes seldom have it."""
    begins = CLAUSE.match(text.lstrip())
    return text.lstrip()[begins.end() :] if begins else text


def _forms(text: str) -> tuple[str, str]:
    """As it is compared, with a sign for every mark, so that it is found between marks only: 5m is not in 15m.

    Once with white space beside Chinese as a mark, once without: some write 6 个月, a PDF breaks lines anywhere.
    """
    marked, joined = (compared(form, _EDGE).strip(_EDGE) for form in (text, _BESIDE_HAN.sub("", text)))
    return f"{_EDGE}{marked}{_EDGE}", f"{_EDGE}{joined}{_EDGE}"
