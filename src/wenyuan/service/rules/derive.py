"""The leg that derives: text or names → nodes of the rules graph → rules → hits, without a language model."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from wenyuan.core.errors import EncoderError, msg
from wenyuan.core.filters import Scope, matches
from wenyuan.core.model import Passage, Source
from wenyuan.core.ports import Deadline, Hit, patient
from wenyuan.core.rules.conditions import checked_parameters
from wenyuan.core.rules.fair_cut import kept_fairly
from wenyuan.core.rules.graph import Graph, View
from wenyuan.core.rules.inference import STRENGTHS, Inference, Start, infer, scope_names
from wenyuan.core.rules.linking import NOTHING_RECOGNISED, Span
from wenyuan.core.rules.parameters import meant_parameters, suggestion
from wenyuan.core.rules.schema import Schema
from wenyuan.core.text.folding import has_han
from wenyuan.service.rules.cited_places import Cite, elsewhere
from wenyuan.service.rules.graph_names import Guess, KnownGraph, read_known
from wenyuan.service.rules.meaning import MeantRules, meant_rules, starts_of, statements_meant
from wenyuan.service.rules.name_vectors import NameVectors
from wenyuan.service.rules.question_reading import read, spans
from wenyuan.service.rules.rule_hits import ScoredRule, row_of, write
from wenyuan.service.rules.unified import RuleQuestion

_LEADING = 0.9  # confidence of a start that was not named itself, but leads to what was
_MOST_LEADING = 40  # statements that are followed back from what was named
_LEAST_CONFIDENCE = 0.5  # of a recognised name: below it is a guess, on which nobody should build


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """The derived rules of a question.

    Attributes:
        found: The rules as hits with what they say, best first.
        details: By the hit's number, what else there is to tell of a rule: path, evidence, condition.
        recognised, unmatched, truncated, notes, reason: As in `service.rules.unified.RuleItems`.
    """

    found: tuple[tuple[Hit, Passage], ...] = ()
    details: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    recognised: tuple[Mapping[str, Any], ...] = ()
    unmatched: tuple[str, ...] = ()
    truncated: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""
    ms: float = 0.0


@dataclass(slots=True)
class _Walk:
    """Infers from some starts with some parameters; what was just inferred is not inferred again."""

    infer: Callable[..., Inference]
    last: tuple[Sequence[Start], Mapping[str, Any], Inference] | None = None

    def __call__(self, starts: Sequence[Start], parameters: Mapping[str, Any]) -> Inference:
        if self.last is None or self.last[:2] != (starts, parameters):
            self.last = (starts, parameters, self.infer(starts, parameters=parameters))
        return self.last[2]


class Deriver:
    """Derives rules; the graph's names are loaded once per version.

    Args:
        graph: Where the rules are.
        schema: Reads the schema that they follow.
        most: At most so many rules in one answer; more are cut, and that is said.
        at: The graph as of a change of the catalog, for replay; None: as it is.
        names: Guesses what a text means that names nothing; None: nothing is guessed so.
        cites: Tells where evidence is opened, as the library is when it is called.
    """

    def __init__(
        self,
        graph: Graph,
        schema: Callable[[], Schema],
        *,
        most: int,
        at: int | None = None,
        names: NameVectors | None = None,
        cites: Callable[[], Cite] = lambda: elsewhere,
    ) -> None:
        self._graph = graph
        self._schema = schema
        self._most = most
        self._at = at
        self._names = names
        self._cites = cites
        self._known: KnownGraph | None = None
        self._seen = -1  # the last change of the catalog at which the version was asked for
        self._lock = threading.Lock()

    def close(self) -> None:
        """Stop embedding names in the background."""
        if self._names is not None:
            self._names.close()

    def embed_names(self, change: int, tell: Callable[[int, int], None] | None, most: int | None) -> int:
        """See `NameVectors.embed`, for the names of possible start nodes."""
        known = self.known(change)
        if known is None or self._names is None:
            return 0
        return self._names.embed(known.named, known.sentences, tell, most)

    def known(self, change: int) -> KnownGraph | None:
        """What is known of the graph at a change of the catalog; None where the library has no rules."""
        with self._lock:
            if change != self._seen:
                version = self._graph.version()
                if version == 0:
                    self._known = None
                elif self._known is None or self._known.version != version:
                    with patient():  # however many rules there are
                        self._known = read_known(version, self._graph, self._schema(), keep=self._names is not None)
                self._seen = change
            return self._known

    def named(self, name: str, change: int) -> int | None:
        """The node with this name, in any spelling; None if there is none."""
        known = self.known(change)
        found = () if known is None else known.linker.resolve(name)
        return next((c.node_id for c in found if c.score >= _LEAST_CONFIDENCE), None)

    def names_of_type(self, engineering_type: str, change: int, deadline: Deadline) -> frozenset[str]:
        """All names of the engineering type that a request names."""
        known = self.known(change)
        if known is None or not engineering_type:
            return frozenset(filter(None, (engineering_type,)))
        return self._scope(known, engineering_type, deadline)

    def derive(
        self,
        question: RuleQuestion,
        scope: Scope,
        sources: Mapping[str, Source],
        change: int,
        deadline: Deadline,
        *,
        min_trust: int = 1,
        embed: Callable[[], Any] | None = None,
        bounded: bool = False,
    ) -> Derived:
        """Derive the rules that follow, from evidence within the scope with sufficient trust.

        Args:
            embed: Gives the vector of the question's text, when a text is asked about that names nothing.
            bounded: The caller sees only some sources: what no rule in view speaks of is not there for them.

        Raises:
            InvalidRequest: a parameter is of another type than the schema says.
            KnowledgeError: the graph cannot be read in time.
        """
        begun = time.perf_counter()
        known = self.known(change)
        if known is None:
            return Derived(reason="the library has no rules")
        question, undeclared = _with_parameters(question, known.schema)
        near = self._near(known, question, embed)
        meant = near if isinstance(near, MeantRules) else None
        guess = Guess(self._names, known, embed) if near is None else None
        view = View(
            trusts={name: sources[name].trust for name in scope.sources if name in sources},
            day=scope.as_of,
            min_trust=min_trust,
            at=self._at,
            hidden=scope.hidden,
        )
        starts, recognised, unmatched = self._recognised(known, question, guess, view, deadline, bounded=bounded)
        walk = _Walk(
            partial(
                infer, self._graph, known.schema, view=view,
                scope=self._scope(known, question.engineering_type, deadline), deadline=deadline,
            )
        )  # fmt: skip
        if meant is not None:
            starts, recognised = self._with_meant(known, question, meant, starts, recognised, walk, view, deadline)
        if not starts:
            if isinstance(near, EncoderError):
                raise near
            reason = "no process was asked for" if question.processes == () else NOTHING_RECOGNISED
            guessed = guess.notes if guess is not None else (near,) if isinstance(near, str) else ()
            ms = (time.perf_counter() - begun) * 1e3
            return Derived(
                recognised=recognised, unmatched=unmatched, notes=(*guessed, *undeclared), reason=reason, ms=ms
            )
        told = read(
            question, spans(question, recognised), known.schema, known.asks, known.linker.names,
            lambda given: walk(starts, given), None if meant is None else meant.relevances,
        )  # fmt: skip
        inference = told.inference
        confidence = {start.node_id: start.confidence for start in starts}
        language = "zh" if has_han(question.text + "".join(question.processes or ())) else "en"
        scored = _once(
            ScoredRule.of(rule, confidence[rule.start.node_id], weight)
            for rule, weight in zip(inference.rules, told.weights, strict=True)
        )
        if scope.filter is not None:
            test = scope.filter
            scored = [r for r in scored if matches(test, row_of(r, sources[r.best.source_id], language))]
        scored, cut = _strongest(scored, self._most, inference.mandatory_left)
        cite = self._cites()
        kept = [
            write(rule, known.schema, language, sources[rule.best.source_id], told.stated, cite)
            for rule in sorted(scored, key=lambda r: -r.score)  # what is equal stays by strength
        ]
        return Derived(
            found=tuple((hit, passage) for hit, passage, _ in kept),
            details={hit.passage_id: detail for hit, _, detail in kept},
            recognised=recognised,
            unmatched=unmatched,
            truncated=(*inference.truncated, *cut),
            notes=(*undeclared, *_unread(near), *told.notes),
            reason="" if kept else _why_none(inference),
            ms=(time.perf_counter() - begun) * 1e3,
        )

    def _near(
        self, known: KnownGraph, question: RuleQuestion, embed: Callable[[], Any] | None
    ) -> MeantRules | EncoderError | str | None:
        """What the text of a question means of the rules; or why that is not known."""
        if question.processes is not None:
            return None
        try:
            return meant_rules(self._names, known, question.text, embed)
        except EncoderError as error:  # what is named is answered all the same
            return error

    def _with_meant(
        self,
        known: KnownGraph,
        question: RuleQuestion,
        meant: MeantRules,
        starts: list[Start],
        recognised: tuple[Mapping[str, Any], ...],
        walk: _Walk,
        view: View,
        deadline: Deadline,
    ) -> tuple[list[Start], tuple[Mapping[str, Any], ...]]:
        """The start nodes, with those of rules that a question means and that do not follow from what it names.

        What is only nearly written, or only led to, counts where something is meant at all.
        """
        statements = statements_meant(meant, known, self._graph, view, deadline)
        if not statements:
            named = [one for one in recognised if "by" not in one]
            kept = {one["node_id"] for one in named}
            return [start for start in starts if start.node_id in kept], tuple(named)
        rules = walk(starts, question.parameters).rules if starts else ()
        statements = list(meant.more(statements, rules, named=bool(starts)))
        had = {start.node_id for start in starts}
        found = starts_of(statements, meant, known, self._graph, view, deadline)
        more = {number: one for number, one in found.items() if number not in had}
        told = tuple(
            {"text": question.text, "node_id": number, "kind": node.kind, "confidence": confidence, "by": "meaning",
             "name": node.name}
            for number, (node, confidence) in more.items()
        )  # fmt: skip
        return [*starts, *(Start(number, sure) for number, (_, sure) in more.items())], (*recognised, *told)

    def _recognised(
        self,
        known: KnownGraph,
        question: RuleQuestion,
        guess: Guess | None,
        view: View,
        deadline: Deadline,
        *,
        bounded: bool,
    ) -> _Recognised:
        """The start nodes: as `_starts`, without nodes that are hidden from the caller.

        Within bounds the names of such nodes hide no others either: a longer name within which one in view stands, or
        one that is written more like it, would tell that it is there.
        """
        hidden: Set[int] = frozenset()
        while True:
            starts, named, unmatched = self._from_ends(known, question, hidden, view, deadline) or _starts(
                known, question, guess, hidden
            )
            if (
                not starts
                and question.processes is None
                and guess is not None
                and (ends := guess.ends(question.text))
            ):
                leading = self._leading(known, question, ends, "meaning", hidden, view, deadline)
                starts, named, unmatched = leading or (starts, named, unmatched)
            doubtful = {one["node_id"] for one in named if bounded or "by" in one}
            recognised = self._recognised_nodes(named, doubtful, known.schema, view, deadline) if doubtful else named
            meant = {one["node_id"] for one in recognised}
            more = {one["node_id"] for one in named} - meant
            if not bounded or not more:
                return [start for start in starts if start.node_id in meant], recognised, unmatched
            hidden = hidden | more
            deadline.check("rules leg")

    def _from_ends(
        self, known: KnownGraph, question: RuleQuestion, hidden: Set[int], view: View, deadline: Deadline
    ) -> _Recognised | None:
        """Start nodes for a text that names what rules lead to, and nothing that they start at: those that lead there.

        None where it names something to start at, or no such end either.
        """
        if question.processes is not None:
            return None
        kinds = {pattern.start for pattern in known.schema.patterns.values()}
        link = partial(known.linker.link, question.text, without=hidden)
        if any(span.by == "name" for span in link(kinds=kinds).spans):
            return None
        ends = {
            candidate.node_id: 1.0
            for span in link(kinds=set(known.schema.kinds) - kinds).spans
            for candidate in span.candidates
            if span.by == "name" and candidate.score >= _LEAST_CONFIDENCE
        }
        return self._leading(known, question, ends, "end", hidden, view, deadline) if ends else None

    def _leading(
        self,
        known: KnownGraph,
        question: RuleQuestion,
        ends: Mapping[int, float],
        by: str,
        hidden: Set[int],
        view: View,
        deadline: Deadline,
    ) -> _Recognised | None:
        """The nodes that lead to some ends, as starts; None where nothing does.

        Args:
            ends: With how sure it is that the text means each.
            by: How they were found.
        """
        kinds = {pattern.start for pattern in known.schema.patterns.values()}
        relations = list(known.schema.relations)
        edges = self._graph.edges(
            list(ends), relations, view=view, limit=_MOST_LEADING, deadline=deadline, inverse=True
        )
        subjects = self._graph.nodes(sorted({e.end.node_id for e in edges}), deadline=deadline) if edges else {}
        leading = [node for node in subjects.values() if node.kind in kinds and node.node_id not in hidden]
        sure = round(_LEADING * max(ends.values()), 3)
        recognised = tuple(
            {"text": question.text, "node_id": node.node_id, "kind": node.kind, "confidence": sure, "by": by}
            for node in leading
        )
        return ([Start(node.node_id, sure) for node in leading], recognised, ()) if leading else None

    def _recognised_nodes(
        self,
        recognised: tuple[Mapping[str, Any], ...],
        doubtful: Set[int],
        schema: Schema,
        view: View,
        deadline: Deadline,
    ) -> tuple[Mapping[str, Any], ...]:
        """The recognised nodes, with the name of each that was guessed.

        A doubtful one (it was guessed, or asked for within limits) that no visible statement mentions counts as not
        recognised: otherwise the caller would learn what hidden rules are about.
        """
        seen = {
            node
            for node in sorted(doubtful)
            if any(
                self._graph.edges([node], list(schema.relations), view=view, limit=1, deadline=deadline, inverse=way)
                for way in (False, True)
            )
        }
        kept = [one for one in recognised if one["node_id"] not in doubtful or one["node_id"] in seen]
        guessed = sorted({one["node_id"] for one in kept if "by" in one})
        nodes = (
            self._graph.nodes(guessed, deadline=deadline) if guessed else {}
        )  # else how many times is told by time
        return tuple({**one, "name": nodes[one["node_id"]].name} if "by" in one else one for one in kept)

    def _scope(self, known: KnownGraph, engineering_type: str, deadline: Deadline) -> frozenset[str]:
        """All names of the engineering type that a request names."""
        if not engineering_type:
            return frozenset()
        kinds = {known.schema.scope_kind}
        same = [
            c.node_id for c in known.linker.resolve(engineering_type, kinds=kinds) if c.score >= _LEAST_CONFIDENCE
        ]
        nodes = self._graph.nodes(same, deadline=deadline).values() if same else ()
        return frozenset({engineering_type}).union(*map(scope_names, nodes))


def _once(rules: Iterable[ScoredRule]) -> list[ScoredRule]:
    """Each statement once, with its best score and all start nodes for which it holds."""
    found: dict[int, list[ScoredRule]] = {}
    for rule in rules:
        found.setdefault(rule.statement_id, []).append(rule)
    return [_best(same) for same in found.values()]


def _best(same: Sequence[ScoredRule]) -> ScoredRule:
    best = max(same, key=lambda rule: rule.score)
    starts = {rule.rule.start.node_id: rule.rule.start for rule in (best, *same)}
    return replace(best, starts=tuple(starts.values()))


def _strongest(rules: list[ScoredRule], most: int, left: frozenset[int]) -> tuple[list[ScoredRule], tuple[str, ...]]:
    """At most `most` rules, shared fairly among the start nodes; and a description of what was cut off.

    Within a share go first the rules that are asked for, then mandatory ones before others, and of equal ones the best.

    Args:
        left: Mandatory ones that were left out before.
    """
    ordered = (
        sorted(rules, key=lambda r: (not r.answers, STRENGTHS[r.rule.strength], -r.score))
        if len(rules) > most
        else rules
    )
    chosen = kept_fairly(
        ordered, most, statement=lambda r: r.statement_id, owners=lambda r: [node.node_id for node in r.starts]
    )
    kept = [r for r in ordered if r.statement_id in chosen]
    cut = [r for r in ordered if r.statement_id not in chosen]
    mandatory = len(left.union(r.statement_id for r in cut if not STRENGTHS[r.rule.strength]) - chosen)
    said = (msg("{count} rules cut at {most}", count=len(rules), most=most),) if cut else ()
    return kept, (*said, msg("mandatory rules left out: {mandatory}", mandatory=mandatory)) if mandatory else said


_Recognised = tuple[list[Start], tuple[Mapping[str, Any], ...], tuple[str, ...]]


def _starts(known: KnownGraph, question: RuleQuestion, guess: Guess | None, without: Set[int]) -> _Recognised:
    """The start nodes of inference: named by the caller, else mentioned in the text."""
    if guess is not None:
        guess.without = without
    kinds = {pattern.start for pattern in known.schema.patterns.values()}
    best: dict[int, float] = {}
    recognised: list[Mapping[str, Any]] = []
    unmatched = []
    if question.processes is None:
        linked = known.linker.link(question.text, kinds=kinds, similar=guess, without=without)
        named = [(span.text, span.candidates, _place(span)) for span in linked.spans]
    else:
        named = [(name, known.linker.resolve(name, kinds=kinds, without=without), {}) for name in question.processes]
    for text, candidates, place in named:
        # What is guessed by meaning has a threshold of its own.
        sure = [c for c in candidates if c.score >= _LEAST_CONFIDENCE or place.get("by") == "meaning"]
        if not sure and question.processes is not None:
            unmatched.append(text)
        for candidate in sure:
            best[candidate.node_id] = max(candidate.score, best.get(candidate.node_id, 0.0))
            recognised.append(
                {"text": text, "node_id": candidate.node_id, "kind": candidate.kind,
                 "confidence": round(candidate.score, 3), **place}
            )  # fmt: skip
    starts = [Start(node_id, confidence) for node_id, confidence in best.items()]
    return starts, tuple(recognised), tuple(unmatched)


def _place(span: Span) -> dict[str, Any]:
    """The position of a mention; for a guess, that it is one."""
    if span.by == "meaning":
        return {"by": span.by}
    return {"start": span.start, "end": span.end} | ({"by": span.by} if span.by != "name" else {})


def _with_parameters(question: RuleQuestion, schema: Schema) -> tuple[RuleQuestion, tuple[str, ...]]:
    """The question with its parameters as the schema calls them, and notes about those that it does not know.

    Wrong ones are refused, whatever is recognised.
    """
    if not question.parameters:
        return question, ()
    question = replace(question, parameters=meant_parameters(question.parameters, schema.parameters))
    checked_parameters(schema.parameters, question.parameters)
    return question, _undeclared(schema, question.parameters)


def _unread(near: MeantRules | EncoderError | str | None) -> tuple[str, ...]:
    """A note where the encoder has failed, and what is named was answered without it."""
    if not isinstance(near, EncoderError):
        return ()
    return (msg("rules were compared by their words only: {message}", message=near.message),)


def _undeclared(schema: Schema, parameters: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        msg(
            "no condition asks for the parameter {name}{name2}",
            name=repr(name),
            name2=suggestion(name, schema.parameters),
        )
        for name in parameters
        if name not in schema.parameters
    )


def _why_none(inference: Inference) -> str:
    if inference.out_of_scope:
        return "what was recognised is limited to other engineering types"
    return "no rule in scope follows from what was recognised"
