"""A question as read for rules: what it asks for, states and names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wenyuan.core.errors import msg
from wenyuan.core.rules.conditions import compile_condition
from wenyuan.core.rules.inference import DerivedRule, Inference
from wenyuan.core.rules.labels import joined_conditions
from wenyuan.core.rules.quantities import stated
from wenyuan.core.rules.questions import IntentReader, Names, QuestionIntent, Weight, relevances, weighed
from wenyuan.core.rules.schema import Parameter, Schema
from wenyuan.core.rules.sentences import value_of
from wenyuan.core.text.folding import language_of
from wenyuan.service.rules.unified import RuleQuestion

# How a question is read for rules: where it names what it is about, what it asks for, and what it states of its case.


Meant = Callable[[Sequence[DerivedRule], Sequence[float]], list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionReading:
    """The interpretation of a question, and the rules that follow.

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
    asks: IntentReader,
    names: Names,
    infer: Callable[[Mapping[str, Any]], Inference],
    meant: Meant | None = None,
) -> QuestionReading:
    """Derive rules with the given parameters, and those that the question itself states.

    Args:
        about: Where its text names what it is about; see `spans`.
        infer: Derives with some parameters.
        meant: Gives the relevances of rules by what the question means, too, from those by its words; None: by words alone.
    """
    text, given = question.text, question.parameters
    inference = infer(given)
    asked = asks.of(text, about, inference.rules, names)
    weights = _weights(asked, inference, names, meant)
    told = stated(text, about, _open(inference.rules, schema, given))
    notes = [_doubt(said, ways) for said, ways in told.doubtful]
    if told.values:
        first, inference = zip(inference.rules, weights, strict=True), infer({**given, **told.values})
        weights = _weights(asked, inference, names, meant)
        notes[:0] = [
            msg(
                "{name} was taken from the question: {said}",
                name=value_of(name, value, schema, language_of(text)),
                said=repr(told.said[name]),
            )
            for name, value in told.values.items()
        ]
        kept = {_path(rule) for rule in inference.rules}
        notes += [
            msg(
                "{end} does not hold with what the question states: {rule}",
                end=repr(rule.end.label(language_of(text))),
                rule=_conditions(rule, schema, language_of(text)),
            )
            for rule, weight in first
            if weight is not None and weight.answers and _path(rule) not in kept
        ]
        notes += [
            msg(
                "{stated} does not reach what {end} is required from: {rule}",
                stated=", ".join(value_of(name, told.values[name], schema, language_of(text)) for name in short),
                end=repr(rule.end.label(language_of(text))),
                rule=_conditions(rule, schema, language_of(text)),
            )
            for rule, weight in zip(inference.rules, weights, strict=True)
            if weight is not None
            and weight.answers
            and (short := _not_reached(rule, schema, {**given, **told.values}, told.values))
        ]
    return QuestionReading(
        inference=inference, weights=weights, stated=told.values, notes=tuple(dict.fromkeys(notes))
    )


def _not_reached(
    rule: DerivedRule, schema: Schema, known: Mapping[str, Any], told: Mapping[str, float | int]
) -> tuple[str, ...]:
    """The stated parameters with which a rule would hold only where something else applies that is not known."""
    for text in (step.edge.condition for step in rule.steps if step.edge.condition):
        condition = compile_condition(text, schema.parameters)
        outcome = condition.check(known)
        others = [schema.parameters.get(name) for name in outcome.missing]
        if outcome.state != "unknown" or not all(one is not None and one.type == "boolean" for one in others):
            continue
        if condition.check({**known, **dict.fromkeys(outcome.missing, False)}).state == "not_met":
            return tuple(name for name in condition.names if name in told)
    return ()


def spans(question: RuleQuestion, recognised: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Mentions of nodes in the text of a question, recognised or given."""
    found = [(one["start"], one["end"]) for one in recognised if "start" in one]
    for name in filter(None, question.processes or ()):
        found += [(at.start(), at.end()) for at in re.finditer(re.escape(name), question.text)]
    return found


def _weights(
    asked: QuestionIntent, inference: Inference, names: Names, meant: Meant | None
) -> Sequence[Weight | None]:
    relevance = relevances(asked, inference.rules, names)
    if not asked.words and not any(relevance):
        return [None] * len(relevance)
    return weighed(relevance if meant is None else meant(inference.rules, relevance))


def _conditions(rule: DerivedRule, schema: Schema, language: str) -> str:
    return joined_conditions((step.edge.condition for step in rule.steps), schema.parameters, language)


def _open(rules: Sequence[DerivedRule], schema: Schema, given: Mapping[str, Any]) -> list[Parameter]:
    """Parameters of the rules' conditions that were not given."""
    conditions = {step.edge.condition for rule in rules for step in rule.steps if step.edge.condition}
    asked = {name for text in conditions for name in compile_condition(text, schema.parameters).names}
    return [p for name, p in schema.parameters.items() if name in asked and given.get(name) is None]


def _path(rule: DerivedRule) -> tuple[int, ...]:
    return (rule.start.node_id, *(step.edge.statement_id for step in rule.steps))


def _doubt(said: str, names: Sequence[str]) -> str:
    if not names:
        return msg("{said} is no exact value: nothing was taken from the question for it", said=repr(said))
    return msg(
        "{said} may be each of {names}: nothing was taken from the question for it",
        said=repr(said),
        names=", ".join(names),
    )
