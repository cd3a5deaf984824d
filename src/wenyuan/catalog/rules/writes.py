"""Changes of the rules graph: packs and reviews."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.database import Database
from wenyuan.catalog.rules.merge import RulesChange, leave_nodes, merge_nodes, retire_unused
from wenyuan.catalog.rules.rows import packed
from wenyuan.catalog.rules.statement_merge import StatementMerge, lose_support
from wenyuan.catalog.sql import now
from wenyuan.core.errors import Conflict, InvalidRequest, NotFound, msg
from wenyuan.core.rules.model import Node, Statement

# Changing the rules graph: what packs bring, what people decide, and what goes with a source.


SCHEMA_VALUE = "rules/schema"
ReviewAction = Literal["approve", "reject", "retire"]
_STATUS = {"approve": "approved", "reject": "rejected", "retire": "retired"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesReport:
    """The result of an import.

    Attributes:
        statements_changed: Other words, another status, or more evidence.
        statements_retired: Left without evidence.
        conflicts: Keys of statements and nodes that another pack defines differently; the stored definition is kept.
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


@dataclass(frozen=True, slots=True, eq=False)
class RuleWrites:
    """Changes of the rules graph; each method is one transaction, and one change if anything differs."""

    database: Database

    def apply_rules(
        self,
        pack: str,
        *,
        nodes: Sequence[Node],
        statements: Sequence[Statement],
        prune: bool,
        schema_tree: Mapping[str, Any] | None = None,
    ) -> RulesReport:
        """Import a pack; importing the same content again changes nothing and makes no commit.

        What people decided in a review stays, until the pack that says a statement changes its wording.

        Args:
            prune: The pack is complete: its other stored evidence, nodes and aliases are removed.
            schema_tree: The schema of the library from now on; None: as it is.

        Raises:
            InvalidRequest: a statement has no evidence or is about an unknown node, or a node is given twice.
            CatalogBusy: another process is writing.
        """
        if not pack.strip():
            raise InvalidRequest("a pack needs a name")
        with self.database.changing(f"storing the rules of {pack}") as connection:
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
        self, statement_ids: Sequence[int], action: ReviewAction, *, actor: str, reason: str = "", seen: str = ""
    ) -> int:
        """Apply a review decision to statements, all or none; returns how many changed status.

        Args:
            seen: The status in which whoever decides has seen them; ``""``: whatever they are.

        Raises:
            Conflict: one of them has another status than `seen`.
            NotFound: there is no statement of a number.
            InvalidRequest: the action is unknown, or a statement without evidence is to be approved.
        """
        if action not in _STATUS:
            raise InvalidRequest(
                msg("{action} is no action: {status}", action=repr(action), status=", ".join(_STATUS))
            )
        ids = list(dict.fromkeys(statement_ids))
        with self.database.changing("reviewing statements") as connection:
            change = RulesChange(connection, "rules:review")
            held = {row["statement_id"]: row for row in change.live(t.statements, t.statements.c.statement_id, ids)}
            missing = [number for number in ids if number not in held]
            if missing:
                raise NotFound(msg("there are no statements {str}", str=", ".join(map(str, missing[:5]))))
            for number, row in held.items():
                if seen and row["status"] != seen:
                    raise Conflict(
                        msg(
                            "statement {number} is {status} meanwhile, and not {seen}",
                            number=number, status=row["status"], seen=seen,
                        ),
                        hint="look at it again, and at what was decided and by whom",
                    )  # fmt: skip
            status = _STATUS[action]
            # A statement retired for lack of evidence differs from one retired in a review.
            rows = [row for row in held.values() if row["status"] != status or row["restores"]]
            if action == "approve":
                _refuse_unsupported(change, [row["statement_id"] for row in rows])
            after = {"status": status, "restores": "", "reason": reason}
            change.revise(t.statements, {row["row_id"]: {**row, **after} for row in rows})
            if rows:
                decided = {"action": action, "actor": actor, "reason": reason, "at": now(), "seq": change.seq}
                connection.execute(
                    t.reviews.insert(),
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

    def clauses_read(self, source_id: str) -> frozenset[str]:
        """The clauses of a source that were read for rules, each as `mark_clauses_read` was given it."""
        c = t.clauses_read.c
        with self.database.reading("listing what was read for rules") as connection:
            return frozenset(connection.scalars(sa.select(c.key).where(c.source_id == source_id)))

    def mark_clauses_read(self, source_id: str, keys: Collection[str]) -> None:
        """Remember clauses of a source as read for rules; those that are remembered already stay."""
        c = t.clauses_read.c
        with self.database.changing("remembering what was read for rules") as connection:
            known = set(connection.scalars(sa.select(c.key).where(c.source_id == source_id, c.key.in_(keys))))
            new = [{"source_id": source_id, "key": key} for key in keys if key not in known]
            if new:
                connection.execute(t.clauses_read.insert(), new)


def _refuse_unsupported(change: RulesChange, ids: Sequence[int]) -> None:
    live = change.live(t.evidences, t.evidences.c.statement_id, ids)
    bare = sorted(set(ids) - {row["statement_id"] for row in live})
    if bare:
        raise InvalidRequest(
            msg("no evidence supports the statements {str}", str=", ".join(map(str, bare[:5]))),
            hint="import the pack that says them again",
        )


def _store_schema(change: RulesChange, tree: Mapping[str, Any]) -> bool:
    """Store the schema; returns whether it differs from the former one."""
    key, value = f"value/{SCHEMA_VALUE}", json.dumps(tree, ensure_ascii=False)
    table, connection = t.library, change.connection
    if connection.scalar(sa.select(table.c.value).where(table.c.key == key)) == value:
        return False
    connection.execute(table.delete().where(table.c.key == key))
    connection.execute(table.insert(), {"key": key, "value": value})
    return change.seq > 0


def drop_evidence_of(connection: sa.Connection, seq: int, source_id: str) -> int:
    """Remove a source's evidence, in the transaction that removes the source; returns the number of statements
    retired.

    The words of that evidence are overwritten, those of earlier versions, too: removal may be an order.
    """
    e = t.evidences.c
    change = RulesChange(connection, "", seq)
    query = sa.select(e.row_id, e.statement_id).where(e.source_id == source_id, e.removed_seq.is_(None))
    proofs = dict(connection.execute(query).all())
    lose_support(change, proofs, msg("the source {source_id} was removed", source_id=source_id))
    words = {"uri": "", "clause": "", "quote": "", "quote_sha256": "", "reviewer": ""}
    connection.execute(t.evidences.update().where(e.source_id == source_id).values(words))
    connection.execute(t.clauses_read.delete().where(t.clauses_read.c.source_id == source_id))
    if proofs:
        retire_unused(change)
        change.finish()
    return change.counts["statements_retired"]
