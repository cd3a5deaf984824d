"""Who may read the documents of one run over a source, as the files and the documents themselves say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from wenyuan.core.declared_readers import declared_readers, looks_declared, without_readers
from wenyuan.core.errors import msg
from wenyuan.core.model import Document, Source
from wenyuan.core.principals import NOBODY, AccessList
from wenyuan.core.source_readers import FRONT_MATTER, readers_of
from wenyuan.service.ingest.file_permissions import ORIGINS, Lists
from wenyuan.service.ingest.holdings import Holding

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


class Permissions(Protocol):
    """The lists of a file as the place says where it lies."""

    def of(self, holding: Holding) -> Lists: ...


class RunAccess:
    """Collects the lists of the documents that a run meets, whether they are read anew or are as before.

    Attributes:
        permissions: What says who may read a file; None: nothing does.
    """

    def __init__(self, catalog: Catalog, source: Source) -> None:
        self._catalog, self._source = catalog, source
        self._honours = FRONT_MATTER in readers_of(source).origins
        self._known = catalog.has_access(source.source_id, ORIGINS)
        self.permissions: Permissions | None = None
        self._file: Lists = {}
        self._found: dict[str, Lists] = {}
        self._moved: set[str] = set()

    def begin(self, holding: Holding) -> None:
        """Read the lists of a file."""
        self._file = {} if self.permissions is None else self.permissions.of(holding)

    def note(self, uris: Iterable[str]) -> None:
        """Let the lists of the file at hand stand for documents of it."""
        if self._file or self._known:
            self._found |= dict.fromkeys(uris, self._file)

    def declared(self, document: Document) -> tuple[Document, AccessList | None]:
        """A document with what it says of its readers taken out of its fields, and that list; None where it does not count."""
        access, why = declared_readers(document.metadata)
        if access is None and self._honours and looks_declared(document.text):
            told = msg("it seems to say who may read it, in a way that is not understood, so nobody may")
            return replace(document, notes=(*document.notes, told)), NOBODY
        if access is None:
            return document, None
        if not self._honours:
            if why:  # they are another thing by the same name
                return document, None
            told = msg(
                "it names readers, which count only where its source says so: settings.readers.from: [front_matter]"
            )
            return replace(document, notes=(*document.notes, told)), None
        notes = (*document.notes, why) if why else document.notes
        return replace(document, metadata=without_readers(document.metadata), notes=notes), access

    def keep(self, renamed: Mapping[str, str]) -> None:
        """Store what was found, and let the lists of addresses that redaction changed stand for the new ones."""
        new = {old: given for old, given in renamed.items() if old not in self._moved}
        if new:
            self._catalog.move_access(self._source.source_id, new)
            self._moved.update(new)
        if self._found:
            self._catalog.keep_access(self._source.source_id, self._found, ORIGINS)
            self._found = {}
