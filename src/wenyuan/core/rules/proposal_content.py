"""What a proposed rule says, beside what its clause says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import cast

from wenyuan.core.model import Passage
from wenyuan.core.rules.conditions import compile_condition
from wenyuan.core.rules.expressions import ExpressionToken as ConditionToken
from wenyuan.core.rules.expressions import tokens_of as condition_tokens
from wenyuan.core.rules.model import Node, Statement
from wenyuan.core.rules.proposal_case import ProposalCase, gate
from wenyuan.core.rules.proposals import KnownRules, KnownStatement
from wenyuan.core.rules.schema import Parameter, Relation, Schema
from wenyuan.core.text.analysis import terms
from wenyuan.core.text.folding import fold
from wenyuan.core.text.numbers import measured, unit_of
from wenyuan.core.tokens import Tokens, tokens_of

_NAMED = 0.6  # share of a name's terms that a text has where it names the thing
_NEGATIVE = re.compile(
    r"forbid|prohibit|exempt|(?:must|may|shall|should|need)[ _]not|cannot|never|禁|不得|不应|不许|不可|不需|不必|无需|无须|豁免|免除"
)
_REFUSING = ("must not", "need not")
_SOFT = re.compile(r"should|宜|recommend|advis|建议|推荐")


def says(case: ProposalCase, schema: Schema) -> None:
    """Refuse where names, condition, strength or relation disagree with the clause."""
    said, passage = cast("Statement", case.statement), cast("Passage", case.passage)
    quote = tokens_of(case.quote)
    context = tokens_of("\n".join((passage.title, *passage.headings, *case.beside)))
    _require_name(case.ends[said.src], case.proposal.src, context)
    _require_name(case.ends[said.dst], case.proposal.dst, quote)
    if said.condition:
        _condition_said(said.condition, schema.parameters, quote)
    _strength_said(said, case.quote, quote, tokens_of(_lead_in(passage.text[: case.span[0]])))
    _polarity_said(schema.relations[said.rel], case.proposal.dst, quote)


def _require_name(node: Node, written: str, text: Tokens) -> None:
    """Refuse unless a text contains the node's name as written, or another of its names in the graph."""
    own = {token.value for token in text.tokens}
    names = dict.fromkeys((written, node.name, *node.labels.values(), *(alias.text for alias in node.aliases)))
    said = set(terms(text.text))
    for name in names:
        wanted = set(terms(name))
        if wanted and len(wanted & said) >= _NAMED * len(wanted):
            words = tokens_of(name)
            if any(t.kind != "word" and t.value not in own for t in words.tokens):
                gate("number_changed", name)
            if not _negated_alike(words, text):
                gate("negation_changed", name)
            return
    gate("end_not_said", written)


def _negated_alike(name: Tokens, text: Tokens) -> bool:
    """Whether a name's negation, if it has one, is of the part of a text that is about it."""
    own = _negations(name, range(len(name.tokens)))
    told = _negations(text, _part_about(name, text)) if own else set()
    return not own or bool(own & told) or bool(told and "not" in own | told)


def _negations(text: Tokens, part: range) -> set[str]:
    return {duty.name for duty in text.duties if duty.first in part and duty.name in {"not", *_REFUSING}}


def _condition_said(condition: str, parameters: Mapping[str, Parameter], quote: Tokens) -> None:
    """Refuse where a number in a condition, or its direction (at least, at most), differs from the quote."""
    found = list(condition_tokens(condition))
    for at, token in enumerate(found):
        if token.kind != "number":
            continue
        value, unit = _in_unit(float(token.text), _compared(found, at), parameters)
        places = [n for n, one in enumerate(quote.tokens) if _is(quote, n, value, unit)]
        if not places:
            gate("number_changed", f"{condition} ({token.text})")
        side = _side(found, at)
        told = {bound for place in places for bound in _bounds(quote, place)}
        if side and told and side not in told:
            gate("number_changed", condition)


