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

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from wenyuan.core.answering import Shown, quote_between
from wenyuan.core.rules.model import Statement
from wenyuan.core.rules.proposal_case import ProposalCase, ProposalRefused, gate
from wenyuan.core.rules.proposal_content import contradictions_beside, says
from wenyuan.core.rules.proposal_form import ends_of, formed
from wenyuan.core.rules.proposals import JudgedProposal, KnownRules, KnownStatement, Proposal
from wenyuan.core.text.boundaries import Span
from wenyuan.core.text.injection import within_instruction
from wenyuan.core.text.structure import opening
from wenyuan.core.tokens import tokens_of
from wenyuan.core.verification import compared_with


def judge(proposals: Sequence[Proposal], shown: Sequence[Shown], holdings: KnownRules) -> list[JudgedProposal]:
    """The result of the checks for each proposal of a reply, in order.

    Args:
        shown: What the model was shown for it.
    """
    by_ref = {one.passage.ref: one for one in shown}
    cases = [ProposalCase(proposal) for proposal in proposals]
    beside: dict[int, tuple[str, ...]] = defaultdict(tuple)
    for one in shown:
        beside[one.passage.document_id] += (one.text,)
    for case in cases:
        _attempt(case, lambda case: _locate_quote(case, by_ref))
        if case.passage is not None:
            case.beside = beside[case.passage.document_id]
    for case in cases:
        _attempt(case, lambda case: ends_of(case, holdings))
    formed([case for case in cases if case.refused is None], holdings)
    taken: dict[tuple[str, str], list[KnownStatement]] = defaultdict(list)
    for case in cases:
        _attempt(case, lambda case: says(case, holdings.schema))
        _attempt(case, lambda case: contradictions_beside(case, holdings, taken))
    return [_judge_case(case, holdings) for case in cases]


def _attempt(case: ProposalCase, check: Callable[[ProposalCase], None]) -> None:
    if case.refused is None:
        try:
            check(case)
        except ProposalRefused as refused:
            case.refused = refused


def _judge_case(case: ProposalCase, holdings: KnownRules) -> JudgedProposal:
    if case.refused is not None:
        why = case.refused
        return JudgedProposal(
            proposal=case.proposal, reason=why.reason, detail=why.detail, quote=case.quote, rival=why.rival
        )
    said = cast("Statement", case.statement)
    new = tuple(node for key, node in case.ends.items() if key in (said.src, said.dst) and key not in holdings.nodes)
    return JudgedProposal(proposal=case.proposal, statement=said, nodes=new, quote=case.quote)


def _locate_quote(case: ProposalCase, shown: Mapping[str, Shown]) -> None:
    """Find the quote in the stored text, and check that it matches the proposal's text."""
    one = shown.get(case.proposal.passage)
    if one is None:
        raise ProposalRefused("unknown_passage", case.proposal.passage)
    span = quote_between(one.text, case.proposal.first, case.proposal.last)
    if span is None:
        raise ProposalRefused("no_quote", f"{case.proposal.first} … {case.proposal.last}")
    span = _without_number(one.text, span)
    case.passage, case.span, case.quote = one.passage, span, one.text[slice(*span)]
    if within_instruction(one.text, *span):
        gate("instruction", case.quote)
    found = compared_with(tokens_of(case.proposal.text), case.quote)
    if found is None:
        gate("not_said", case.proposal.text)
    elif found.kind not in ("verbatim", "part", "paraphrase"):
        gate(found.kind, "; ".join(f"{change.was} → {change.said}" for change in found.changes))
    case.verbatim = tokens_of(case.proposal.text).values == tokens_of(case.quote).values


def _without_number(text: str, span: Span) -> Span:
    """A quote without its leading clause number, which is shown separately: ``第十条``, ``Article 4``."""
    quote = text[slice(*span)]
    found = opening(quote)
    if found is None or found.label[:1].isdigit() or found.kind not in ("article", "paragraph", "item"):
        return span
    rest = quote.removeprefix(found.label).lstrip(" \u3000\t.:：、\n")
    return (span[1] - len(rest), span[1]) if rest and quote.startswith(found.label) else span
