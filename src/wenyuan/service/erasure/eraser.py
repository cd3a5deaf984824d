"""Takes the steps of an erasure, one after the other; each can be taken again after whatever ended it."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from wenyuan.core.erasure import STEPS, Erasure, ErasureTarget
from wenyuan.core.errors import CatalogBusy, ConfigError, InvalidRequest, KnowledgeError, NotFound, SourceError, msg
from wenyuan.core.redaction.erased_values import ErasedValues
from wenyuan.service.audit.change_entry import change_record
from wenyuan.service.erasure.certificate import SEAL, certificate_of
from wenyuan.service.erasure.mentions import Mentions, of_document, of_person, of_source
from wenyuan.service.erasure.own_files import OwnFiles

if TYPE_CHECKING:
    from wenyuan.catalog.audit.log import AuditLog
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.service.ingest.ingestion import Ingestion

log = logging.getLogger(__name__)

_ROUNDS = 3  # in which documents are read again until nothing is found in them
_COMPACT_SECONDS = 30.0  # for readers of the write-ahead log to be done
NOBODY = "erased"
"""In the place of a principal that names who is erased."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Eraser:
    """Takes what an erasure is about out of every place.

    Attributes:
        log: None: the audit is switched off.
        forget_answers: Forgets what is kept in memory and in caches.
        patience: Seconds to wait for readers of the write-ahead logs.
    """

    catalog: Catalog
    ingestion: Ingestion
    files: OwnFiles
    log: AuditLog | None
    key: bytes
    forget_answers: Callable[[], None]
    patience: float = _COMPACT_SECONDS
    clock: Callable[[], float] = field(default=time.time)

    def found(self, target: ErasureTarget) -> ErasedValues:
        """What finds a person in texts."""
        return ErasedValues(self.key, target.values)

    def mentions(self, target: ErasureTarget, refs: Collection[str] | None = None) -> Mentions:
        """Which audit records are about what is erased.

        Args:
            refs: The short addresses of a document's passages; None: those that are known now.
        """
        if target.kind == "person":
            return of_person(self.found(target))
        if target.kind == "source":
            return of_source(target.source_id)
        if refs is None:
            refs = self.catalog.forgotten.texts.refs_at(target.source_id, target.uri)
        return of_document(target.uri, refs)

    def run(self, erasure: Erasure, progress: Callable[[str], None] = lambda _: None) -> Erasure:
        """Take the steps that are left; whoever calls holds `Catalog.erasing`.

        Raises:
            KnowledgeError: a step failed; the erasure says why, and goes on from there the next time.
        """
        report = dict(erasure.report)
        step = erasure.step
        try:
            while step != STEPS[-1]:
                progress(step)
                self._take(step, erasure.target, report)
                step = STEPS[STEPS.index(step) + 1]
                if step != STEPS[-1]:
                    self.catalog.note_erasure(erasure.erasure_id, step, report)
            return self._finish(replace(erasure, report=report, step=step))
        except KnowledgeError as error:
            self.catalog.note_erasure(
                erasure.erasure_id, step if step != STEPS[-1] else STEPS[-2], report, problem=str(error)
            )
            raise

    def _take(self, step: str, target: ErasureTarget, report: dict[str, Any]) -> None:
        steps: Mapping[str, Callable[[ErasureTarget, dict[str, Any]], None]] = {
            "tables": self._mask_early, "documents": self._erase_documents, "files": self._delete_files,
            "places": self._mask_places, "audit": self._erase_audit, "index": self._purge_index,
            "compact": self._compact, "check": self._check,
        }  # fmt: skip
        steps[step](target, report)

    # -- the steps

    def _mask_early(self, target: ErasureTarget, report: dict[str, Any]) -> None:
        report.setdefault("before", self._state(report.get("places", {})))
        if target.kind == "person":
            _add(report, self.catalog.forgotten.texts.mask(self.found(target), early=True))

    def _erase_documents(self, target: ErasureTarget, report: dict[str, Any]) -> None:
        if target.kind == "source":
            self._remove_source(target, report)
        elif target.kind == "document":
            self._remove_document(target, report)
        else:
            self._clean_documents(target, report)

    def _remove_source(self, target: ErasureTarget, report: dict[str, Any]) -> None:
        try:
            self.ingestion.remove(target.source_id)
        except NotFound:  # an earlier attempt has removed it
            return
        _add(report, {"documents": report["places"].get("documents", 0)})

    def _remove_document(self, target: ErasureTarget, report: dict[str, Any]) -> None:
        texts = self.catalog.forgotten.texts
        with self.catalog.taking_in(target.source_id):
            live, past = texts.documents_at(target.source_id, target.uri)
            self.catalog.retire_documents(target.source_id, live)
            self.ingestion.ingester.follow()
            self.ingestion.ingester.recheck_quotes(target.source_id)
            count = texts.forget_documents([*live, *past])
        _add(report, {"documents": len(live), "versions": max(0, count - len(live))})

    def _clean_documents(self, target: ErasureTarget, report: dict[str, Any]) -> None:
        texts, found = self.catalog.forgotten.texts, self.found(target)
        for attempt in range(_ROUNDS):
            live, past, _ = texts.documents_with(found)
            if target.whole or attempt:  # what still holds something after it was read again does not stay
                for source_id, numbers in live.items():
                    self.catalog.retire_documents(source_id, sorted(numbers))
                _add(report, {"documents": sum(map(len, live.values()))})
            else:
                texts.mark(live)
                self._read_again(live, report)
            forgotten = texts.forget_documents({n for part in (*past.values(), *live.values()) for n in part})
            _add(report, {"versions": max(0, forgotten - sum(map(len, live.values())))})
            if not live:
                return
        raise KnowledgeError(
            "documents still hold what is to be erased after they were read again", component="erasure"
        )

    def _read_again(self, live: Mapping[str, set[int]], report: dict[str, Any]) -> None:
        """Have sources read again, so that what is erased is taken out; what cannot be read again goes as a whole."""
        for source_id in sorted({*live, *self.catalog.forgotten.texts.marked()}):
            try:
                self.ingestion.ingest(source_id)
            except (SourceError, ConfigError, InvalidRequest, NotFound) as error:
                log.warning("the source %s cannot be read again: %s", source_id, error)
        lost = 0
        for source_id, numbers in self.catalog.forgotten.texts.marked().items():
            lost += self.catalog.retire_documents(source_id, numbers)
        _add(report, {"documents": sum(map(len, live.values())), "withdrawn": lost})

    def _delete_files(self, target: ErasureTarget, report: dict[str, Any]) -> None:
        self.files.clear_leftovers()
        if target.kind == "person":
            uploads = self.files.uploads_with(self.found(target))
            for source_id in {name for name, _, _ in uploads}:
                self.catalog.withhold(source_id, {stored for name, _, stored in uploads if name == source_id})
            gone = self.files.delete([file for _, file, _ in uploads])
            aside = [
                self.files.quarantine.discard(name) for name in self.files.quarantined_with(self.found(target))[0]
            ]
            _add(report, {"originals": gone, "quarantine": len(aside)})
        elif target.kind == "document":
            _add(report, {"originals": self.files.delete(self.files.uploads_of(target.source_id, target.uri))})
            _add(report, self.catalog.forgotten.texts.forget_address(target.source_id, target.uri))

    def _mask_places(self, target: ErasureTarget, report: dict[str, Any]) -> None:
        if target.kind == "person":
            _add(report, self.catalog.forgotten.texts.mask(self.found(target)))

    def _erase_audit(self, target: ErasureTarget, report: dict[str, Any]) -> None:
        if self.log is None:
            return
        mentions, found = self.mentions(target, report.get("refs")), self.found(target)
        questions = {text for row in self.log.wanted_records(mentions) for text in _questions(row.query, row.record)}
        _add(report, {"gaps": self.catalog.forgotten.texts.unkept_gaps(questions)})
        erased = self.log.erase_records(
            report["erasure_id"],
            mentions,
            lambda name: NOBODY if found.holds(name) else name,
            principal=report["actor"],
        )
        _add(report, {"audit": erased})

    def _purge_index(self, target: ErasureTarget, report: dict[str, Any]) -> None:
        self.ingestion.ingester.purge()
        self.ingestion.traits.keep()

    def _compact(self, target: ErasureTarget, report: dict[str, Any]) -> None:
        self.forget_answers()
        until = time.monotonic() + self.patience
        for compact in (self.catalog.compact, *(() if self.log is None else (self.log.compact,))):
            while True:
                try:
                    compact()
                    break
                except CatalogBusy:  # a reader of the write-ahead log, for as long as its question takes
                    if time.monotonic() >= until:
                        raise
                    time.sleep(0.1)

    def _check(self, target: ErasureTarget, report: dict[str, Any]) -> None:
        """Raise KnowledgeError where something is still found."""
        left = self.remains(target)
        if left:
            where = ", ".join(f"{place} ({count})" for place, count in sorted(left.items()))
            raise KnowledgeError(msg("what was erased still stands in {where}", where=where), component="erasure")
        report["after"] = self._state(left)

    def remains(self, target: ErasureTarget) -> dict[str, int]:
        """What is still found of what an erasure was about, by place."""
        found: dict[str, int] = {}
        texts = self.catalog.forgotten.texts
        if target.kind == "person":
            live, past, passages = texts.documents_with(self.found(target))
            found = texts.counted(self.found(target))
            found |= {
                "documents": sum(map(len, live.values())), "versions": sum(map(len, past.values())), "passages": passages,
                "originals": len(self.files.uploads_with(self.found(target))),
            }  # fmt: skip
        elif target.kind == "document" and target.uri:
            live_at, past_at = texts.documents_at(target.source_id, target.uri)
            found = {"documents": len(live_at), "versions": len(past_at)}
        elif target.kind == "source" and target.source_id:
            found = {"documents": len(self.catalog.live_documents(target.source_id))}
        if self.log is not None and (target.kind == "person" or target.source_id):
            found["audit"] = sum(1 for _ in self.log.wanted_records(self.mentions(target)))
        return {place: count for place, count in found.items() if count}

    # -- proof

    def _state(self, places: Mapping[str, int]) -> dict[str, Any]:
        """The state of the library, and a keyed hash of what is found in it."""
        told = json.dumps(dict(sorted(places.items())))
        return {
            "change": self.catalog.seq(), "audit": "" if self.log is None else self.log.head(),
            "digest": hmac.new(self.key, b"places\0" + told.encode(), hashlib.sha256).hexdigest(),
        }  # fmt: skip

    def _finish(self, erasure: Erasure) -> Erasure:
        """Write the certificate, and forget where what was erased had lain."""
        done_at = self.clock()
        certificate = certificate_of(erasure, self.catalog.library_id(), self.key, done_at)
        audit_id = ""
        if self.log is not None:
            told = {
                SEAL: certificate[SEAL],
                "kind": erasure.target.kind,
                "places": dict(erasure.report.get("places", {})),
            }
            record = change_record("erasure", "erased", erasure.erasure_id, None, told)
            audit_id = self.log.append(record | {"principal": erasure.actor})
            self.log.flush()
        report = {**erasure.report, "certificate": certificate, "audit_id": audit_id}
        target = replace(erasure.target, uri="", source_id="")
        self.catalog.note_erasure(erasure.erasure_id, STEPS[-1], report, target=target, done_at=done_at)
        return self.catalog.erasure(erasure.erasure_id)


def _add(report: dict[str, Any], counts: Mapping[str, int]) -> None:
    """Add to what a report says was erased, by place."""
    erased = report.setdefault("erased", {})
    for place, count in counts.items():
        if count:
            erased[place] = erased.get(place, 0) + count


def _questions(query: str | None, record: str) -> list[str]:
    """The digests by which decisions on gaps know the question of a record."""
    from wenyuan.core.gaps import digest_of

    texts = []
    for written, name in ((query, "query"), (record, "preview")):
        try:
            value = json.loads(written) if written else {}
        except ValueError:
            continue
        if isinstance(value, dict) and isinstance(value.get(name), str):
            texts.append(value[name])
    return [digest_of(text) for text in texts]
