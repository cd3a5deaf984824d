"""Checks of rules proposed by a model, against the schema, the quoted clause and the graph.

::

    _cut        anchors → the quote, cut out of the stored text; does it say what the proposal's text says?
    _ends       kinds and names: nodes that the graph has, or new ones
    _formed     relation, ends, condition: what `check_book` says of any book
    _says       does the clause name both ends, and say the numbers, the strength and the yes or no of the statement?
    _beside     does the graph, or this reply before, hold it already, or otherwise?

The first check that fails is the reason.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import cast

from wenyuan.core.addresses import parted
from wenyuan.core.answering import Shown, quote_between
from wenyuan.core.errors import msg
from wenyuan.core.model import Passage
from wenyuan.core.rules import Book, Node, Place, RawEvidence, RawStatement, Statement, Strength
from wenyuan.core.rules.checking import check_book
from wenyuan.core.rules.conditions import Token as ConditionToken
from wenyuan.core.rules.conditions import compile_condition
from wenyuan.core.rules.conditions import tokens_of as condition_tokens
from wenyuan.core.rules.names import Words, looks_like_sentence
from wenyuan.core.rules.proposals import Holdings, Judged, Proposal, Standing
from wenyuan.core.rules.schema import Parameter, Relation, Schema
from wenyuan.core.text import Span, fold, language_of, terms
from wenyuan.core.text.numbers import measured, unit_of
from wenyuan.core.text.structure import clause_label, opening
from wenyuan.core.text.summaries import instruction_like
from wenyuan.core.tokens import Tokens, tokens_of
from wenyuan.core.verification import compared_with

GATES = frozenset((
    "instruction", "not_said", "stitched", "number_changed", "unit_changed", "date_changed", "negation_changed",
    "modality_changed", "relation_changed", "wrong_kind", "sentence_as_name", "end_not_said", "in_force", "proposed_before", "rejected_before",
    "retired_before", "conflict",
))  # fmt: skip
"""The reasons that nothing but their own check refuses a proposal for; without a quote, or of another form, it is no statement
at all.
"""


class _Refused(Exception):
    """Raised to refuse a proposal."""

    def __init__(self, reason: str, detail: str = "", rival: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.detail, self.rival = reason, detail, rival


def _gate(reason: str, detail: str = "", rival: int = 0) -> None:
    """Refuse a proposal for a reason of `GATES`."""
    if reason in GATES:
        raise _Refused(reason, detail, rival)


@dataclass(slots=True)
class _Case:
    """A proposal with the results of the checks so far."""

    proposal: Proposal
    passage: Passage | None = None
    span: Span = (0, 0)
    quote: str = ""
    verbatim: bool = False
    refused: _Refused | None = None
    statement: Statement | None = None
    beside: tuple[str, ...] = ()
    """What was shown of its document: clauses before it may say what it is about."""
    ends: dict[str, Node] = field(default_factory=dict)
    """The nodes that its ends may mean, by key."""


def judge(proposals: Sequence[Proposal], shown: Sequence[Shown], holdings: Holdings) -> list[Judged]:
    """The result of the checks for each proposal of a reply, in order.

    Args:
        shown: What the model was shown for it.
    """
    by_ref = {one.passage.ref: one for one in shown}
    cases = [_Case(proposal) for proposal in proposals]
    beside: dict[int, tuple[str, ...]] = defaultdict(tuple)
    for one in shown:
        beside[one.passage.document_id] += (one.text,)
    for case in cases:
        _attempt(case, lambda case: _cut(case, by_ref))
        if case.passage is not None:
            case.beside = beside[case.passage.document_id]
    for case in cases:
        _attempt(case, lambda case: _ends(case, holdings))
    _formed([case for case in cases if case.refused is None], holdings)
    taken: dict[tuple[str, str], list[Standing]] = defaultdict(list)
    for case in cases:
        _attempt(case, lambda case: _says(case, holdings.schema))
        _attempt(case, lambda case: _beside(case, holdings, taken))
    return [_judged(case, holdings) for case in cases]


def _attempt(case: _Case, check: Callable[[_Case], None]) -> None:
    if case.refused is None:
        try:
            check(case)
        except _Refused as refused:
            case.refused = refused


def _judged(case: _Case, holdings: Holdings) -> Judged:
    if case.refused is not None:
        why = case.refused
        return Judged(proposal=case.proposal, reason=why.reason, detail=why.detail, quote=case.quote, rival=why.rival)
    said = cast("Statement", case.statement)
    new = tuple(node for key, node in case.ends.items() if key in (said.src, said.dst) and key not in holdings.nodes)
    return Judged(proposal=case.proposal, statement=said, nodes=new, quote=case.quote)


def _cut(case: _Case, shown: Mapping[str, Shown]) -> None:
    """Find the quote in the stored text, and check that it matches the proposal's text."""
    one = shown.get(case.proposal.passage)
    if one is None:
        raise _Refused("unknown_passage", case.proposal.passage)
    span = quote_between(one.text, case.proposal.first, case.proposal.last)
    if span is None:
        raise _Refused("no_quote", f"{case.proposal.first} … {case.proposal.last}")
    span = _without_number(one.text, span)
    case.passage, case.span, case.quote = one.passage, span, one.text[slice(*span)]
    if instruction_like(case.quote):
        _gate("instruction", case.quote)
    found = compared_with(tokens_of(case.proposal.text), case.quote)
    if found is None:
        _gate("not_said", case.proposal.text)
    elif found.kind not in ("verbatim", "part", "paraphrase"):
        _gate(found.kind, "; ".join(f"{change.was} → {change.said}" for change in found.changes))
    case.verbatim = tokens_of(case.proposal.text).values == tokens_of(case.quote).values


