"""What people say of the documents of a source: corrections of their passages, and details in place of those of their files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from wenyuan.core.corrections import Correction
from wenyuan.core.document_details import DocumentDetails, StatedDetails
from wenyuan.core.model import Document
from wenyuan.service.ingest.addresses import Addresses
from wenyuan.service.ingest.versions import file_version, series_of

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.catalog.document_details import KeptDetails


class PeoplesWords:
    """Read when they are first asked for, after a change of the source's redaction has redacted them; and anew by `renew`."""

    def __init__(self, catalog: Catalog, source_id: str, addresses: Addresses) -> None:
        self._catalog, self._source_id, self._addresses = catalog, source_id, addresses
        self.present: Mapping[str, int] = {}  # by file with earlier versions, the number of the present one

    @cached_property
    def _corrections(self) -> Mapping[str, tuple[Correction, ...]]:
        return self._catalog.counting_corrections(self._source_id)

    @cached_property
    def _details(self) -> Mapping[str, KeptDetails]:
        return self._catalog.stated_details(self._source_id)

    def renew(self) -> None:
        """Read them again."""
        self._corrections = self._catalog.counting_corrections(self._source_id)
        self._details = self._catalog.stated_details(self._source_id)

    def corrections_of(self, document: Document) -> tuple[Correction, ...]:
        """The corrections in force, oldest first."""
        return self._corrections.get(document.uri) or self._corrections.get(self._former(document), ())

    def details_of(self, document: Document) -> DocumentDetails:
        """Its details: those of its file, and over them what people said."""
        return self._said_of(document).over(_as_read(document))

    def of(self, document: Document) -> tuple[object, object]:
        """Both, to compare them with what they were."""
        return self.corrections_of(document), self._said_of(document)

    def note_read(self, documents: list[Document]) -> None:
        """Note what the files of documents say now, of which people say something else."""
        said = {one.uri: _as_read(one) for one in documents if self._said_of(one).values}
        self._catalog.note_read(self._source_id, said)
        for one in documents:
            kept = self._kept_of(one)
            if kept is not None and series_of(one.uri)[1] and one.uri not in self._details:
                self._catalog.keep_with_version(self._source_id, one.uri, kept, said[one.uri])

    def _said_of(self, document: Document) -> StatedDetails:
        kept = self._kept_of(document)
        if kept is None:
            return StatedDetails()
        file, number = file_version(document.uri)
        return kept.of_version(number or self.present.get(file, 1))

    def _kept_of(self, document: Document) -> KeptDetails | None:
        """What was said of it; of an earlier version of a file also while it was in its place."""
        kept = self._details.get(document.uri) or self._details.get(self._former(document))
        series, number = series_of(document.uri)
        if kept is None and number:
            said = self._details.get(series)
            return said if said is not None and said.version == number else None
        return kept

    def _former(self, document: Document) -> str:
        return self._addresses.former(document.uri)


def _as_read(document: Document) -> DocumentDetails:
    """The details of a document as its file has them."""
    return DocumentDetails(
        title=document.title, effective_from=document.effective_from, effective_until=document.effective_until,
        tags=document.metadata,
    )  # fmt: skip
