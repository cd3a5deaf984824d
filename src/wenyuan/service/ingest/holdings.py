"""The files of a source, local or listed by a connector, under one interface for ingestion."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from wenyuan.core.connectors import Entry
from wenyuan.core.model import Document

log = logging.getLogger(__name__)


class Holding(Protocol):
    """One file of a source.

    Attributes:
        uri: Where people find it, without a fragment.
        entry: As a connector lists it; None for a file of this machine.
    """

    @property
    def uri(self) -> str: ...
    @property
    def entry(self) -> Entry | None: ...

    def digest(self) -> str:
        """SHA-256 of its bytes. OSError, DocumentRejected or SourceError where they cannot be read."""

    def documents(self) -> Iterable[Document]:
        """The documents read from it; DocumentRejected where it cannot be read."""


class Holdings(Protocol):
    """All files of a source in ingestion order.

    Attributes:
        total: How many files; as far as that is known.
        skipped: How many of kinds that are not read, by suffix.
        cut: Why that is not all there is; ``""`` where it is.
    """

    @property
    def total(self) -> int: ...
    @property
    def skipped(self) -> Mapping[str, int]: ...
    @property
    def cut(self) -> str: ...
    def __iter__(self) -> Iterator[Holding]: ...
