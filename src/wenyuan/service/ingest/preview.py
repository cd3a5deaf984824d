"""Shows how a file would be read, redacted and cut, before it is taken in. Nothing of it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wenyuan.core.addresses import legible
from wenyuan.core.errors import DocumentRejected, InvalidRequest, SourceError, msg
from wenyuan.core.model import Document, Source
from wenyuan.core.redaction.known_values import KnownValues
from wenyuan.core.source_entries import PASSAGE_SIZE, passage_size
from wenyuan.core.text.chunking import chunk
from wenyuan.core.text.folding import language_of
from wenyuan.core.text.token_meter import Meter
from wenyuan.service.ingest.run_access import RunAccess
from wenyuan.service.ingest.supersession import dated

if TYPE_CHECKING:
    from wenyuan.service.ingest.ingester import Ingester

MOST_SHOWN = 200
"""Passages that are shown of one file."""
_PLAIN = Source(source_id="preview")


_Read = tuple[Document, Document, Mapping[str, int]]
"""A document as it was read, as it would be stored, and how much of it was redacted, by kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePreview:
    """How a file would be read.

    Attributes:
        documents: As JSON has them, with their first passages.
        passages: How many there would be in all; at most `MOST_SHOWN` of them are shown.
        tokens: About how long the parts of a long section become.
        failed: Why parts of it cannot be read, or the rest of it.
    """

    name: str
    documents: tuple[Mapping[str, Any], ...]
    passages: int
    tokens: int
    failed: tuple[str, ...]

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "documents": list(self.documents), "failed": list(self.failed)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Previews:
    """Reads files as a source would, and shows what comes of it."""

    ingester: Ingester

    def preview(
        self, path: Path, name: str = "", *, source: Source | None = None, tokens: int | None = None
    ) -> FilePreview:
        """How a file would be read and cut.

        Args:
            path: Of the file.
            name: As people call it; by default the name of `path`.
            source: As which it would be read; None: as one without settings, redacted as what is public.
            tokens: About how long the parts of a long section become; None: as its source says.

        Raises:
            InvalidRequest: `tokens` is out of bounds, or files of its kind are not read.
            DocumentRejected: it cannot be read.
            SourceError: it is not there, or the reading process cannot be started.
        """
        source = source or _PLAIN
        if tokens is not None:
            tokens = passage_size({PASSAGE_SIZE: tokens})
        size = tokens or passage_size(source.settings)
        called = legible(name or path.name)
        if not self.ingester.readable(called):
            kind = Path(called).suffix or called
            raise InvalidRequest(msg("files of the kind {name} are not read", name=repr(kind)))
        values = KnownValues()
        read, failed = self._read(path, called, source, values)
        shown, count, described = MOST_SHOWN, 0, list[Mapping[str, Any]]()
        redactor, uri = self.ingester.redacting(source), path.absolute().as_uri()
        for document, clean, counts in read:
            one = _described(redactor.named(clean, values) if values else clean, counts, size, shown)
            part = document.uri.removeprefix(uri)
            described.append({"part": redactor.uri(part) if part else "", **one})
            count += one["passages_in_all"]
            shown -= len(one["passages"])
        return FilePreview(
            name=redactor.uri(called), documents=tuple(described), passages=count, tokens=size, failed=tuple(failed)
        )

    def _read(self, path: Path, called: str, source: Source, values: KnownValues) -> tuple[list[_Read], list[str]]:
        """The documents of a file, and why others in it cannot be read."""
        redactor, access = self.ingester.redacting(source), RunAccess(self.ingester.catalog, source)
        read: list[_Read] = []
        failed: list[str] = []
        try:
            for document in self.ingester.read(path, path.absolute().as_uri()):
                failed += [redactor.text(reason) for _, reason in document.refused]
                try:
                    settled, _ = access.declared(dated(document))
                    read.append((document, *redactor.document(settled, values)))
                except DocumentRejected as error:
                    failed.append(redactor.text(str(error)))
        except DocumentRejected as error:
            if not read:
                raise
            failed.append(redactor.text(str(error)))
        except OSError as error:
            raise SourceError(
                msg("{path} cannot be read: {strerror}", path=called, strerror=error.strerror)
            ) from error
        return read, failed


def _described(document: Document, counts: Mapping[str, int], tokens: int, most: int) -> dict[str, Any]:
    drafts, meter = chunk(document, target_tokens=tokens), Meter(document.text)
    days = {"effective_from": document.effective_from, "effective_until": document.effective_until}
    how = document.fidelity
    return {
        "title": document.title, "media_type": document.media_type,
        "language": document.language or language_of(document.text),
        **{name: None if day is None else day.isoformat() for name, day in days.items()},
        "tags": dict(document.metadata), "redacted": dict(counts), "notes": list(document.notes),
        "fidelity": None if how is None else {**asdict(how), "warnings": list(how.warnings), "kept": how.kept, "score": how.score},
        "passages_in_all": len(drafts),
        "passages": [
            {
                "headings": list(draft.headings), "text": document.text[draft.start : draft.end],
                "characters": draft.end - draft.start, "tokens": -(-meter(draft.start, draft.end) // 100),
                **{name: value for name in ("page", "line", "cell") if (value := getattr(draft, name)) is not None},
            }
            for draft in drafts[: max(0, most)]
        ],
    }  # fmt: skip
