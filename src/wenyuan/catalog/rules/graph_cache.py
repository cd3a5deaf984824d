"""Cache of the visited part of the graph: by version of the graph, view and node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from threading import Lock

from wenyuan.core.rules.graph import Edge, GraphNode, View

MOST_KEPT = 50_000
"""Statements, and nodes, of about 1 kB each; beyond, all are forgotten."""

Seen = tuple[bool, date, int, frozenset[tuple[str, int]], frozenset[int], int]
"""Direction and view: whose statements are kept."""


class KeptGraph:
    """Cache of nodes and statements of one version of the graph; a newer version clears it."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._lock = Lock()
        self._forget("")

    def _forget(self, version: str) -> None:
        self._version = version
        self._nodes: dict[int, GraphNode] = {}
        self._edges: dict[Seen, dict[int, tuple[Edge, ...]]] = {}
        self._count = 0

    def nodes(self, version: str) -> dict[int, GraphNode]:
        """The cached nodes of a version; the caller may add to the dict."""
        with self._lock:
            if version != self._version or len(self._nodes) > self._most:
                self._forget(version)
            return self._nodes

    def edges(self, version: str, seen: Seen) -> Mapping[int, tuple[Edge, ...]]:
        """By node, all its statements in a view."""
        with self._lock:
            if version != self._version:
                self._forget(version)
            return self._edges.get(seen, {})

    def keep(self, version: str, seen: Seen, found: Mapping[int, Sequence[Edge]]) -> None:
        """Cache the complete lists of statements of some nodes."""
        count = sum(map(len, found.values())) + len(found)
        with self._lock:
            if version != self._version:
                return
            if self._count + count > self._most:
                self._forget(version)
            self._count += count
            kept = self._edges.setdefault(seen, {})
            kept.update((node, tuple(edges)) for node, edges in found.items())


def seen_in(view: View, *, inverse: bool) -> Seen:
    """The cache key of a view and direction."""
    hidden = view.hidden
    unread, number = (frozenset[int](), 0) if hidden is None else (hidden.unread, hidden.classes.number)
    return inverse, view.day, view.min_trust, frozenset(view.trusts.items()), unread, number
