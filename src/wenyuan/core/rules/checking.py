"""A book as it was written → nodes and statements that agree with the schema, and everything that is wrong.

Nothing is dropped in silence: each written entry is imported, merged into one that says the same, or refused
with an error; ``written == imported + merged + refused`` holds for nodes and for statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from wenyuan.core.errors import InvalidRequest, did_you_mean, msg
from wenyuan.core.rules.book import Book, BookFault, DeclaredSource, RawEvidence, RawStatement, Severity, Tally
from wenyuan.core.rules.conditions import compile_condition
from wenyuan.core.rules.model import EntryPlace, Evidence, Node, Statement, StatementStatus
from wenyuan.core.rules.names import IdsByName, NameCandidate, Names
from wenyuan.core.rules.node_check import NodeCheck
from wenyuan.core.rules.parameters import plain_condition
from wenyuan.core.rules.schema import Relation, Schema

_BETWEEN = re.compile(r"<SEP>|[,，、;；|]")
_HIERARCHY = ("is_a", "part_of")
_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBook:
    """The result of checking a book: what may be imported, and the faults of the rest.

    Attributes:
        merged: Entries that said again what another one says (their evidences and aliases are kept there).
    """

    pack: str
    nodes: tuple[Node, ...]
    statements: tuple[Statement, ...]
    sources: tuple[DeclaredSource, ...]
    faults: tuple[BookFault, ...]
    written: Tally
    merged: Tally
    refused: Tally

    @property
    def imported(self) -> Tally:
        return Tally(len(self.nodes), len(self.statements))

    @property
    def errors(self) -> tuple[BookFault, ...]:
        """The faults that refused entries. If there are any, an entry's absence from the book may be a mistake."""
        return tuple(fault for fault in self.faults if fault.severity == "error")


def check_book(
    book: Book,
    schema: Schema,
    *,
    known: Mapping[str, Node] | None = None,
    sources: Set[str] = frozenset(),
    default_source: str | None = None,
    default_status: StatementStatus | None = None,
) -> CheckedBook:
    """Resolve the names of a book and check all entries.

    Args:
        schema: The library's schema with that of the book's pack laid over it.
        known: The nodes that the graph has, by key.
        sources: The ids of the registered sources; those that the book declares are known too.
        default_source: The source of statements without an evidence of their own.
        default_status: The status of statements that name none; None: approved, or proposed when a program
            wrote the file.

    Raises:
        InvalidRequest: the default source is not known.
    """
    declared = {d.source.source_id: d for d in book.sources}
    if default_source is not None and default_source not in {*sources, *declared}:
        raise InvalidRequest(
            msg(
                "no such source: {default_source}{near}",
                default_source=repr(default_source),
                near=did_you_mean(default_source, [*sources, *declared]),
            )
        )
    if not schema.kinds and (book.nodes or book.links):
        return _without_schema(book)
    faults = list(book.faults)
    kinds = IdsByName(schema.kinds.values())
    nodes = NodeCheck(kinds, known or {}, book.machine_files, faults)
    for node in book.nodes:
        nodes.take(node)
    nodes.finish(schema.scope_kind)
    everything = {**(known or {}), **nodes.accepted}
    links = _LinkCheck(schema, Names(kinds, everything.values()), everything, faults)
    links.sources, links.declared = {*sources, *declared}, declared
    links.default_source, links.default_status, links.machine = default_source, default_status, book.machine_files
    links.names_refused = nodes.names_refused
    for link in book.links:
        links.take(link)
    links.refuse_cycles()
    return CheckedBook(
        pack=book.pack,
        nodes=tuple(nodes.accepted.values()),
        statements=tuple(links.accepted.values()),
        sources=book.sources,
        faults=tuple(faults),
        written=book.written,
        merged=Tally(nodes.merged, links.merged),
        refused=book.refused + Tally(nodes.refused, links.refused),
    )


def _without_schema(book: Book) -> CheckedBook:
    """The single fault of a book without a schema; its entries cannot be checked."""
    message = "the library has no kinds and relations yet: import a pack first that declares them"
    return CheckedBook(
        pack=book.pack, nodes=(), statements=(), sources=book.sources, written=book.written, merged=Tally(),
        refused=book.written, faults=(*book.faults, BookFault("no_schema", message)),
    )  # fmt: skip


