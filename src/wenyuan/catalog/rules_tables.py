"""The tables of the rules graph.

Nodes and statements have numbers that are given by us and kept for good, also by what was retired and came back.
Like documents they are kept as versions: a row is added at one commit (``seq``) and removed at another
(``removed_seq``). Indexes hold the rows of the past too, so that it is read as fast as the present.
JSON is kept as text: most rows that a request reads have none, and that is seen without decoding.
"""

from __future__ import annotations

import sqlalchemy as sa

__all__ = ["NOWHERE", "PROPOSED", "aliases", "cited", "evidences", "nodes", "reviews", "statements", "tables"]

tables = sa.MetaData()

_Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

nodes = sa.Table(
    "rule_nodes",
    tables,
    sa.Column("row_id", _Id, primary_key=True, autoincrement=True),
    sa.Column("node_id", _Id, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("labels", sa.Text, nullable=False),
    sa.Column("codes", sa.Text, nullable=False),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("attributes", sa.Text, nullable=False),
    sa.Column("packs", sa.Text, nullable=False),  # the packs that bring it; the first one says what it is
    sa.Column("folded", sa.Text, nullable=False),  # name and labels, as lists of nodes are searched
    sa.Column("seq", _Id, nullable=False),
    sa.Column("removed_seq", _Id),
)

aliases = sa.Table(
    "rule_aliases",
    tables,
    sa.Column("row_id", _Id, primary_key=True, autoincrement=True),
    sa.Column("node_id", _Id, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("language", sa.Text, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("weight", sa.Float, nullable=False),
    sa.Column("folded", sa.Text, nullable=False),
    sa.Column("pack", sa.Text, nullable=False),
    sa.Column("seq", _Id, nullable=False),
    sa.Column("removed_seq", _Id),
)

statements = sa.Table(
    "rule_statements",
    tables,
    sa.Column("row_id", _Id, primary_key=True, autoincrement=True),
    sa.Column("statement_id", _Id, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("src", _Id, nullable=False),
    sa.Column("rel", sa.Text, nullable=False),
    sa.Column("dst", _Id, nullable=False),
    sa.Column("condition", sa.Text, nullable=False),
    sa.Column("rank", sa.Integer, nullable=False),  # of its strength: 0 mandatory, 1 recommended, 2 informative
    sa.Column("sentence", sa.Text, nullable=False),
    sa.Column("valid_from", sa.Integer, nullable=False),  # proleptic ordinal day, 0: ever
    sa.Column("valid_until", sa.Integer, nullable=False),  # core.model.FOREVER: without end
    sa.Column("weight", sa.Float, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("restores", sa.Text, nullable=False),  # retired for want of evidence: its status when that comes back
    sa.Column("reason", sa.Text, nullable=False),  # of its status, where it was not its author who gave it
    sa.Column("pack", sa.Text, nullable=False),  # the pack whose wording it has
    sa.Column("seq", _Id, nullable=False),
    sa.Column("removed_seq", _Id),
)

evidences = sa.Table(
    "rule_evidences",
    tables,
    sa.Column("row_id", _Id, primary_key=True, autoincrement=True),
    sa.Column("statement_id", _Id, nullable=False),
    sa.Column("source_id", sa.Text, nullable=False),
    sa.Column("uri", sa.Text, nullable=False),
    sa.Column("clause", sa.Text, nullable=False),
    sa.Column("quote", sa.Text, nullable=False),
    sa.Column("quote_sha256", sa.Text, nullable=False),
    sa.Column("trust", sa.Integer),  # null: its source's
    sa.Column("reviewer", sa.Text, nullable=False),
    sa.Column("pack", sa.Text, nullable=False),
    sa.Column("seq", _Id, nullable=False),
    sa.Column("removed_seq", _Id),
)

# What people decided; rows are only ever added.
reviews = sa.Table(
    "rule_reviews",
    tables,
    sa.Column("review_id", _Id, primary_key=True, autoincrement=True),
    sa.Column("statement_id", _Id, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
    sa.Column("before", sa.Text, nullable=False),
    sa.Column("after", sa.Text, nullable=False),
    sa.Column("seq", _Id, nullable=False),
    sqlite_autoincrement=True,
)


PROPOSED: sa.ColumnElement[str] = sa.literal_column("'proposed'")
"""The status as an index knows it: a bound value would not let it be used."""


NOWHERE: sa.ColumnElement[str] = sa.literal_column("''")
"""No URI, as an index knows it."""


def _one_live(column: sa.Column[sa.Text]) -> None:
    where = column.table.c.removed_seq.is_(None)
    name = f"{column.table.name}_live"
    sa.Index(name, column, unique=True, sqlite_where=where, postgresql_where=where)


# SQLite plans without statistics. So no index but the right one may fit what a walk asks: none by status, and none
# of the evidence by source or pack, which are asked for when a source or a pack goes, and then all rows are read.
# `cited` is one by source that no walk can use, since it asks nothing about the URI.
sa.Index("rule_nodes_id", nodes.c.node_id)
sa.Index("rule_nodes_key", nodes.c.key)
_one_live(nodes.c.key)
sa.Index("rule_aliases_node", aliases.c.node_id)
sa.Index("rule_statements_id", statements.c.statement_id)
sa.Index("rule_statements_src", *(statements.c[name] for name in ("src", "rel", "removed_seq", "status")))
sa.Index("rule_statements_dst", *(statements.c[name] for name in ("dst", "rel", "removed_seq", "status")))
_one_live(statements.c.key)
_waiting = sa.and_(statements.c.removed_seq.is_(None), statements.c.status == PROPOSED)
sa.Index("rule_statements_proposed", statements.c.statement_id, sqlite_where=_waiting, postgresql_where=_waiting)
sa.Index("rule_evidences_statement", evidences.c.statement_id)
sa.Index("rule_reviews_statement", reviews.c.statement_id)

_placed = sa.and_(evidences.c.removed_seq.is_(None), evidences.c.uri != NOWHERE)
cited = sa.Index("rule_evidences_cited", evidences.c.source_id, sqlite_where=_placed, postgresql_where=_placed)