def _compared(tokens: Sequence[ConditionToken], at: int) -> str:
    """The parameter compared with a number; ``""`` where it is no plain comparison."""
    names = [t.text for t in (*tokens[max(0, at - 2) : at], *tokens[at + 1 : at + 3]) if t.kind == "name"]
    return names[0] if len(names) == 1 else ""


def _in_unit(number: float, name: str, parameters: Mapping[str, Parameter]) -> tuple[float, str]:
    """A parameter's number converted to the unit of `measured`, with that unit; ``""`` for no or an unknown unit."""
    parameter = parameters.get(name)
    unit = unit_of(fold(parameter.unit)) if parameter is not None and parameter.unit else None
    return (number, "") if unit is None else (number * unit[1], unit[0])


def _is(text: Tokens, at: int, value: float, unit: str) -> bool:
    """Whether a token is that quantity or, without a unit, that number."""
    token = text.tokens[at]
    if token.kind == "word":
        return False
    quantities = measured(fold(text.text[token.start : token.end]))
    if any(abs(q.value - value) <= 1e-9 * max(1.0, abs(value)) and q.unit == unit for q in quantities):
        return True
    plain = re.sub(r"[,%]", "", token.value.lstrip("=").rstrip("abcdefghijklmnopqrstuvwxyz°²³/"))
    return not unit and re.fullmatch(r"\d+(?:\.\d+)?", plain) is not None and float(plain) == value


_SIDES = {">": "at least", ">=": "at least", "<": "at most", "<=": "at most"}
_TURNED = {"at least": "at most", "at most": "at least"}
_NEAR = 4  # tokens between a number and the words that say of which side of it
_ABOVE = re.compile(
    r"(?:old|long|deep|high|larg|wid|heavi|thick|great)er than|or (?:more|above|older|longer|deeper|higher)|(?<![不未])满|达到"
)
_UNDER = re.compile(
    r"(?:young|short|low|small|narrow|light|thinn)er than|or (?:less|fewer|below|younger|shorter)|[不未]满|不足|未达到?"
)
"""Words of measures beside those that `core.verification` knows as bounds."""


def _side(tokens: Sequence[ConditionToken], at: int) -> str:
    """The direction of a condition's bound; ``""`` where it is unclear."""
    before = _SIDES.get(tokens[at - 1].text, "") if at else ""
    after = _SIDES.get(tokens[at + 1].text, "") if at + 1 < len(tokens) else ""
    negated = any(token.text == "!" for token in tokens)
    return "" if negated else before or _TURNED.get(after, "")


def _bounds(text: Tokens, at: int) -> set[str]:
    """The directions of a quantity's bound that a text states; empty where a negation may reverse them."""
    first = last = at
    while first > 0 and text.tokens[first].after == "" and at - first < _NEAR:
        first -= 1
    while last + 1 < len(text.tokens) and text.tokens[last + 1].after == "" and last - at < _NEAR:
        last += 1
    words = fold(text.text[text.tokens[first].start : text.tokens[last].end])
    under, above = _UNDER.search(words), _ABOVE.search(words)
    if under or above:
        return {name for name, found in (("at most", under), ("at least", above)) if found}
    near = [duty.name for duty in text.duties if duty.first <= last and first < duty.end]
    return set() if {"not", *_REFUSING} & set(near) else {name for name in near if name in _TURNED}


def _lead_in(before: str) -> str:
    """The line that introduces the list around a quote: 有下列情形之一的，应当……："""
    return next((line for line in reversed(before.split("\n")) if line.rstrip().endswith(("：", ":"))), "")


def _strength_said(said: Statement, words: str, quote: Tokens, lead_in: Tokens) -> None:
    """Refuse where the clause (or the line introducing its list) is binding and the statement is not, or vice versa."""
    binds = any(duty.name in ("must", "must not") for duty in (*quote.duties, *lead_in.duties))
    soft = _SOFT.search(fold(words)) is not None
    if (said.strength == "mandatory" and not binds) or (said.strength != "mandatory" and binds and not soft):
        gate("modality_changed")