class _Refused(Exception):
    """This statement is refused."""

    def __init__(self, code: str, message: str, place: EntryPlace | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.place = code, message, place


class _LinkCheck:
    sources: Set[str]
    declared: Mapping[str, DeclaredSource]
    default_source: str | None
    default_status: StatementStatus | None
    machine: Set[str]
    names_refused: Mapping[str, EntryPlace]

    def __init__(self, schema: Schema, names: Names, nodes: Mapping[str, Node], faults: list[BookFault]) -> None:
        self.schema, self.names, self.nodes, self.faults = schema, names, nodes, faults
        self.relations = IdsByName(schema.relations.values())
        self.accepted: dict[str, Statement] = {}
        self.merged = self.refused = 0

    def fault(self, code: str, message: str, place: EntryPlace, severity: Severity = "error") -> None:
        self.faults.append(BookFault(code, message, place, severity))

    def take(self, link: RawStatement) -> None:
        try:
            statement = self._statement(link)
            first = self.accepted.get(statement.key)
            if first is None:
                self.accepted[statement.key] = statement
                return
            self.accepted[statement.key] = self._together(first, statement)
            self.merged += 1
        except _Refused as refusal:
            self.fault(refusal.code, refusal.message, refusal.place or link.place)
            self.refused += 1

    def _statement(self, link: RawStatement) -> Statement:
        src, rel, dst = self._oriented(link)
        if src == dst:
            raise _Refused(
                "self_loop",
                msg(
                    "{src} and {dst} are the same node, {src2}",
                    src=repr(link.src),
                    dst=repr(link.dst),
                    src2=repr(src),
                ),
            )
        condition = plain_condition(link.condition, self.schema.parameters)
        if condition:
            try:
                compile_condition(condition, self.schema.parameters or None)
            except InvalidRequest as error:
                raise _Refused("bad_condition", error.message) from error
        usual: StatementStatus = "proposed" if link.place.file in self.machine else "approved"
        return Statement(
            src=src,
            rel=rel,
            dst=dst,
            condition=condition,
            strength=link.strength,
            sentence=link.sentence,
            valid_from=link.valid_from,
            valid_until=link.valid_until,
            weight=link.weight,
            status=link.status or self.default_status or usual,
            evidences=self._evidences(link),
            place=link.place,
        )

    def _oriented(self, link: RawStatement) -> tuple[str, str, str]:
        """Keys and relation, the right way round."""
        starts, ends = self._candidates(link.src, link), self._candidates(link.dst, link)
        starts = self._below(starts, link.under)
        relation = self._relation(link, starts, ends)
        forward = _narrow(starts, relation.sources), _narrow(ends, relation.targets)
        ahead, back = all(forward), _fits(relation, ends, starts)
        if link.direction == "none" and ahead and back:
            message = msg(
                "either end of {id} may be {src}: the graph does not say which, the kinds neither",
                id=repr(relation.id),
                src=repr(link.src),
            )
            raise _Refused("not_orientable", message)
        if ahead:
            return self._one(forward[0], link.src), relation.id, self._one(forward[1], link.dst)
        shown = msg(
            "{id} leads from {sources} to {targets}",
            id=repr(relation.id),
            sources=_any(relation.sources),
            targets=_any(relation.targets),
        )
        written = msg(
            "{src} ({starts}) to {dst} ({ends})",
            src=repr(link.src),
            starts=_kinds(starts),
            dst=repr(link.dst),
            ends=_kinds(ends),
        )
        if not back:
            raise _Refused("wrong_ends", msg("{shown}, not from {written}", shown=shown, written=written))
        if link.direction == "stated":
            message = msg(
                "{shown}, not from {written}: the ends stand the wrong way round", shown=shown, written=written
            )
            raise _Refused("reversed", message)
        src, dst = _narrow(ends, relation.sources), _narrow(starts, relation.targets)
        turned = self._one(src, link.dst), relation.id, self._one(dst, link.src)
        message = msg("{shown}: taken from {src} to {dst}", shown=shown, src=repr(link.dst), dst=repr(link.src))
        self.fault("reversed", message, link.place, "note")
        return turned

    def _candidates(self, written: str, link: RawStatement) -> Sequence[NameCandidate]:
        found = self.names.find(written)
        if found:
            return found
        refused = self.names_refused.get(written)
        why = msg("; it was refused at {refused}", refused=refused) if refused else self.names.near(written)
        raise _Refused("dangling_end", msg("no such node: {written}{why}", written=repr(written), why=why))

    def _below(self, found: Sequence[NameCandidate], under: str) -> Sequence[NameCandidate]:
        """The subject of a statement that was written below another one: what that one may lead to."""
        above = [self.schema.relations[name] for name in self.relations.find(under)] if under else []
        return _narrow(found, above[0].targets) or found if len(above) == 1 else found

    def _relation(
        self, link: RawStatement, starts: Sequence[NameCandidate], ends: Sequence[NameCandidate]
    ) -> Relation:
        found = self._named(link)
        if len(found) == 1:
            return self.schema.relations[found[0]]
        typed = (r for r in self.schema.relations.values() if r.sources and r.targets)
        relations = [self.schema.relations[name] for name in found] or list(typed)
        fitting = [
            r for r in relations if _fits(r, starts, ends) or (link.direction != "stated" and _fits(r, ends, starts))
        ]
        if found and len(fitting) != 1:
            raise _Refused(
                "ambiguous_relation",
                msg("{rel} may mean each of {found}", rel=repr(link.rel), found=", ".join(found)),
            )
        if found:
            return fitting[0]
        # A program writes what it calls a relation; a person who writes an unknown one has mistyped a known one.
        if link.place.file in self.machine and len(fitting) == 1:
            ends_shown = f"{_kinds(starts)} and {_kinds(ends)}"
            message = msg(
                "{rel} is taken as {id}, the only relation between {ends_shown}",
                rel=repr(link.rel),
                id=repr(fitting[0].id),
                ends_shown=ends_shown,
            )
            self.fault("relation_inferred", message, link.place, "note")
            return fitting[0]
        raise _Refused(
            "unknown_relation",
            msg("no such relation: {rel}{relations}", rel=repr(link.rel), relations=self.relations.near(link.rel)),
        )

    def _named(self, link: RawStatement) -> list[str]:
        """The relations that are written: one, or a list of words for it, all of which a person has to know."""
        whole = self.relations.find(link.rel)
        if whole:
            return list(whole)
        parts = [self.relations.find(part) for part in _BETWEEN.split(link.rel) if part.strip()]
        if not all(parts) and link.place.file not in self.machine:
            return []
        return list(dict.fromkeys(name for part in parts for name in part))

    def _one(self, found: Sequence[NameCandidate], written: str) -> str:
        """The best candidate: a name before an alias."""
        if len(found) == 1:
            return found[0].key
        best = min(c.rank for c in found)
        keys = sorted(c.key for c in found if c.rank == best)
        if len(keys) > 1:
            shown = ", ".join(keys[:_SHOWN])
            raise _Refused(
                "ambiguous_name",
                msg(
                    "{written} may mean each of {shown}; write the key, or kind:name",
                    written=repr(written),
                    shown=shown,
                ),
            )
        return keys[0]

    def _evidences(self, link: RawStatement) -> tuple[Evidence, ...]:
        written = link.evidences or ((RawEvidence(place=link.place),) if self.default_source else ())
        if not written:
            raise _Refused("no_evidence", "the statement has no evidence, and no default source is given")
        found: dict[tuple[str, ...], Evidence] = {}
        problems = []
        for raw in written:
            try:
                evidence = self._evidence(raw)
            except _Refused as refusal:
                problems.append(refusal)
                continue
            identity = (evidence.source_id, evidence.uri, evidence.clause, evidence.quote)
            found.setdefault(identity, evidence)
        for problem in problems if found else problems[:-1]:
            self.fault(problem.code, problem.message, problem.place or link.place)
        if not found:
            raise problems[-1]
        return tuple(found.values())

    def _evidence(self, raw: RawEvidence) -> Evidence:
        source = raw.source or self.default_source
        if not source:
            raise _Refused("no_evidence", "the evidence names no source, and no default source is given", raw.place)
        if source not in self.sources:
            message = msg(
                "no such source: {source}{near}", source=repr(source), near=did_you_mean(source, self.sources)
            )
            raise _Refused("unknown_source", message, raw.place)
        usual = self.declared[source].uri if source in self.declared else ""
        return Evidence(
            source_id=source,
            uri=raw.uri or usual,
            clause=raw.clause,
            quote=raw.quote,
            trust=raw.trust,
            reviewer=raw.reviewer,
            place=raw.place,
        )

    def _together(self, first: Statement, again: Statement) -> Statement:
        """One statement of two that have the same identity."""
        fields = ("strength", "sentence", "valid_from", "valid_until", "weight", "status")
        other = [name for name in fields if getattr(first, name) != getattr(again, name)]
        if other:
            message = msg(
                "the statement stands already at {place}, with another {other}",
                place=first.place,
                other=" and ".join(other),
            )
            if not {first.place.file, again.place.file} <= set(self.machine):
                raise _Refused("duplicate_statement", message)
            # A program says the same of every text that it finds it in, each time in other words.
            self.fault("duplicate_statement", msg("{message}: put together", message=message), again.place, "note")
            return replace(first, evidences=tuple(dict.fromkeys((*first.evidences, *again.evidences))))
        added = [e for e in again.evidences if e not in first.evidences]
        if not added:
            self.fault(
                "duplicate_statement",
                msg("the statement stands already at {place}", place=first.place),
                again.place,
                "note",
            )
        return replace(first, evidences=(*first.evidences, *added))

    def refuse_cycles(self) -> None:
        """Refuse each statement that closes a cycle of what nodes inherit by."""
        inherited = {rel for p in self.schema.patterns.values() if p.inherit for rel in p.inherit.via}
        upward = {*inherited, *(rel for rel in _HIERARCHY if rel in self.schema.relations)}
        for key, path in list(_closing(self.accepted, upward)):
            statement = self.accepted.pop(key)
            shown = " → ".join(self.nodes[node].name for node in path)
            more = " → …" if path[0] != path[-1] else ""
            self.fault(
                "cycle",
                msg("{rel} goes round in a circle: {shown}{more}", rel=repr(statement.rel), shown=shown, more=more),
                statement.place,
            )
            self.refused += 1


def _narrow(found: Sequence[NameCandidate], kinds: Sequence[str]) -> Sequence[NameCandidate]:
    return [c for c in found if c.kind in kinds] if kinds else found


def _fits(relation: Relation, starts: Sequence[NameCandidate], ends: Sequence[NameCandidate]) -> bool:
    return bool(_narrow(starts, relation.sources) and _narrow(ends, relation.targets))


def _any(kinds: Sequence[str]) -> str:
    return " or ".join(kinds) if kinds else "any kind"


def _kinds(found: Sequence[NameCandidate]) -> str:
    return ", ".join(dict.fromkeys(c.kind for c in found))


def _closing(statements: Mapping[str, Statement], upward: Set[str]) -> Iterator[tuple[str, list[str]]]:
    """Back edges of the inheritance graph with their (shortened) cycles, found by depth-first search in written
    order. Without them the graph is acyclic.

    Depth first, in the order of writing, each statement once: without the ones found, there is no cycle.
    """
    out: dict[str, list[tuple[str, str]]] = {}
    for key, statement in statements.items():
        if statement.rel in upward:
            out.setdefault(statement.src, []).append((key, statement.dst))
    done: set[str] = set()
    for start in list(out):
        path, depth, rest = [start], {start: 0}, [iter(out[start])]
        while rest and start not in done:
            key, node = next(rest[-1], ("", ""))
            if not key:
                rest.pop()
                done.add(path[-1])
                del depth[path.pop()]
            elif node in depth:
                around = path[depth[node] : depth[node] + _SHOWN]
                yield key, around if len(around) == _SHOWN else [*around, node]
            elif node not in done:
                depth[node] = len(path)
                path.append(node)
                rest.append(iter(out.get(node, ())))
