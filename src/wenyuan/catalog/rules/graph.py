"""Traversal of the rules graph in SQL, hop by hop, with a cache of the parts visited."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from threading import Lock
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.rules import RulesBook, graph_node, rank_of, strength_of, support, unpacked
from wenyuan.catalog.sql import reading
from wenyuan.core.errors import CatalogUnavailable, InvalidRequest, msg
from wenyuan.core.ports import Deadline
from wenyuan.core.rules.inference import Edge, GraphNode, LexiconEntry, Support, View
from wenyuan.runtime import delegate

# The SQL with which the rules graph is walked, made once.
#
# Lists are filled up to few lengths, so that SQLAlchemy and the database know a query again. What every first sight
# of a node asks is run on the driver itself: SQLAlchemy takes longer over it than the database.


VERSION_KEY = "rules_version"
BATCH = 512
_MOST_TRUST = 5  # an evidence without a trust of its own has its source's


def filled(values: Sequence[Any]) -> list[Any]:
    """`values` padded by repeating the last one, to a power of two or a multiple of 64: few distinct SQL texts to
    prepare.
    """
    count = len(values)
    full = 1 << (count - 1).bit_length() if count <= 64 else -(-count // 64) * 64
    return [*values, *[values[-1]] * (full - count)]


def batches(values: Sequence[Any]) -> Iterator[list[Any]]:
    """Split `values` into parts small enough for one SQL statement."""
    for at in range(0, len(values), BATCH):
        yield filled(values[at : at + BATCH])


def _current(columns: Any, *, past: bool) -> sa.ColumnElement[bool]:
    if not past:
        return sa.and_(columns.removed_seq.is_(None))
    at = sa.bindparam("at", type_=sa.BigInteger)
    return sa.and_(columns.seq <= at, sa.or_(columns.removed_seq.is_(None), columns.removed_seq > at))


def _among(column: sa.Column[Any], name: str) -> sa.ColumnElement[bool]:
    return column.in_(sa.bindparam(name, expanding=True))


def _listed(column: sa.Column[Any], count: int) -> sa.ColumnElement[bool]:
    return column.in_([sa.bindparam(f"id{n}", type_=column.type) for n in range(count)])


@cache
def version_query() -> sa.Select[Any]:
    return sa.select(t.library.c.value).where(t.library.c.key == VERSION_KEY)


@cache
def hop_query(*, inverse: bool, past: bool, every: bool = False, proposed: bool = False) -> sa.Select[Any]:
    """Visible statements on one side of given nodes, the most important first, each with the graph's version.

    Args:
        every: By whatever relation.
        proposed: Those that wait for a review, too.
    """
    s, e = t.statements.c, t.evidences.c
    day = sa.bindparam("day", type_=sa.Integer)
    evident = (
        sa.select(sa.literal(1))
        .where(e.statement_id == s.statement_id, _current(e, past=past), _among(e.source_id, "sources"))
        .where(sa.func.coalesce(e.trust, _MOST_TRUST) >= sa.bindparam("least", type_=sa.Integer))
        .correlate(t.statements)
        .exists()
    )
    return (
        sa.select(s.rank, s.weight, s.statement_id, s.src, s.rel, s.dst, s.condition, s.sentence)
        .add_columns(version_query().scalar_subquery())
        .where(
            _among(s.dst if inverse else s.src, "nodes"),
            *(() if every else (_among(s.rel, "relations"),)),
            _current(s, past=past),
            s.status.in_(("approved", "proposed")) if proposed else s.status == "approved",
            s.valid_from <= day,
            s.valid_until >= day,
            evident,
        )
        .order_by(s.rank, s.weight.desc(), s.statement_id)
        .limit(sa.bindparam("most", type_=sa.Integer))
    )


@cache
def _around(*, inverse: bool, count: int) -> sa.Select[Any]:
    """Current statements of `count` nodes, one row per evidence, unordered.

    The outer join, since SQLite keeps to its order. Which evidence is visible is decided by `View.support`.
    """
    s, e = t.statements.c, t.evidences.c
    day = sa.bindparam("day", type_=sa.Integer)
    return (
        sa.select(s.rank, s.weight, s.statement_id, s.src, s.rel, s.dst, s.condition, s.sentence, e.row_id)
        .add_columns(e.source_id, e.uri, e.clause, e.quote, e.trust, e.reviewer, e.verified)
        .outerjoin(t.evidences, sa.and_(e.statement_id == s.statement_id, e.removed_seq.is_(None)))
        .where(
            _listed(s.dst if inverse else s.src, count),
            s.removed_seq.is_(None),
            s.status == "approved",
            s.valid_from <= day,
            s.valid_until >= day,
        )
        .limit(sa.bindparam("most", type_=sa.Integer))
    )


@cache
def _live_nodes(*, count: int) -> sa.Select[Any]:
    n = t.nodes.c
    return sa.select(n.node_id, n.key, n.kind, n.name, n.labels, n.scope).where(
        _listed(n.node_id, count), n.removed_seq.is_(None)
    )


@cache
def evidence_query(*, past: bool) -> sa.Select[Any]:
    e = t.evidences.c
    return (
        sa.select(e.statement_id, e.source_id, e.uri, e.clause, e.quote, e.trust, e.reviewer, e.verified)
        .where(_among(e.statement_id, "ids"), _current(e, past=past))
        .order_by(e.row_id)
    )


@cache
def nodes_query(*, past: bool) -> sa.Select[Any]:
    n = t.nodes.c
    return sa.select(n.node_id, n.key, n.kind, n.name, n.labels, n.scope).where(
        _among(n.node_id, "ids"), _current(n, past=past)
    )


def _approved() -> sa.ColumnElement[bool]:
    return sa.and_(t.statements.c.removed_seq.is_(None), t.statements.c.status == "approved")


@cache
def used_query() -> sa.Select[Any]:
    """The relations used by approved statements."""
    return sa.select(t.statements.c.rel).where(_approved()).distinct()


@cache
def bare_query() -> sa.Select[Any]:
    """Some approved statements with an end that is no live node."""
    s, n = t.statements.c, t.nodes.c
    ends = (
        sa.select(sa.literal(1)).where(n.node_id == end, n.removed_seq.is_(None)).correlate(t.statements).exists()
        for end in (s.src, s.dst)
    )
    return sa.select(s.statement_id).where(_approved(), sa.or_(*map(sa.not_, ends))).limit(5)


@cache
def any_query() -> sa.Select[Any]:
    """Any one statement, current or past."""
    return sa.select(t.statements.c.row_id).limit(1)


class _Prepared:
    """A query compiled for one database."""

    def __init__(self, query: sa.Select[Any], dialect: sa.Dialect) -> None:
        compiled = query.compile(dialect=dialect)
        self._text = str(compiled)
        self._given = compiled.params
        self._order = compiled.positiontup
        self._direct = dialect.name == "sqlite"

    def rows(self, connection: sa.Connection, **bound: Any) -> Sequence[Any]:
        given = self._given | bound
        if self._direct and self._order is not None:  # its errors are known to `catalog.sql.translated`
            driver: Any = connection.connection.driver_connection
            found: list[Any] = driver.execute(self._text, [given[name] for name in self._order]).fetchall()
            return found
        return connection.exec_driver_sql(self._text, given).all()


class Reads:
    """The database reads of a graph traversal. Safe to share between threads."""

    def __init__(self, dialect: sa.Dialect) -> None:
        self._dialect = dialect
        self._prepared: dict[Any, _Prepared] = {}

    def version(self, connection: sa.Connection) -> str:
        """The version of the graph; empty before its first change."""
        rows = self._of("version", version_query).rows(connection)
        return str(rows[0][0]) if rows else ""

    def around(
        self, connection: sa.Connection, nodes: Sequence[int], *, inverse: bool, day: int, most: int
    ) -> Sequence[Any]:
        """Run `_around` for at most `BATCH` nodes."""
        full = filled(nodes)
        query = self._of((inverse, len(full)), partial(_around, inverse=inverse, count=len(full)))
        return query.rows(connection, day=day, most=most, **_numbered(full))

    def live_nodes(self, connection: sa.Connection, nodes: Sequence[int]) -> Iterator[Any]:
        """Number, key, kind, name, labels and scope of the live ones among these nodes."""
        for part in batches(nodes):
            query = self._of(len(part), partial(_live_nodes, count=len(part)))
            yield from query.rows(connection, **_numbered(part))

    def _of(self, key: Any, made: Callable[[], sa.Select[Any]]) -> _Prepared:
        known = self._prepared.get(key)
        if known is None:
            known = self._prepared[key] = _Prepared(made(), self._dialect)
        return known


def _numbered(values: Sequence[int]) -> dict[str, int]:
    return {f"id{n}": value for n, value in enumerate(values)}


# Cache of the visited part of the graph: by version of the graph, view and node.


MOST_KEPT = 50_000
"""Statements, and nodes, of about 1 kB each; beyond, all are forgotten."""

Seen = tuple[bool, date, int, frozenset[tuple[str, int]]]
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
    return inverse, view.day, view.min_trust, frozenset(view.trusts.items())


# The rules graph as it is walked: hop by hop, each hop one query with an index for it, with its evidence.
#
# What was read is cached with the version of the graph: most traversals meet the same hazards
# and measures again. The version is read for every hop, so a change counts at once.
#
# No recursive SQL: it cannot be cut at a number of nodes, and planners get it wrong by orders of magnitude.


_WIDE = 2_000  # statements that are read of nodes at once to be kept; of more, only what is asked for is read
_COMPONENT = "rules graph"
_RESTORE = "restore the library's catalog from a backup"


class RulesGraph:
    """Implements `core.rules.inference.Graph` over the catalog, with the queries of `RulesBook`. Safe to share
    between threads.
    """

    def __init__(self, reader: sa.Engine) -> None:
        self._reader = reader
        self.book = RulesBook(reader)
        self._kept = KeptGraph()
        self._reads = Reads(reader.dialect)

    find_nodes = delegate("book", RulesBook.find_nodes)
    counts = delegate("book", RulesBook.counts)
    packs = delegate("book", RulesBook.packs)
    statement = delegate("book", RulesBook.statement)
    proposed = delegate("book", RulesBook.proposed)
    live_book = delegate("book", RulesBook.live_book)
    statement_fate = delegate("book", RulesBook.statement_fate)

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
            trust = view.support(row[9], row[13])
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
            "most": limit + 1,
            **_moment(view.at),
        }
        query = hop_query(inverse=inverse, past=view.at is not None, every=not relations, proposed=view.proposed)
        rows: list[Any] = []
        for part in batches(starts):
            deadline.check(_COMPONENT)
            rows += connection.execute(query, {**bound, "nodes": part}).all()
        if len(starts) > BATCH:  # each part came in order, cut at the limit
            rows.sort(key=lambda row: (row[0], -row[1], row[2]))
            del rows[limit + 1 :]
        supports = _supports(connection, [row[2] for row in rows], view, deadline)
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
            trust = view.support(row[0], row[4])
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