def _without_number(text: str, span: Span) -> Span:
    """A quote without its leading clause number, which is shown separately: ``第十条``, ``Article 4``."""
    quote = text[slice(*span)]
    found = opening(quote)
    if found is None or found.label[:1].isdigit() or found.kind not in ("article", "paragraph", "item"):
        return span
    rest = quote.removeprefix(found.label).lstrip(" \u3000\t.:：、\n")
    return (span[1] - len(rest), span[1]) if rest and quote.startswith(found.label) else span


# Its form: kinds, names, relation, condition.


def _ends(case: _Case, holdings: Holdings) -> None:
    """The candidate nodes for both ends; a new node where the graph has none with that kind and name."""
    said, kinds = case.proposal, Words(holdings.schema.kinds.values())
    for name, written in ((said.src, said.src_kind), (said.dst, said.dst_kind)):
        found = kinds.find(written)
        if len(found) != 1:
            raise _Refused("unknown_kind", f"{written}{kinds.near(written)}")
        if looks_like_sentence(name):
            _gate("sentence_as_name", name)
        kind = found[0]
        known = holdings.names.find(name)
        fitting = [candidate for candidate in known if candidate.kind == kind]
        if known and not fitting:
            _gate(
                "wrong_kind",
                msg("{name} is of the kind {kind} in the graph", name=repr(name), kind=repr(known[0].kind)),
            )
        for candidate in fitting:
            case.ends[candidate.key] = holdings.nodes[candidate.key]
        if not fitting:
            passage = cast("Passage", case.passage)
            language = passage.language or language_of(case.quote)
            node = Node(key=f"{kind}/{name}", kind=kind, name=name, labels={language: name})
            case.ends[node.key] = node
    if said.condition and not holdings.schema.parameters:
        raise _Refused("bad_condition", said.condition)


def _formed(cases: Sequence[_Case], holdings: Holdings) -> None:
    """Build each case's statement by the schema, or refuse it with the first fault of `check_book`."""
    known = {key: node for case in cases for key, node in case.ends.items() if key in holdings.nodes}
    new = {key: node for case in cases for key, node in case.ends.items() if key not in holdings.nodes}
    book = Book(
        pack="proposals",
        nodes=tuple(replace(node, place=Place("names", number)) for number, node in enumerate(new.values())),
        links=tuple(_link(case, number) for number, case in enumerate(cases)),
    )
    sources = {cast("Passage", case.passage).source_id for case in cases}
    checked = check_book(book, holdings.schema, known=known, sources=sources)
    for fault in checked.faults:
        if fault.place.file == "" and fault.place.line is not None and cases[fault.place.line].refused is None:
            cases[fault.place.line].refused = _Refused(fault.code, fault.message)
    nodes = {node.key: node for node in checked.nodes} | known
    for statement in checked.statements:
        case = cases[cast("int", statement.place.line)]
        case.statement = statement
        case.ends |= {key: nodes[key] for key in (statement.src, statement.dst)}
    for case in cases:
        if case.statement is None and case.refused is None:
            case.refused = _Refused("duplicate_statement")


def _link(case: _Case, number: int) -> RawStatement:
    said, passage = case.proposal, cast("Passage", case.passage)
    language = passage.language or language_of(case.quote)
    evidence = RawEvidence(
        source=passage.source_id,
        uri=parted(passage.uri)[0],
        clause=clause_of(passage, case.span[0]),
        quote=case.quote,
    )
    return RawStatement(
        src=f"{said.src_kind}:{said.src}", rel=said.relation, dst=f"{said.dst_kind}:{said.dst}",
        condition=said.condition, strength=cast("Strength", said.strength),
        sentence={language: case.quote} if case.verbatim else {},
        valid_from=passage.effective_from, valid_until=passage.effective_until,
        status="proposed", evidences=(evidence,), place=Place("", number),
    )  # fmt: skip


