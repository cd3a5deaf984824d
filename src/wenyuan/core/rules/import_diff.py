"""The dry run of an import: differences between the live graph and a checked book.

An import is declarative for its pack: what the pack says no longer loses the pack's evidence, and what is left
without any is retired. What other packs support stays as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from wenyuan.core.rules.checking import CheckedBook
from wenyuan.core.rules.fair_cut import next_status
from wenyuan.core.rules.labels import condition_labels, kind_labels, relation_labels
from wenyuan.core.rules.model import EntryPlace, Evidence, Node, Statement
from wenyuan.core.rules.schema import Schema

_NODE_FIELDS = ("kind", "name", "labels", "aliases", "codes", "scope", "attributes")
_STATEMENT_FIELDS = ("strength", "sentence", "valid_from", "valid_until", "weight")
_SIGNS = {"added": "+", "changed": "~", "retired": "-", "conflicting": "!"}
_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "added": "added", "changed": "changed", "retired": "retired", "conflicting": "in conflict",
        "unchanged": "unchanged", "node": "nodes", "statement": "statements", "of": ", ",
    },
    "zh": {
        "added": "新增", "changed": "变更", "retired": "停用", "conflicting": "冲突", "unchanged": "不变",
        "node": "节点", "statement": "规则", "of": "，",
    },
}  # fmt: skip

_FIELDS = {
    "strength": "强制程度", "sentence": "句子", "valid_from": "生效日", "valid_until": "失效日", "weight": "权重",
    "status": "状态", "kind": "类别", "name": "名称", "labels": "名称译文", "aliases": "别名", "codes": "编码",
    "scope": "适用工程类型", "attributes": "属性",
}  # fmt: skip
_VALUES = {
    "mandatory": "强制", "recommended": "推荐", "informative": "提示", "proposed": "待审核", "approved": "已批准",
    "rejected": "已驳回", "retired": "已停用",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LiveNode:
    """A node of the graph, and the packs that brought it."""

    node: Node
    packs: frozenset[str]


@dataclass(frozen=True, slots=True)
class LiveStatement:
    """A statement of the graph; ``packs[i]`` brought ``statement.evidences[i]``.

    Attributes:
        pack: The pack whose wording it has; empty: that of its evidences.
        withheld: It waits for a review since its wording has changed, whatever its author says.
    """

    statement: Statement
    packs: tuple[str, ...]
    pack: str = ""
    withheld: bool = False

    def __post_init__(self) -> None:
        if len(self.packs) != len(self.statement.evidences):
            raise ValueError(f"{len(self.packs)} packs for {len(self.statement.evidences)} evidences")


@dataclass(frozen=True, slots=True)
class ImportChange:
    """One difference.

    Attributes:
        text: Shows it, with kinds, relations and parameters by their ids; ``labels`` by what they are called, by language.
        details: What is different, each as ``field: old → new`` or as a sign and an evidence.
    """

    kind: str
    key: str
    text: str
    details: tuple[str, ...] = ()
    place: EntryPlace = field(default=EntryPlace())
    labels: Mapping[str, str] = field(default_factory=dict, compare=False)

    def detail_labels(self, language: str) -> tuple[str, ...]:
        """The details in a language (``zh``, ``en``)."""
        return tuple(_in_chinese(one) for one in self.details) if language == "zh" else self.details


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """The effects of an import on the nodes and statements of its pack.

    Attributes:
        conflicting: Said by another pack in another way: the graph's stays.
        unchanged: Keys of what is the same in both.
    """

    added: tuple[ImportChange, ...] = ()
    changed: tuple[ImportChange, ...] = ()
    retired: tuple[ImportChange, ...] = ()
    conflicting: tuple[ImportChange, ...] = ()
    unchanged: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the import changes nothing."""
        return not (self.added or self.changed or self.retired)

    def lines(self, language: str = "en") -> list[str]:
        """The diff as lines for people: a summary, then each change with its sign (``+ ~ - !``) and its place."""
        words = _WORDS[language := "zh" if language.startswith("zh") else "en"]
        counts = [f"{words[name]} {len(getattr(self, name))}" for name in (*_SIGNS, "unchanged")]
        shown = [words["of"].join(counts)]
        for name, sign in _SIGNS.items():
            for change in getattr(self, name):
                where = f"  ({change.place})" if str(change.place) else ""
                shown.append(f"{sign} {change.labels.get(language, change.text)}{where}")
                shown += [f"    {detail}" for detail in change.detail_labels(language)]
        return shown


