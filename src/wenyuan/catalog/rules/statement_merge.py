"""Merge a pack's statements into the stored graph: rows are added and removed only where something differs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.documents import batches
from wenyuan.catalog.rules.merge import WORDING, Row, RulesChange
from wenyuan.catalog.rules.rows import evidence_row, statement_row
from wenyuan.core.anchors import without_clause
from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.core.rules.fair_cut import next_status
from wenyuan.core.rules.model import Evidence, Statement


def _proof(evidence: Evidence | Row) -> tuple[str, ...]:
    """Identity of an evidence within one statement and one pack."""
    if isinstance(evidence, Evidence):
        return evidence.source_id, evidence.uri, evidence.clause, evidence.quote_sha256
    uri = without_clause(evidence["uri"], evidence["clause"])  # earlier versions made the clause an anchor
    return evidence["source_id"], uri, evidence["clause"], evidence["quote_sha256"]


class StatementMerge:
    """Merges one pack's statements into the graph."""

    def __init__(self, change: RulesChange, pack: str) -> None:
        self._change = change
        self._pack = pack
        self._highest = change.highest(t.statements.c.statement_id)
        self._revised: dict[int, Row] = {}
        self._added: list[Row] = []
        self._proofs: list[Row] = []
        self._outdated: list[int] = []

    def merge(self, statements: Iterable[Statement], *, prune: bool) -> None:
        """Store the statements. With `prune`, the pack's other evidence is removed, and statements that lose all
        support are retired.

        Raises:
            InvalidRequest: a statement has no evidence, or is about a node that there is not.
        """
        wanted = self._united(statements)
        others = self._all_proofs() if prune else {}
        for keys in batches(list(wanted)):
            self._merge_piece({key: wanted[key] for key in keys}, others)
        self._change.counts["evidences_removed"] += len(others)
        lose_support(self._change, others, f"the pack {self._pack} no longer says it")

    def _united(self, statements: Iterable[Statement]) -> dict[str, Statement]:
        found: dict[str, Statement] = {}
        bare = []
        for statement in statements:
            key = statement.key
            first = found.setdefault(key, statement)
            if not statement.evidences:
                bare.append(f"{statement.src} {statement.rel} {statement.dst}")
            if first is not statement:
                if statement_row(first) != statement_row(statement):
                    self._change.conflicts.append(key)
                found[key] = replace(first, evidences=(*first.evidences, *statement.evidences))
        if bare:
            raise InvalidRequest(
                msg("{count} statements have no evidence: {bare}", count=len(bare), bare="; ".join(bare[:5]))
            )
        return found

    def _all_proofs(self) -> dict[int, int]:
        e = t.evidences.c
        query = sa.select(e.row_id, e.statement_id).where(e.pack == self._pack, e.removed_seq.is_(None))
        return dict(self._change.connection.execute(query).all())

    def _merge_piece(self, wanted: Mapping[str, Statement], others: dict[int, int]) -> None:
        change = self._change
        held = {row["key"]: row for row in change.live(t.statements, t.statements.c.key, wanted)}
        numbers = _node_numbers(change, wanted.values())
        proofs: dict[int, list[Row]] = {row["statement_id"]: [] for row in held.values()}
        for proof in change.live(t.evidences, t.evidences.c.statement_id, list(proofs)):
            proofs[proof["statement_id"]].append(proof)
        for key, statement in wanted.items():
            row = held.get(key)
            if row is None:
                self._add(key, statement, numbers)
            else:
                self._say_again(row, statement, proofs[row["statement_id"]], others)
        self._write()

    def _add(self, key: str, statement: Statement, numbers: Mapping[str, int]) -> None:
        self._highest += 1
        self._added.append(
            {
                **statement_row(statement),
                "statement_id": self._highest,
                "key": key,
                "src": numbers[statement.src],
                "rel": statement.rel,
                "dst": numbers[statement.dst],
                "condition": statement.condition,
                "status": statement.status,
                "restores": "",
                "reason": "",
                "pack": self._pack,
            }
        )
        self._support(self._highest, statement, [])

    def _say_again(self, row: Row, statement: Statement, proofs: Sequence[Row], others: dict[int, int]) -> None:
        wording = statement_row(statement)
        differs = any(row[name] != wording[name] for name in WORDING)
        mine = row["pack"] == self._pack or all(proof["pack"] != row["pack"] for proof in proofs)
        if differs and not mine:
            self._change.conflicts.append(row["key"])
            differs = False
        own = [proof for proof in proofs if proof["pack"] == self._pack]
        for proof in own:
            if _proof(proof) in {_proof(e) for e in statement.evidences}:
                others.pop(proof["row_id"], None)
        supported = self._support(row["statement_id"], statement, own)
        status, reason = _next_status(row, statement.status, differs=differs, mine=mine)
        if differs or status != row["status"]:
            words = {**wording, "pack": self._pack} if differs else {}
            self._revised[row["row_id"]] = {**row, **words, "status": status, "restores": "", "reason": reason}
        changed = supported or row["row_id"] in self._revised
        self._change.counts["statements_changed" if changed else "statements_unchanged"] += 1

    def _support(self, statement_id: int, statement: Statement, own: Sequence[Row]) -> bool:
        """Collect the evidence rows that are new or differ; returns whether there are any."""
        held = {_proof(proof): proof for proof in own}
        before = len(self._proofs)
        for identity, evidence in {_proof(e): e for e in statement.evidences}.items():
            known = held.get(identity)
            if known is not None:
                stored = (known["trust"], known["reviewer"], bool(known["verified"]))
                if stored == (evidence.trust, evidence.reviewer, evidence.verified):
                    continue
                self._outdated.append(known["row_id"])
            self._proofs.append({**evidence_row(evidence), "statement_id": statement_id, "pack": self._pack})
        return len(self._proofs) > before

    def _write(self) -> None:
        change = self._change
        change.revise(t.statements, self._revised)
        change.add(t.statements, self._added)
        change.remove(t.evidences, self._outdated)
        change.add(t.evidences, self._proofs)
        change.counts["statements_added"] += len(self._added)
        change.counts["evidences_added"] += len(self._proofs)
        change.counts["evidences_removed"] += len(self._outdated)
        self._revised, self._added, self._proofs, self._outdated = {}, [], [], []


