"""The model of the rules graph: nodes, directed statements, their evidence, and books (sets of rules to be imported)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal, TypeVar, cast, get_args

from wenyuan.core.addresses import address_of, without_clause
from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.core.model import Source

# The values of the rules graph: nodes, directed typed statements about them, and the evidence for each.


Strength = Literal["mandatory", "recommended", "informative"]
StatementStatus = Literal["proposed", "approved", "rejected", "retired"]
AliasType = Literal["pref", "alt", "abbr", "typo", "code"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry was written: file and line (1-based), or sheet and row as ``cell`` (``工序!5``)."""

    file: str = ""
    line: int | None = None
    cell: str = ""

    def __str__(self) -> str:
        where = self.cell or (str(self.line) if self.line is not None else "")
        return f"{self.file}:{where}" if where else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """An alternative name of a node; ``weight`` (0..1] is the confidence that it means this node."""

    text: str
    language: str = ""
    type: AliasType = "alt"
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An entity that statements refer to.

    Attributes:
        key: Unique in the graph and stable: ``kind/name`` unless its author gave another.
        name: Its preferred name, in whichever language; ``labels`` has one for each language (``zh``, ``en``).
        codes: Its code in a classification, by scheme (``{"GB/T 13861": "2103"}``).
        scope: Names of the engineering types (or whatever the pack's scope kind is) it is limited to; empty: all.
    """

    key: str
    kind: str
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    aliases: tuple[Alias, ...] = ()
    codes: Mapping[str, str] = field(default_factory=dict)
    scope: tuple[str, ...] = ()
    attributes: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        if not self.key.strip() or not self.kind or not self.name.strip():
            raise InvalidRequest(
                msg(
                    "a node needs key, kind and name, not {key}, {kind}, {name}",
                    key=repr(self.key),
                    kind=repr(self.kind),
                    name=repr(self.name),
                )
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A source that supports a statement: a document or clause, with the quoted words.

    Attributes:
        uri: The document, with an anchor where it has one there; one that only repeats the clause is left out.
        clause: As people say it (``第十条``).
        quote: Verbatim words of the source; may be empty.
        trust: 1..5, at most the source's own; None: the source's.
        reviewer: Who has compared it with the source; ``""``: not reviewed yet.
        verified: The library holds a document of the source that has the words: it has compared them itself.
    """

    source_id: str
    uri: str
    clause: str = ""
    quote: str = ""
    trust: int | None = None
    reviewer: str = ""
    place: Place = field(default=Place(), compare=False)
    verified: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.trust is not None and (type(self.trust) is not int or not 1 <= self.trust <= 5):
            raise InvalidRequest(
                msg("the trust of an evidence is {trust}; it must be an integer from 1 to 5", trust=repr(self.trust))
            )
        if not self.source_id:
            raise InvalidRequest("an evidence names its source")
        object.__setattr__(self, "uri", without_clause(self.uri, self.clause))

    @property
    def address(self) -> str:
        """The URI to open, with its fragment."""
        return address_of(self.uri, self.clause, self.quote)

    @property
    def quote_sha256(self) -> str:
        return hashlib.sha256(self.quote.encode()).hexdigest() if self.quote else ""


def statement_key(src: str, rel: str, dst: str, condition: str = "") -> str:
    """The identity of a statement: subject, relation, object and condition, without its evidence."""
    return hashlib.sha256("\x00".join((src, rel, dst, condition)).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """``src —rel→ dst``, directed and typed.

    Attributes:
        src, dst: Keys of nodes.
        condition: A CEL expression over the request's parameters (``depth_m >= 5.0``); ``""``: always.
        sentence: The rule as a sentence, by language; where it is missing, one is made from the relation.
        valid_from, valid_until: Days, the last one inclusive.
        weight: 0..1, how typical it is.
        status: Only ``approved`` is served.
    """

    src: str
    rel: str
    dst: str
    condition: str = ""
    strength: Strength = "mandatory"
    sentence: Mapping[str, str] = field(default_factory=dict)
    valid_from: date | None = None
    valid_until: date | None = None
    weight: float = 1.0
    status: StatementStatus = "approved"
    evidences: tuple[Evidence, ...] = ()
    place: Place = field(default=Place(), compare=False)

    def __post_init__(self) -> None:
        if self.strength not in get_args(Strength):
            raise InvalidRequest(
                msg(
                    "{strength} is no strength: {strength2}",
                    strength=repr(self.strength),
                    strength2=", ".join(get_args(Strength)),
                )
            )
        if self.status not in get_args(StatementStatus):
            raise InvalidRequest(
                msg(
                    "{status} is no status: {statementstatus}",
                    status=repr(self.status),
                    statementstatus=", ".join(get_args(StatementStatus)),
                )
            )
        if not 0.0 <= self.weight <= 1.0:
            raise InvalidRequest(
                msg("the weight of a statement is {weight}; it must be from 0 to 1", weight=repr(self.weight))
            )
        if self.valid_from and self.valid_until and self.valid_until < self.valid_from:
            raise InvalidRequest(
                msg(
                    "valid_until {valid_until} lies before valid_from {valid_from}",
                    valid_until=self.valid_until,
                    valid_from=self.valid_from,
                )
            )

    @property
    def key(self) -> str:
        return statement_key(self.src, self.rel, self.dst, self.condition)


# What people and programs write about rules, as it was written: names not yet resolved, nothing decided.
#
# A reader makes a `Book`; `core.rules.checking` turns it into nodes and statements. Whatever is wrong is a
# `BookFault` with its place. Each written entry is either in the book or counted in `Book.refused`, so that
# what was written, imported, merged and refused can be added up.


Severity = Literal["error", "note"]
Direction = Literal["stated", "likely", "none"]
"""How much the order of the ends says: everything, a default that the kinds may overrule, or nothing."""


@dataclass(frozen=True, slots=True)
class BookFault:
    """A problem found in a book (``error``: the entry was refused) or a remark (``note``: it was accepted).

    Attributes:
        code: Stable, for programs: ``unknown_kind``, ``dangling_end`` …
        message: For people, with what was probably meant.
    """

    code: str
    message: str
    place: Place = field(default=Place())
    severity: Severity = "error"

    def __str__(self) -> str:
        where = str(self.place)
        return msg("{component}: {message}", component=where, message=self.message) if where else self.message


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of node and statement entries."""

    nodes: int = 0
    statements: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.nodes + other.nodes, self.statements + other.statements)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawEvidence:
    """Evidence as written. An empty ``source`` means the importer's default source."""

    source: str = ""
    uri: str = ""
    clause: str = ""
    quote: str = ""
    trust: int | None = None
    reviewer: str = ""
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawStatement:
    """A statement as written: subject, object and relation are words, not keys.

    Attributes:
        src, dst: A key, a name, a label or an alias; ``kind:name`` where that is not enough.
        rel: A relation's id, label or alias, or several words for it, separated by commas.
        under: The relation whose object `src` is, where a statement is written below another one.
        status: None: what is usual for the kind of file.
    """

    src: str
    rel: str
    dst: str
    condition: str = ""
    strength: Strength = "mandatory"
    sentence: Mapping[str, str] = field(default_factory=dict)
    valid_from: date | None = None
    valid_until: date | None = None
    weight: float = 1.0
    status: StatementStatus | None = None
    evidences: tuple[RawEvidence, ...] = ()
    under: str = ""
    direction: Direction = "stated"
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredSource:
    """A source declared by a pack. ``uri`` is the document of evidence that names none itself."""

    source: Source
    uri: str = ""
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """The content of one import.

    Attributes:
        schema_tree: The schema that the pack declares, not yet parsed; None: it uses the library's.
        nodes: Kinds as written (id or label); a key is ``kind/name`` unless its author gave another.
        refused: Entries that could not even be read; each has an error among `faults`.
        machine_files: Files that a program made (a graph export): their statements are proposals, and what
            people are only told about is refused there.
    """

    pack: str
    schema_tree: Mapping[str, Any] | None = None
    sources: tuple[DeclaredSource, ...] = ()
    nodes: tuple[Node, ...] = ()
    links: tuple[RawStatement, ...] = ()
    faults: tuple[BookFault, ...] = ()
    refused: Tally = Tally()
    machine_files: frozenset[str] = frozenset()

    @property
    def written(self) -> Tally:
        """Number of entries in the files, accepted or not."""
        return Tally(len(self.nodes), len(self.links)) + self.refused


def joined(pack: str, books: Iterable[Book]) -> Book:
    """Merge the books of several files of one pack.

    A schema or a source that is declared in two of them is a fault (``duplicate_schema``,
    ``duplicate_source``); the first one stays.
    """
    parts = tuple(books)
    faults = [fault for part in parts for fault in part.faults]
    schemas = [part.schema_tree for part in parts if part.schema_tree is not None]
    if len(schemas) > 1:
        faults.append(
            BookFault(
                "duplicate_schema",
                msg("pack {pack} declares its schema in {count} files", pack=repr(pack), count=len(schemas)),
            )
        )
    sources: dict[str, DeclaredSource] = {}
    for declared in (s for part in parts for s in part.sources):
        first = sources.setdefault(declared.source.source_id, declared)
        if first is not declared:
            message = msg(
                "source {source_id} is declared already at {place}",
                source_id=repr(declared.source.source_id),
                place=first.place,
            )
            faults.append(BookFault("duplicate_source", message, declared.place))
    return Book(
        pack=pack,
        schema_tree=schemas[0] if schemas else None,
        sources=tuple(sources.values()),
        nodes=tuple(node for part in parts for node in part.nodes),
        links=tuple(link for part in parts for link in part.links),
        faults=tuple(faults),
        refused=sum((part.refused for part in parts), Tally()),
        machine_files=frozenset().union(*(part.machine_files for part in parts)),
    )


# A cut that leaves something for everyone: what is kept of ordered rules when there are more than may be given.


T = TypeVar("T")


def kept_fairly(
    ordered: Sequence[T], most: int, *, statement: Callable[[T], int], owners: Callable[[T], Collection[int]]
) -> frozenset[int]:
    """At most `most` statements: each owner's first ones up to an equal share, then the remaining ones in order.

    Args:
        ordered: Rules, the most important ones first. Several may give the same statement, which counts once.
        owners: For whom a rule holds: the nodes that were asked about. What several own fills the share of each.
    """
    names = {owner for one in ordered for owner in owners(one)}
    share = max(1, most // max(1, len(names)))
    kept: set[int] = set()
    has: Counter[int] = Counter()
    for one in ordered:
        if statement(one) not in kept and (len(kept) >= most or all(has[owner] >= share for owner in owners(one))):
            continue
        kept.add(statement(one))
        has.update(owners(one))
    for one in ordered:
        if len(kept) >= most:
            break
        kept.add(statement(one))
    return frozenset(kept)


def next_status(before: str, said: str, *, withheld: bool, differs: bool, mine: bool) -> StatementStatus:
    """The status of an existing statement after its pack was imported again.

    What people decided stays until the wording changes; then they are asked again, however often the pack says it.

    Args:
        before: Its status, or the one that it had before it lost its evidence.
        said: The status that the pack gives it.
        withheld: It waits for a review whatever its author says.
        differs: The pack gives it another wording.
        mine: The wording is this pack's.
    """
    status = before
    if said in ("rejected", "retired") and (mine or not withheld):
        status = said if mine else before
    elif withheld or (differs and before in ("rejected", "retired")):
        status = "proposed"
    elif differs or before == "proposed":
        status = said
    return cast("StatementStatus", status)
