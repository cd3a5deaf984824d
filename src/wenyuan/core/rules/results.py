"""Derived rules as sentences; rules, cases and templates in one list; and what an import of rules would change."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from wenyuan.core.errors import Fault, InvalidRequest, listed, msg
from wenyuan.core.model import ORIGIN_PRIORITY
from wenyuan.core.rules import Evidence, Node, Place, Statement, next_status
from wenyuan.core.rules.checking import Checked
from wenyuan.core.rules.conditions import compile_condition, described
from wenyuan.core.rules.inference import DerivedRule, GraphNode
from wenyuan.core.rules.names import condition_labels, joined_conditions, kind_labels, relation_label, relation_labels
from wenyuan.core.rules.schema import Schema, label_in
from wenyuan.core.text import sentences
from wenyuan.core.text.structure import CLAUSE
from wenyuan.core.text.summaries import compared

# A derived rule in words: as a sentence, and as the chain by which it was derived.


def rule_sentence(rule: DerivedRule, schema: Schema, language: str) -> str:
    """The statement's own sentence in a language; else one from its relation's template; else the labels."""
    edge = rule.steps[-1].edge
    relation = schema.relations.get(rule.relation)
    tags = (language, language.split("-", maxsplit=1)[0])
    own = next((edge.sentence[tag] for tag in tags if edge.sentence.get(tag)), "")
    if own:
        return own
    src, dst = _name(rule.subject, language), _name(rule.end, language)
    template = next((relation.sentence[tag] for tag in tags if relation.sentence.get(tag)), "") if relation else ""
    if template:
        # Filled in by its pieces, so that a name which holds "{dst}" stays as it is.
        return src.join(piece.replace("{dst}", dst) for piece in template.split("{src}"))
    return f"{src} —{relation_label(schema, rule.relation, language)}→ {dst}"


def used_of(rule: DerivedRule, schema: Schema, stated: Mapping[str, float | int]) -> dict[str, float | int]:
    """The parameters that occur in the rule's conditions."""
    conditions = {step.edge.condition for step in rule.steps if step.edge.condition}
    asked = {name for text in conditions for name in compile_condition(text, schema.parameters).names}
    return {name: value for name, value in stated.items() if name in asked}


def derivation(
    rule: DerivedRule, schema: Schema, language: str, stated: Mapping[str, float | int] = MappingProxyType({})
) -> str:
    """``深基坑开挖 —产生危险源→ 坍塌 —防控措施→ 分层开挖``, with the conditions on the way (see `condition_note`)."""
    parts = [_name(rule.start, language)]
    for step in rule.steps:
        parts.append(f"—{relation_label(schema, step.edge.rel, language)}→ {_name(step.edge.end, language)}")
    return " ".join(parts) + condition_note(rule, schema, language, stated)


def condition_note(
    rule: DerivedRule, schema: Schema, language: str, stated: Mapping[str, float | int] = MappingProxyType({})
) -> str:
    """``（条件：开挖深度 ≥ 5 m）``, and which parameters are needed to verify it; ``""`` without a condition.

    Args:
        stated: Its parameters that were taken from the question: ``（取自提问：depth_m = 6 m）``.
    """
    zh = language.split("-", maxsplit=1)[0] == "zh"
    joined = joined_conditions((step.edge.condition for step in rule.steps), schema.parameters, language)
    note = ""
    if joined:
        note = f"（条件：{joined}）" if zh else f" (condition: {joined})"
    if stated:
        told = ("；" if zh else "; ").join(value_of(name, value, schema, language) for name, value in stated.items())
        note += f"（取自提问：{told}）" if zh else f" (taken from the question: {told})"
    if rule.missing:
        needed = ("；" if zh else "; ").join(_parameter(schema, name, language) for name in rule.missing)
        note += f"（条件未核实：需要参数 {needed}）" if zh else f" (condition not verified: it needs {needed})"
    return note


def value_of(name: str, value: float, schema: Schema, language: str = "") -> str:
    """``depth_m = 6 m``; with a language, with the parameter's label: ``开挖深度 depth_m = 6 m``."""
    parameter = schema.parameters.get(name)
    label = label_in(parameter.labels, language, "") if parameter and language else ""
    unit = parameter.unit if parameter else ""
    return " ".join(filter(None, (label, name, "=", f"{value:.10g}", unit)))


def _name(node: GraphNode, language: str) -> str:
    return node.labels.get(language) or node.label(language.split("-", maxsplit=1)[0])


def _parameter(schema: Schema, name: str, language: str) -> str:
    parameter = schema.parameters.get(name)
    return described(parameter, language) if parameter else name


# One list out of two engines: mandatory rules above similar cases above templates.
#
# Order is (priority, −score): a rule outranks any case, whatever the scores. What two engines both found stands
# once: with the rule, where a case merely repeats it.


PRIORITY_FREE_GEN = 4
"""What a language model writes by itself; retrieval never gives it."""
_EDGE = "\x00"
_BESIDE_HAN = re.compile(r"\s+(?=[\u3400-\u9fff])|(?<=[\u3400-\u9fff])\s+")


