"""A derived rule as a hit: what its score is made of, what it says, and what else there is to tell of it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from wenyuan.core.model import FOREVER, RULE_IDS, IndexRow, Passage, Source
from wenyuan.core.ports import Hit
from wenyuan.core.rules.graph import GraphNode, Support
from wenyuan.core.rules.inference import DerivedRule
from wenyuan.core.rules.labels import condition_label
from wenyuan.core.rules.questions import Weight
from wenyuan.core.rules.schema import Schema, label_in
from wenyuan.core.rules.sentences import derivation, rule_sentence, used_of
from wenyuan.core.scoring.formula import support_factor
from wenyuan.service.rules.cited_places import Cite

Written = tuple[Hit, Passage, Mapping[str, Any]]
_UNVERIFIED, _INHERITED = 0.8, 0.9  # factors of a rule whose condition is not known to be met, and of each step of it
_ANSWER = 0.95  # instead of either, for what is asked for: it must not sink below what is certain, and something else
_MOST_OTHERS = 5  # derivations that are written out besides the first one


@dataclass(frozen=True, slots=True)
class ScoredRule:
    """A rule and the factors of its score.

    Attributes:
        starts: All nodes that were asked about for which it holds, its own first.
        answers: It is what the question asks for.
    """

    rule: DerivedRule
    parts: Mapping[str, float]
    starts: tuple[GraphNode, ...]
    answers: bool

    @classmethod
    def of(cls, rule: DerivedRule, confidence: float, asked: Weight | None) -> ScoredRule:
        """The scored rule for a start node of this confidence; ``asked``: see `parts_of`."""
        return cls(rule, parts_of(rule, confidence, asked), (rule.start,), asked is not None and asked.answers)

    @property
    def score(self) -> float:
        """0..1: the product of the factors."""
        return min(1.0, math.prod(self.parts.values()))

    @property
    def statement_id(self) -> int:
        """The statement of the last step."""
        return self.rule.steps[-1].edge.statement_id

    @property
    def best(self) -> Support:
        """The evidence shown first: the most trusted, preferably with a quote."""
        return max(self.rule.evidences, key=lambda e: (e.trust, bool(e.quote)))


def parts_of(rule: DerivedRule, confidence: float, asked: Weight | None) -> dict[str, float]:
    """The factors of the score; their product is the score, see `core.rules.inference.rule_score`.

    Args:
        asked: Its weight for what the question asks for; None where that says names only.
    """
    weights = [step.edge.weight for step in rule.steps]
    answers = asked is not None and asked.answers
    unverified, inherited = (_ANSWER, _ANSWER) if answers else (_UNVERIFIED, _INHERITED)
    return {
        "link": confidence,
        "weight": sum(weights) / len(weights),
        "support": support_factor(min(step.edge.trust for step in rule.steps)),
        "condition": unverified if rule.state == "unverified" else 1.0,
        "inheritance": inherited**rule.depth,
        **({} if asked is None else {"asked": asked.factor}),
    }


def row_of(scored: ScoredRule, source: Source, language: str) -> IndexRow:
    """The rule as an index row, for filters."""
    number = RULE_IDS - scored.statement_id
    return IndexRow(
        passage_id=number, source_id=source.source_id, document_id=number, heading_text="", text="",
        language=language, collection=source.collection, facets=_facets(scored.rule), valid_from=0,
        valid_until=FOREVER,
    )  # fmt: skip


def _facets(rule: DerivedRule) -> dict[str, str]:
    return {"group": rule.group, "strength": rule.strength}


def write(
    scored: ScoredRule, schema: Schema, language: str, source: Source, stated: Mapping[str, float | int], cite: Cite
) -> Written:
    """The rule as a hit, with its sentence and details.

    Args:
        source: That of its best evidence.
        stated: Parameters that were taken from the question.
        cite: Tells where evidence is opened.
    """
    rule, best = scored.rule, scored.best
    used = used_of(rule, schema, stated)
    sentence, path = rule_sentence(rule, schema, language), derivation(rule, schema, language, used)
    text = sentence if path in sentence else f"{sentence}\n{path}"
    passage_id = RULE_IDS - scored.statement_id
    passage = Passage(
        passage_id=passage_id,
        source_id=best.source_id,
        document_id=passage_id,
        uri=cite(best),
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
    return (
        hit,
        passage,
        {
            **_detail(rule, schema, language, path, cite),
            **_besides(scored, schema, language),
            **_answering(scored, used),
        },
    )


def _answering(scored: ScoredRule, used: Mapping[str, float | int]) -> Mapping[str, Any]:
    """Whether it is what the question asks for, and which stated parameters it used."""
    told: dict[str, Any] = {"answers": True} if scored.answers else {}
    return told | ({"parameters_from_question": dict(used)} if used else {})


def _besides(scored: ScoredRule, schema: Schema, language: str) -> Mapping[str, Any]:
    """The other start nodes of the rule, and its other derivations."""
    rule = scored.rule
    told: dict[str, Any] = {}
    if len(scored.starts) > 1:
        told["process_names"] = [node.label(language) for node in scored.starts]
    if rule.others:
        shown = (replace(rule, steps=steps, missing=()) for steps in rule.others[:_MOST_OTHERS])
        told["also"] = len(rule.others)
        told["other_derivations"] = [derivation(other, schema, language) for other in shown]
    return told


def _detail(rule: DerivedRule, schema: Schema, language: str, path: str, cite: Cite) -> Mapping[str, Any]:
    edge = rule.steps[-1].edge

    def conditional(written: str) -> dict[str, str]:
        if not written:
            return {}
        return {"condition": written, "condition_label": condition_label(written, schema.parameters, language)}

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
             **conditional(step.edge.condition)}
            for step in rule.steps
        ],
        "evidence": [_evidence(e, cite) for e in rule.evidences],
    }  # fmt: skip
    detail |= conditional(edge.condition)
    if rule.state != "always":
        detail["condition_state"] = rule.state
    if rule.missing:
        detail["missing_parameters"] = list(rule.missing)
        declared = (schema.parameters.get(name) for name in rule.missing)
        detail["missing_labels"] = [
            label_in(parameter.labels, language, name) if parameter else name
            for name, parameter in zip(rule.missing, declared, strict=True)
        ]
    return detail


def _evidence(support: Support, cite: Cite) -> Mapping[str, Any]:
    shown = {
        "source_id": support.source_id, "uri": cite(support), "clause": support.clause, "quote": support.quote,
        "trust": support.trust, "reviewer": support.reviewer,
    }  # fmt: skip
    verified = {"verified": support.verified} if support.quote else {}
    return {name: value for name, value in shown.items() if value} | verified