@dataclass(frozen=True, slots=True)
class _Shown:
    """The text of a node or statement, and its labels by language."""

    text: str
    labels: Mapping[str, str]


_Found = defaultdict[str, list[Any]]
"""The members of a `Diff` by name, while they are collected."""


def diff(
    nodes: Iterable[LiveNode],
    statements: Iterable[LiveStatement],
    checked: CheckedBook,
    *,
    prune: bool = True,
    schema: Schema | None = None,
) -> Diff:
    """Compare the live graph with a checked book.

    Args:
        nodes: All live nodes that the pack, the book or their statements touch (more do no harm).
        statements: Likewise; retired ones may be among them, or not.
        prune: Whether what the pack no longer says is taken back.
        schema: Has what kinds, relations and parameters are called.
    """
    live_nodes = {item.node.key: item for item in nodes}
    live = {item.statement.key: item for item in statements if item.statement.status != "retired"}
    said = {statement.key for statement in checked.statements}
    names = {key: item.node.name for key, item in live_nodes.items()} | {n.key: n.name for n in checked.nodes}
    shown = _Showing(schema or Schema(), names)
    found: _Found = defaultdict(list)
    for statement in checked.statements:
        _compare_statement(statement, live.get(statement.key), checked.pack, shown.statement(statement), found)
    gone: set[str] = set()
    if prune:
        for item in live.values():
            if item.statement.key not in said and checked.pack in item.packs:
                gone |= _take_back(item, checked.pack, shown.statement(item.statement), found)
    for node in checked.nodes:
        _compare_node(node, live_nodes.get(node.key), checked.pack, shown.node(node), found)
    if prune:
        used = {end for k, item in live.items() if k not in gone for end in (item.statement.src, item.statement.dst)}
        used |= {end for statement in checked.statements for end in (statement.src, statement.dst)}
        _retire_nodes(live_nodes, {node.key for node in checked.nodes} | used, checked.pack, shown, found)
    return Diff(**{name: tuple(found[name]) for name in (*_SIGNS, "unchanged")})


class _Showing:
    """Renders nodes and statements; nodes by the names that their author gave them."""

    def __init__(self, schema: Schema, names: Mapping[str, str]) -> None:
        self._schema = schema
        self._names = names

    def statement(self, statement: Statement) -> _Shown:
        src, dst = (self._names.get(end, end) for end in (statement.src, statement.dst))
        conditions = condition_labels(statement.condition, self._schema.parameters)

        def said(relation: str, condition: str) -> str:
            return f"{src} —{relation}→ {dst}" + (f" [{condition}]" if condition else "")

        relations = relation_labels(self._schema, statement.rel)
        labels = {tag: said(relation, conditions.get(tag, "")) for tag, relation in relations.items()}
        return _Shown(said(statement.rel, statement.condition), labels)

    def node(self, node: Node) -> _Shown:
        kinds = kind_labels(self._schema, node.kind)
        return _Shown(f"{node.kind}: {node.name}", {tag: f"{kind}: {node.name}" for tag, kind in kinds.items()})


