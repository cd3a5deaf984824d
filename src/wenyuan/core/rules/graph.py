"""The rules graph as inference sees it: nodes, edges, their evidence, and the port that gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

from wenyuan.core.anchors import address_of
from wenyuan.core.hidden_documents import HiddenDocuments
from wenyuan.core.ports import Deadline
from wenyuan.core.rules.model import Strength

# The socket through which the graph is walked, and what goes through it.
#
# Nodes and statements have numbers here (``node_id``, ``statement_id``), given by the catalog and kept for good;
# their keys are for people and files.


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The visible part of the graph; a required argument of every read.

    A statement is in view when it is approved, valid on `day`, and has an evidence in one of `trusts` that is
    trusted enough. Evidence that is not in view is not seen with a statement either.

    Attributes:
        trusts: The sources that are allowed and in force, with their trust (1..5).
        min_trust: Evidence counts when the lower one of its own trust and its source's is at least this.
        at: The graph as of a change of the catalog; None: as it is.
        proposed: Statements that wait for a review are in view, too: only to count what would follow.
        hidden: The documents that are not seen; evidence in them, or that may be in them, does not count.
    """

    trusts: Mapping[str, int]
    day: date
    min_trust: int = 1
    at: int | None = None
    proposed: bool = False
    hidden: HiddenDocuments | None = None

    def support(self, source_id: str, uri: str, own: int | None) -> int | None:
        """Trust of an evidence in this view, by its own (None: its source's); None if it is not visible."""
        trust = self.trusts.get(source_id)
        if trust is None or (self.hidden is not None and self.hidden.hides_address(source_id, uri)):
            return None
        least = trust if own is None else min(own, trust)
        return least if least >= self.min_trust else None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNode:
    """A node as stored."""

    node_id: int
    key: str
    kind: str
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    scope: tuple[str, ...] = ()

    def label(self, language: str) -> str:
        """Its label in a language, or the preferred name."""
        return self.labels.get(language) or self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """A live evidence. ``trust`` is the minimum of its own and its source's; ``verified``: see `rules.model.Evidence`."""

    source_id: str
    uri: str
    clause: str
    quote: str
    trust: int
    reviewer: str = ""
    verified: bool = False

    @property
    def address(self) -> str:
        """The URI to open; ``uri`` as stored."""
        return address_of(self.uri, self.clause, self.quote)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A visible statement and its other end (the subject, when followed in inverse direction)."""

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
        """Trust of the statement: the maximum over its live evidence."""
        return max(e.trust for e in self.evidences)


@dataclass(frozen=True, slots=True, kw_only=True)
class LexiconEntry:
    """One name of one node; there is an entry for each name, label, alias and code of all live nodes."""

    node_id: int
    kind: str
    text: str
    type: str
    weight: float
    scope: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementSaid:
    """What a statement of the graph says, whoever may see it: its ends, its relation, and sentences of its own."""

    statement_id: int
    src: GraphNode
    rel: str
    dst: GraphNode
    sentence: Mapping[str, str]


class Graph(Protocol):
    """The graph store. Each read raises a `KnowledgeError` if it cannot answer completely."""

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
        """The visible statements from `nodes` by `relations` (into them, if `inverse`).

        At most ``limit + 1`` of them, so that the caller sees when there are more: by strength (mandatory first),
        then falling weight, then statement_id.
        """
        ...

    def nodes(self, node_ids: Sequence[int], *, deadline: Deadline) -> Mapping[int, GraphNode]:
        """The live nodes among `node_ids`."""
        ...

    def lexicon(self) -> Iterator[LexiconEntry]:
        """The names of all live nodes."""
        ...

    def said(self, most: int) -> Sequence[StatementSaid]:
        """All approved statements, in the order of their numbers; none where there are more than `most`."""
        ...

    def check(self, relations: Sequence[str]) -> None:
        """Raise a `KnowledgeError` if approved statements have dangling nodes or relations outside `relations`.

        Such ones would be met by no walk, and an answer would lack them without a word.
        """
        ...

    def version(self) -> int:
        """The last change of the graph; a cached lexicon of another version is out of date."""
        ...
