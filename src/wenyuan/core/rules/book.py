"""What people and programs write about rules, as it was written: names not yet resolved, nothing decided.

A reader makes a `Book`; `core.rules.checking` turns it into nodes and statements. Whatever is wrong is a
`BookFault` with its place. Each written entry is either in the book or counted in `Book.refused`, so that
what was written, imported, merged and refused can be added up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from wenyuan.core.errors import msg
from wenyuan.core.model import Source
from wenyuan.core.rules.model import EntryPlace, Node, StatementStatus, StatementTerms

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
    place: EntryPlace = field(default=EntryPlace())
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
    place: EntryPlace = field(default=EntryPlace(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawStatement(StatementTerms):
    """A statement as written: subject, object and relation are words, not keys.

    Attributes:
        src, dst: A key, a name, a label or an alias; ``kind:name`` where that is not enough.
        rel: A relation's id, label or alias, or several words for it, separated by commas.
        under: The relation whose object `src` is, where a statement is written below another one.
        status: None: what is usual for the kind of file.
    """

    status: StatementStatus | None = None
    evidences: tuple[RawEvidence, ...] = ()
    under: str = ""
    direction: Direction = "stated"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredSource:
    """A source declared by a pack. ``uri`` is the document of evidence that names none itself."""

    source: Source
    uri: str = ""
    place: EntryPlace = field(default=EntryPlace(), compare=False)


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
