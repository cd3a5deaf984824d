"""Addresses that documents state of themselves: which are believed, and whose they are.

A line of a file may say where its text can be found. That is shown and opened as the text's source, so it must be an
address that is meant to be opened, and not that of another source's document.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from wenyuan.core.errors import DocumentRejected, SourceError, msg
from wenyuan.core.model import Document, Source
from wenyuan.core.stated_addresses import is_script, lies_under, scheme_of

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.service.ingest.addresses import Addresses


_OTHERS = frozenset(("http", "https", "urn", "file"))
"""Schemes that are no source's own."""


class AddressTaken(DocumentRejected):
    """A document states an address that belongs to another source's document."""

    code = "address_taken"


class StatedAddresses:
    """Decides on the addresses that a source's documents state.

    Args:
        source: Its setting ``base_uri`` is an address, ending in ``/``, below which its documents may state theirs.

    Raises:
        SourceError: ``base_uri`` is no such address.
    """

    def __init__(self, catalog: Catalog, source: Source) -> None:
        self._catalog = catalog
        self._source = source
        self._base = _base_of(source)
        self._files: dict[str, str] = {}  # to be stored

    @cached_property
    def files(self) -> Mapping[str, str]:
        """The files of the documents whose address was stated, as of before the run."""
        return self._catalog.stated_files(self._source.source_id)

    def note(self, uri: str, file: str) -> None:
        """Remember the file of a document with a stated address, both as they are stored."""
        if self.files.get(uri) != file:
            self._files[uri] = file

    def keep(self) -> None:
        """Store what was noted, before the documents."""
        self._catalog.keep_stated_files(self._source.source_id, self._files)
        self._files = {}

    def end(self, met: Set[str]) -> None:
        """Forget the files of documents that are no more."""
        self._catalog.keep_stated_files(self._source.source_id, {}, self.files.keys() - met)

    def settled(self, document: Document) -> Document:
        """The document under its accepted address: the stated one if allowed, else that of its line."""
        if document.stated in ("", document.uri):
            return document
        if self._base and lies_under(document.stated, self._base):
            return replace(document, uri=document.stated)
        note = msg(
            "no address that a line may state: {stated}; that of the line stands instead",
            stated=repr(document.stated[:100]),
        )
        return replace(document, stated="", notes=(*document.notes, note))

    def claim(self, document: Document, addresses: Addresses) -> tuple[str, ...]:
        """Claim a document's stated address; notes name the less trusted holder that loses it.

        Two addresses that are only redacted alike are not the same.

        Of two sources that state the same address, the one that is trusted more has it; of equal ones, the first.

        Raises:
            AddressTaken: a source has it that is trusted as much, or more.
        """
        if not document.stated:
            return ()
        held = self._catalog.holders([document.uri], self._source.source_id).get(document.uri, ())
        own = addresses.identity(document.uri)
        others = [
            one
            for one in held
            if self._catalog.address_identity(one.source_id, document.uri) in (own, None) or not own
        ]
        for other in others:
            if other.trust >= self._source.trust:
                raise AddressTaken(
                    msg(
                        "the address {uri} is that of a document of source {source_id}",
                        uri=document.uri,
                        source_id=other.source_id,
                    )
                )
        for other in others:
            self._catalog.retire_documents(other.source_id, [other.document_id])
            reason = msg(
                "the address {uri} is that of a document of source {source_id}",
                uri=document.uri,
                source_id=self._source.source_id,
            )
            self._catalog.record_failure(other.source_id, document.uri, AddressTaken.code, reason)
        return tuple(
            msg("source {source_id} had this address, and is trusted less", source_id=other.source_id)
            for other in others
        )


def _base_of(source: Source) -> str:
    base = source.settings.get("base_uri")
    if base is None:
        return ""
    own = isinstance(base, str) and base.endswith("/") and "://" in base and not is_script(base)
    if not own or scheme_of(base) in _OTHERS:
        raise SourceError(
            msg(
                "settings.base_uri of source {source_id} is no address of the source's own, such as kb://manuals/",
                source_id=repr(source.source_id),
            ),
            hint="http, https and urn need none",
        )
    return str(base)
