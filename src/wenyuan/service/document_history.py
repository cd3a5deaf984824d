"""The history of a document: its versions, from which day to which each counted, and what changed from one to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import NotFound, msg
from wenyuan.core.text.differences import PartChange, TextPart, changes
from wenyuan.service.ingest.versions import FOLDER, series_of
from wenyuan.service.operations.freshness import iso_time

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.catalog.history import PastDocument
    from wenyuan.core.records import AuditRecord
    from wenyuan.service.audit.recorder import AuditRecorder

MOST_VERSIONS = 100
MOST_CHANGES = 200
_NEAR = 120.0  # seconds between the reading of a file and the record of its upload
_MOST_RECORDS = 1_000


@dataclass(frozen=True, kw_only=True, eq=False)
class DocumentHistory:
    """Tells what a document was, as far as the library still holds it. For operators alone."""

    catalog: Catalog
    recorder: AuditRecorder

    def history(self, document_id: int) -> dict[str, Any]:
        """The versions of a document, the newest first, each with what changed since the one before it.

        Those are the earlier versions of an uploaded file that are kept, which answer as of their days; and what was read
        before from the same address, which the library holds for replays until its source is redacted anew.

        Args:
            document_id: Of any of the versions.

        Raises:
            NotFound: there is no such document.
        """
        held = self.catalog.past_document(document_id)
        if held is None:
            raise NotFound(
                msg("there is no document {number}", number=document_id),
                hint="its number changes when it is read again: look for it in wenyuan document list",
            )
        series, _ = series_of(held.uri)
        every = self.catalog.past_documents(held.source_id, series, f"/{FOLDER}/")
        versions = _versions([one for one in every if series_of(one.uri)[0] == series])
        texts = [self._parts(one) for one in versions]
        uploads = self._uploads(series, versions[0].ingested_at)
        told = []
        for at, one in enumerate(versions):
            changed = changes(texts[at - 1], texts[at]) if at else []
            told.append({**_described(one, changed, first=not at), "by": _by(one, uploads)})
        told.reverse()
        return {
            "source_id": held.source_id,
            "uri": series,
            "title": versions[-1].title,
            "versions": told[:MOST_VERSIONS],
            "more": max(0, len(told) - MOST_VERSIONS),
        }

    def _uploads(self, uri: str, since: float) -> list[AuditRecord]:
        """The records of uploads under an address, as far as the audit has them."""
        if self.recorder.log is None:
            return []
        found = self.recorder.log.list(kind="document", since=since - _NEAR, limit=_MOST_RECORDS)
        return [one for one in found if not one.erasure and one.record.get("object") in (uri, uri.partition("?")[0])]

    def _parts(self, one: PastDocument) -> list[TextPart]:
        return [TextPart(" › ".join(headings), text) for headings, text in self.catalog.past_texts(one)]


def _by(one: PastDocument, uploads: Sequence[AuditRecord]) -> str:
    """Who uploaded a version: the key, by the record nearest to when it was read; "" where the audit does not know."""
    near = [record for record in uploads if abs(record.at - one.ingested_at) <= _NEAR]
    best = min(near, key=lambda record: abs(record.at - one.ingested_at), default=None)
    return "" if best is None else best.principal


def _versions(found: Sequence[PastDocument]) -> list[PastDocument]:
    """Each version once, the oldest first. A row that was only written anew, with another last day, is no version."""
    kept = [one for one in found if series_of(one.uri)[1] and one.removed_at is None]
    again = {one.content for one in kept}
    own = [one for one in found if not series_of(one.uri)[1] and (one.removed_at is None or one.content not in again)]
    ordered = sorted(own, key=lambda one: (one.removed_at is None, one.seq))
    distinct = [
        one
        for one, after in zip(ordered, [*ordered[1:], None], strict=True)
        if after is None or after.content != one.content
    ]
    kept.sort(key=lambda one: series_of(one.uri)[1])
    live = [one for one in distinct if one.removed_at is None]
    return [*(one for one in distinct if one.removed_at is not None), *kept, *live]


def _described(one: PastDocument, changed: Sequence[PartChange], *, first: bool) -> dict[str, Any]:
    return {
        "document_id": one.document_id if one.removed_at is None else None,
        "title": one.title,
        "state": _state(one),
        "effective_from": one.effective_from and one.effective_from.isoformat(),
        "effective_until": one.effective_until and one.effective_until.isoformat(),
        "read_at": iso_time(one.ingested_at),
        "removed_at": None if one.removed_at is None else iso_time(one.removed_at),
        "first": first,
        "counts": {kind: sum(change.kind == kind for change in changed) for kind in ("added", "removed", "changed")},
        "changes": [
            {
                "kind": change.kind,
                "place": change.place,
                "pieces": [[piece.kind, piece.text] for piece in change.pieces],
            }
            for change in changed[:MOST_CHANGES]
        ],
    }


def _state(one: PastDocument) -> str:
    today = date.today()
    if one.removed_at is not None:
        return "replaced"
    if one.effective_until is not None and one.effective_until < today:
        return "superseded" if series_of(one.uri)[1] else "expired"
    if one.effective_from is not None and one.effective_from > today:
        return "not_yet"
    return "live"
