"""The SQL by which the rules graph is walked: one query a hop, each with an index for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t

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
def said_query() -> sa.Select[Any]:
    """What the approved statements say."""
    s = t.statements.c
    return (
        sa.select(s.statement_id, s.src, s.rel, s.dst, s.sentence)
        .where(_approved())
        .order_by(s.statement_id)
        .limit(sa.bindparam("most", type_=sa.Integer))
    )


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
