"""The rules graph as it is walked: hop by hop, each hop one query with an index for it, with its evidence.

What was read is cached with the version of the graph: most traversals meet the same hazards
and measures again. The version is read for every hop, so a change counts at once.

No recursive SQL: it cannot be cut at a number of nodes, and planners get it wrong by orders of magnitude.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.rules.graph_cache import KeptGraph, seen_in
from wenyuan.catalog.rules.graph_queries import (
    BATCH,
    Reads,
    any_query,
    bare_query,
    batches,
    evidence_query,
    filled,
    hop_query,
    nodes_query,
    said_query,
    used_query,
    version_query,
)
from wenyuan.catalog.rules.rows import graph_node, rank_of, strength_of, support, unpacked
from wenyuan.catalog.rules.rules_book import RulesBook
from wenyuan.catalog.sql import reading
from wenyuan.core.errors import CatalogUnavailable, InvalidRequest, msg
from wenyuan.core.ports import Deadline
from wenyuan.core.rules.graph import Edge, GraphNode, LexiconEntry, StatementSaid, Support, View
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.runtime.delegation import method_of

_WIDE = 2_000  # statements that are read of nodes at once to be kept; of more, only what is asked for is read
_ALL = 2**31 - 1
_COMPONENT = "rules graph"
_RESTORE = "restore the library's catalog from a backup"


class RulesGraph:
    """Implements `core.rules.graph.Graph` over the catalog, with the queries of `RulesBook`. Safe to share
    between threads.
    """

    def __init__(self, reader: sa.Engine) -> None:
        self._reader = reader
        self.book = RulesBook(reader)
        self._kept = KeptGraph()
        self._reads = Reads(reader.dialect)

    find_nodes = method_of("book", RulesBook.find_nodes)
    counts = method_of("book", RulesBook.counts)
    packs = method_of("book", RulesBook.packs)
    statement = method_of("book", RulesBook.statement)
    proposed = method_of("book", RulesBook.proposed)
    live_book = method_of("book", RulesBook.live_book)
    statement_fate = method_of("book", RulesBook.statement_fate)

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
        """See `Graph.edges`. An edge's evidences are sorted by trust, highest first.

        Raises:
            EngineTimeout: the deadline passed; the query is stopped inside the database.
            CatalogError: the graph cannot be read.
        """
        if limit < 0:
            raise InvalidRequest(msg("the limit of statements is {limit}; it must not be negative", limit=limit))
        starts = list(dict.fromkeys(nodes))
        if not starts or not relations or not _enough(view):
            return []
        with reading(self._reader, "following rules", deadline) as connection:
            if view.at is None and not view.proposed and len(starts) <= BATCH:
                version = self._reads.version(connection)
                kept = self._every(connection, version, starts, view, inverse, deadline)
                if kept is not None:
                    wanted = frozenset(relations)
                    found = [edge for of_node in kept for edge in of_node if edge.rel in wanted]
                    return sorted(found, key=_importance)[: limit + 1]
            return self._hop(connection, starts, relations, view, limit, inverse, deadline)

    def _every(
        self, connection: sa.Connection, version: str, starts: Sequence[int], view: View, inverse: bool,
        deadline: Deadline,
    ) -> list[tuple[Edge, ...]] | None:  # fmt: skip
        """All visible statements of `starts`, cached or read now; None when there are too many to cache."""
        seen = seen_in(view, inverse=inverse)
        kept = self._kept.edges(version, seen)
        missing = [node for node in starts if node not in kept]
        if not missing:
            return [kept[node] for node in starts]
        edges = self._around(connection, version, missing, view, inverse, deadline)
        if edges is None:
            return None
        found: dict[int, list[Edge]] = {node: [] for node in missing}
        for edge in edges:
            found[edge.dst if inverse else edge.src].append(edge)
        known = {node: kept[node] for node in starts if node in kept}
        self._kept.keep(version, seen, found)
        return [known[node] if node in known else tuple(found[node]) for node in starts]

    def _around(
        self, connection: sa.Connection, version: str, starts: Sequence[int], view: View, inverse: bool,
        deadline: Deadline,
    ) -> list[Edge] | None:  # fmt: skip
        """All visible statements of `starts` with their ends and evidence, in one read; None when there are too many."""
        deadline.check(_COMPONENT)
        day = view.day.toordinal()
        rows = self._reads.around(connection, starts, inverse=inverse, day=day, most=_WIDE + 1)
        if len(rows) > _WIDE:
            return None
        said: dict[int, Any] = {}
        supports: dict[int, list[Support]] = {}
        for row in sorted((row for row in rows if row[8] is not None), key=itemgetter(8)):
            trust = view.support(row[9], row[10], row[13])
            if trust is not None:
                said[row[2]] = row
                supports.setdefault(row[2], []).append(support(row[9:], trust))
        known, side = self._kept.nodes(version), 3 if inverse else 5
        missing = [number for number in dict.fromkeys(row[side] for row in said.values()) if number not in known]
        known.update((row[0], graph_node(*row)) for row in self._reads.live_nodes(connection, missing))
        _refuse_lost(missing, known)
        return [_edge(row, known[row[side]], supports[number]) for number, row in said.items()]

    def _hop(
        self, connection: sa.Connection, starts: Sequence[int], relations: Sequence[str], view: View, limit: int,
        inverse: bool, deadline: Deadline,
    ) -> list[Edge]:  # fmt: skip
        """Visible statements of `starts`, read now; of all relations when `relations` is empty."""
        bound: dict[str, Any] = {
            **({"relations": filled(relations)} if relations else {}),
            "sources": filled(_enough(view)),
            "least": view.min_trust,
            "day": view.day.toordinal(),
            "most": limit + 1 if view.hidden is None else _ALL,  # what is hidden is left out below
            **_moment(view.at),
        }
        query = hop_query(inverse=inverse, past=view.at is not None, every=not relations, proposed=view.proposed)
        rows: list[Any] = []
        for part in batches(starts):
            deadline.check(_COMPONENT)
            rows += connection.execute(query, {**bound, "nodes": part}).all()
        if len(starts) > BATCH:  # each part came in order, cut at the limit
            rows.sort(key=lambda row: (row[0], -row[1], row[2]))
            if view.hidden is None:
                del rows[limit + 1 :]
        supports = _supports(connection, [row[2] for row in rows], view, deadline)
        if view.hidden is not None:
            rows = [row for row in rows if row[2] in supports][: limit + 1]
        side = 3 if inverse else 5
        known = self._kept.nodes(rows[0][8] or "") if rows and view.at is None else {}
        missing = [number for number in dict.fromkeys(row[side] for row in rows) if number not in known]
        known.update(_read_nodes(connection, missing, view.at, deadline))
        _refuse_lost(missing, known)
        return [_edge(row, known[row[side]], supports[row[2]]) for row in rows]

    def nodes(self, node_ids: Sequence[int], *, deadline: Deadline) -> Mapping[int, GraphNode]:
        """See `Graph.nodes`."""
        with reading(self._reader, "reading nodes", deadline) as connection:
            return _read_nodes(connection, list(dict.fromkeys(node_ids)), None, deadline)

    def lexicon(self) -> Iterator[LexiconEntry]:
        """See `Graph.lexicon`. Ordered by node; a text comes once per node, in its most certain role."""
        n, a = t.nodes.c, t.aliases.c
        query = (
            sa.select(n.node_id, n.kind, n.name, n.labels, n.codes, n.scope, a.text, a.type, a.weight)
            .outerjoin(t.aliases, sa.and_(a.node_id == n.node_id, a.removed_seq.is_(None)))
            .where(n.removed_seq.is_(None))
            .order_by(n.node_id, a.row_id)
        )
        with (
            reading(self._reader, "reading the names of nodes") as connection,
            connection.execution_options(yield_per=1_000).execute(query) as rows,
        ):
            for _, group in groupby(rows, key=lambda row: row[0]):
                yield from _entries(list(group))

    def said(self, most: int) -> Sequence[StatementSaid]:
        """See `Graph.said`."""
        with reading(self._reader, "reading what the rules say") as connection:
            rows = connection.execute(said_query(), {"most": most + 1}).all()
            if len(rows) > most:
                return ()
            ends = list(dict.fromkeys(number for row in rows for number in (row[1], row[3])))
            nodes = _read_nodes(connection, ends, None, deadline_after(math.inf))
        _refuse_lost(ends, nodes)
        return [
            StatementSaid(
                statement_id=number, src=nodes[src], rel=rel, dst=nodes[dst], sentence=unpacked(sentence)
            )
            for number, src, rel, dst, sentence in rows
        ]  # fmt: skip

    def check(self, relations: Sequence[str]) -> None:
        """See `Graph.check`. Reads all statements twice, once per version of the graph rather than per traversal.

        Raises:
            CatalogUnavailable: what the statements are about, or the schema that they follow, was taken from them.
        """
        with reading(self._reader, "checking the rules") as connection:
            used = set(connection.scalars(used_query()))
            bare = list(connection.scalars(bare_query()))
        if bare:
            raise CatalogUnavailable(
                msg("statements are about nodes that there are not: {bare}", bare=bare),
                component="catalog",
                hint=_RESTORE,
            )
        if used and used.isdisjoint(relations):
            why = msg(
                "no stored schema describes the relations of the rules: {used}", used=", ".join(sorted(used)[:5])
            )
            raise CatalogUnavailable(why, component="catalog", hint="import the packs again that say them")

    def version(self) -> int:
        """See `Graph.version`: the change number of the graph's last change, 0 before the first.

        Raises:
            CatalogUnavailable: none is stored although there are statements: the file is damaged.
        """
        with reading(self._reader, "reading the version of the rules") as connection:
            found = connection.scalar(version_query())
            if found is None and connection.scalar(any_query()) is not None:
                why = "there are statements, but the version of the rules graph is lost"
                raise CatalogUnavailable(why, component="catalog", hint=_RESTORE)
            return int(found or 0)


def _enough(view: View) -> list[str]:
    """Ids of the sources whose evidence may count in a view."""
    return [name for name, trust in view.trusts.items() if trust >= view.min_trust]


def _refuse_lost(wanted: Sequence[int], known: Mapping[int, GraphNode]) -> None:
    """Raise when a node is missing: every write keeps the nodes of statements, so the file is damaged."""
    lost = [number for number in wanted if number not in known]
    if lost:
        raise CatalogUnavailable(
            msg("statements lead to nodes that there are not: {lost}", lost=lost[:5]), component="catalog"
        )


def _importance(edge: Edge) -> tuple[int, float, int]:
    return rank_of(edge.strength), -edge.weight, edge.statement_id


def _moment(at: int | None) -> Mapping[str, int]:
    return {} if at is None else {"at": at}


def _read_nodes(
    connection: sa.Connection, node_ids: Sequence[int], at: int | None, deadline: Deadline
) -> dict[int, GraphNode]:
    found: dict[int, GraphNode] = {}
    query = nodes_query(past=at is not None)
    for part in batches(node_ids):
        deadline.check(_COMPONENT)
        found.update(
            (row[0], graph_node(*row)) for row in connection.execute(query, {**_moment(at), "ids": part}).all()
        )
    return found


def _supports(
    connection: sa.Connection, ids: Sequence[int], view: View, deadline: Deadline
) -> Mapping[int, list[Support]]:
    """Visible evidence of statements by id. Visibility is checked here, since in SQL it makes SQLite choose a slow
    plan.
    """
    found: dict[int, list[Support]] = {}
    query = evidence_query(past=view.at is not None)
    for part in batches(ids):
        deadline.check(_COMPONENT)
        for statement_id, *row in connection.execute(query, {**_moment(view.at), "ids": part}).all():
            trust = view.support(row[0], row[1], row[4])
            if trust is not None:
                found.setdefault(statement_id, []).append(support(row, trust))
    return found


def _edge(row: Any, end: GraphNode, supports: list[Support]) -> Edge:
    rank, weight, statement_id, src, rel, dst, condition, sentence = row[:8]
    if len(supports) > 1:
        supports.sort(key=lambda e: -e.trust)
    return Edge(
        statement_id=statement_id,
        src=src,
        rel=rel,
        dst=dst,
        condition=condition,
        strength=strength_of(rank),
        sentence=unpacked(sentence),
        weight=weight,
        end=end,
        evidences=tuple(supports),
    )


def _entries(group: Sequence[Any]) -> Iterator[LexiconEntry]:
    """Lexicon entries of one node; `group` has a row per alias, or a single row without one."""
    node_id, kind, name, labels, codes, scope = group[0][:6]
    ways = [(name, "pref", 1.0), *((label, "pref", 1.0) for label in unpacked(labels).values())]
    ways += [(code, "code", 1.0) for code in unpacked(codes).values()]
    ways += [tuple(row[6:9]) for row in group if row[6] is not None]
    limited = tuple(unpacked(scope))
    given: set[str] = set()
    for text, type_, weight in sorted(ways, key=lambda way: -way[2]):
        if text not in given:
            given.add(text)
            yield LexiconEntry(node_id=node_id, kind=kind, text=text, type=type_, weight=weight, scope=limited)
