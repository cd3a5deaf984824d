"""One reading of a file: its documents, redacted, and the values found in any of them, before one is stored.

What a file's documents say decides what its name shows, so all of them are looked through before the first gets its
address. Of a file with much text the rest is read a second time instead of being kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.core.principals import AccessList
from wenyuan.core.redaction.known_values import KnownValues
from wenyuan.core.text.folding import HAN
from wenyuan.service.ingest.holdings import Holding

_MOST_KEPT = 2_000_000  # characters of text
_PARTS = re.compile(rf"(?=([{HAN}]{{2}}))|[^\W\d_{HAN}]{{3,}}|[0-9]{{4,}}")


@dataclass(frozen=True, slots=True)
class RedactedDocument:
    """A document that is ready to be stored, but for its address.

    Attributes:
        uri: Its true address.
        document: Redacted; its address is not yet that under which it is stored.
        counts: Redacted values by kind.
        access: Who may read it, as it says itself.
    """

    uri: str
    document: Document
    counts: Mapping[str, int]
    access: AccessList | None


@dataclass(frozen=True, slots=True)
class ReadPart:
    """A document of a file as it was read.

    Attributes:
        uri: Its true address.
        refused: True addresses of parts of it that cannot be read, with the reasons.
        outcome: The document, or why it is refused.
    """

    uri: str
    refused: tuple[tuple[str, str], ...]
    outcome: RedactedDocument | DocumentRejected


Redact = Callable[[Document, KnownValues], RedactedDocument]
"""Redacts a document, and adds the values found to those that are known; raises `DocumentRejected`."""


class FileReading:
    """The documents of a file, of which the first are kept.

    Attributes:
        values: Those that its documents hold.
        error: Why the file could not be read to its end.

    Raises:
        DocumentRejected, OSError: on construction and `parts`: not even the first document can be read.
    """

    def __init__(self, holding: Holding, redact: Redact) -> None:
        self._holding, self._redact = holding, redact
        self.values = KnownValues()
        self.error: DocumentRejected | None = None
        self._kept: list[ReadPart] = []
        self._whole = True
        self._look()

    def _look(self) -> None:
        size = 0
        names = _parts_of(unquote(self._holding.uri, errors="replace"))
        try:
            for document in self._holding.documents():
                if size < _MOST_KEPT:
                    self._kept.append(self._read(document))
                    size += len(document.text)
                    continue
                self._whole = False
                if not names.isdisjoint(_parts_of(document.text)):
                    self._read(document)
        except DocumentRejected as error:
            if not self._kept:
                raise
            self.error = error

    def _read(self, document: Document) -> ReadPart:
        try:
            return ReadPart(document.uri, document.refused, self._redact(document, self.values))
        except DocumentRejected as error:
            return ReadPart(document.uri, document.refused, error)

    def parts(self) -> Iterator[ReadPart]:
        """The documents in their order; what ended the reading is raised at its end."""
        kept, self._kept = self._kept, []
        yield from kept
        if not self._whole:
            yield from map(self._read, islice(self._holding.documents(), len(kept), None))
        elif self.error is not None:
            raise self.error


def _parts_of(text: str) -> set[str]:
    """Pairs of Han characters, words and numbers: what a value in a name shares with a text that holds it."""
    return {(match[1] or match[0]).casefold() for match in _PARTS.finditer(text)}