def _node_numbers(change: RulesChange, statements: Iterable[Statement]) -> Mapping[str, int]:
    keys = dict.fromkeys(key for statement in statements for key in (statement.src, statement.dst))
    found = {row["key"]: row["node_id"] for row in change.live(t.nodes, t.nodes.c.key, keys)}
    missing = [key for key in keys if key not in found]
    if missing:
        raise InvalidRequest(
            msg(
                "statements are about {count} nodes that there are not: {missing}",
                count=len(missing),
                missing=", ".join(missing[:5]),
            )
        )
    return found


_WITHHELD = "withheld"  # restores: proposed by us, not by its author; only people may approve it


def _next_status(row: Row, said: str, *, differs: bool, mine: bool) -> tuple[str, str]:
    """The new status of a stored statement that a pack contains again, and the reason unless the pack itself decides."""
    before = row["restores"] or row["status"]
    withheld = before == _WITHHELD or _is_withheld(row)
    status = next_status(str(before), said, withheld=withheld, differs=differs, mine=mine)
    if status != "proposed" or not (withheld or (differs and before in ("rejected", "retired"))):
        return status, ""
    return status, row["reason"] if _is_withheld(row) else "other words than those that were decided on"


def _is_withheld(row: Row) -> bool:
    return row["status"] == "proposed" and bool(row["reason"])


def lose_support(change: RulesChange, proofs: Mapping[int, int], reason: str) -> None:
    """Remove evidence, by row id of its statement; a statement left without any is retired until it is supported
    again.
    """
    change.remove(t.evidences, list(proofs))
    touched = list(dict.fromkeys(proofs.values()))
    for part in batches(touched):
        live = change.live(t.evidences, t.evidences.c.statement_id, part)
        supported = {row["statement_id"] for row in live}
        rows = change.live(t.statements, t.statements.c.statement_id, [n for n in part if n not in supported])
        retired = {
            row["row_id"]: {
                **row,
                "status": "retired",
                "restores": _WITHHELD if _is_withheld(row) else row["status"],
                "reason": reason,
            }
            for row in rows
            if row["status"] != "retired"
        }
        change.revise(t.statements, retired)
        change.counts["statements_retired"] += len(retired)