@dataclass(slots=True)
class RetrievalItem:
    """One result of unified retrieval.

    Attributes:
        content: The text for the author of a document.
        source: Which engine it is from: ``kg_rule``, ``vector`` or ``template``.
        priority: 1 (a rule) … 4 (free generation); lower goes first.
        score: Relevance, 0..1.
        metadata: What else is known: ``uri``, ``path``, ``evidence``, ``collection``, ``file_id`` …

    Raises:
        InvalidRequest: on construction, listing every fault.
    """

    content: str
    source: str
    priority: int
    score: float
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        faults = []
        if not isinstance(self.content, str) or not self.content.strip():
            faults.append(Fault("content", "must be a text that is not blank"))
        if self.source not in ORIGIN_PRIORITY:
            faults.append(
                Fault(
                    "source",
                    msg(
                        "is {source}, not one of {origin_priority}",
                        source=repr(self.source),
                        origin_priority=", ".join(ORIGIN_PRIORITY),
                    ),
                )
            )
        if type(self.priority) is not int or not 1 <= self.priority <= PRIORITY_FREE_GEN:
            faults.append(
                Fault(
                    "priority",
                    msg(
                        "is {priority}, not an integer from 1 to {priority_free_gen}",
                        priority=repr(self.priority),
                        priority_free_gen=PRIORITY_FREE_GEN,
                    ),
                )
            )
        number = isinstance(self.score, (int, float)) and not isinstance(self.score, bool)
        if not number or not 0.0 <= self.score <= 1.0:  # false for NaN too
            faults.append(Fault("score", msg("is {score}, not a number from 0 to 1", score=repr(self.score))))
        if not isinstance(self.metadata, dict):
            faults.append(Fault("metadata", "must be a dict"))
        if faults:
            raise InvalidRequest(listed(faults), faults=tuple(faults))

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "content": self.content,
            "source": self.source,
            "priority": self.priority,
            "score": self.score,
            "metadata": dict(self.metadata),
        }


class Items(list[RetrievalItem]):
    """Results of one engine, with remarks.

    Attributes:
        cut: Limits that cut the answer, in words; empty: these are all.
        unmatched: Names that were given and are not known.
        reason: Why there is nothing, where there is nothing.
        notes: What else the caller should know.
        audit_id: Of the record of the question; ``""`` where there is none.
        stale_by: Seconds since the oldest change not yet in the index; 0 for none.
    """

    def __init__(
        self,
        items: Iterable[RetrievalItem] = (),
        *,
        cut: Iterable[str] = (),
        unmatched: Iterable[str] = (),
        reason: str = "",
        notes: Iterable[str] = (),
        audit_id: str = "",
        stale_by: float = 0.0,
    ) -> None:
        super().__init__(items)
        self.cut, self.unmatched, self.notes = tuple(cut), tuple(unmatched), tuple(notes)
        self.reason, self.audit_id, self.stale_by = reason, audit_id, stale_by


@dataclass(slots=True)
class UnifiedResponse:
    """The response of unified retrieval.

    Attributes:
        items: All, by (priority, −score).
        regulations: Those of them that are rules.
        cases: Those of them that are similar cases; templates are in `items` alone.
        query_context: What was asked, what was recognised, which engines answered, what was left out and why.
    """

    items: list[RetrievalItem] = field(default_factory=list)
    regulations: list[RetrievalItem] = field(default_factory=list)
    cases: list[RetrievalItem] = field(default_factory=list)
    query_context: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "items": [item.to_dict() for item in self.items],
            "regulations": [item.to_dict() for item in self.regulations],
            "cases": [item.to_dict() for item in self.cases],
            "query_context": dict(self.query_context),
        }


def united(found: Iterable[RetrievalItem], query_context: Mapping[str, Any] | None = None) -> UnifiedResponse:
    """Merge the results of the engines: no duplicates, rules first.

    Returns:
        Also how many items were left out as repetitions, under ``query_context["repeated"]``.
    """
    ordered = sorted(found, key=lambda item: (item.priority, -item.score))
    kept: list[RetrievalItem] = []
    rules: list[str] = []
    seen: set[str] = set()
    for item in ordered:
        same = _item_identity(item)
        if same & seen or (item.source != "kg_rule" and _repeats(item.content, rules)):
            continue
        seen |= same
        kept.append(item)
        if item.source == "kg_rule":
            rules.append(_said(item))
    context = dict(query_context or {})
    if len(kept) < len(ordered):
        context["repeated"] = len(ordered) - len(kept)
    return UnifiedResponse(
        items=kept,
        regulations=[item for item in kept if item.source == "kg_rule"],
        cases=[item for item in kept if item.source == "vector"],
        query_context=context,
    )


def _item_identity(item: RetrievalItem) -> set[str]:
    """The identity of an item: its text and its source."""
    passage = item.metadata.get("passage_id")
    text = compared(item.content) or item.content
    return {f"text {item.source == 'kg_rule'} {text}"} | ({f"passage {passage}"} if passage else set())


