"""The JSON shapes of keeping rules (``/rules``): what is in the graph, what waits for a review, imports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from wenyuan.contract.bodies import QueryString, Strict
from wenyuan.contract.fields import MAX_INTEGER, Text
from wenyuan.core.errors import Fault, InvalidRequest, msg
from wenyuan.core.rules.book import BookFault, Tally
from wenyuan.core.rules.graph import Edge, GraphNode
from wenyuan.core.rules.import_diff import ImportChange as DiffChange
from wenyuan.core.rules.labels import condition_labels, relation_labels
from wenyuan.core.rules.model import Evidence
from wenyuan.core.rules.schema import Schema
from wenyuan.service.generation.proposals import ProposalReport, ProposeRequest, as_data
from wenyuan.service.rules.cited_places import Cite
from wenyuan.service.rules.rulebook import ImportReport
from wenyuan.wire.contract import failed_body
from wenyuan.wire.files import FileShape
from wenyuan.wire.search_requests import checked

if TYPE_CHECKING:
    from wenyuan.catalog.rules.rows import HeldStatement


MAX_LISTED = 1_000
"""Entries of one page, faults and changes of one report, statements of one review."""
_CHANGES = ("added", "changed", "retired", "conflicting")
Number = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
"""Of an entry of a list: a statement, an evaluation."""


class QueueQueryShape(QueryString):
    """Which page of a list is wanted: entries past the number ``after``."""

    limit: Annotated[int, Field(ge=1, le=MAX_LISTED)] = 50
    after: Annotated[int, Field(ge=0, le=MAX_INTEGER)] = 0


class RulesQueryShape(QueueQueryShape):
    """Which nodes of the graph are wanted, by number."""

    q: Annotated[str, Field(max_length=500)] | None = Field(None, description="In a name, label, code or alias.")
    kind: str | None = None


class NodeQueryShape(QueryString):
    """How many statements of each direction are wanted."""

    limit: Annotated[int, Field(ge=1, le=MAX_LISTED)] = 100


class ReviewShape(Strict):
    """What people decide on statements: all of them, or none when one cannot be decided on."""

    statement_ids: (
        Annotated[list[Number], Field(min_length=1, max_length=MAX_LISTED)]
        | Annotated[Text, Field(min_length=1, max_length=2_000)]
    ) = Field(
        description=f"Or a text: 3,7, 1-50, or all that wait; the first {MAX_LISTED:,} of them, `left` are more."
    )
    action: Literal["approve", "reject", "retire"]
    reason: Annotated[Text, Field(max_length=2_000)] = ""
    seen: Literal["proposed", "approved", "rejected", "retired"] | None = Field(
        None,
        description="The status in which the caller has seen them; another one is a conflict, and nothing is changed.",
    )


class ImportShape(Strict):
    """Which rules are to be imported: a file or folder of the server's, a file of the caller's, or a pack that comes
    with the program.
    """

    path: Text | None = Field(None, description="Absolute, below a folder of the setting server.ingest_roots.")
    file: FileShape | None = Field(None, description="A workbook, a table, a pack in one file, or a graph.")
    pack: Text | None = Field(None, description="A pack that comes with the program.")
    dry_run: bool = Field(False, description="Only tell what would change.")
    default_source: Text | None = Field(None, description="Of statements that name no evidence of their own.")
    status: Literal["approved", "proposed"] | None = Field(None, description="Of statements that say none.")


def import_from_wire(payload: object) -> ImportShape:
    """Parse an import request; InvalidRequest lists every fault."""
    body = checked(ImportShape, payload)
    given = [name for name in ("path", "file", "pack") if getattr(body, name) is not None]
    if len(given) != 1:
        beside = msg("cannot be given beside {other}", other=given[1]) if given else ""
        message = beside or "is required, or file, or pack"
        path = given[0] if given else "path"
        raise InvalidRequest(msg("{place} {fault}", place=path, fault=message), faults=(Fault(path, message),))
    return body


MOST_CLAUSES = 50
"""Clauses that one request has a model read: minutes, not hours. What is left is read by further ones."""


class ProposeShape(Strict):
    """Which source the language model is to read for rules, and how far in this request."""

    source: Annotated[Text, Field(min_length=1, max_length=64)]
    limit: int = Field(
        20, ge=1, le=MOST_CLAUSES, description="Clauses to read at most; ask again for what is `left`."
    )
    tokens: int | None = Field(
        None, ge=1, le=MAX_INTEGER, description="Tokens to use at most, those of answers included."
    )
    dry_run: bool = Field(False, description="Ask the model, keep nothing.")


def propose_from_wire(payload: object) -> ProposeRequest:
    """Parse a request to read a source for rules; InvalidRequest lists every fault."""
    body = checked(ProposeShape, payload)
    return ProposeRequest(source_id=body.source, limit=body.limit, tokens=body.tokens, dry_run=body.dry_run)


def proposals_to_wire(report: ProposalReport) -> dict[str, Any]:
    """The report of a run; FAILED where something that failed ended it, with what was kept before."""
    failure = report.failure
    if failure is None:
        return {"status": "SUCCESS", **as_data(report)}
    return failed_body(str(failure), error={"code": failure.code}, **as_data(report))


def node_to_wire(node: GraphNode) -> dict[str, Any]:
    """A node of the graph."""
    return {**asdict(node), "scope": list(node.scope)}


def edge_to_wire(edge: Edge, schema: Schema, cite: Cite) -> dict[str, Any]:
    """A statement in force, from the node at one of its ends: ``node`` is the other one."""
    return {
        "statement_id": edge.statement_id,
        "relation": edge.rel,
        "relation_labels": relation_labels(schema, edge.rel),
        "node": node_to_wire(edge.end),
        "condition": edge.condition,
        "condition_labels": condition_labels(edge.condition, schema.parameters),
        "strength": edge.strength,
        "sentence": dict(edge.sentence),
        "weight": edge.weight,
        "trust": edge.trust,
        "evidences": [asdict(evidence) | {"uri": cite(evidence)} for evidence in edge.evidences],
    }


def schema_to_wire(schema: Schema) -> dict[str, Any]:
    """A schema: labels of kinds and relations, parameters, and the groups of each pattern."""
    return {
        "scope_kind": schema.scope_kind,
        "kinds": {kind.id: dict(kind.labels) for kind in schema.kinds.values()},
        "relations": {
            r.id: {
                "labels": dict(r.labels),
                "from": list(r.sources),
                "to": list(r.targets),
                "aliases": list(r.aliases),
            }
            for r in schema.relations.values()
        },
        "parameters": {
            p.name: {"labels": dict(p.labels), "type": p.type, "unit": p.unit} for p in schema.parameters.values()
        },
        "patterns": {p.name: {"start": p.start, "groups": list(p.collect)} for p in schema.patterns.values()},
    }


def statement_to_wire(
    held: HeldStatement, ends: Mapping[int, GraphNode], trusts: Mapping[str, int], schema: Schema, cite: Cite,
    place: Callable[[Evidence], int | None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A statement with its present and former evidence.

    Args:
        ends: Its nodes, by number; one that is retired is told by its key alone.
        trusts: Of the registered sources, by id.
        schema: Has what relations and parameters are called.
        cite: Tells where evidence is opened.
        place: Tells which passage has the quote; None: that is not told.
    """
    said = held.statement
    return {
        "statement_id": held.statement_id,
        "key": said.key,
        "status": said.status,
        "reason": held.reason,
        "src": _end(ends.get(held.src), said.src),
        "relation": said.rel,
        "relation_labels": relation_labels(schema, said.rel),
        "dst": _end(ends.get(held.dst), said.dst),
        "condition": said.condition,
        "condition_labels": condition_labels(said.condition, schema.parameters),
        "strength": said.strength,
        "sentence": dict(said.sentence),
        "valid_from": said.valid_from and said.valid_from.isoformat(),
        "valid_until": said.valid_until and said.valid_until.isoformat(),
        "weight": said.weight,
        "pack": held.pack,
        "evidences": [
            {
                "source_id": e.evidence.source_id,
                "uri": cite(e.evidence),
                "clause": e.evidence.clause,
                "quote": e.evidence.quote,
                "verified": e.evidence.verified,
                "reviewer": e.evidence.reviewer,
                "trust": _least(e.evidence.trust, trusts.get(e.evidence.source_id)),
                "pack": e.pack,
                "live": e.removed_seq is None,
                **({"passage_id": found} if place is not None and (found := place(e.evidence)) else {}),
            }
            for e in held.evidences
        ],
    }


