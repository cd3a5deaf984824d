"""Erases the former versions of a source's documents that its setting ``retention`` does not keep, but for what is held."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wenyuan.catalog.expired_versions import expired_versions
from wenyuan.core.erasure import Hold
from wenyuan.core.model import Source
from wenyuan.core.redaction.erased_values import ErasedValues
from wenyuan.core.retention import retention_of
from wenyuan.service.ingest.ingester import Ingester

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiredVersions:
    """Former versions that a source does not keep.

    Attributes:
        documents: Their numbers.
        held: How many more would go, if they were not held.
        holds: What holds them.
    """

    documents: tuple[int, ...] = ()
    held: int = 0
    holds: tuple[Hold, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class VersionExpiry:
    """Finds and erases them."""

    ingester: Ingester
    clock: Callable[[], float] = time.time

    @property
    def _catalog(self) -> Catalog:
        return self.ingester.catalog

    def expired(self, source: Source) -> ExpiredVersions:
        """What of a source is past its retention; nothing is changed.

        Raises:
            InvalidRequest: the setting is wrong.
        """
        kept = retention_of(source.settings)
        if not kept:
            return ExpiredVersions()
        before = None if kept.keep_days is None else self.clock() - kept.keep_days * _DAY
        found = expired_versions(self._catalog.database, source.source_id, kept.keep_versions, before)
        held: dict[int, Hold] = {}
        for hold in self._catalog.holds() if found else ():
            for number in self._held_by(hold, source, found):
                held.setdefault(number, hold)
        return ExpiredVersions(
            documents=tuple(sorted(found.keys() - held.keys())),
            held=len(held),
            holds=tuple(dict.fromkeys(held.values())),
        )

    def _held_by(self, hold: Hold, source: Source, found: dict[int, str]) -> set[int]:
        own = hold.target
        if own.kind == "source":
            return set(found) if own.source_id == source.source_id else set()
        texts = self._catalog.forgotten.texts
        if own.kind == "document":
            if own.source_id != source.source_id:
                return set()
            _, past = texts.documents_at(own.source_id, own.uri)
            return set(found) & set(past)
        _, gone, _ = texts.documents_with(ErasedValues(self.ingester.redacting(source).key, own.values))
        return set(found) & gone.get(source.source_id, set())

    def erase(self, source: Source) -> ExpiredVersions:
        """Erase what is past the retention of a source; returns what that was.

        Raises:
            InvalidRequest: the setting is wrong.
            KnowledgeError: it cannot be erased now; the next refresh does.
        """
        found = self.expired(source)
        if found.documents:
            count = self._catalog.forgotten.texts.forget_documents(found.documents)
            self._catalog.database.place.forget()
            self.ingester.purge()
            self._catalog.database.on_change("erasure", "expired", source.source_id, None, {"versions": count})
        return found