def _said(rule: RetrievalItem) -> str:
    """The texts of a rule: its sentence and the quotes of its evidence."""
    evidences: Sequence[Any] = rule.metadata.get("evidence") or ()
    quotes = [e["quote"] for e in evidences if isinstance(e, Mapping) and e.get("quote")]
    return "".join(form for text in (rule.content, *quotes) for form in _forms(text))


def _repeats(content: str, rules: Sequence[str]) -> bool:
    """Whether a rule contains every sentence of a text literally; one word more or less may reverse the meaning."""
    text = _unnumbered(content)
    forms = (_forms(text[start:end]) for start, end in sentences(text))
    asked = [pair for pair in forms if pair[0].strip(_EDGE)]  # marks alone say nothing
    return bool(asked) and any(all(any(form in said for form in pair) for pair in asked) for said in rules)


def _unnumbered(text: str) -> str:
    """A text without the clause number at its beginning: quotes seldom have it."""
    begins = CLAUSE.match(text.lstrip())
    return text.lstrip()[begins.end() :] if begins else text


def _forms(text: str) -> tuple[str, str]:
    """As it is compared, with a sign for every mark, so that it is found between marks only: 5m is not in 15m.

    Once with white space beside Chinese as a mark, once without: some write 6 个月, a PDF breaks lines anywhere.
    """
    marked, joined = (compared(form, _EDGE).strip(_EDGE) for form in (text, _BESIDE_HAN.sub("", text)))
    return f"{_EDGE}{marked}{_EDGE}", f"{_EDGE}{joined}{_EDGE}"


# The dry run of an import: differences between the live graph and a checked book.
#
# An import is declarative for its pack: what the pack says no longer loses the pack's evidence, and what is left
# without any is retired. What other packs support stays as it is.

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
class Change:
    """One difference.

    Attributes:
        text: Shows it, with kinds, relations and parameters by their ids; ``labels`` by what they are called, by language.
        details: What is different, each as ``field: old → new`` or as a sign and an evidence.
    """

    kind: str
    key: str
    text: str
    details: tuple[str, ...] = ()
    place: Place = field(default=Place())
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

    added: tuple[Change, ...] = ()
    changed: tuple[Change, ...] = ()
    retired: tuple[Change, ...] = ()
    conflicting: tuple[Change, ...] = ()
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


@dataclass(slots=True)
class _Found:
    added: list[Change] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    retired: list[Change] = field(default_factory=list)
    conflicting: list[Change] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)


def diff(
    nodes: Iterable[LiveNode],
    statements: Iterable[LiveStatement],
    checked: Checked,
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
    found = _Found()
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
    return Diff(**{name: tuple(getattr(found, name)) for name in (*_SIGNS, "unchanged")})


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
        found.added.append(Change("statement", new.key, shown.text, (), new.place, shown.labels))
        return
    old = live.statement
    fields = _differences(old, new, _STATEMENT_FIELDS)
    foreign = [p for p in live.packs if p != pack]
    if fields and foreign:
        said = (*fields, f"as {', '.join(sorted(set(foreign)))} says")
        found.conflicting.append(Change("statement", new.key, shown.text, said, new.place, shown.labels))
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
        found.changed.append(Change("statement", new.key, shown.text, tuple(details), new.place, shown.labels))
    elif not fields:
        found.unchanged.append(new.key)


def _take_back(live: LiveStatement, pack: str, shown: _Shown, found: _Found) -> set[str]:
    """Remove this pack's evidence from a statement that it no longer contains; returns its key if no evidence is
    left.
    """
    key = live.statement.key
    lost = tuple(f"- {_cited(e)}" for e, p in zip(live.statement.evidences, live.packs, strict=True) if p == pack)
    if all(p == pack for p in live.packs):
        found.retired.append(Change("statement", key, shown.text, lost, labels=shown.labels))
        return {key}
    found.changed.append(Change("statement", key, shown.text, lost, labels=shown.labels))
    return set()


def _compare_node(new: Node, live: LiveNode | None, pack: str, shown: _Shown, found: _Found) -> None:
    """Compare a node; one that another pack brings too keeps that pack's values, while aliases belong to each pack."""
    if live is None:
        found.added.append(Change("node", new.key, shown.text, (), new.place, shown.labels))
        return
    foreign = sorted(live.packs - {pack})
    fields = _differences(live.node, new, [name for name in _NODE_FIELDS if not foreign or name != "aliases"])
    if fields and foreign and pack not in live.packs:
        said = (*fields, f"as {', '.join(foreign)} says")
        found.conflicting.append(Change("node", new.key, shown.text, said, new.place, shown.labels))
    elif fields:
        found.changed.append(Change("node", new.key, shown.text, fields, new.place, shown.labels))
    else:
        found.unchanged.append(new.key)


def _retire_nodes(live: Mapping[str, LiveNode], kept: Set[str], pack: str, showing: _Showing, found: _Found) -> None:
    for key, item in live.items():
        if key not in kept and item.packs == {pack}:
            shown = showing.node(item.node)
            found.retired.append(Change("node", key, shown.text, labels=shown.labels))


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
