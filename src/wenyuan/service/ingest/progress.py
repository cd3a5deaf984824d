"""Progress and report of an ingest run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import unquote

from wenyuan.core.addresses import legible
from wenyuan.core.model import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of a run: files seen, unchanged files, passages made and embedded, and the current file.

    Attributes:
        pages: Pages of the current file recognised by OCR, of `pages_total`; both 0 where none need it.
        sentences: Passages that have a context sentence or were looked at for one, of `sentences_total`; both 0 before that.
    """

    files: int
    files_total: int
    passages: int
    embedded: int
    name: str
    unchanged: int = 0
    pages: int = 0
    pages_total: int = 0
    sentences: int = 0
    sentences_total: int = 0


@dataclass(slots=True, kw_only=True)
class IngestReport:
    """The result of a run. Documents that failed keep their older version, if there was one.

    Attributes:
        held_back: Documents that were not seen but are kept, since they may be in a file that failed.
        skipped: How many files were left out, by suffix: of kinds that are not read, and those in `data`.
        data: Files that hold data and no text, by address, with the reason.
        corrections_lost: By document address, the ids of corrections whose text is no longer in it.
        evidences_lost, rules_retired: Of the rules, what the documents no longer support; see `service.rules.quotes`.
        vectors_given: Passages that came with their vectors.
        vectors_made: Passages that came with vectors, which were made anew, since redaction changed the text or its title.
        context_sentences, context_left_out, context_waiting, context_removed, context_error: Results for context
            sentences by a language model; see `service.generation.context_sentences.ContextReport`.
        context_tokens_in, context_tokens_out: Tokens that this took.
    """

    source_id: str
    files: int = 0
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    retired: int = 0
    held_back: int = 0
    evidences_lost: int = 0
    rules_retired: int = 0
    passages: int = 0
    embedded: int = 0
    seconds: float = 0.0
    vectors_given: int = 0
    vectors_made: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    redacted: dict[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    corrections_lost: dict[str, tuple[int, ...]] = field(default_factory=dict)
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    context_sentences: int = 0
    context_left_out: dict[str, int] = field(default_factory=dict)
    context_waiting: int = 0
    context_removed: int = 0
    context_error: str = ""
    context_tokens_in: int = 0
    context_tokens_out: int = 0

    def count_vector(self, document: Document) -> None:
        """Count a document that came with a vector, whether it is used or made anew."""
        if document.vector is not None:
            self.vectors_given += bool(document.vector)
            self.vectors_made += not document.vector

    def left_out(self, others: Mapping[str, int]) -> dict[str, int]:
        """How many files were left out by suffix: those in `data`, and others."""
        kinds = (PurePosixPath(unquote(uri, errors="surrogateescape")).suffix.lower() for uri in self.data)
        return dict(Counter(others) + Counter(kind or "(no suffix)" for kind in kinds))


def name_in(shown: str) -> str:
    """The name of a file in its address, as it is shown."""
    return legible(PurePosixPath(unquote(shown, errors="surrogateescape")).name)
