"""What of a source was erased, as one run over it meets it: documents that are not taken in, and files that are withheld."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from wenyuan.core.redaction.findings import ERASED_KIND

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.service.ingest.redaction import Redactor


class ErasedDocuments:
    """Knows erased documents by the keyed hashes of their addresses, and notes the files in which an erased value stood."""

    def __init__(self, catalog: Catalog, source_id: str, redactor: Redactor) -> None:
        self._catalog, self._source_id, self._redactor = catalog, source_id, redactor
        self._identities = catalog.erased_identities()
        self._withheld = catalog.withheld(source_id)
        self._holding: set[str] = set()
        self._clean: set[str] = set()
        self.met = 0

    def is_erased(self, uri: str) -> bool:
        """Whether the document at a true address was erased; such ones are counted."""
        if not self._identities:
            return False
        own = {identity_in(self._redactor, self._source_id, uri), self._redactor.identity(uri)}
        if own.isdisjoint(self._identities):
            return False
        self.met += 1
        return True

    def is_withheld(self, stored: str) -> bool:
        """Whether the file of a stored address is given to nobody."""
        return stored.partition("?")[0].partition("#")[0] in self._withheld or stored in self._withheld

    def read(self, file: str, counts: Mapping[str, int]) -> bool:
        """Note what was found in a document of a file; returns whether something that was erased.

        Args:
            file: Its stored address.
            counts: How many values of each kind were taken out.
        """
        found = bool(counts.get(ERASED_KIND))
        (self._holding if found else self._clean).add(file.partition("?")[0].partition("#")[0])
        return found

    def keep(self) -> None:
        """Withhold the files in which something stood, and give those again that hold nothing any more."""
        free = sorted((self._clean & self._withheld) - self._holding)
        if self._holding - self._withheld or free:
            self._catalog.withhold(self._source_id, self._holding - self._withheld, free)
            self._withheld = (self._withheld | self._holding) - {*free}


def identity_in(redactor: Redactor, source_id: str, uri: str) -> str:
    """The identity of a document among those of all sources: a keyed hash of its source and its true address."""
    return redactor.identity(f"{source_id}\0{uri}")
