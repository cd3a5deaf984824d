"""Nodes that a text was linked to → the rules that hold for them, each with the path by which it was derived.

A walk goes hop by hop with all its paths together, so that its cost is a few reads of the graph whatever the number
of nodes. A path never meets a node twice, and every limit that cuts something is named in the result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from wenyuan.core.errors import CatalogError, InvalidRequest, did_you_mean, msg
from wenyuan.core.ports import Deadline
from wenyuan.core.rules.conditions import Condition, checked_parameters, compile_condition
from wenyuan.core.rules.fair_cut import kept_fairly
from wenyuan.core.rules.graph import Edge, Graph, GraphNode, Support, View
from wenyuan.core.rules.model import Strength
from wenyuan.core.rules.schema import InferenceLimits, Pattern, Schema
from wenyuan.core.text.folding import fold

STRENGTHS: Mapping[Strength, int] = {"mandatory": 0, "recommended": 1, "informative": 2}
"""Rank of a rule by its strength: 0 comes first."""

REVISION = 5
"""Another number whenever the same graph gives other rules: an answer that was recorded under another one may differ.

2: a measure against two hazards stands under both. 3: what a question asks for ranks the rules, and the values that it
states are those of parameters. 4: conditions are told by the labels of their parameters. 5: what a question means of sentences, ends and subjects ranks the rules.
"""
_TRUST_FACTOR = {1: 0.6, 2: 0.7, 3: 0.8, 4: 0.9, 5: 1.0}
_UNVERIFIED = 0.8
_INHERITED = 0.9
_COMPONENT = "rules inference"


@dataclass(frozen=True, slots=True)
class Start:
    """A start node; ``confidence`` (0..1) that the text means it."""

    node_id: int
    confidence: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.confidence <= 1.0:  # refuses NaN too
            raise ValueError(f"confidence {self.confidence!r} is not in 0..1")


@dataclass(frozen=True, slots=True)
class Step:
    """One statement of a path, and its node; ``inherited``: a step to the node that rules are inherited from."""

    edge: Edge
    src: GraphNode
    inherited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedRule:
    """A rule that holds for `start`, and its derivation.

    Attributes:
        group: Under which the pattern collects it; ``relation`` is that of the last step.
        end: What is required; ``subject`` what it is required of: the source of the last step.
        score: 0..1; see `rule_score`.
        strength: Of the last step, as are ``evidences``.
        state: ``always`` when no step has a condition, ``unverified`` when one is not known to be met.
        missing: Parameters without which that is not known.
        depth: Steps of inheritance.
        others: The other paths to the same end from the same subject in this group, best first. What a start says itself
            and what it inherits are of one subject there: the start.
    """

    group: str
    relation: str
    start: GraphNode
    end: GraphNode
    subject: GraphNode
    steps: tuple[Step, ...]
    score: float
    strength: Strength
    state: Literal["met", "unverified", "always"]
    missing: tuple[str, ...]
    depth: int
    evidences: tuple[Support, ...]
    others: tuple[tuple[Step, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """The derived rules, by strength and falling score, and remarks on the traversal.

    Attributes:
        unmatched: Starts that are no live node, or of a kind with which no pattern starts.
        out_of_scope: Starts that are limited to another scope.
        truncated: What a limit has cut, in words; empty: these are all rules.
        statements_seen: How many statements were read.
        mandatory_left: The mandatory statements that `max_results` has cut.
    """

    rules: tuple[DerivedRule, ...]
    unmatched: tuple[int, ...] = ()
    out_of_scope: tuple[GraphNode, ...] = ()
    truncated: tuple[str, ...] = ()
    statements_seen: int = 0
    mandatory_left: frozenset[int] = frozenset()


def scope_names(node: GraphNode) -> frozenset[str]:
    """All names by which other nodes may refer to this one as their scope, for `infer`."""
    return frozenset((node.key, node.name, *node.labels.values()))


def rule_score(
    *, confidence: float, weights: Sequence[float], trusts: Sequence[int], unverified: bool, depth: int
) -> float:
    """``confidence × mean(weights) × trust factor × (.8 if unverified) × .9^depth``, 0..1.

    The trust factor is that of the weakest step: .6, .7, .8, .9, 1.0 for trust 1..5. See section 6 of the design.
    """
    mean = sum(weights) / len(weights) if weights else 1.0
    factor = _TRUST_FACTOR[min(trusts, default=5)]
    return confidence * mean * factor * (_UNVERIFIED if unverified else 1.0) * _INHERITED**depth


def infer(  # noqa: PLR0913  (what is asked, of what, within which bounds)
    graph: Graph,
    schema: Schema,
    starts: Sequence[Start],
    *,
    view: View,
    parameters: Mapping[str, object] | None = None,
    scope: str | Collection[str] | None = None,
    pattern: str | None = None,
    deadline: Deadline,
    limits: InferenceLimits | None = None,
) -> Inference:
    """Derive the rules that hold for the start nodes.

    Args:
        parameters: Of the case (``{"depth_m": 6}``). One that is undeclared does not matter.
        scope: The engineering type (or whatever limits nodes) as key, name or label, or several ways to write it
            (`scope_names`); nodes that are limited to others are left out. None: nothing is.
        pattern: Follow this one only; None: every one that starts with the kind of a start.
        limits: Instead of the schema's.

    Raises:
        InvalidRequest: no such pattern, or a parameter of the wrong type.
        EngineTimeout: the deadline passed.
        CatalogError: a statement has a condition that the schema does not allow.
        KnowledgeError: the graph could not answer.
    """
    if pattern is not None and pattern not in schema.patterns:
        raise InvalidRequest(
            msg(
                "no such pattern: {pattern}{near}",
                pattern=repr(pattern),
                near=did_you_mean(pattern, schema.patterns),
            )
        )
    walk = _Walk(
        graph, schema, view, checked_parameters(schema.parameters, parameters or {}), _scope(scope, schema.scope_kind), deadline,
        limits or schema.limits,
    )  # fmt: skip
    confidence: dict[int, float] = {}
    for start in starts:
        confidence[start.node_id] = max(start.confidence, confidence.get(start.node_id, 0.0))
    deadline.check(_COMPONENT)
    nodes = graph.nodes(sorted(confidence), deadline=deadline) if confidence else {}
    allowed = {i: node for i, node in nodes.items() if walk.in_scope(node)}
    chosen = [schema.patterns[pattern]] if pattern is not None else list(schema.patterns.values())
    for each in chosen:
        walk.follow(each, [_Path(n, confidence[i]) for i, n in sorted(allowed.items()) if n.kind == each.start])
    kinds = {each.start for each in chosen}
    rules, left = walk.rules()
    return Inference(
        rules=rules,
        unmatched=tuple(i for i in sorted(confidence) if i not in nodes or nodes[i].kind not in kinds),
        out_of_scope=tuple(nodes[i] for i in sorted(nodes.keys() - allowed.keys())),
        truncated=tuple(dict.fromkeys(walk.cuts)),
        statements_seen=len(walk.seen),
        mandatory_left=left,
    )


def _scope(scope: str | Collection[str] | None, kind: str) -> frozenset[str]:
    names = [scope] if isinstance(scope, str) else scope or ()
    return frozenset(_scope_form(name, kind) for name in names if name.strip())


def _scope_form(name: str, kind: str) -> str:
    """The normal form of a scope name: ``kind:name`` of packs and the key ``kind/name`` are the same."""
    folded, kind = fold(name).strip(), fold(kind)
    return folded.removeprefix(f"{kind}/").removeprefix(f"{kind}:").strip() if kind else folded


@dataclass(frozen=True)
class _Path:
    """A start node and the steps taken from it."""

    start: GraphNode
    confidence: float
    steps: tuple[Step, ...] = ()
    missing: frozenset[str] = frozenset()

    @property
    def end(self) -> GraphNode:
        return self.steps[-1].edge.end if self.steps else self.start

    @property
    def statement_id(self) -> int:
        """The statement of the last step."""
        return self.steps[-1].edge.statement_id

    @property
    def subject(self) -> int:
        """The node that the last step is about; the start, if it is inherited."""
        last = self.steps[-1]
        of_the_start = all(step.inherited for step in self.steps[:-1])
        return self.start.node_id if of_the_start else last.src.node_id

    @property
    def depth(self) -> int:
        return sum(step.inherited for step in self.steps)

    @cached_property
    def score(self) -> float:
        return rule_score(
            confidence=self.confidence,
            weights=[step.edge.weight for step in self.steps],
            trusts=[step.edge.trust for step in self.steps],
            unverified=bool(self.missing),
            depth=self.depth,
        )

    @cached_property
    def order(self) -> tuple[int, float, tuple[int, ...], int]:
        """Sort key: best first, independent of the order in which the graph returns statements."""
        rank = STRENGTHS[self.steps[-1].edge.strength] if self.steps else 0
        return rank, -self.score, tuple(step.edge.statement_id for step in self.steps), self.start.node_id

    def on(self, edge: Edge, missing: frozenset[str], inherited: bool) -> _Path | None:
        """The path extended by one step; None if that would make a cycle."""
        if edge.end.node_id == self.start.node_id or any(s.edge.end.node_id == edge.end.node_id for s in self.steps):
            return None
        steps = (*self.steps, Step(edge, self.end, inherited))
        return _Path(self.start, self.confidence, steps, self.missing | missing)


Chain = tuple[str, ...]


@dataclass(slots=True)
class _Walk:
    """The state of one inference."""

    graph: Graph
    schema: Schema
    view: View
    parameters: Mapping[str, object]
    scope: frozenset[str]
    deadline: Deadline
    limits: InferenceLimits
    cuts: list[str] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    conditions: dict[str, Condition] = field(default_factory=dict)
    found: dict[tuple[str, int, int, int], list[_Path]] = field(default_factory=lambda: defaultdict(list))

    def in_scope(self, node: GraphNode) -> bool:
        kind = self.schema.scope_kind
        return not self.scope or not node.scope or any(_scope_form(name, kind) in self.scope for name in node.scope)

    def follow(self, pattern: Pattern, starts: list[_Path]) -> None:
        """Follow one pattern. Chains with a common prefix share its hops."""
        frontier: dict[Chain, list[_Path]] = {(): self.inherited(pattern, starts)}
        chains = set(pattern.collect.values())
        for length in range(1, max(map(len, chains), default=0) + 1):
            wanted = sorted({chain[:length] for chain in chains if len(chain) >= length})
            frontier = self.hop(frontier, wanted)
            for group, chain in pattern.collect.items():
                for path in frontier.get(chain, ()):
                    self.found[group, path.start.node_id, path.subject, path.end.node_id].append(path)

    def inherited(self, pattern: Pattern, starts: list[_Path]) -> list[_Path]:
        """The start nodes, and the best shortest path to each node whose rules they inherit."""
        inherit = pattern.inherit
        level, all_paths = starts, list(starts)
        reached = {(path.start.node_id, path.start.node_id) for path in starts}
        for _ in range(inherit.max_depth if inherit else 0):
            edges = self.edges(level, inherit.via if inherit else (), msg("inheritance of {name}", name=pattern.name))
            following = self.extended(level, edges, msg("inheritance of {name}", name=pattern.name), inherited=True)
            level = []
            for path in following:  # best first
                if (path.start.node_id, path.end.node_id) not in reached:
                    reached.add((path.start.node_id, path.end.node_id))
                    level.append(path)
            all_paths += level
        return all_paths

    def hop(self, frontier: Mapping[Chain, list[_Path]], wanted: Sequence[Chain]) -> dict[Chain, list[_Path]]:
        """Advance all chains by one step: one read, or one per relation if that was cut off."""
        relations = sorted({chain[-1] for chain in wanted})
        by_relation = {
            r: [path for chain in wanted if chain[-1] == r for path in frontier.get(chain[:-1], ())]
            for r in relations
        }
        together = [path for paths in by_relation.values() for path in paths]
        edges = self.read(together, relations)
        if len(edges) > self.limits.max_frontier:
            edges = [e for r in relations for e in self.edges(by_relation[r], (r,), msg("frontier of {r}", r=r))]
        following = {}
        for chain in wanted:
            usable = [edge for edge in edges if edge.rel == chain[-1]]
            following[chain] = self.extended(
                frontier.get(chain[:-1], []), usable, msg("frontier of {r}", r=chain[-1])
            )
        return following

    def edges(self, paths: Iterable[_Path], relations: Sequence[str], what: str) -> list[Edge]:
        """At most `max_frontier` statements, the strongest first; a cut is recorded."""
        edges = self.read(paths, relations)
        if len(edges) > self.limits.max_frontier:
            self.cuts.append(msg("{what} cut at {most}", what=what, most=self.limits.max_frontier))
        edges.sort(key=lambda edge: (STRENGTHS[edge.strength], -edge.weight, edge.statement_id))
        return edges[: self.limits.max_frontier]

    def read(self, paths: Iterable[_Path], relations: Sequence[str]) -> list[Edge]:
        nodes = sorted({path.end.node_id for path in paths})
        if not nodes or not relations:
            return []
        self.deadline.check(_COMPONENT)
        most = self.limits.max_frontier
        edges = self.graph.edges(nodes, relations, view=self.view, limit=most, deadline=self.deadline)
        self.seen.update(edge.statement_id for edge in edges)
        return list(edges)

    def extended(
        self, paths: Sequence[_Path], edges: Sequence[Edge], what: str, *, inherited: bool = False
    ) -> list[_Path]:
        """All one-step extensions of the paths, best first, at most `max_frontier`; a cut is recorded."""
        onward: dict[int, list[tuple[Edge, frozenset[str]]]] = defaultdict(list)
        for edge in edges:
            missing = self.missing(edge)
            if missing is not None and self.in_scope(edge.end):
                onward[edge.src].append((edge, missing))
        for leaving in onward.values():
            leaving.sort(key=lambda leave: (STRENGTHS[leave[0].strength], -leave[0].weight, leave[0].statement_id))
        following: list[_Path] = []
        for path in sorted(paths, key=lambda p: p.order):
            self.deadline.check(_COMPONENT)
            for edge, missing in onward.get(path.end.node_id, ()):
                longer = path.on(edge, missing, inherited)
                if longer is not None and len(following) == self.limits.max_frontier:
                    self.cuts.append(msg("{what} cut at {most}", what=what, most=self.limits.max_frontier))
                    return sorted(following, key=lambda p: p.order)
                if longer is not None:
                    following.append(longer)
        return sorted(following, key=lambda p: p.order)

    def missing(self, edge: Edge) -> frozenset[str] | None:
        """Parameters that the step's condition lacks; empty if it is met or absent, None if it is not met."""
        if not edge.condition:
            return frozenset()
        if edge.condition not in self.conditions:
            try:
                self.conditions[edge.condition] = compile_condition(edge.condition, self.schema.parameters)
            except InvalidRequest as error:
                raise CatalogError(
                    msg(
                        "statement {statement_id} does not fit the schema: {message}",
                        statement_id=edge.statement_id,
                        message=error.message,
                    ),
                    hint="import the pack again that says it",
                ) from error
        outcome = self.conditions[edge.condition].check(self.parameters)
        return None if outcome.state == "not_met" else frozenset(outcome.missing)

    def rules(self) -> tuple[tuple[DerivedRule, ...], frozenset[int]]:
        """The best path for each subject and end, in order; and the mandatory statements that were cut off.

        At most `max_results` statements, fairly for every start; a cut is noted.
        """
        best = []
        for (group, *_), paths in self.found.items():
            distinct = {tuple(step.edge.statement_id for step in path.steps): path for path in paths}
            first, *others = sorted(distinct.values(), key=lambda p: p.order)
            best.append((first, group, others))
        best.sort(key=lambda one: (*one[0].order, one[1]))
        kept = kept_fairly(
            best,
            self.limits.max_results,
            statement=lambda one: one[0].statement_id,
            owners=lambda one: (one[0].start.node_id,),
        )
        cut = [path.steps[-1].edge for path, *_ in best if path.statement_id not in kept]
        if cut:
            self.cuts.append(msg("rules cut at {max_results}", max_results=self.limits.max_results))
        left = frozenset(edge.statement_id for edge in cut if not STRENGTHS[edge.strength])
        rules = (_rule(group, path, others) for path, group, others in best if path.statement_id in kept)
        return tuple(rules), left


def _rule(group: str, path: _Path, others: Iterable[_Path]) -> DerivedRule:
    last = path.steps[-1]
    conditional = any(step.edge.condition for step in path.steps)
    return DerivedRule(
        group=group,
        relation=last.edge.rel,
        start=path.start,
        end=path.end,
        subject=last.src,
        steps=path.steps,
        score=path.score,
        strength=last.edge.strength,
        state="unverified" if path.missing else "met" if conditional else "always",
        missing=tuple(sorted(path.missing)),
        depth=path.depth,
        evidences=last.edge.evidences,
        others=tuple(other.steps for other in others),
    )
