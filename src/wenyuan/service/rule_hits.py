"""A derived rule as a hit: what its score is made of, what it says, and what else there is to tell of it."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wenyuan.core.model import FOREVER, RULE_IDS, IndexRow, Passage, Source
from wenyuan.core.ranking import Hit
from wenyuan.core.rules.graph import GraphNode, Support
from wenyuan.core.rules.inference import DerivedRule
from wenyuan.core.rules.schema import Kind, Relation, Schema
from wenyuan.core.rules.sentences import derivation, rule_sentence
from wenyuan.core.score import support_factor
from wenyuan.core.text import terms
from wenyuan.service.unified import RuleQuestion

__all__ = ["About", "ScoredRule", "Written", "row_of", "write"]

Written = tuple[Hit, Passage, Mapping[str, Any]]
_NOT_ASKED = 0.85  # factor of a rule that speaks of nothing that the question names besides its subject
_MOST_OTHERS = 5  # derivations that are written out besides the first one


@dataclass(frozen=True, slots=True)
class About:
    """What a question asks for besides its subject.

    Attributes:
        words: Its terms, without the names that were recognised.
        labels: Kinds and relations of the schema whose label it says whole.
    """

    words: frozenset[str]
    labels: frozenset[str]

    @classmethod
    def of(cls, question: RuleQuestion, recognised: Sequence[Mapping[str, Any]], schema: Schema) -> About:
        """What is left of a question without the names in it."""
        words = _beside_names(question, recognised)
        named: tuple[Kind | Relation, ...] = (*schema.kinds.values(), *schema.relations.values())
        said = (thing.id for thing in named if any(_says(words, label) for label in thing.labels.values()))
        return cls(words, frozenset(said))

    def speaks_of(self, rule: DerivedRule) -> bool:
        """Whether a rule is of the kind that is asked for; where no kind is named, whether it shares a word."""
        if self.labels:
            return rule.end.kind in self.labels or rule.relation in self.labels
        names = (name for step in rule.steps for name in (step.edge.end.name, *step.edge.end.labels.values()))
        return any(self.words & _words(name) for name in names)


def _words(text: str) -> frozenset[str]:
    return frozenset(t for t in terms(text) if len(t) > 1)


def _says(words: frozenset[str], label: str) -> bool:
    own = _words(label)
    return bool(own) and own <= words


def _beside_names(question: RuleQuestion, recognised: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The terms of a question without the names that were recognised in it, or given with it."""
    text = question.text
    spans = [(one["start"], one["end"]) for one in recognised if "start" in one]
    for name in filter(None, question.processes or ()):
        spans += [(at.start(), at.end()) for at in re.finditer(re.escape(name), text)]
    kept, reached = [], 0
    for start, end in sorted(spans):
        kept.append(text[reached:start])
        reached = max(reached, end)
    return frozenset().union(*map(_words, (*kept, text[reached:])))


@dataclass(frozen=True, slots=True)
class ScoredRule:
    """A rule with what its score is made of; ``starts``: all nodes that were asked about for which it holds, its own first."""

    rule: DerivedRule
    parts: Mapping[str, float]
    starts: tuple[GraphNode, ...]

    @classmethod
    def of(cls, rule: DerivedRule, confidence: float, about: About) -> ScoredRule:
        """The score of a rule whose start was meant so surely."""
        return cls(rule, parts_of(rule, confidence, about), (rule.start,))

    @property
    def score(self) -> float:
        """0..1: the product of the parts."""
        return min(1.0, math.prod(self.parts.values()))

    @property
    def statement_id(self) -> int:
        """Of the last step: the statement that the rule is."""
        return self.rule.steps[-1].edge.statement_id

    @property
    def best(self) -> Support:
        """The evidence that stands for it: the most trusted one, with words rather than without."""
        return max(self.rule.evidences, key=lambda e: (e.trust, bool(e.quote)))


