"""Merges a pack's content into the stored graph: rows are added and removed only where something differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.documents import batches
from wenyuan.catalog.rules import alias_rows, evidence_row, node_row, packed, statement_row, unpacked
from wenyuan.catalog.rules.graph import VERSION_KEY
from wenyuan.catalog.sql import next_seq
from wenyuan.core.addresses import without_clause
from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.core.rules import Evidence, Node, Statement, next_status

_WORDING = ("rank", "sentence", "valid_from", "valid_until", "weight")
_Row = Mapping[str, Any]


class RulesChange:
    """One change of the graph within a transaction; the commit number is taken when the first row is written."""

    def __init__(self, connection: sa.Connection, label: str, seq: int | None = None) -> None:
        self.connection = connection
        self.counts: Counter[str] = Counter()
        self.conflicts: list[str] = []
        self._label = label
        self._seq = seq

    @property
    def seq(self) -> int:
        if self._seq is None:
            self._seq = next_seq(self.connection, self._label)
        return self._seq

    @property
    def made(self) -> int | None:
        """The change's number; None when nothing was written."""
        return self._seq

    def add(self, table: sa.Table, rows: Sequence[_Row]) -> None:
        if rows:
            seq = self.seq
            self.connection.execute(table.insert(), [{**row, "seq": seq, "removed_seq": None} for row in rows])

    def remove(self, table: sa.Table, row_ids: Sequence[int]) -> None:
        for part in batches(row_ids):
            update = table.update().where(table.c.row_id.in_(part))
            self.connection.execute(update.values(removed_seq=self.seq))

    def revise(self, table: sa.Table, revised: Mapping[int, _Row]) -> None:
        """Replace the rows with the given row ids by new ones."""
        self.remove(table, list(revised))
        self.add(table, [{k: v for k, v in row.items() if k != "row_id"} for row in revised.values()])

    def finish(self) -> None:
        """Record a new version of the graph, if anything was written."""
        if self._seq is None:
            return
        version = t.library
        self.connection.execute(version.delete().where(version.c.key == VERSION_KEY))
        self.connection.execute(version.insert(), {"key": VERSION_KEY, "value": str(self._seq)})

    def highest(self, column: sa.Column[Any]) -> int:
        return int(self.connection.scalar(sa.select(sa.func.max(column))) or 0)

    def live(self, table: sa.Table, column: sa.Column[Any], values: Iterable[Any]) -> Iterator[_Row]:
        """Live rows with one of `values` in a column, in the order in which they were written."""
        for part in batches(list(values)):
            query = sa.select(table).where(column.in_(part), table.c.removed_seq.is_(None))
            rows = self.connection.execute(query.order_by(table.c.row_id)).mappings().all()
            yield from cast("Sequence[_Row]", rows)


# -- nodes --------------------------------------------------------------------------------------------------------


def merge_nodes(change: RulesChange, pack: str, nodes: Sequence[Node]) -> None:
    """Store a pack's nodes. The first pack to define a node decides its content; aliases belong to each pack."""
    wanted = {node.key: node for node in nodes}
    if len(wanted) < len(nodes):
        twice = [key for key, n in Counter(node.key for node in nodes).items() if n > 1]
        raise InvalidRequest(msg("nodes are given twice: {twice}", twice=", ".join(twice[:5])))
    highest = change.highest(t.nodes.c.node_id)
    for keys in batches(list(wanted)):
        held = {row["key"]: row for row in change.live(t.nodes, t.nodes.c.key, keys)}
        former = _former_numbers(change.connection, [key for key in keys if key not in held])
        revised: dict[int, _Row] = {}
        added: list[_Row] = []
        numbers: dict[str, int] = {}
        for key in keys:
            row = node_row(wanted[key])
            if key in held:
                numbers[key] = held[key]["node_id"]
                after = _merged_node(change, pack, held[key], row)
                if after is not None:
                    revised[held[key]["row_id"]] = after
            else:
                if key not in former:
                    highest += 1
                numbers[key] = former.get(key, highest)
                added.append({**row, "node_id": numbers[key], "packs": packed([pack])})
        change.revise(t.nodes, revised)
        change.add(t.nodes, added)
        other = _merge_aliases(change, pack, {numbers[key]: wanted[key] for key in keys})
        changed = {row["node_id"] for row in revised.values()} | (other - {row["node_id"] for row in added})
        change.counts["nodes_added"] += len(added)
        change.counts["nodes_changed"] += len(changed)


