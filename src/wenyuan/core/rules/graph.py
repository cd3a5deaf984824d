"""The socket through which the graph is walked, and what goes through it.

Nodes and statements have numbers here (``node_id``, ``statement_id``), given by the catalog and kept for good;
their keys are for people and files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

from wenyuan.core.ports import Deadline
from wenyuan.core.rules.addresses import address_of
from wenyuan.core.rules.model import Strength

__all__ = ["Edge", "Graph", "GraphNode", "LexiconEntry", "Support", "View"]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What of the graph a request may see: a required argument of every read.

    A statement is in view when it is approved, valid on `day`, and has an evidence in one of `trusts` that is
    trusted enough. Evidence that is not in view is not seen with a statement either.

    Attributes:
        trusts: The sources that are allowed and in force, with their trust (1..5).
        min_trust: Evidence counts when the lower one of its own trust and its source's is at least this.
        at: The graph as of a change of the catalog; None: as it is.
        proposed: Statements that wait for a review are in view, too: only to count what would follow.
    """

    trusts: Mapping[str, int]
    day: date
    min_trust: int = 1
    at: int | None = None
    proposed: bool = False

    def support(self, source_id: str, own: int | None) -> int | None:
        """Trust of an evidence in a source, by its own trust (None: its source's); None when it is not in view."""
        trust = self.trusts.get(source_id)
        if trust is None:
            return None
        least = trust if own is None else min(own, trust)
        return least if least >= self.min_trust else None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """A node as it is read back."""

    node_id: int
    key: str
    kind: str
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    scope: tuple[str, ...] = ()

    def label(self, language: str) -> str:
        """Its name in a language, or the preferred one."""
        return self.labels.get(language) or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """One live evidence. ``trust`` is the lower one of its own and its source's; ``verified``: see `model.Evidence`."""

    source_id: str
    uri: str
    clause: str
    quote: str
    trust: int
    reviewer: str = ""
    verified: bool = False

    @property
    def address(self) -> str:
        """Where it is opened; ``uri`` as it is stored."""
        return address_of(self.uri, self.clause, self.quote)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A statement in view, with the node it leads to (or, walked against its direction, comes from)."""

    statement_id: int
    src: int
    rel: str
    dst: int
    condition: str
    strength: Strength
    sentence: Mapping[str, str]
    weight: float
    end: GraphNode
    evidences: tuple[Support, ...]

    @property
    def trust(self) -> int:
        """Trust of the statement: that of its best live evidence."""
        return max(e.trust for e in self.evidences)


@dataclass(frozen=True, slots=True, kw_only=True)
class LexiconEntry:
    """One way to write one node; every name, label, alias and code of every live node is an entry."""

    node_id: int
    kind: str
    text: str
    type: str
    weight: float
    scope: tuple[str, ...]


class Graph(Protocol):
    """Where the graph is kept. Every read raises a `KnowledgeError` when it cannot answer, never less instead."""

    def edges(
        self,
        nodes: Sequence[int],
        relations: Sequence[str],
        *,
        view: View,
        limit: int,
        deadline: Deadline,
        inverse: bool = False,
    ) -> list[Edge]:
        """The statements in view that lead from `nodes` by `relations` (into them, when `inverse`).

        At most ``limit + 1`` of them, so that the caller sees when there are more: by strength (mandatory first),
        then falling weight, then statement_id.
        """
        ...

    def nodes(self, node_ids: Sequence[int], *, deadline: Deadline) -> Mapping[int, GraphNode]:
        """The live nodes among `node_ids`."""
        ...

    def lexicon(self) -> Iterator[LexiconEntry]:
        """Every way to write every live node."""
        ...

    def check(self, relations: Sequence[str]) -> None:
        """Raise a `KnowledgeError` where approved statements stand without their nodes, or are by none of `relations`.

        Such ones would be met by no walk, and an answer would lack them without a word.
        """
        ...

    def version(self) -> int:
        """Number of the last change of the graph: whoever keeps a lexicon knows when it is out of date."""
        ...
