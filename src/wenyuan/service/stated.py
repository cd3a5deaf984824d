"""Addresses that documents state of themselves: which are believed, and whose they are.

A line of a file may say where its text can be found. That is shown and opened as the text's source, so it must be an
address that is meant to be opened, and not that of another source's document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from wenyuan.core.errors import DocumentRejected, SourceError
from wenyuan.core.model import Document, Source
from wenyuan.core.stated import Holder, is_script, lies_under, scheme_of

__all__ = ["AddressTaken", "Holders", "Stated"]

_OTHERS = frozenset(("http", "https", "urn", "file"))
"""Schemes that are no source's own."""


class Holders(Protocol):
    """Where documents are kept; `catalog.Catalog` is one."""

    def holders(self, uris: Sequence[str], but: str = "") -> Mapping[str, Sequence[Holder]]: ...

    def retire_documents(self, source_id: str, document_ids: Sequence[int]) -> int: ...

    def record_failure(self, source_id: str, uri: str, code: str, reason: str) -> None: ...


class AddressTaken(DocumentRejected):
    """A document states the address of another source's document."""

    code = "address_taken"


class Stated:
    """Settles the addresses that the documents of a source state.

    Args:
        source: Its setting ``base_uri`` is an address, ending in ``/``, below which its documents may state theirs.

    Raises:
        SourceError: ``base_uri`` is no such address.
    """

    def __init__(self, holders: Holders, source: Source) -> None:
        self._holders = holders
        self._source = source
        self._base = _base_of(source)

    def settled(self, document: Document) -> Document:
        """A document under the address that counts: its own where that may be believed, else that of its line."""
        if document.stated in ("", document.uri):
            return document
        if self._base and lies_under(document.stated, self._base):
            return replace(document, uri=document.stated)
        note = f"no address that a line may state: {document.stated[:100]!r}; that of the line stands instead"
        return replace(document, stated="", notes=(*document.notes, note))

    def claim(self, document: Document) -> tuple[str, ...]:
        """Take the address that a document states, redacted or not; notes name who had it and is trusted less.

        Of two sources that state the same address, the one that is trusted more has it; of equal ones, the first.

        Raises:
            AddressTaken: a source has it that is trusted as much, or more.
        """
        if not document.stated:
            return ()
        others = self._holders.holders([document.uri], self._source.source_id).get(document.uri, ())
        for other in others:
            if other.trust >= self._source.trust:
                raise AddressTaken(f"the address {document.uri} is that of a document of source {other.source_id}")
        for other in others:
            self._holders.retire_documents(other.source_id, [other.document_id])
            reason = f"the address {document.uri} is that of a document of source {self._source.source_id}"
            self._holders.record_failure(other.source_id, document.uri, AddressTaken.code, reason)
        return tuple(f"source {other.source_id} had this address, and is trusted less" for other in others)


def _base_of(source: Source) -> str:
    base = source.settings.get("base_uri")
    if base is None:
        return ""
    own = isinstance(base, str) and base.endswith("/") and "://" in base and not is_script(base)
    if not own or scheme_of(base) in _OTHERS:
        raise SourceError(
            f"settings.base_uri of source {source.source_id!r} is no address of the source's own, such as kb://manuals/",
            hint="http, https and urn need none",
        )
    return str(base)
