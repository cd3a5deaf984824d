"""Derived rules as sentences that people read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wenyuan.core.rules.conditions import compile_condition, described
from wenyuan.core.rules.graph import GraphNode
from wenyuan.core.rules.inference import DerivedRule
from wenyuan.core.rules.labels import joined_conditions, relation_label
from wenyuan.core.rules.schema import Schema, label_in

# A derived rule in words: as a sentence, and as the chain by which it was derived.


def rule_sentence(rule: DerivedRule, schema: Schema, language: str) -> str:
    """The statement's own sentence in a language; else one from its relation's template; else the labels."""
    own = rule.steps[-1].edge.sentence
    return statement_sentence(own, rule.relation, rule.subject, rule.end, schema, language)


def statement_sentence(
    own: Mapping[str, str], rel: str, subject: GraphNode, end: GraphNode, schema: Schema, language: str
) -> str:
    """`rule_sentence` of a statement; ``own`` are its own sentences, by language."""
    relation = schema.relations.get(rel)
    tags = (language, language.split("-", maxsplit=1)[0])
    said = next((own[tag] for tag in tags if own.get(tag)), "")
    if said:
        return said
    src, dst = _name(subject, language), _name(end, language)
    template = next((relation.sentence[tag] for tag in tags if relation.sentence.get(tag)), "") if relation else ""
    if template:
        # Filled in by its pieces, so that a name which holds "{dst}" stays as it is.
        return src.join(piece.replace("{dst}", dst) for piece in template.split("{src}"))
    return f"{src} —{relation_label(schema, rel, language)}→ {dst}"


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
