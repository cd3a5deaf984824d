"""Maintenance of rules: import with a diff first, review, export. Every change is audited."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from wenyuan.core.errors import InvalidRequest, msg, said_by
from wenyuan.core.model import FOREVER, Source
from wenyuan.core.rules.book import Book, BookFault, Tally
from wenyuan.core.rules.checking import CheckedBook, check_book
from wenyuan.core.rules.conditions import compile_condition
from wenyuan.core.rules.graph import GraphNode
from wenyuan.core.rules.import_diff import Diff, LiveNode, LiveStatement, diff
from wenyuan.core.rules.model import Node, Statement, StatementStatus
from wenyuan.core.rules.proposals import KnownRules, KnownStatement
from wenyuan.core.rules.rule_numbers import written_numbers
from wenyuan.core.rules.schema import Schema, merged
from wenyuan.core.rules.schema_parser import parse_schema
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.service.audit.recorder import ACTING
from wenyuan.service.rules.quotes import Quotes
from wenyuan.service.rules.schemas import SCHEMAS, schema_of, stored_schema, stored_trees

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.catalog.rules.rows import HeldStatement
    from wenyuan.catalog.rules.writes import RulesReport

Action = Literal["approve", "reject", "retire"]
_PAGE = 1_000
_BEGINS_LATER = "{uri} is in force from {day}: {count} rules that quote it need valid_from"
_ENDS_EARLIER = "{uri} is in force until {day}: {count} rules that quote it need valid_until"
_SECONDS = 10.0  # for a list that a person looks at


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """The result of an import, or of its dry run.

    Attributes:
        faults: All faults and notes, with file and line.
        sources: Ids of sources that were declared and registered by it.
        changes: What the catalog counted; None for a dry run.
        waiting: How many statements of the library wait for a review after it; 0 for a dry run.
    """

    pack: str
    checked: CheckedBook
    diff: Diff
    faults: tuple[BookFault, ...]
    sources: tuple[str, ...]
    changes: RulesReport | None = None
    waiting: int = 0

    @property
    def errors(self) -> tuple[BookFault, ...]:
        return tuple(fault for fault in self.faults if fault.severity == "error")


@dataclass(frozen=True, slots=True)
class _Considered:
    """A checked import: its diff, the sources it declares, and the schemas of all packs."""

    report: ImportReport
    sources: tuple[Source, ...]
    trees: Mapping[str, Any]


class Rulebook:
    """Maintains the rules of a library.

    Args:
        changed: Called after every change, for the audit: action, name, before, after.
        refuse_unverified: A quote that cannot be compared with a document of the library is refused, not marked.
    """

    def __init__(
        self,
        catalog: Catalog,
        changed: Callable[[str, str, Any, Any], None],
        *,
        refuse_unverified: bool = False,
    ) -> None:
        self._catalog = catalog
        self._changed = changed
        self._refuse_unverified = refuse_unverified

    def schema(self) -> Schema:
        """The merged schema of all packs."""
        return stored_schema(self._catalog.value(SCHEMAS))

    def schema_tree(self, pack: str | None = None) -> Mapping[str, Any] | None:
        """The schema that a pack declares (None if it declares none), or the merged one, in the form of
        `parse_schema`.
        """
        if pack is None:
            return self.schema().to_tree()
        tree: Mapping[str, Any] | None = self._trees().get(pack)
        return tree

    def packs(self) -> tuple[str, ...]:
        """The packs that brought rules, nodes or a schema."""
        return tuple(sorted({*self._trees(), *self._catalog.rules.packs()}))

    def ends(self, statements: Iterable[HeldStatement]) -> Mapping[int, GraphNode]:
        """The live nodes at the ends of the catalog's statements, by number."""
        numbers = {end for held in statements for end in (held.src, held.dst)}
        deadline = deadline_after(_SECONDS)
        return self._catalog.rules.nodes(sorted(numbers), deadline=deadline)

    def _trees(self) -> dict[str, Any]:
        return stored_trees(self._catalog.value(SCHEMAS))

    # -- import ---------------------------------------------------------------------------------------

    def take(
        self,
        book: Book,
        *,
        dry_run: bool = False,
        default_source: str | None = None,
        default_status: StatementStatus | None = None,
    ) -> ImportReport:
        """Import a book. Faulty entries are refused and reported; the rest is imported.

        The import is declarative for the book's pack: what the pack no longer says loses the pack's evidence;
        not so when anything was refused, since then what is missing may be missing by mistake.

        Raises:
            InvalidRequest: the schema is wrong or contradicts another pack's, or the default source is unknown.
        """
        checked_at = self._catalog.seq()
        found = self._considered(book, default_source, default_status)
        if dry_run:
            return found.report
        with self._catalog.writing():
            if self._catalog.seq() != checked_at:  # somebody else's change may be one of the rules, or of a quote
                found = self._considered(book, default_source, default_status)
            for source in found.sources:
                self._catalog.put_source(source)
            changes = self._catalog.apply_rules(
                book.pack,
                nodes=found.report.checked.nodes,
                statements=found.report.checked.statements,
                prune=not found.report.errors,
                schema_tree={"packs": found.trees},
            )
        if changes.seq is not None:
            self._changed("imported", book.pack, None, _counts(changes))
        waiting = self._catalog.rules.counts()["statements"].get("proposed", 0)
        return replace(found.report, changes=changes, waiting=waiting)

    def _considered(
        self, book: Book, default_source: str | None, default_status: StatementStatus | None
    ) -> _Considered:
        """The effects of an import on the current library."""
        trees, schema = self._schemas(book)
        registered = {source.source_id for source in self._catalog.sources()}
        nodes, statements = self._live()
        _check_others(self.schema(), schema, nodes, statements, book.pack)
        checked = check_book(
            book,
            schema,
            known={live.node.key: live.node for live in nodes},
            sources=registered,
            default_source=default_source,
            default_status=default_status,
        )
        checked, quotes = self._verified(checked)
        faulty = bool(checked.errors) or any(fault.severity == "error" for fault in quotes)
        used = {e.source_id for s in checked.statements for e in s.evidences}
        new = tuple(d.source for d in checked.sources if d.source.source_id in used - registered)
        report = ImportReport(
            pack=book.pack,
            checked=checked,
            diff=diff(nodes, statements, checked, prune=not faulty, schema=schema),
            faults=(*checked.faults, *quotes),
            sources=tuple(source.source_id for source in new),
        )
        return _Considered(report, new, trees)

    def _schemas(self, book: Book) -> tuple[dict[str, Any], Schema]:
        trees = self._trees()
        if book.schema_tree is not None:
            own = parse_schema(book.schema_tree, where="schema", known=_other_books(trees, book.pack))
            trees[book.pack] = own.to_tree()
        return trees, schema_of(trees)

    def _live(self) -> tuple[list[LiveNode], list[LiveStatement]]:
        nodes: list[LiveNode] = []
        statements: list[LiveStatement] = []
        for held in self._catalog.rules.live_book():
            if hasattr(held, "node"):
                nodes.append(LiveNode(held.node, frozenset(held.packs)))
            else:
                said, packs = held.statement, tuple(e.pack for e in held.evidences)
                withheld = said.status == "proposed" and bool(held.reason)
                statements.append(LiveStatement(said, packs, pack=held.pack, withheld=withheld))
        return nodes, statements

    def holdings(self) -> tuple[KnownRules, int]:
        """What the graph holds, for the checks of what a model proposes, and the version of the graph."""
        version = self._catalog.rules.version()
        nodes: dict[str, Node] = {}
        statements: list[tuple[str, str, KnownStatement]] = []
        for held in self._catalog.rules.live_book():
            if hasattr(held, "node"):
                nodes[held.node.key] = held.node
            else:
                said = held.statement
                standing = KnownStatement(held.statement_id, said.rel, said.condition, said.strength, said.status)
                statements.append((said.src, said.dst, standing))
        return KnownRules.of(self.schema(), nodes, statements), version

    def _verified(self, checked: CheckedBook) -> tuple[CheckedBook, list[BookFault]]:
        """The evidence without quotes that their documents contradict, where the library holds these; the rest is
        marked.
        """
        usual = {declared.source.source_id: declared.uri.partition("#")[0] for declared in checked.sources}
        quotes = Quotes(self._catalog, usual, refuse=self._refuse_unverified)
        quotes.compare(e for statement in checked.statements for e in statement.evidences)
        kept = []
        for statement in checked.statements:
            evidences = tuple(filter(None, map(quotes.marked, statement.evidences)))
            if evidences:
                kept.append(replace(statement, evidences=evidences))
        lost = Tally(statements=len(checked.statements) - len(kept))
        faults = [*quotes.report(), *self._out_of_force(kept)]
        return replace(checked, statements=tuple(kept), refused=checked.refused + lost), faults

    def _out_of_force(self, statements: Iterable[Statement]) -> Iterator[BookFault]:
        """Notes on rules that are valid on days on which their quoted document is not in force."""
        cited: dict[str, dict[str, list[Statement]]] = {}
        for statement in statements:
            for source_id, uri in {(e.source_id, e.uri.partition("#")[0]) for e in statement.evidences if e.uri}:
                cited.setdefault(source_id, {}).setdefault(uri, []).append(statement)
        for source_id, documents in cited.items():
            for uri, standing in self._catalog.standings(source_id, documents).items():
                early = [s for s in documents[uri] if (s.valid_from or date.min).toordinal() < standing.begins]
                late = [s for s in documents[uri] if (s.valid_until or date.max).toordinal() > standing.until > 0]
                for quoting, what, day in (
                    (early, _BEGINS_LATER, standing.begins),
                    (late, _ENDS_EARLIER, standing.until),
                ):
                    if quoting and day < FOREVER:
                        said = msg(what, uri=uri, day=date.fromordinal(day), count=len(quoting))
                        if day == 1:  # the day on which what was retired ended
                            said = msg(
                                "{uri} is no longer in force: {count} rules quote it", uri=uri, count=len(quoting)
                            )
                        yield BookFault("quote_out_of_force", said, quoting[0].place, "note")

    # -- review, export -------------------------------------------------------------------------------

    def waiting(self, first: int = 1, last: int | None = None) -> list[int]:
        """Numbers of statements that wait for review, from `first` to `last`."""
        found: list[int] = []
        after = first - 1
        while page := self._catalog.rules.proposed(_PAGE, after):
            found += [held.statement_id for held in page]
            after = found[-1]
            if len(page) < _PAGE or (last is not None and after >= last):
                break
        return [number for number in found if last is None or number <= last]

    def meant(self, text: str, action: Action, *, most: int | None = None) -> tuple[list[int], int]:
        """The statements that an expression such as ``3,7``, ``1-50`` or ``all`` selects.

        What stands alone is meant whatever its status, of a span what waits for a review.

        Args:
            most: Only the first so many of them.

        Returns:
            The numbers, and how many more are meant than `most`.

        Raises:
            InvalidRequest: the text is no such list, a span is to be retired, or nothing waits.
        """
        try:
            written = written_numbers(text)
        except ValueError as error:
            raise InvalidRequest(said_by(error), hint="wenyuan rules review") from error
        if action == "retire" and not all(isinstance(one, int) for one in written):
            raise InvalidRequest(
                msg("what is to be retired is named number by number: {text}", text=text), hint="wenyuan rules list"
            )
        numbers = [n for one in written for n in ([one] if isinstance(one, int) else self.waiting(*one))]
        if not numbers:
            raise InvalidRequest(msg("no rule waits for a review: {text}", text=text), hint="wenyuan rules review")
        numbers = list(dict.fromkeys(numbers))
        return numbers[:most], 0 if most is None else max(0, len(numbers) - most)

    def review(self, statement_ids: Iterable[int], action: Action, *, reason: str = "", seen: str = "") -> int:
        """Approve, reject or retire statements, all or none; returns how many changed their status.

        Args:
            seen: The status in which the caller has seen them; Conflict where one has another. ``""``: whatever they are.
        """
        ids = list(dict.fromkeys(statement_ids))
        if not ids:
            raise InvalidRequest("no statement is named", hint="wenyuan rules review")
        before = {number: self._catalog.rules.statement(number).statement.status for number in ids}
        count = self._catalog.review_rules(ids, action, actor=ACTING.get().actor or "local", reason=reason, seen=seen)
        for number in ids:
            after = self._catalog.rules.statement(number).statement.status
            if after != before[number]:
                details = {"status": after} | ({"reason": reason} if reason else {})
                self._changed(action, f"statement {number}", {"status": before[number]}, details)
        return count

    def retire_pack(self, pack: str) -> RulesReport:
        """Remove everything that a pack brought; statements with other evidence stay."""
        with self._catalog.writing():
            trees = self._trees()
            if pack not in trees and pack not in self._catalog.rules.packs():
                raise InvalidRequest(msg("there is no pack {pack}", pack=repr(pack)), hint="wenyuan rules list")
            before = self.schema()
            remaining = {name: tree for name, tree in trees.items() if name != pack}
            try:
                schema = schema_of(remaining)
            except InvalidRequest as error:
                raise _built_on(pack, error.message) from error
            _check_others(before, schema, *self._live(), pack)
            changes = self._catalog.apply_rules(
                pack, nodes=(), statements=(), prune=True, schema_tree={"packs": remaining}
            )
        if changes.seq is not None:
            self._changed("removed", pack, None, _counts(changes))
        return changes

    def export(self, pack: str | None = None) -> tuple[list[Node], list[Statement], list[Source]]:
        """Nodes and statements of a pack, or of all, with the sources of their evidence."""
        nodes: list[Node] = []
        statements: list[Statement] = []
        for held in self._catalog.rules.live_book(pack):
            if hasattr(held, "node"):
                nodes.append(held.node)
            else:
                statements.append(held.statement)
        used = {e.source_id for s in statements for e in s.evidences}
        return nodes, statements, [s for s in self._catalog.sources() if s.source_id in used]


