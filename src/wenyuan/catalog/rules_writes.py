"""Changing the rules graph: what packs bring, what people decide, and what goes with a source."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa

from wenyuan.catalog import rules_tables as r
from wenyuan.catalog import schema as t
from wenyuan.catalog.connect import now, translated
from wenyuan.catalog.rules_graph import RulesGraph
from wenyuan.catalog.rules_merge import (
    RulesChange,
    StatementMerge,
    leave_nodes,
    lose_support,
    merge_nodes,
    retire_unused,
)
from wenyuan.catalog.rules_rows import packed
from wenyuan.core.errors import InvalidRequest, NotPermitted
from wenyuan.core.rules.model import Node, Statement

__all__ = ["CatalogRules", "ReviewAction", "RulesReport", "drop_evidence_of"]

SCHEMA_VALUE = "rules/schema"
ReviewAction = Literal["approve", "reject", "retire"]
_STATUS = {"approve": "approved", "reject": "rejected", "retire": "retired"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesReport:
    """What an import has changed.

    Attributes:
        statements_changed: Other words, another status, or more evidence.
        statements_retired: Left without evidence.
        conflicts: Keys of statements and nodes of which another pack says otherwise; what was stored has stayed.
        seq: Number of the commit; None: nothing has changed.
    """

    nodes_added: int = 0
    nodes_changed: int = 0
    nodes_retired: int = 0
    statements_added: int = 0
    statements_changed: int = 0
    statements_retired: int = 0
    statements_unchanged: int = 0
    evidences_added: int = 0
    evidences_removed: int = 0
    schema_changed: bool = False
    conflicts: tuple[str, ...] = ()
    seq: int | None = None


class CatalogRules:
    """Mixed into `Catalog`. Each method is one transaction and, when it changes anything, one commit."""

    _reader: sa.Engine
    _writer: sa.Engine

    if TYPE_CHECKING:

        def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...

    @cached_property
    def rules(self) -> RulesGraph:
        """The graph, to be read; the same one at every call, since it keeps what was read."""
        graph: RulesGraph = self.__dict__.setdefault("_rules_graph", RulesGraph(self._reader))
        return graph

    def apply_rules(
        self,
        pack: str,
        *,
        nodes: Sequence[Node],
        statements: Sequence[Statement],
        prune: bool,
        schema_tree: Mapping[str, Any] | None = None,
    ) -> RulesReport:
        """Store what a pack says; storing the same again changes nothing and makes no commit.

        What people decided in a review stays, until the pack that says a statement changes its wording.

        Args:
            prune: This is all that the pack says: its other evidence, nodes and aliases go.
            schema_tree: The schema of the library from now on; None: as it is.

        Raises:
            InvalidRequest: a statement has no evidence or is about an unknown node, or a node is given twice.
            CatalogBusy: another process is writing.
        """
        if not pack.strip():
            raise InvalidRequest("a pack needs a name")
        with self.writing(), translated(f"storing the rules of {pack}"), self._writer.begin() as connection:
            change = RulesChange(connection, f"rules:{pack}")
            differs = schema_tree is not None and _store_schema(change, schema_tree)
            merge_nodes(change, pack, nodes)
            StatementMerge(change, pack).merge(statements, prune=prune)
            if prune:
                leave_nodes(change, pack, nodes)
                retire_unused(change)
            change.finish()
        return RulesReport(
            **change.counts,
            schema_changed=differs,
            conflicts=tuple(dict.fromkeys(change.conflicts)),
            seq=change.made,
        )

    def review_rules(
        self, statement_ids: Sequence[int], action: ReviewAction, *, actor: str, reason: str = ""
    ) -> int:
        """Decide on statements, all or none; returns how many have another status now.

        Raises:
            NotPermitted: there is no statement of a number.
            InvalidRequest: the action is none, or a statement is to be approved that no evidence supports.
        """
        if action not in _STATUS:
            raise InvalidRequest(f"{action!r} is no action: {', '.join(_STATUS)}")
        ids = list(dict.fromkeys(statement_ids))
        with self.writing(), translated("reviewing statements"), self._writer.begin() as connection:
            change = RulesChange(connection, "rules:review")
            held = {row["statement_id"]: row for row in change.live(r.statements, r.statements.c.statement_id, ids)}
            missing = [number for number in ids if number not in held]
            if missing:
                raise NotPermitted(f"there are no statements {', '.join(map(str, missing[:5]))}")
            status = _STATUS[action]
            # A statement that is retired for want of evidence differs from one that somebody retired.
            rows = [row for row in held.values() if row["status"] != status or row["restores"]]
            if action == "approve":
                _refuse_unsupported(change, [row["statement_id"] for row in rows])
            after = {"status": status, "restores": "", "reason": reason}
            change.revise(r.statements, {row["row_id"]: {**row, **after} for row in rows})
            if rows:
                decided = {"action": action, "actor": actor, "reason": reason, "at": now(), "seq": change.seq}
                connection.execute(
                    r.reviews.insert(),
                    [
                        {
                            **decided,
                            "statement_id": row["statement_id"],
                            "before": packed({name: row[name] for name in after}),
                            "after": packed(after),
                        }
                        for row in rows
                    ],
                )
            change.finish()
        return len(rows)


def _refuse_unsupported(change: RulesChange, ids: Sequence[int]) -> None:
    live = change.live(r.evidences, r.evidences.c.statement_id, ids)
    bare = sorted(set(ids) - {row["statement_id"] for row in live})
    if bare:
        raise InvalidRequest(
            f"no evidence supports the statements {', '.join(map(str, bare[:5]))}",
            hint="import the pack that says them again",
        )


def _store_schema(change: RulesChange, tree: Mapping[str, Any]) -> bool:
    """Returns whether it differs from the one that is stored."""
    key, value = f"value/{SCHEMA_VALUE}", json.dumps(tree, ensure_ascii=False)
    table, connection = t.library, change.connection
    if connection.scalar(sa.select(table.c.value).where(table.c.key == key)) == value:
        return False
    connection.execute(table.delete().where(table.c.key == key))
    connection.execute(table.insert(), {"key": key, "value": value})
    return change.seq > 0


def drop_evidence_of(connection: sa.Connection, seq: int, source_id: str) -> int:
    """Remove all evidence in a source, in the transaction that removes it; returns how many statements are retired.

    The words of that evidence are overwritten, those of earlier versions, too: removal may be an order.
    """
    e = r.evidences.c
    change = RulesChange(connection, "", seq)
    query = sa.select(e.row_id, e.statement_id).where(e.source_id == source_id, e.removed_seq.is_(None))
    proofs = dict(connection.execute(query).all())
    lose_support(change, proofs, f"the source {source_id} was removed")
    words = {"uri": "", "clause": "", "quote": "", "quote_sha256": "", "reviewer": ""}
    connection.execute(r.evidences.update().where(e.source_id == source_id).values(words))
    if proofs:
        retire_unused(change)
        change.finish()
    return change.counts["statements_retired"]
