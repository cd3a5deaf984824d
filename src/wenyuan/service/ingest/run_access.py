"""Who may read the documents of one run over a source, as the files and the documents themselves say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from wenyuan.core.declared_readers import declared_readers, looks_declared, without_readers
from wenyuan.core.errors import msg
from wenyuan.core.model import Document, Source
from wenyuan.core.principals import NOBODY, AccessList
from wenyuan.core.source_readers import FRONT_MATTER, SET, WITH_UPLOAD, path_within, readers_of
from wenyuan.service.ingest.file_permissions import ORIGINS, Lists
from wenyuan.service.ingest.holdings import Holding

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


_BY_TRUE_ADDRESS = "permissions/registry"
"""Origin of the list that a pattern says for an address of which another one is stored."""


class Permissions(Protocol):
    """The lists of a file as the place says where it lies."""

    def of(self, holding: Holding) -> Lists: ...


class RunAccess:
    """Collects the lists of the documents that a run meets, whether they are read anew or are as before.

    Attributes:
        permissions: What says who may read a file; None: nothing does.
        given: By the addresses of files, the lists that were given with them just now.
    """

    def __init__(self, catalog: Catalog, source: Source) -> None:
        self._catalog, self._source = catalog, source
        self._readers = readers_of(source)
        self._honours = FRONT_MATTER in self._readers.origins
        self._known = catalog.has_access(source.source_id, (*ORIGINS, WITH_UPLOAD))
        self.permissions: Permissions | None = None
        self.given: Mapping[str, AccessList] = {}
        self._file: Lists = {}
        self._found: dict[str, Lists] = {}
        self._of_same: dict[str, Lists] = {}
        self._moved: set[str] = set()

    def begin(self, holding: Holding, shown: str, *, taken: bool = True) -> None:
        """Read the lists of a file.

        Args:
            shown: The address under which it is stored.
            taken: Whether it counts what was given with it; not of one that could not be read.
        """
        self._file = {} if self.permissions is None else dict(self.permissions.of(holding))
        given = self.given.get(holding.uri) if taken else None
        if (access := given or self._uploaded.get(shown)) is not None:
            self._file = {**self._file, WITH_UPLOAD: (access, "")}
            self._found[shown] = self._file  # also where its documents have addresses of their own
        self._compare(holding.uri, shown)

    def rename(self, uri: str, former: str, shown: str) -> None:
        """Let what was read for the file at hand stand for another stored address: its documents say that the former one named a value."""
        if former != shown and self._found.pop(former, None) is not None:
            self._found[shown] = self._file
        self._compare(uri, shown)

    def _compare(self, uri: str, shown: str) -> None:
        """Let the source's patterns count for a true address, too, where another one is stored: the catalog compares them with that."""
        if shown != uri and (access := self._readers.of(path_within(self._source, uri))) is not None:
            self._file = {**self._file, _BY_TRUE_ADDRESS: (access, "")}

    def note(self, uris: Iterable[str]) -> None:
        """Let the lists of the file at hand stand for documents of it."""
        if self._file or self._known:
            self._found |= dict.fromkeys(uris, self._file)

    def same(self, uri: str, content: str) -> None:
        """Let a list that stands by name for a document of the same content stand for a new one, too: it was renamed, copied, or
        is kept as an earlier version.
        """
        if (access := self._contents.get(content)) is None:
            return
        own = next(
            (one.access for one in self._catalog.document_access(self._source.source_id, uri) if one.origin == SET),
            None,
        )
        self._of_same[uri] = {SET: (access if own is None else access.narrowed(own), "")}

    @cached_property
    def _uploaded(self) -> Mapping[str, AccessList]:
        return self._catalog.uploaded_access(self._source.source_id)

    @cached_property
    def _contents(self) -> Mapping[str, AccessList]:
        return self._catalog.access_of_contents(self._source.source_id)

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
            self._catalog.keep_access(self._source.source_id, self._found, (*ORIGINS, WITH_UPLOAD))
            self._found = {}
        if self._of_same:
            self._catalog.keep_access(self._source.source_id, self._of_same, (SET,))
            self._of_same = {}
