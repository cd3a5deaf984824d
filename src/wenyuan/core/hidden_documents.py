"""Which documents somebody may not see, in a form that every engine can apply."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from wenyuan.core.errors import EngineError, msg


@dataclass(frozen=True, slots=True, eq=False)
class AccessClasses:
    """Which documents share their access lists: a snapshot, shared by all who ask.

    Attributes:
        number: Of the snapshot, from 1: another one for each, in this process.
        of_document: The class of each document that a list stands for, from 1; of one that is absent none does.
        of_address: The same by source and address, of documents that are not held yet, too.
        held: The addresses of all documents.
        closed: For each source that shows nothing without readers, the class of what has none.
        documents: By class, the documents.
        sources: By class that is in use, the sources in which it is.
    """

    number: int
    of_document: Mapping[int, int]
    of_address: Mapping[tuple[str, str], int]
    held: Container[tuple[str, str]]
    closed: Mapping[str, int]
    documents: Mapping[int, frozenset[int]]
    sources: Mapping[int, frozenset[str]]


@dataclass(frozen=True, eq=False)
class HiddenDocuments:
    """The documents that somebody may not see: those of some classes.

    Attributes:
        digest: See `Sight.digest`.
    """

    classes: AccessClasses
    unread: frozenset[int]
    digest: str

    def hides(self, document_id: int) -> bool:
        return self.classes.of_document.get(document_id, 0) in self.unread

    def hides_address(self, source_id: str, uri: str) -> bool:
        """Whether what a source says at an address is hidden, of a whole document or of a place in it.

        Where the source has hidden documents and none is known to lie there, it may be in one of these, and is hidden.
        """
        if source_id not in self.sources:
            return False
        for one in (uri, uri.partition("#")[0]):
            number = self.classes.of_address.get((source_id, one), 0)
            if number or (source_id, one) in self.classes.held:
                return number in self.unread
        return True

    @cached_property
    def sources(self) -> frozenset[str]:
        """The sources of which something is hidden."""
        return frozenset().union(*(self.classes.sources.get(number, frozenset()) for number in self.unread))

    def documents(self) -> Iterator[int]:
        """The ids of all of them, each once."""
        for number in sorted(self.unread):
            yield from self.classes.documents.get(number, ())


def listed_documents(hidden: HiddenDocuments, engine: str, most: int) -> list[int]:
    """The ids of hidden documents, for an engine whose query names each of them.

    Raises:
        EngineError: there are more than it can leave out, so that it cannot answer.
    """
    count = sum(len(hidden.classes.documents.get(number, ())) for number in hidden.unread)
    if count > most:
        raise EngineError(
            msg(
                "{count} documents are hidden from the caller, and this engine can leave out {most}",
                count=f"{count:,}",
                most=f"{most:,}",
            ),
            component=f"engine {engine}",
            hint="keep what few may read in sources of their own, outside of the scope of other agents; or use the engine local",
        )
    return list(hidden.documents())