def parts_of(rule: DerivedRule, confidence: float, about: About) -> dict[str, float]:
    """What the score is made of; their product is the score, see `core.rules.inference.rule_score`.

    A question that says more than a name (``深基坑开挖有哪些危险源``) prefers the rules that speak of it.
    """
    weights = [step.edge.weight for step in rule.steps]
    parts = {
        "link": confidence,
        "weight": sum(weights) / len(weights),
        "support": support_factor(min(step.edge.trust for step in rule.steps)),
        "condition": 0.8 if rule.state == "unverified" else 1.0,
        "inheritance": 0.9**rule.depth,
    }
    if about.words:
        parts["asked"] = 1.0 if about.speaks_of(rule) else _NOT_ASKED
    return parts


def row_of(scored: ScoredRule, source: Source, language: str) -> IndexRow:
    """The rule as a filter sees it."""
    number = RULE_IDS - scored.statement_id
    return IndexRow(
        passage_id=number, source_id=source.source_id, document_id=number, heading_text="", text="",
        language=language, collection=source.collection, facets=_facets(scored.rule), valid_from=0,
        valid_until=FOREVER,
    )  # fmt: skip


def _facets(rule: DerivedRule) -> dict[str, str]:
    return {"group": rule.group, "strength": rule.strength}


def write(scored: ScoredRule, schema: Schema, language: str, source: Source) -> Written:
    """The rule as a hit, with what it says and what else there is to tell of it.

    Args:
        source: That of its best evidence.
    """
    rule, best = scored.rule, scored.best
    sentence, path = rule_sentence(rule, schema, language), derivation(rule, schema, language)
    text = sentence if path in sentence else f"{sentence}\n{path}"
    passage_id = RULE_IDS - scored.statement_id
    passage = Passage(
        passage_id=passage_id,
        source_id=best.source_id,
        document_id=passage_id,
        uri=best.uri,
        title=source.title,
        headings=(best.clause,) if best.clause else (),
        text=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        start=0,
        end=len(text),
        language=language,
        trust=best.trust,
        domain=source.domain,
        collection=source.collection,
        effective_from=source.effective_from,
        effective_until=source.effective_until,
        facets=_facets(rule),
    )
    hit = Hit(passage_id=passage_id, score=scored.score, origin="kg_rule", parts=scored.parts)
    return hit, passage, {**_detail(rule, language, path), **_besides(scored, schema, language)}


def _besides(scored: ScoredRule, schema: Schema, language: str) -> Mapping[str, Any]:
    """What else the rule holds for, and by which other paths it follows."""
    rule = scored.rule
    told: dict[str, Any] = {}
    if len(scored.starts) > 1:
        told["process_names"] = [node.label(language) for node in scored.starts]
    if rule.others:
        shown = (replace(rule, steps=steps, missing=()) for steps in rule.others[:_MOST_OTHERS])
        told["also"] = len(rule.others)
        told["other_derivations"] = [derivation(other, schema, language) for other in shown]
    return told


def _detail(rule: DerivedRule, language: str, path: str) -> Mapping[str, Any]:
    edge = rule.steps[-1].edge
    detail: dict[str, Any] = {
        "group": rule.group,
        "relation": rule.relation,
        "name": rule.end.label(language),
        "subject": rule.subject.label(language),
        "process_name": rule.start.label(language),
        "strength": rule.strength,
        "statement_id": edge.statement_id,
        "derivation": path,
        "path": [
            {"from": step.src.label(language), "relation": step.edge.rel, "to": step.edge.end.label(language),
             "statement_id": step.edge.statement_id, **({"inherited": True} if step.inherited else {}),
             **({"condition": step.edge.condition} if step.edge.condition else {})}
            for step in rule.steps
        ],
        "evidence": [_evidence(e) for e in rule.evidences],
    }  # fmt: skip
    if edge.condition:
        detail["condition"] = edge.condition
    if rule.state != "always":
        detail["condition_state"] = rule.state
    if rule.missing:
        detail["missing_parameters"] = list(rule.missing)
    return detail


def _evidence(support: Support) -> Mapping[str, Any]:
    shown = {
        "source_id": support.source_id, "uri": support.uri, "clause": support.clause, "quote": support.quote,
        "trust": support.trust, "reviewer": support.reviewer,
    }  # fmt: skip
    return {name: value for name, value in shown.items() if value}
