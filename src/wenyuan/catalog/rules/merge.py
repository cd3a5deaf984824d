"""What a merge of rules changes, and the merge of a pack's nodes into the stored graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import sqlalchemy as sa

from wenyuan.catalog import schema as t
from wenyuan.catalog.dialects import next_seq
from wenyuan.catalog.documents import batches
from wenyuan.catalog.rules.graph_queries import VERSION_KEY
from wenyuan.catalog.rules.rows import alias_rows, node_row, packed, unpacked
from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.core.rules.model import Node

WORDING = ("rank", "sentence", "valid_from", "valid_until", "weight")
Row = Mapping[str, Any]


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

    def add(self, table: sa.Table, rows: Sequence[Row]) -> None:
        if rows:
            seq = self.seq
            self.connection.execute(table.insert(), [{**row, "seq": seq, "removed_seq": None} for row in rows])

    def remove(self, table: sa.Table, row_ids: Sequence[int]) -> None:
        for part in batches(row_ids):
            update = table.update().where(table.c.row_id.in_(part))
            self.connection.execute(update.values(removed_seq=self.seq))

    def revise(self, table: sa.Table, revised: Mapping[int, Row]) -> None:
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

    def live(self, table: sa.Table, column: sa.Column[Any], values: Iterable[Any]) -> Iterator[Row]:
        """Live rows with one of `values` in a column, in the order in which they were written."""
        for part in batches(list(values)):
            query = sa.select(table).where(column.in_(part), table.c.removed_seq.is_(None))
            rows = self.connection.execute(query.order_by(table.c.row_id)).mappings().all()
            yield from cast("Sequence[Row]", rows)


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
        revised: dict[int, Row] = {}
        added: list[Row] = []
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


def _merged_node(change: RulesChange, pack: str, held: Row, row: Row) -> Row | None:
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
