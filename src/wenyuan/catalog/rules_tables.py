"""The tables of the rules graph.

Nodes and statements have numbers that are given by us and kept for good, also by what was retired and came back.
Like documents they are kept as versions: a row is added at one commit (``seq``) and removed at another
(``removed_seq``). Indexes hold the rows of the past too, so that it is read as fast as the present.
JSON is kept as text: most rows that a request reads have none, and that is seen without decoding.
"""

from __future__ import annotations

import sqlalchemy as sa

from wenyuan.catalog.columns import ID, TEXT

__all__ = [
    "NOWHERE",
    "PROPOSED",
    "aliases",
    "cited",
    "evidences",
    "nodes",
    "reviews",
    "statements",
    "tables",
    "unplaced",
]

tables = sa.MetaData()

nodes = sa.Table(
    "rule_nodes",
    tables,
    sa.Column("row_id", ID, primary_key=True, autoincrement=True),
    sa.Column("node_id", ID, nullable=False),
    sa.Column("key", TEXT, nullable=False),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("name", TEXT, nullable=False),
    sa.Column("labels", TEXT, nullable=False),
    sa.Column("codes", TEXT, nullable=False),
    sa.Column("scope", TEXT, nullable=False),
    sa.Column("attributes", TEXT, nullable=False),
    sa.Column("packs", TEXT, nullable=False),  # the packs that bring it; the first one says what it is
    sa.Column("folded", TEXT, nullable=False),  # name and labels, as lists of nodes are searched
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
)

aliases = sa.Table(
    "rule_aliases",
    tables,
    sa.Column("row_id", ID, primary_key=True, autoincrement=True),
    sa.Column("node_id", ID, nullable=False),
    sa.Column("text", TEXT, nullable=False),
    sa.Column("language", TEXT, nullable=False),
    sa.Column("type", TEXT, nullable=False),
    sa.Column("weight", sa.Float, nullable=False),
    sa.Column("folded", TEXT, nullable=False),
    sa.Column("pack", TEXT, nullable=False),
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
)

statements = sa.Table(
    "rule_statements",
    tables,
    sa.Column("row_id", ID, primary_key=True, autoincrement=True),
    sa.Column("statement_id", ID, nullable=False),
    sa.Column("key", TEXT, nullable=False),
    sa.Column("src", ID, nullable=False),
    sa.Column("rel", TEXT, nullable=False),
    sa.Column("dst", ID, nullable=False),
    sa.Column("condition", TEXT, nullable=False),
    sa.Column("rank", sa.Integer, nullable=False),  # of its strength: 0 mandatory, 1 recommended, 2 informative
    sa.Column("sentence", TEXT, nullable=False),
    sa.Column("valid_from", sa.Integer, nullable=False),  # proleptic ordinal day, 0: ever
    sa.Column("valid_until", sa.Integer, nullable=False),  # core.model.FOREVER: without end
    sa.Column("weight", sa.Float, nullable=False),
    sa.Column("status", TEXT, nullable=False),
    sa.Column("restores", TEXT, nullable=False),  # retired for want of evidence: its status when that comes back
    sa.Column("reason", TEXT, nullable=False),  # of its status, where it was not its author who gave it
    sa.Column("pack", TEXT, nullable=False),  # the pack whose wording it has
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
)

evidences = sa.Table(
    "rule_evidences",
    tables,
    sa.Column("row_id", ID, primary_key=True, autoincrement=True),
    sa.Column("statement_id", ID, nullable=False),
    sa.Column("source_id", TEXT, nullable=False),
    sa.Column("uri", TEXT, nullable=False),
    sa.Column("clause", TEXT, nullable=False),
    sa.Column("quote", TEXT, nullable=False),
    sa.Column("quote_sha256", TEXT, nullable=False),
    sa.Column("trust", sa.Integer),  # null: its source's
    sa.Column("reviewer", TEXT, nullable=False),
    sa.Column("pack", TEXT, nullable=False),
    sa.Column("seq", ID, nullable=False),
    sa.Column("removed_seq", ID),
    sa.Column("verified", sa.Integer, nullable=False, server_default="0"),  # 1: a document here has the words
)

# What people decided; rows are only ever added.
reviews = sa.Table(
    "rule_reviews",
    tables,
    sa.Column("review_id", ID, primary_key=True, autoincrement=True),
    sa.Column("statement_id", ID, nullable=False),
    sa.Column("action", TEXT, nullable=False),
    sa.Column("actor", TEXT, nullable=False),
    sa.Column("reason", TEXT, nullable=False),
    sa.Column("at", sa.Float, nullable=False),  # seconds since the epoch
    sa.Column("before", TEXT, nullable=False),
    sa.Column("after", TEXT, nullable=False),
    sa.Column("seq", ID, nullable=False),
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
_unplaced = sa.and_(evidences.c.removed_seq.is_(None), evidences.c.uri == NOWHERE)
unplaced = sa.Index(
    "rule_evidences_unplaced", evidences.c.source_id, sqlite_where=_unplaced, postgresql_where=_unplaced
)