def _end(node: GraphNode | None, key: str) -> dict[str, Any]:
    if node is None:
        kind, _, name = key.partition("/")
        return {"key": key, "kind": kind if name else "", "name": name or key, "labels": {}}
    return {"key": node.key, "kind": node.kind, "name": node.name, "labels": dict(node.labels)}


def _least(own: int | None, registered: int | None) -> int | None:
    """Effective trust of evidence, at most its source's; None: the source is not registered and the evidence does not
    count.
    """
    return registered if own is None or registered is None else min(own, registered)


def fault_to_wire(fault: BookFault) -> dict[str, Any]:
    """A fault in a rule file, with file and line (or sheet and row)."""
    return {
        "code": fault.code,
        "severity": fault.severity,
        "message": fault.message,
        "file": fault.place.file,
        "line": fault.place.line,
        "cell": fault.place.cell,
    }


def report_to_wire(report: ImportReport, *, dry_run: bool, most: int = MAX_LISTED) -> dict[str, Any]:
    """What an import changed or, as a dry run, would change. Lists have at most `most` entries; ``counts`` has all."""
    checked_book = report.checked
    notes = len(report.faults) - len(report.errors)
    return {
        "pack": report.pack,
        "dry_run": dry_run,
        "complete": not report.errors,
        "counts": {
            **{name: _tally(getattr(checked_book, name)) for name in ("written", "imported", "merged", "refused")},
            **{name: len(getattr(report.diff, name)) for name in (*_CHANGES, "unchanged")},
            "errors": len(report.errors),
            "waiting": report.waiting,
            "notes": notes,
        },
        "sources": list(report.sources),
        "faults": [fault_to_wire(fault) for fault in _errors_first(report.faults)[:most]],
        "diff": {name: [_change(one) for one in getattr(report.diff, name)[:most]] for name in _CHANGES},
        "change": None if report.changes is None else report.changes.seq,
    }


def _errors_first(faults: Iterable[BookFault]) -> list[BookFault]:
    return sorted(faults, key=lambda fault: fault.severity != "error")


def _tally(tally: Tally) -> dict[str, int]:
    return {"nodes": tally.nodes, "statements": tally.statements}


def _change(change: DiffChange) -> dict[str, Any]:
    return {
        "kind": change.kind, "key": change.key, "text": change.text, "details": list(change.details),
        "place": str(change.place), "labels": dict(change.labels),
        "detail_labels": {tag: list(change.detail_labels(tag)) for tag in change.labels},
    }  # fmt: skip
