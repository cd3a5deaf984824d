"""The form of a proposed rule: kinds, names, relation, condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from wenyuan.core.anchors import parted
from wenyuan.core.errors import msg
from wenyuan.core.model import Passage
from wenyuan.core.rules.book import Book, RawEvidence, RawStatement
from wenyuan.core.rules.checking import check_book
from wenyuan.core.rules.model import EntryPlace, Node, Strength
from wenyuan.core.rules.names import IdsByName, looks_like_sentence
from wenyuan.core.rules.proposal_case import ProposalCase, ProposalRefused, gate
from wenyuan.core.rules.proposals import KnownRules
from wenyuan.core.text.folding import language_of
from wenyuan.core.text.structure import clause_label, opening


def ends_of(case: ProposalCase, holdings: KnownRules) -> None:
    """The candidate nodes for both ends; a new node where the graph has none with that kind and name."""
    said, kinds = case.proposal, IdsByName(holdings.schema.kinds.values())
    for name, written in ((said.src, said.src_kind), (said.dst, said.dst_kind)):
        found = kinds.find(written)
        if len(found) != 1:
            raise ProposalRefused("unknown_kind", f"{written}{kinds.near(written)}")
        if looks_like_sentence(name):
            gate("sentence_as_name", name)
        kind = found[0]
        known = holdings.names.find(name)
        fitting = [candidate for candidate in known if candidate.kind == kind]
        if known and not fitting:
            gate(
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
        raise ProposalRefused("bad_condition", said.condition)


def formed(cases: Sequence[ProposalCase], holdings: KnownRules) -> None:
    """Build each case's statement by the schema, or refuse it with the first fault of `check_book`."""
    known = {key: node for case in cases for key, node in case.ends.items() if key in holdings.nodes}
    new = {key: node for case in cases for key, node in case.ends.items() if key not in holdings.nodes}
    book = Book(
        pack="proposals",
        nodes=tuple(replace(node, place=EntryPlace("names", number)) for number, node in enumerate(new.values())),
        links=tuple(_link(case, number) for number, case in enumerate(cases)),
    )
    sources = {cast("Passage", case.passage).source_id for case in cases}
    checked = check_book(book, holdings.schema, known=known, sources=sources)
    for fault in checked.faults:
        if fault.place.file == "" and fault.place.line is not None and cases[fault.place.line].refused is None:
            cases[fault.place.line].refused = ProposalRefused(fault.code, fault.message)
    nodes = {node.key: node for node in checked.nodes} | known
    for statement in checked.statements:
        case = cases[cast("int", statement.place.line)]
        case.statement = statement
        case.ends |= {key: nodes[key] for key in (statement.src, statement.dst)}
    for case in cases:
        if case.statement is None and case.refused is None:
            case.refused = ProposalRefused("duplicate_statement")


def _link(case: ProposalCase, number: int) -> RawStatement:
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
        status="proposed", evidences=(evidence,), place=EntryPlace("", number),
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
