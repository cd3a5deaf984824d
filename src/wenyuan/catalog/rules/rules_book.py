"""Queries for people: lists, counts, single statements with their history, the review queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.rules.rows import (
    HeldNode,
    HeldStatement,
    day_of,
    graph_node,
    held_evidence,
    held_node,
    held_statement,
    unpacked,
)
from wenyuan.catalog.sql import reading
from wenyuan.core.errors import NotFound, msg
from wenyuan.core.rules.graph import GraphNode, View
from wenyuan.core.text.folding import fold


class RulesBook:
    """Queries on the rules graph for lists, counts and single statements."""

    def __init__(self, reader: sa.Engine) -> None:
        self._reader = reader

    def find_nodes(
        self, text: str = "", *, kind: str | None = None, limit: int = 50, after: int = 0
    ) -> tuple[GraphNode, ...]:
        """Live nodes with `text` in a name, label, code or alias, normalized; by number, those above `after`."""
        n, a = t.nodes.c, t.aliases.c
        query = sa.select(n.node_id, n.key, n.kind, n.name, n.labels, n.scope).where(
            n.removed_seq.is_(None), n.node_id > after
        )
        if kind is not None:
            query = query.where(n.kind == kind)
        if text.strip():
            wanted = fold(text.strip())
            known = sa.and_(a.removed_seq.is_(None), a.folded.contains(wanted, autoescape=True))
            query = query.where(
                sa.or_(
                    n.folded.contains(wanted, autoescape=True),
                    n.node_id.in_(sa.select(a.node_id).where(known)),
                )
            )
        with reading(self._reader, "listing nodes") as connection:
            rows = connection.execute(query.order_by(n.node_id).limit(limit)).all()
        return tuple(graph_node(*row) for row in rows)

    def counts(self) -> Mapping[str, Any]:
        """What the graph holds now: ``nodes``, ``kinds``, ``aliases``, ``statements`` (by status), ``relations``
        (of approved statements), ``evidences``, ``packs`` (evidences by pack).
        """
        n, a, s, e = t.nodes.c, t.aliases.c, t.statements.c, t.evidences.c
        count = sa.func.count
        live = s.removed_seq.is_(None)
        grouped = {
            "kinds": sa.select(n.kind, count()).where(n.removed_seq.is_(None)).group_by(n.kind),
            "statements": sa.select(s.status, count()).where(live).group_by(s.status),
            "relations": sa.select(s.rel, count()).where(live, s.status == "approved").group_by(s.rel),
            "packs": sa.select(e.pack, count()).where(e.removed_seq.is_(None)).group_by(e.pack),
        }
        with reading(self._reader, "counting rules") as connection:
            found: dict[str, Any] = {name: dict(connection.execute(q).all()) for name, q in grouped.items()}
            known = sa.select(count()).select_from(t.aliases).where(a.removed_seq.is_(None))
            found["aliases"] = int(connection.scalar(known) or 0)
        return {**found, "nodes": sum(found["kinds"].values()), "evidences": sum(found["packs"].values())}

    def packs(self) -> tuple[str, ...]:
        """The packs that define nodes or support statements."""
        n, e = t.nodes.c, t.evidences.c
        with reading(self._reader, "listing packs") as connection:
            found = set(connection.scalars(sa.select(e.pack).where(e.removed_seq.is_(None)).distinct()))
            for brought in connection.scalars(sa.select(n.packs).where(n.removed_seq.is_(None)).distinct()):
                found.update(unpacked(brought))
        return tuple(sorted(found))

    def statement(self, which: int | str, view: View | None = None) -> HeldStatement:
        """A statement by number or key, with all its present and former evidence.

        Args:
            view: What the caller sees; a statement without evidence there is none, and nothing else is read of it. None:
                everything.

        Raises:
            NotFound: there is none.
        """
        if view is not None and not self._supported(which, view):
            raise NotFound(msg("there is no statement {which}", which=repr(which)))
        s, e = t.statements.c, t.evidences.c
        wanted = s.statement_id == which if isinstance(which, int) else s.key == which
        with reading(self._reader, "reading a statement") as connection:
            query = sa.select(t.statements).where(wanted, s.removed_seq.is_(None))
            row = connection.execute(query).mappings().first()
            # Asked of what is not there, too: it takes as long as what is another's.
            number, ends = (0, [0, -1]) if row is None else (row["statement_id"], [row["src"], row["dst"]])
            keys = _keys(connection, ends)
            proofs = sa.select(t.evidences).where(e.statement_id == number).order_by(e.row_id)
            found = [held_evidence(proof) for proof in connection.execute(proofs).mappings()]
        if row is None:
            raise NotFound(msg("there is no statement {which}", which=repr(which)))
        return held_statement(row, keys, found)

    def _supported(self, which: int | str, view: View) -> bool:
        """Whether an evidence of a statement is in view."""
        s, e = t.statements.c, t.evidences.c
        wanted = s.statement_id == which if isinstance(which, int) else s.key == which
        number = sa.select(s.statement_id).where(wanted, s.removed_seq.is_(None)).scalar_subquery()
        query = sa.select(e.source_id, e.uri, e.trust).where(e.statement_id == number, e.removed_seq.is_(None))
        with reading(self._reader, "reading a statement") as connection:
            return any(view.support(*row) is not None for row in connection.execute(query).all())

    def proposed(self, limit: int = 50, after: int = 0) -> tuple[HeldStatement, ...]:
        """Statements that wait for a review, by number, those above `after`."""
        s, e = t.statements.c, t.evidences.c
        query = (
            sa.select(t.statements)
            .where(s.removed_seq.is_(None), s.status == t.PROPOSED, s.statement_id > after)
            .order_by(s.statement_id)
            .limit(limit)
        )
        with reading(self._reader, "listing proposed statements") as connection:
            rows = connection.execute(query).mappings().all()
            ids = [row["statement_id"] for row in rows]
            keys = _keys(connection, [row[side] for row in rows for side in ("src", "dst")])
            found: dict[int, list[Any]] = {number: [] for number in ids}
            for part in _batches(ids):
                proofs = sa.select(t.evidences).where(e.statement_id.in_(part), e.removed_seq.is_(None))
                for proof in connection.execute(proofs.order_by(e.row_id)).mappings():
                    found[proof["statement_id"]].append(held_evidence(proof))
        return tuple(held_statement(row, keys, found[row["statement_id"]]) for row in rows)

    def live_book(self, pack: str | None = None) -> Iterator[HeldNode | HeldStatement]:
        """The graph's content, or one pack's: nodes first, then the statements with live evidence.

        For a pack, nodes have its aliases, and statements its evidence, only. One snapshot, read as it is asked for.
        """
        n, a, s, e = t.nodes.c, t.aliases.c, t.statements.c, t.evidences.c
        with reading(self._reader, "reading the rules") as connection:
            streaming = connection.execution_options(yield_per=1_000)
            nodes = sa.select(t.nodes).where(n.removed_seq.is_(None)).order_by(n.node_id)
            known = sa.select(t.aliases).where(a.removed_seq.is_(None)).order_by(a.node_id, a.row_id)
            proofs = (
                sa.select(t.statements, *_evidence_columns())
                .join(t.evidences, e.statement_id == s.statement_id)
                .where(s.removed_seq.is_(None), e.removed_seq.is_(None))
                .order_by(s.statement_id, e.row_id)
            )
            if pack is not None:
                known, proofs = known.where(a.pack == pack), proofs.where(e.pack == pack)
            aliases = {
                number: list(group)
                for number, group in groupby(streaming.execute(known).mappings(), key=lambda row: row["node_id"])
            }
            with streaming.execute(nodes) as rows:
                for row in rows.mappings():
                    node = held_node(row, aliases.get(row["node_id"], ()))
                    if pack is None or pack in node.packs:
                        yield node
            del aliases
            keys = dict(connection.execute(sa.select(n.node_id, n.key).distinct()).all())
            with streaming.execute(proofs) as rows:
                for _, group in groupby(rows.mappings(), key=lambda row: row["statement_id"]):
                    found = list(group)
                    yield held_statement(found[0], keys, [held_evidence(_Proof(row)) for row in found])

    def statement_fate(self, statement_id: int, day: date | None = None) -> Mapping[str, Any]:
        """What happened to a statement: its state on a day, the reason, lost evidence and reviews.

        Returns:
            ``state``: ``never`` (then nothing else), ``live``, ``expired`` or ``future`` (on `day`), or its status
            (``proposed``, ``rejected``, ``retired``); ``reason``; ``since_seq`` and ``since``, seconds since the
            epoch, of its present form; ``valid_from``, ``valid_until``; ``lost``, the evidence that went: its
            ``source_id``, ``uri`` and ``clause`` (``""`` of a removed source), ``pack``, ``removed_seq``,
            ``removed_at``; ``reviews``, what people decided, the first one first.
        """
        s, e, c, v = t.statements.c, t.evidences.c, t.commits.c, t.reviews.c
        now = t.evidences.alias("now")
        again = sa.and_(
            now.c.removed_seq.is_(None),
            *(now.c[name] == e[name] for name in ("statement_id", "source_id", "clause", "quote_sha256", "pack")),
            sa.or_(now.c.uri == e.uri, sa.and_(e.clause != "", now.c.uri + "#" + e.clause == e.uri)),
        )
        query = (
            sa.select(s.status, s.reason, s.seq, s.valid_from, s.valid_until, c.at)
            .outerjoin(t.commits, c.seq == s.seq)
            .where(s.statement_id == statement_id, s.removed_seq.is_(None))
        )
        lost = (
            sa.select(e.source_id, e.uri, e.clause, e.pack, e.removed_seq, c.at.label("removed_at"))
            .outerjoin(t.commits, c.seq == e.removed_seq)
            .where(e.statement_id == statement_id, e.removed_seq.is_not(None))
            .where(~sa.exists().where(again))  # else it was only replaced, with another trust
            .order_by(e.row_id)
        )
        reviews = sa.select(v.action, v.actor, v.reason, v.at).where(v.statement_id == statement_id)
        with reading(self._reader, "looking up a statement") as connection:
            found = connection.execute(query).first()
            if found is None:
                return {"state": "never"}
            gone = [dict(row) for row in connection.execute(lost).mappings()]
            decided = [dict(row) for row in connection.execute(reviews.order_by(v.review_id)).mappings()]
        return {
            "state": _state(found, day),
            "reason": found.reason,
            "since_seq": found.seq,
            "since": found.at,
            "valid_from": day_of(found.valid_from),
            "valid_until": day_of(found.valid_until),
            "lost": gone,
            "reviews": decided,
        }


_PROOF = "proof_"


def _evidence_columns() -> list[sa.Label[Any]]:
    return [column.label(_PROOF + column.name) for column in t.evidences.c]


class _Proof:
    """Evidence columns of a row that also has statement columns."""

    def __init__(self, row: sa.RowMapping) -> None:
        self._row = row

    def __getitem__(self, name: str) -> Any:
        return self._row[_PROOF + name]


def _state(row: Any, day: date | None) -> str:
    if row.status != "approved":
        return str(row.status)
    if day is not None and row.valid_until < day.toordinal():
        return "expired"
    return "future" if day is not None and row.valid_from > day.toordinal() else "live"


def _batches(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for at in range(0, len(values), 500):
        yield values[at : at + 500]


def _keys(connection: sa.Connection, node_ids: Sequence[int]) -> Mapping[int, str]:
    """Keys of nodes by number, retired nodes included: key and number of a node never change."""
    n = t.nodes.c
    found: dict[int, str] = {}
    for part in _batches(sorted(set(node_ids))):
        found.update(connection.execute(sa.select(n.node_id, n.key).where(n.node_id.in_(part)).distinct()).all())
    return found