def clause_of(passage: Passage, at: int) -> str:
    """The clause number, as written (``第十三条``), at a position of a passage; ``""`` outside numbered clauses."""
    stop = passage.text.find("\n", at)
    lines = passage.text[: len(passage.text) if stop < 0 else stop].split("\n")
    for line in reversed(lines):
        found = opening(line.strip())
        if found is not None and found.kind in ("article", "clause", "paragraph", "item"):
            return found.label
    return clause_label(passage.headings)


# What it says, beside what its clause says.


_NAMED = 0.6  # share of a name's terms that a text has where it names the thing
_NEGATIVE = re.compile(
    r"forbid|prohibit|exempt|(?:must|may|shall|should|need)[ _]not|cannot|never|禁|不得|不应|不许|不可|不需|不必|无需|无须|豁免|免除"
)
_REFUSING = ("must not", "need not")
_SOFT = re.compile(r"should|宜|recommend|advis|建议|推荐")


def _says(case: _Case, schema: Schema) -> None:
    """Refuse where names, condition, strength or relation disagree with the clause."""
    said, passage = cast("Statement", case.statement), cast("Passage", case.passage)
    quote = tokens_of(case.quote)
    context = tokens_of("\n".join((passage.title, *passage.headings, *case.beside)))
    _named(case.ends[said.src], case.proposal.src, context)
    _named(case.ends[said.dst], case.proposal.dst, quote)
    if said.condition:
        _condition_said(said.condition, schema.parameters, quote)
    _strength_said(said, case.quote, quote, tokens_of(_lead_in(passage.text[: case.span[0]])))
    _polarity_said(schema.relations[said.rel], case.proposal.dst, quote)


def _named(node: Node, written: str, text: Tokens) -> None:
    """Refuse unless a text contains the node's name as written, or another of its names in the graph."""
    own = {token.value for token in text.tokens}
    names = dict.fromkeys((written, node.name, *node.labels.values(), *(alias.text for alias in node.aliases)))
    said = set(terms(text.text))
    for name in names:
        wanted = set(terms(name))
        if wanted and len(wanted & said) >= _NAMED * len(wanted):
            words = tokens_of(name)
            if any(t.kind != "word" and t.value not in own for t in words.tokens):
                _gate("number_changed", name)
            if not _negated_alike(words, text):
                _gate("negation_changed", name)
            return
    _gate("end_not_said", written)


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
            _gate("number_changed", f"{condition} ({token.text})")
        side = _side(found, at)
        told = {bound for place in places for bound in _bounds(quote, place)}
        if side and told and side not in told:
            _gate("number_changed", condition)


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
        _gate("modality_changed")


def _polarity_said(relation: Relation, dst: str, quote: Tokens) -> None:
    """Refuse where a relation demands what the clause forbids, or forbids what it demands."""
    name = tokens_of(dst)
    if any(duty.name in _REFUSING for duty in name.duties):  # it is a ban itself: 不得超载
        return
    part = _part_about(name, quote)
    refused = [duty for duty in quote.duties if duty.name in _REFUSING and duty.first in part]
    if bool(refused) != negative(relation):
        words = [quote.text[quote.tokens[duty.first].start :][:20] for duty in refused[:1]]
        _gate("negation_changed", " ".join((relation.id, *words)))


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


# What stands in the graph already.


KNOWN = {
    "approved": "in_force", "proposed": "proposed_before", "rejected": "rejected_before", "retired": "retired_before",
}  # fmt: skip
"""By the status of what stands there, the reason that it is not proposed."""
_COUNTING = ("approved", "proposed")


def _beside(case: _Case, holdings: Holdings, taken: dict[tuple[str, str], list[Standing]]) -> None:
    """Refuse where the graph, or an earlier proposal of the reply, has the same statement or contradicts it."""
    said = cast("Statement", case.statement)
    ends = said.src, said.dst
    for one in (*holdings.statements.get(ends, ()), *taken[ends]):
        if one.rel == said.rel and _plain(one.condition) == _plain(said.condition):
            if one.strength != said.strength and one.status in _COUNTING:
                _gate("conflict", "", one.statement_id)
            _gate(KNOWN[one.status], "", one.statement_id)
    for one in (*holdings.statements.get(ends, ()), *taken[ends]):
        if one.status in _COUNTING and _contradicts(said, one, holdings.schema):
            detail = f"{one.rel} [{one.condition}] → {said.rel} [{said.condition}]"
            _gate("conflict", detail, one.statement_id)
    taken[ends].append(Standing(0, said.rel, said.condition, said.strength, "proposed"))


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


def _contradicts(said: Statement, held: Standing, schema: Schema) -> bool:
    """Whether two statements between the same nodes contradict: same relation with another condition on the same
    parameters, or one forbids what the other demands.
    """
    if held.rel == said.rel:
        return not held.condition or not said.condition or _asked(held.condition) == _asked(said.condition)
    relation = schema.relations.get(held.rel)
    return relation is not None and negative(relation) != negative(schema.relations[said.rel])


def _asked(condition: str) -> tuple[str, ...]:
    return compile_condition(condition).names