def _check_others(
    before: Schema, after: Schema, nodes: Iterable[LiveNode], statements: Iterable[LiveStatement], pack: str
) -> None:
    """Check that the statements of other packs are still valid under the new schema.

    What the schema did not allow before is not the doing of this change.
    """
    lost = before.relations.keys() - after.relations.keys(), before.kinds.keys() - after.kinds.keys()
    needs = [
        ("the pack {other} needs the relation {name}", live.statement.rel, live.packs)
        for live in statements
        if live.statement.rel in lost[0]
    ]
    needs += [
        ("the pack {other} needs the kind {name}", live.node.kind, tuple(live.packs))
        for live in nodes
        if live.node.kind in lost[1]
    ]
    for what, name, packs in needs:
        for other in sorted(set(packs) - {pack}):
            raise _built_on(pack, msg(what, other=repr(other), name=repr(name)))
    for live in statements:
        condition = live.statement.condition
        if condition and set(live.packs) - {pack} and _why_not(condition, before) is None:
            why = _why_not(condition, after)
            if why is not None:
                raise _built_on(pack, why)


def _other_books(trees: Mapping[str, Any], pack: str) -> Schema:
    """The books of other packs, without packs that depend on this one."""
    whole = Schema()
    for name, tree in trees.items():
        if name != pack:
            with suppress(InvalidRequest):
                whole = merged(whole, parse_schema(tree, known=whole))
    return whole


def _built_on(pack: str, why: str) -> InvalidRequest:
    return InvalidRequest(msg("another pack builds on the schema of {pack}: {why}", pack=pack, why=why))


def _why_not(condition: str, schema: Schema) -> str | None:
    try:
        compile_condition(condition, schema.parameters)
    except InvalidRequest as error:
        return error.message
    return None


def _counts(changes: RulesReport) -> dict[str, Any]:
    names = ("nodes_added", "nodes_changed", "nodes_retired", "statements_added", "statements_changed",
             "statements_retired", "evidences_added", "evidences_removed")  # fmt: skip
    return {name: getattr(changes, name) for name in names if getattr(changes, name)}
