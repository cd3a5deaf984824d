"""What a question means of what the rules say, compared by vectors: of each rule its sentence, its end and its subject."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wenyuan.core.ports import Deadline
from wenyuan.core.rules.graph import Graph, GraphNode, View
from wenyuan.core.rules.inference import DerivedRule
from wenyuan.core.text.folding import has_han
from wenyuan.service.rules.graph_names import KnownGraph
from wenyuan.service.rules.name_vectors import NameVectors, Nearness

# A question in daily speech seldom has the words of a rule. It lies near the rule's sentence, near a name of what the
# rule leads to, or near one of what it is about: the nearest of them counts as what the rule says. The three together tell
# more than each of them. What a question
# names is a start in any case; a rule of something else is added where it is clearly nearer.

_END, _SUBJECT = 0.6, 0.5  # of the name's likeness, beside that of what is nearest
_BY_NAMES = (
    0.5  # how far names count instead of sentences, among rules of what is named: their sentences tell them apart
)
_NAMED = 0.3  # of what a subject's name is nearer by, for a sentence that would name it
_HAN, _LATIN = 1.022, 0.75  # of `search.similar_names`: from here on a rule is meant
_CLEARLY = 0.035  # by which a rule of something that is not named must be nearer than all of what is named
_ALONE = 0.012  # by which a rule must be nearer than the bound where a question names nothing at all
_BESIDE = 0.03  # how much less than the nearest rule another one may be, to be meant, too
_MOST_NODES = 3  # that a question means
_FADES = 0.035  # below the bound, over which likeness stops counting
_NEARLY = 0.06  # below the bound, from where on what is only led to, or nearly written, counts
_SHARPNESS = 0.095
_INFORMATIVE = 0.03  # what a rule that only informs must be nearer by than one that demands
_SHARE = 0.7  # of a rule's relevance, for its likeness
_UNSURE, _SURE = 0.65, 0.9  # confidence in what is meant: at the bound, and this far above it
_SURE_AT = 0.25
_BATCH = 200  # statements that are looked for in a view at once
_MOST_EDGES = 2_000
_MOST_LEADING = 40  # statements that are followed back from what rules do not start at


@dataclass(frozen=True, slots=True)
class MeantStatement:
    """A statement in view that a question means.

    Attributes:
        likeness: See `MeantRules.of`.
    """

    statement_id: int
    subject: int
    likeness: float


@dataclass(frozen=True, slots=True)
class MeantRules:
    """How near one question is to the rules, 0..1.

    Attributes:
        needed: From here on a rule is meant.
    """

    nearness: Nearness
    needed: float

    def of(self, statement_id: int, end: int, subject: int, *, names: float = 1.0) -> float:
        """How near a statement is: the nearest of its sentence and names, with the names of its end and of its subject.

        Args:
            names: How far a name that is nearer than the sentence counts instead of it, 0..1.
        """
        name = self.nearness.nodes
        sentence, led_to, about = (
            self.nearness.statements.get(statement_id, 0.0),
            name.get(end, 0.0),
            name.get(subject, 0.0),
        )
        said = names * max(sentence, led_to, about) + (1.0 - names) * sentence
        return (said + _END * led_to + _SUBJECT * about) / (1.0 + _END + _SUBJECT)

    def of_rule(self, rule: DerivedRule, *, names: float = 1.0) -> float:
        """How near a derived rule is. One that is inherited is about what inherits it: its sentence names something else.

        Args:
            names: See `of`.
        """
        edge, name = rule.steps[-1].edge, self.nearness.nodes
        own, start = name.get(edge.src, 0.0), name.get(rule.start.node_id, 0.0)
        near = self.of(
            edge.statement_id, rule.end.node_id, edge.src if own >= start else rule.start.node_id, names=names
        )
        return near + (_NAMED * max(0.0, start - own) / (1.0 + _END + _SUBJECT) if rule.depth else 0.0)

    def confidence(self, likeness: float) -> float:
        """How sure it is that a rule of this likeness is meant."""
        return round(_UNSURE + (_SURE - _UNSURE) * min(1.0, max(0.0, likeness - self.needed) / _SURE_AT), 3)

    def relevances(self, rules: Sequence[DerivedRule], words: Sequence[float]) -> list[float]:
        """The relevance of each rule, by its words and by its likeness; by words alone where none is near.

        Args:
            words: The relevance of each rule by words, see `core.rules.questions.relevances`.
        """
        nearest = max(map(self.of_rule, rules), default=0.0)
        likeness = [self.of_rule(rule, names=_BY_NAMES) for rule in rules]
        share = _SHARE * min(1.0, max(0.0, 1.0 - (self.needed - nearest) / _FADES))
        ranked = [
            near - _INFORMATIVE * (1.0 - said) * (rule.strength == "informative")
            for near, said, rule in zip(likeness, words, rules, strict=True)
        ]
        best = max(ranked, default=0.0)
        return [
            (1.0 - share) * said + share * math.exp((near - best) / _SHARPNESS)
            for said, near in zip(words, ranked, strict=True)
        ]

    def more(
        self, meant: Sequence[MeantStatement], rules: Sequence[DerivedRule], *, named: bool
    ) -> Sequence[MeantStatement]:
        """Those that are clearly nearer than each of the rules that follow from what is named.

        Args:
            named: Whether anything is.
        """
        nearest = max(map(self.of_rule, rules), default=0.0)
        least = self.needed + (0.0 if named else _ALONE)
        return [one for one in meant if one.likeness >= max(least, nearest + _CLEARLY)]


def meant_rules(
    names: NameVectors | None, known: KnownGraph, text: str, embed: Callable[[], Any] | None
) -> MeantRules | str | None:
    """How near a text is to the rules; why that is not known yet; None where nothing is compared by meaning.

    Raises:
        EncoderError: the text has no vector.
    """
    if names is None or embed is None or not known.said or not text.strip():
        return None
    nearness = names.near(known.version, known.named, known.sentences, embed)
    if isinstance(nearness, str):
        return nearness
    return MeantRules(nearness, names.threshold * (_HAN if has_han(text) else _LATIN))


def statements_meant(
    meant: MeantRules, known: KnownGraph, graph: Graph, view: View, deadline: Deadline
) -> list[MeantStatement]:
    """The statements in view that are near, and about as near as the nearest; nearest first.

    What is a little less near than is needed is among them, for what a question says besides.
    """
    near = [
        MeantStatement(one.statement_id, one.src.node_id, likeness)
        for one in known.said
        if (likeness := meant.of(one.statement_id, one.dst.node_id, one.src.node_id)) >= meant.needed - _NEARLY
    ]
    near.sort(key=lambda one: (-one.likeness, one.statement_id))
    relations = list(known.schema.relations)
    for at in range(0, len(near), _BATCH):
        part = near[at : at + _BATCH]
        subjects = list(dict.fromkeys(one.subject for one in part))
        edges = graph.edges(subjects, relations, view=view, limit=_MOST_EDGES, deadline=deadline)
        seen = {edge.statement_id for edge in edges}
        found = [one for one in part if one.statement_id in seen]
        if found:
            return [one for one in found if one.likeness >= found[0].likeness - _BESIDE]
    return []


def starts_of(
    statements: Sequence[MeantStatement],
    meant: MeantRules,
    known: KnownGraph,
    graph: Graph,
    view: View,
    deadline: Deadline,
) -> Mapping[int, tuple[GraphNode, float]]:
    """The nodes at which rules start and of which some statements are, each with the confidence that it is meant.

    A statement about something at which none starts is reached from what leads there.
    """
    kinds = {pattern.start for pattern in known.schema.patterns.values()}
    subjects: dict[int, float] = {}
    for one in statements:
        if len(subjects) < _MOST_NODES:
            subjects.setdefault(one.subject, meant.confidence(one.likeness))
    nodes = graph.nodes(list(subjects), deadline=deadline)
    found: dict[int, tuple[GraphNode, float]] = {}
    for number, confidence in subjects.items():
        leading = [nodes[number]] if number in nodes else []
        if leading and leading[0].kind not in kinds:
            edges = graph.edges(
                [number],
                list(known.schema.relations),
                view=view,
                limit=_MOST_LEADING,
                deadline=deadline,
                inverse=True,
            )
            before = graph.nodes(sorted({edge.end.node_id for edge in edges}), deadline=deadline) if edges else {}
            leading = [node for node in before.values() if node.kind in kinds]
        for node in leading:
            found.setdefault(node.node_id, (node, confidence))
    return found