def _former_numbers(connection: sa.Connection, keys: Sequence[str]) -> Mapping[str, int]:
    """Numbers of retired nodes by key, to be reused when a node returns."""
    if not keys:
        return {}
    n = t.nodes.c
    return dict(connection.execute(sa.select(n.key, n.node_id).where(n.key.in_(keys)).distinct()).all())


def _merged_node(change: RulesChange, pack: str, held: _Row, row: _Row) -> _Row | None:
    packs = list(unpacked(held["packs"]))
    same = all(held[name] == value for name, value in row.items())
    if not same and packs and packs[0] != pack:
        change.conflicts.append(row["key"])
        row, same = {}, True
    if same and pack in packs:
        return None
    return {**held, **row, "packs": packed(packs if pack in packs else [*packs, pack])}


def _merge_aliases(change: RulesChange, pack: str, nodes: Mapping[int, Node]) -> set[int]:
    """Replace the pack's aliases of these nodes; returns the nodes whose aliases changed."""
    a = t.aliases.c
    wanted = {(number, *way): row for number, node in nodes.items() for way, row in alias_rows(node).items()}
    gone: dict[int, int] = {}
    for row in change.live(t.aliases, a.node_id, nodes):
        way = (row["node_id"], row["text"], row["language"], row["type"], row["weight"])
        if row["pack"] == pack and wanted.pop(way, None) is None:
            gone[row["row_id"]] = row["node_id"]
    change.remove(t.aliases, list(gone))
    change.add(t.aliases, [{**row, "node_id": way[0], "pack": pack} for way, row in wanted.items()])
    return {way[0] for way in wanted} | set(gone.values())


def leave_nodes(change: RulesChange, pack: str, kept: Sequence[Node]) -> None:
    """Withdraw the pack's nodes other than `kept`, with its aliases of them."""
    n = t.nodes.c
    keys = {node.key for node in kept}
    mine = n.packs.contains(packed([pack])[1:-1], autoescape=True)
    found = change.connection.execute(sa.select(t.nodes).where(n.removed_seq.is_(None), mine)).mappings().all()
    left = {}
    for row in found:
        packs = unpacked(row["packs"])
        if row["key"] not in keys and pack in packs:
            left[row["row_id"]] = {**row, "packs": packed([name for name in packs if name != pack])}
    change.revise(t.nodes, left)
    numbers = [row["node_id"] for row in left.values()]
    aliases = change.live(t.aliases, t.aliases.c.node_id, numbers)
    change.remove(t.aliases, [row["row_id"] for row in aliases if row["pack"] == pack])


def retire_unused(change: RulesChange) -> None:
    """Retire nodes that no pack defines and that no statement in use, or that could return to use, refers to."""
    n, s, e = t.nodes.c, t.statements.c, t.evidences.c
    supported = sa.exists().where(e.statement_id == s.statement_id, e.removed_seq.is_(None))
    standing = sa.and_(s.removed_seq.is_(None), sa.or_(s.status != "retired", supported.correlate(t.statements)))
    unused = sa.select(n.row_id).where(
        n.removed_seq.is_(None),
        n.packs == packed([]),
        ~sa.exists().where(s.src == n.node_id, standing).correlate(t.nodes),
        ~sa.exists().where(s.dst == n.node_id, standing).correlate(t.nodes),
    )
    gone = list(change.connection.scalars(unused))
    change.remove(t.nodes, gone)
    change.counts["nodes_retired"] += len(gone)


# -- statements ---------------------------------------------------------------------------------------------------


def _proof(evidence: Evidence | _Row) -> tuple[str, ...]:
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
        self._revised: dict[int, _Row] = {}
        self._added: list[_Row] = []
        self._proofs: list[_Row] = []
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
        proofs: dict[int, list[_Row]] = {row["statement_id"]: [] for row in held.values()}
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

    def _say_again(self, row: _Row, statement: Statement, proofs: Sequence[_Row], others: dict[int, int]) -> None:
        wording = statement_row(statement)
        differs = any(row[name] != wording[name] for name in _WORDING)
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

    def _support(self, statement_id: int, statement: Statement, own: Sequence[_Row]) -> bool:
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


def _next_status(row: _Row, said: str, *, differs: bool, mine: bool) -> tuple[str, str]:
    """The new status of a stored statement that a pack contains again, and the reason unless the pack itself decides."""
    before = row["restores"] or row["status"]
    withheld = before == _WITHHELD or _is_withheld(row)
    status = next_status(str(before), said, withheld=withheld, differs=differs, mine=mine)
    if status != "proposed" or not (withheld or (differs and before in ("rejected", "retired"))):
        return status, ""
    return status, row["reason"] if _is_withheld(row) else "other words than those that were decided on"


def _is_withheld(row: _Row) -> bool:
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