def _polarity_said(relation: Relation, dst: str, quote: Tokens) -> None:
    """Refuse where a relation demands what the clause forbids, or forbids what it demands."""
    name = tokens_of(dst)
    if any(duty.name in _REFUSING for duty in name.duties):  # it is a ban itself: 不得超载
        return
    part = _part_about(name, quote)
    refused = [duty for duty in quote.duties if duty.name in _REFUSING and duty.first in part]
    if bool(refused) != negative(relation):
        words = [quote.text[quote.tokens[duty.first].start :][:20] for duty in refused[:1]]
        gate("negation_changed", " ".join((relation.id, *words)))


def _part_about(name: Tokens, quote: Tokens) -> range:
    """The part of a quote, between two punctuation marks, that shares most words with a name."""
    begins = [0, *(n for n, token in enumerate(quote.tokens) if n and token.after), len(quote.tokens)]
    values, wanted = quote.values, set(name.values)
    parts = [range(a, b) for a, b in pairwise(begins)]
    return max(parts, key=lambda part: len(wanted & {values[n] for n in part}))


def negative(relation: Relation) -> bool:
    """Whether a relation expresses a prohibition or an exemption."""
    words = fold(" ".join((relation.id, *relation.labels.values(), *relation.sentence.values())))
    return _NEGATIVE.search(words) is not None


KNOWN = {
    "approved": "in_force", "proposed": "proposed_before", "rejected": "rejected_before", "retired": "retired_before",
}  # fmt: skip
"""By the status of what stands there, the reason that it is not proposed."""
_COUNTING = ("approved", "proposed")


def contradictions_beside(
    case: ProposalCase, holdings: KnownRules, taken: dict[tuple[str, str], list[KnownStatement]]
) -> None:
    """Refuse where the graph, or an earlier proposal of the reply, has the same statement or contradicts it."""
    said = cast("Statement", case.statement)
    ends = said.src, said.dst
    for one in (*holdings.statements.get(ends, ()), *taken[ends]):
        if one.rel == said.rel and _plain(one.condition) == _plain(said.condition):
            if one.strength != said.strength and one.status in _COUNTING:
                gate("conflict", "", one.statement_id)
            gate(KNOWN[one.status], "", one.statement_id)
    for one in (*holdings.statements.get(ends, ()), *taken[ends]):
        if one.status in _COUNTING and _contradicts(said, one, holdings.schema):
            detail = f"{one.rel} [{one.condition}] → {said.rel} [{said.condition}]"
            gate("conflict", detail, one.statement_id)
    taken[ends].append(KnownStatement(0, said.rel, said.condition, said.strength, "proposed"))


def _plain(condition: str) -> list[str]:
    """The tokens of a condition; a number that is compared is one however it is written (5, 5.0). In arithmetic it is
    not: 5 / 2 is another number than 5.0 / 2.
    """
    tokens = [*condition_tokens(condition)]
    texts = ["", *(token.text for token in tokens), ""]
    reckoned = any(text in ("+", "*", "/", "%") for text in texts)
    return [
        f"{float(token.text):.15g}"
        if token.kind == "number" and not reckoned and "x" not in token.text
        else token.text
        for token in tokens
    ]


def _contradicts(said: Statement, held: KnownStatement, schema: Schema) -> bool:
    """Whether two statements between the same nodes contradict: same relation with another condition on the same
    parameters, or one forbids what the other demands.
    """
    if held.rel == said.rel:
        return (
            not held.condition
            or not said.condition
            or _condition_text(held.condition) == _condition_text(said.condition)
        )
    relation = schema.relations.get(held.rel)
    return relation is not None and negative(relation) != negative(schema.relations[said.rel])


def _condition_text(condition: str) -> tuple[str, ...]:
    return compile_condition(condition).names
