"""The OCR of a library while files are read, and what of it is in the fingerprints of documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from wenyuan.core.model import Document


@dataclass(frozen=True, slots=True)
class OcrReading:
    """The OCR used while reading files, and its version.

    Attributes:
        watched: Context for reading files, with a callback for pages done and in total (an exception from it ends the
            reading), and a predicate whether a page with this text may be cached in the library's folder until its
            document is stored.
        settled: Called when the documents are stored.
        version: Of the recogniser; ``""`` without one. When it changes, what it has read, or would have, is read again.
    """

    watched: Callable[[Callable[[int, int], None], Callable[[str], bool]], AbstractContextManager[None]]
    settled: Callable[[], None]
    version: str = ""


@dataclass(frozen=True, slots=True)
class ReadingPrefixes:
    """Prefixes of document fingerprints: of documents that no OCR reads, of those that the present one does, and of those
    of each plugin's reader, by its name and version: so files are read anew after an upgrade of what read them.
    """

    plain: str
    recognised: str
    by_plugin: Mapping[str, str]

    @property
    def each(self) -> tuple[str, ...]:
        """All of them, in an order that depends on what is installed only."""
        return (self.plain, self.recognised, *self.by_plugin.values())

    def of(self, document: Document) -> str:
        if document.read_by:
            return self.by_plugin[document.read_by]
        by_recognition = document.fidelity is not None and document.fidelity.by_recognition
        return self.recognised if by_recognition else self.plain

    def has(self, fingerprint: str) -> bool:
        """Whether a document with this fingerprint would be read in the same way now."""
        return fingerprint.partition(":")[0] in self.each


NO_RECOGNITION = OcrReading(watched=lambda _told, _keep: nullcontext(), settled=lambda: None)
