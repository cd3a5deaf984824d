"""How a question is read for rules: where it names what it is about, what it asks for, and what it states of its case."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wenyuan.core.rules.asking import Asked, Asks, Names, Weight, relevances, weighed
from wenyuan.core.rules.conditions import compile_condition
from wenyuan.core.rules.inference import DerivedRule, Inference
from wenyuan.core.rules.labelled import joined_conditions
from wenyuan.core.rules.schema import Parameter, Schema
from wenyuan.core.rules.sentences import value_of
from wenyuan.core.rules.stated import stated
from wenyuan.core.text import language_of
from wenyuan.service.unified import RuleQuestion

__all__ = ["Read", "read", "spans"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What follows for a question, read as a whole.

    Attributes:
        weights: The weight of each rule for what is asked for; None where the question says no more than names.
        stated: Parameters whose values it states itself.
        notes: What else the asker should know.
    """

    inference: Inference
    weights: Sequence[Weight | None]
    stated: Mapping[str, float | int]
    notes: tuple[str, ...]


def read(
    question: RuleQuestion,
    about: Sequence[tuple[int, int]],
    schema: Schema,
    asks: Asks,
    names: Names,
    infer: Callable[[Mapping[str, Any]], Inference],
) -> Read:
    """What follows with the parameters that are given and those that the question states besides.

    Args:
        about: Where its text names what it is about; see `spans`.
        infer: Derives with some parameters.
    """
    text, given = question.text, question.parameters
    inference = infer(given)
    asked = asks.of(text, about, inference.rules, names)
    weights = _weights(asked, inference, names)
    told = stated(text, about, _open(inference.rules, schema, given))
    notes = [_doubt(said, ways) for said, ways in told.doubtful]
    if told.values:
        first, inference = zip(inference.rules, weights, strict=True), infer({**given, **told.values})
        weights = _weights(asked, inference, names)
        notes[:0] = [
            f"{value_of(name, value, schema, language_of(text))} was taken from the question: {told.said[name]!r}"
            for name, value in told.values.items()
        ]
        kept = {_path(rule) for rule in inference.rules}
        notes += [
            f"{rule.end.label(language_of(text))!r} does not hold with what the question states: {_conditions(rule, schema, language_of(text))}"
            for rule, weight in first
            if weight is not None and weight.answers and _path(rule) not in kept
        ]
    return Read(inference=inference, weights=weights, stated=told.values, notes=tuple(dict.fromkeys(notes)))


def spans(question: RuleQuestion, recognised: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Where the text of a question names what it is about: as it was recognised in it, or given with it."""
    found = [(one["start"], one["end"]) for one in recognised if "start" in one]
    for name in filter(None, question.processes or ()):
        found += [(at.start(), at.end()) for at in re.finditer(re.escape(name), question.text)]
    return found


def _weights(asked: Asked, inference: Inference, names: Names) -> Sequence[Weight | None]:
    relevance = relevances(asked, inference.rules, names)
    return weighed(relevance) if asked.words or any(relevance) else [None] * len(relevance)


def _conditions(rule: DerivedRule, schema: Schema, language: str) -> str:
    return joined_conditions((step.edge.condition for step in rule.steps), schema.parameters, language)


def _open(rules: Sequence[DerivedRule], schema: Schema, given: Mapping[str, Any]) -> list[Parameter]:
    """The parameters that the rules' conditions ask for and that are not given."""
    conditions = {step.edge.condition for rule in rules for step in rule.steps if step.edge.condition}
    asked = {name for text in conditions for name in compile_condition(text, schema.parameters).names}
    return [p for name, p in schema.parameters.items() if name in asked and given.get(name) is None]


def _path(rule: DerivedRule) -> tuple[int, ...]:
    return (rule.start.node_id, *(step.edge.statement_id for step in rule.steps))


def _doubt(said: str, names: Sequence[str]) -> str:
    if not names:
        return f"{said!r} is no exact value: nothing was taken from the question for it"
    return f"{said!r} may be each of {', '.join(names)}: nothing was taken from the question for it"
