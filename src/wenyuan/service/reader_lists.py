"""Who may read documents, for people who say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import NotFound, NotPermitted, msg
from wenyuan.core.principals import parse_access_list
from wenyuan.core.source_readers import readers_of
from wenyuan.service.audit.recorder import ACTING

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


@dataclass(frozen=True, kw_only=True, eq=False)
class ReaderLists:
    """Shows and sets the lists of documents; for those from whom nothing is hidden."""

    catalog: Catalog

    def readers(self, document_id: int) -> Mapping[str, Any]:
        """The lists that stand for a document: ``lists`` with ``origin``, ``readers`` (None: it says none), ``deny`` and
        ``note``; and whether its source shows nothing without readers (``enforced``).

        Raises:
            NotFound: there is no such document.
            NotPermitted: something is hidden from the caller.
        """
        source_id, uri = self._address(document_id)
        lists = [
            {
                "origin": one.origin,
                "readers": None if one.access.readers is None else sorted(one.access.readers),
                "deny": sorted(one.access.deny),
                "note": one.note,
            }
            for one in self.catalog.document_access(source_id, uri)
        ]
        enforced = readers_of(self.catalog.source(source_id)).enforce
        return {"document_id": document_id, "source_id": source_id, "uri": uri, "enforced": enforced, "lists": lists}

    def set_readers(self, document_id: int, access: Mapping[str, Any] | None) -> None:
        """Give a document a list of its own, ``{"readers": ["group:hr"], "deny": ["user:li"]}``; None takes it back.

        It counts for the next question, together with the lists of other origins.

        Raises:
            InvalidRequest: it is no such list.
            NotFound, NotPermitted: as `readers`.
        """
        source_id, uri = self._address(document_id)
        given = None if access is None else parse_access_list(access)
        self.catalog.set_document_access(source_id, uri, given, ACTING.get().actor)

    def reader_counts(self) -> list[Mapping[str, Any]]:
        """Of each source of which readers are known, or that shows nothing without: how many documents have ``readers``, are
        seen by nobody but administrators (``unread``: a list has nobody on it, or the source enforces and there is none), or could not be told (``unreadable``); and its
        patterns that fit nothing (``unmatched``).
        """
        self._check()
        counts = self.catalog.access_counts()
        told: list[Mapping[str, Any]] = []
        for source in self.catalog.sources():
            unmatched = self.catalog.unmatched_patterns(source)
            if source.source_id in counts or unmatched:
                held = counts.get(source.source_id, {"readers": 0, "unread": 0, "unreadable": 0})
                told.append({"source_id": source.source_id, **held, "unmatched": list(unmatched)})
        return told

    def _address(self, document_id: int) -> tuple[str, str]:
        self._check()
        held = self.catalog.held_document(document_id, date.today())
        if held is None:
            raise NotFound(
                msg("there is no document {number}", number=document_id),
                hint="its number changes when it is read again: look for it in wenyuan document list",
            )
        return held.source_id, held.uri

    def _check(self) -> None:
        if self.catalog.hidden() is not None:
            raise NotPermitted("documents are hidden from the caller: who may read is for whoever sees all of them")
