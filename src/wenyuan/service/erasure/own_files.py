"""The files in a library's folder that hold what is erased: uploads and their earlier versions, files that were set aside, and what
interrupted work left behind.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wenyuan.core.addresses import file_uri, legible
from wenyuan.core.errors import CatalogBusy, DocumentRejected, KnowledgeError, SourceError, msg
from wenyuan.core.model import Document, Source
from wenyuan.core.redaction.erased_values import ErasedValues
from wenyuan.runtime.durability import flush
from wenyuan.runtime.regular import read_regular
from wenyuan.service.ingest.addresses import Addresses
from wenyuan.service.ingest.quarantine import Quarantine
from wenyuan.service.ingest.redaction import Redactor
from wenyuan.service.upload_journal import INCOMING, alone, has_journal

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

_ENCODINGS = ("utf-8", "gb18030", "utf-16-le", "utf-16-be")
_TAKEN_OUT = ("⟦", "**", ".*.*")
"""What redaction writes has one of these in it: a text without is all that the file says."""


@dataclass(frozen=True, kw_only=True)
class OwnFiles:
    """Finds and deletes files that belong to the library.

    Attributes:
        folder: The library's.
        read: Reads a file, see `Ingester.read`.
        readable: See `Ingester.readable`.
    """

    folder: Path
    catalog: Catalog
    quarantine: Quarantine
    redacting: Callable[[Source], Redactor]
    read: Callable[[Path, str], Iterable[Document]]
    readable: Callable[[str], bool]

    def uploads_with(self, found: ErasedValues) -> list[tuple[str, Path, str]]:
        """Uploaded files in which a person stands, in the name or in what they say: source, file and stored address."""
        hits = []
        for source, file, stored in self._uploads():
            withheld = stored in self.catalog.withheld(source.source_id)
            if withheld or found.holds(legible(file.name)) or self._says(source, file, stored, found):
                hits.append((source.source_id, file, stored))
        return hits

    def withheld_uploads(self) -> list[tuple[str, Path, str]]:
        """Uploaded files that are withheld, and so must go."""
        return [
            (source.source_id, file, stored)
            for source, file, stored in self._uploads()
            if stored in self.catalog.withheld(source.source_id)
        ]

    def uploads_of(self, source_id: str, uri: str) -> list[Path]:
        """The uploaded file of a document."""
        bare = uri.partition("?")[0].partition("#")[0]
        return [file for source, file, stored in self._uploads() if source.source_id == source_id and stored == bare]

    def _uploads(self) -> Iterator[tuple[Source, Path, str]]:
        root = (self.folder / "uploads").absolute()
        for source in self.catalog.sources():
            home = root / source.source_id
            if source.path or source.type != "static_doc" or not home.is_dir():
                continue
            redactor = self.redacting(source)
            addresses = Addresses(self.catalog, source.source_id, redactor)
            for file in sorted(home.rglob("*")):
                if file.is_file() and not file.is_symlink():
                    uri = file_uri(file)
                    yield source, file, addresses.stored(uri) or redactor.uri(uri)

    def _says(self, source: Source, file: Path, stored: str, found: ErasedValues) -> bool:
        """Whether a file says a person's values where the library has other words, or none, for what it says."""
        if not self._redacted(source, stored):
            return False  # its documents hold all that it says, and are looked through themselves
        try:
            documents = list(self.read(file, file_uri(file))) if self.readable(file.name) else []
        except (DocumentRejected, SourceError):
            return _in_bytes(file, found)
        return any(_in_document(one, found) for one in documents) or (not documents and _in_bytes(file, found))

    def _redacted(self, source: Source, stored: str) -> bool:
        numbers, _ = self.catalog.forgotten.texts.documents_at(source.source_id, stored)
        return not numbers or self.catalog.file_held(source.source_id, stored, _TAKEN_OUT)

    def quarantined_with(self, found: ErasedValues) -> tuple[list[str], int]:
        """The files that were set aside in which a person stands, by their hash; and how many cannot be searched."""
        hits, unknown = [], 0
        for one in self.quarantine:
            content = self.folder / "quarantine" / one.sha256 / "content"
            if found.holds(one.reason) or (content.is_file() and _in_bytes(content, found)):
                hits.append(one.sha256)
            elif not content.is_file() or not _is_text(content):
                unknown += 1
        return hits, unknown

    def delete(self, files: Sequence[Path]) -> int:
        """Delete files of the library, and the folders that are empty then; returns how many were there.

        Raises:
            SourceError: one cannot be deleted.
        """
        count = 0
        for file in files:
            try:
                file.unlink()
                count += 1
                flush(file.parent)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise SourceError(
                    msg("{path} cannot be deleted: {strerror}", path=file.name, strerror=error.strerror),
                    component="erasure",
                ) from error
            with suppress(OSError):
                parent = file.parent
                while parent.parent.parent.is_relative_to((self.folder / "uploads").absolute()):
                    parent.rmdir()
                    parent = parent.parent
        return count

    def clear_leftovers(self) -> None:
        """Delete what interrupted uploads and recognitions left behind.

        Raises:
            CatalogBusy: an upload is under way.
            SourceError: it cannot be deleted.
        """
        uploads = self.folder / "uploads"
        try:
            if (uploads / INCOMING).is_dir():
                with alone(uploads, 5.0):
                    for one in (uploads / INCOMING).iterdir():
                        if one.is_dir() and has_journal(one):
                            raise CatalogBusy(
                                "an upload is under way, or was cut off", component="erasure", hint="wenyuan refresh"
                            )
                        shutil.rmtree(one, ignore_errors=True)
            for name in ("ocr", "backups"):
                if (self.folder / name).is_dir():
                    shutil.rmtree(self.folder / name)
            for partial in (self.folder / "quarantine").glob(".*"):
                shutil.rmtree(partial, ignore_errors=True)
        except OSError as error:
            raise SourceError(
                msg("{path} cannot be deleted: {strerror}", path=error.filename or "", strerror=error.strerror),
                component="erasure",
            ) from error


def _in_document(document: Document, found: ErasedValues) -> bool:
    said = (document.title, document.text, *document.metadata, *map(str, document.metadata.values()), *document.notes)
    return any(found.holds(text) for text in said)


def _in_bytes(file: Path, found: ErasedValues) -> bool:
    """Whether a value stands in the bytes of a file that cannot be read as a document."""
    try:
        content = read_regular(file)
    except (OSError, KnowledgeError):
        return False
    return any(found.holds(content.decode(name, "ignore")) for name in _ENCODINGS)


def _is_text(file: Path) -> bool:
    with suppress(OSError, UnicodeDecodeError, KnowledgeError):
        read_regular(file).decode()
        return True
    return False
