"""Tells readers of a passage that another one contradicts it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from wenyuan.core.conflicts.record import ConflictDecision, ConflictSide, StatementConflict, StoredConflict, dispute
from wenyuan.core.filters import Scope
from wenyuan.core.model import Passage
from wenyuan.core.ports import Deadline
from wenyuan.service.search.candidates import allows


class ConflictSource(Protocol):
    """What is read of the catalog."""

    def conflicts_by_passage(self) -> Mapping[int, Sequence[StoredConflict]]: ...
    def conflict_decisions(self) -> Mapping[str, ConflictDecision]: ...
    def passages(self, passage_ids: Sequence[int], deadline: Deadline | None = None) -> Mapping[int, Passage]: ...


def with_disputes(
    source: ConflictSource, passages: Mapping[int, Passage], scope: Scope, deadline: Deadline
) -> Mapping[int, Passage]:
    """The passages, each with what contradicts it within the scope; of what was decided to be none, nothing.

    Raises:
        CatalogUnavailable, CatalogTimeout: it cannot be read in time.
    """
    every = source.conflicts_by_passage()
    met = {one.conflict_id: one for number in passages for one in every.get(number, ())}.values()
    if not met:
        return passages
    others = {number for one in met for number in (one.first_passage, one.second_passage)} - passages.keys()
    known = {**source.passages(sorted(others), deadline), **passages}
    told: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for one in met:
        decision = source.conflict_decisions().get(one.conflict_id)
        first, second = known.get(one.first_passage), known.get(one.second_passage)
        if first is None or second is None or (decision is not None and decision.state == "both"):
            continue
        if not (allows(scope, first) and allows(scope, second)):
            continue
        conflict = StatementConflict(
            conflict_id=one.conflict_id, kind=one.kind, changes=(), decision=decision,
            first=ConflictSide(first, one.first_start, one.first_end),
            second=ConflictSide(second, one.second_start, one.second_end),
        )  # fmt: skip
        for number in (one.first_passage, one.second_passage):
            if number in passages:
                told[number].append(dispute(conflict, number))
    return {n: replace(one, disputes=tuple(told[n])) if n in told else one for n, one in passages.items()}


def loses(passage: Passage) -> bool:
    """Whether a passage contradicts another one that holds, and is nowhere the one that does."""
    held = {one["holds"] for one in passage.disputes}
    return "other" in held and "this" not in held