def _compare_statement(new: Statement, live: LiveStatement | None, pack: str, shown: _Shown, found: _Found) -> None:
    if live is None:
        found["added"].append(ImportChange("statement", new.key, shown.text, (), new.place, shown.labels))
        return
    old = live.statement
    fields = _differences(old, new, _STATEMENT_FIELDS)
    foreign = [p for p in live.packs if p != pack]
    if fields and foreign:
        said = (*fields, f"as {', '.join(sorted(set(foreign)))} says")
        found["conflicting"].append(ImportChange("statement", new.key, shown.text, said, new.place, shown.labels))
    before = {_identity(e): e for e, p in zip(old.evidences, live.packs, strict=True) if p == pack}
    after = {_identity(e): e for e in new.evidences}
    details = [] if foreign else list(fields)
    mine = live.pack in ("", pack) or live.pack not in live.packs
    status = next_status(old.status, new.status, withheld=live.withheld, differs=bool(fields) and mine, mine=mine)
    details += [f"status: {old.status} → {status}"] if status != old.status else []
    details += [f"+ {_cited(after[i])}" for i in after if i not in before]
    details += [f"- {_cited(before[i])}" for i in before if i not in after]
    details += [f"~ {_cited(after[i])}" for i in after if i in before and after[i] != before[i]]
    if details:
        found["changed"].append(
            ImportChange("statement", new.key, shown.text, tuple(details), new.place, shown.labels)
        )
    elif not fields:
        found["unchanged"].append(new.key)


def _take_back(live: LiveStatement, pack: str, shown: _Shown, found: _Found) -> set[str]:
    """Remove this pack's evidence from a statement that it no longer contains; returns its key if no evidence is
    left.
    """
    key = live.statement.key
    lost = tuple(f"- {_cited(e)}" for e, p in zip(live.statement.evidences, live.packs, strict=True) if p == pack)
    if all(p == pack for p in live.packs):
        found["retired"].append(ImportChange("statement", key, shown.text, lost, labels=shown.labels))
        return {key}
    found["changed"].append(ImportChange("statement", key, shown.text, lost, labels=shown.labels))
    return set()


def _compare_node(new: Node, live: LiveNode | None, pack: str, shown: _Shown, found: _Found) -> None:
    """Compare a node; one that another pack brings too keeps that pack's values, while aliases belong to each pack."""
    if live is None:
        found["added"].append(ImportChange("node", new.key, shown.text, (), new.place, shown.labels))
        return
    foreign = sorted(live.packs - {pack})
    fields = _differences(live.node, new, [name for name in _NODE_FIELDS if not foreign or name != "aliases"])
    if fields and foreign and pack not in live.packs:
        said = (*fields, f"as {', '.join(foreign)} says")
        found["conflicting"].append(ImportChange("node", new.key, shown.text, said, new.place, shown.labels))
    elif fields:
        found["changed"].append(ImportChange("node", new.key, shown.text, fields, new.place, shown.labels))
    else:
        found["unchanged"].append(new.key)


def _retire_nodes(live: Mapping[str, LiveNode], kept: Set[str], pack: str, showing: _Showing, found: _Found) -> None:
    for key, item in live.items():
        if key not in kept and item.packs == {pack}:
            shown = showing.node(item.node)
            found["retired"].append(ImportChange("node", key, shown.text, labels=shown.labels))


def _differences(old: object, new: object, names: Iterable[str]) -> tuple[str, ...]:
    pairs = ((name, getattr(old, name), getattr(new, name)) for name in names)
    return tuple(f"{name}: {_plain(a)} → {_plain(b)}" for name, a, b in pairs if a != b)


def _in_chinese(detail: str) -> str:
    """A detail in Chinese: names of fields and their fixed values are translated."""
    name, colon, values = detail.partition(": ")
    old, arrow, new = values.partition(" → ")
    if colon and arrow and name in _FIELDS:
        fixed = _VALUES if name in ("strength", "status") else {}
        return f"{_FIELDS[name]}：{fixed.get(old, old)} → {fixed.get(new, new)}"
    if detail.startswith("as ") and detail.endswith(" says"):
        return f"以 {detail[3:-5]} 的说法为准"
    return detail


def _plain(value: object) -> str:
    if value in (None, "", (), {}):
        return "–"
    if isinstance(value, tuple):
        return ", ".join(str(getattr(item, "text", item)) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return str(value)


def _identity(evidence: Evidence) -> tuple[str, str, str, str]:
    return (evidence.source_id, evidence.uri, evidence.clause, evidence.quote)


def _cited(evidence: Evidence) -> str:
    return " ".join(filter(None, (evidence.source_id, evidence.clause or evidence.uri)))
