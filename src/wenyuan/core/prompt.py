"""Builds a prompt context from ranked passages under limits on trust, repetition, copyright and tokens; everything
withheld is counted.

Passages are admitted one at a time. First rules within their reserved share of the budget: those that the question
asks for, then the others, mandatory ones before recommended ones; then everything else, best score first; then the rules that are left, so that what either does not use is
free for the other. One that does not fit is counted and the next is tried. Admitted passages of one document that touch or overlap make one snippet.
Snippets come out in one order, the rules that answer first, then by falling score; rules that do not answer what was asked for stand
behind the passages that probably do.

Copyright is counted in characters of one document (by its URI, so that a document read again is the same one)
over all snippets and over what was given before. White space between two passages is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import get_args

from wenyuan.core.prompt_admission import Shelf
from wenyuan.core.prompt_parts import ContextBuild, ContextPolicy
from wenyuan.core.rules.model import Strength
from wenyuan.core.text.excerpts import ExcerptCandidate, ScoredPassage, document_key

_RULE = "kg_rule"
_STRENGTHS: tuple[object, ...] = get_args(Strength)


def build_context(
    passages: Iterable[ScoredPassage],
    policy: ContextPolicy | None = None,
    *,
    document_chars: Mapping[int, int] = MappingProxyType({}),
    used: Mapping[str, int] = MappingProxyType({}),
) -> ContextBuild:
    """Select, merge and frame passages for a prompt; independent of the order of `passages`.

    Every passage is named in the `refs` of a snippet, or in a `Withheld` with ``whole``; one of which copyright
    leaves the address only, in both.

    Args:
        document_chars: Length of each document, by document id, for shares of it; where it is missing, the end of the
            passage is used, which is a lower bound.
        used: Characters given before for the same task, as an earlier `ContextBuild.used`.

    Raises:
        InvalidRequest: a passage's copyright cannot be understood.
    """
    policy = policy or ContextPolicy()
    shelf = Shelf(document_chars, used)
    candidates: list[ExcerptCandidate] = []
    for item in passages:
        if item.passage.trust < policy.least_trust:
            shelf.withhold(item, "low_trust")
        else:
            candidates.append(ExcerptCandidate.of(item))
    best: dict[str, float] = {}  # of passages that say the same: the most trusted one has the best one's turn
    for c in candidates:
        best[c.key] = max(c.item.score, best.get(c.key, 0.0))
    candidates.sort(key=lambda c: (-best[c.key], c.order))
    rules = sorted((c for c in candidates if c.item.origin == _RULE), key=_rank)
    reserve = int(policy.token_budget * policy.rules_share)
    waiting = [c for c in rules if not shelf.admit(c, reserve)]
    for c in (*(c for c in candidates if c.item.origin != _RULE), *waiting):
        if not shelf.admit(c, policy.token_budget):
            shelf.withhold(c.item, "budget")
    return shelf.build()


def _rank(rule: ExcerptCandidate) -> tuple[bool, int]:
    """Sort key of rules: those asked for first, then mandatory ones; a rule without strength counts as mandatory."""
    strength = rule.item.passage.facets.get("strength")
    return rule.item.answers is not True, _STRENGTHS.index(strength) if strength in _STRENGTHS else 0


__all__ = ["ScoredPassage", "build_context", "document_key"]
