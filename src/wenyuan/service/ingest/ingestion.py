"""What a library does with its sources: register, read, remove."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from wenyuan.core.cycles import parse_cycle
from wenyuan.core.errors import (
    CatalogBusy,
    ConfigError,
    EncoderUnavailable,
    InvalidRequest,
    KnowledgeError,
    SourceError,
    joined,
    listed,
    msg,
)
from wenyuan.core.model import Source
from wenyuan.core.ports import Encoder
from wenyuan.core.principals import AccessList
from wenyuan.core.retention import retention_of
from wenyuan.core.secret_settings import secret_faults
from wenyuan.core.source_entries import described_anew
from wenyuan.core.terms_of_use import parse_copyright
from wenyuan.service.ingest.ingester import Ingester
from wenyuan.service.ingest.place_check import check_address
from wenyuan.service.ingest.progress import IngestReport, Progress
from wenyuan.service.ingest.redaction import Redactor
from wenyuan.service.ingest.reembedding import PENDING
from wenyuan.service.ingest.removed_uploads import note_removal, take_away
from wenyuan.service.ingest.uploads_home import check_home
from wenyuan.service.ingest.version_retention import VersionExpiry
from wenyuan.service.operations.health import Health
from wenyuan.service.search.searcher import CollectionTraits
from wenyuan.service.search.source_selection import lasts

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


@dataclass(frozen=True, kw_only=True, eq=False)
class Ingestion:
    """Adds, reads and removes sources, and updates what is derived from them.

    Attributes:
        refusal: Why nothing may be ingested; ``""`` where it may.
    """

    ingester: Ingester
    traits: CollectionTraits
    health: Health
    refusal: str = ""

    @property
    def _catalog(self) -> Catalog:
        return self.ingester.catalog

    @property
    def _encoder(self) -> Encoder | None:
        return self.ingester.encoder

    def add(self, source: Source, progress: Callable[[Progress], None] | None = None) -> IngestReport:
        """Register a source and ingest it; a registered source must keep its path.

        For a registered source, fields that `source` leaves at their default keep their value; to clear one, use
        ``wenyuan source set`` or ``PATCH /v1/sources/{id}``.

        Raises:
            InvalidRequest: the id is taken by another path, or sources would supersede one another in a loop.
            SourceError: nothing could be ingested; then nothing is registered.
        """
        self.check_may_write()
        _check_described(source)
        if source.type != "static_doc":
            raise InvalidRequest(
                msg("a source of type {type} is searched where it is; there is nothing to take in", type=source.type),
                hint="register it: wenyuan apply FILE",
            )
        registered = {s.source_id: s for s in self._catalog.sources()}
        lasts(tuple((registered | {source.source_id: source}).values()))
        known = registered.get(source.source_id)
        if known is not None and known.path != source.path:
            told = msg(
                "the source id {source_id} is taken by a source without a path", source_id=repr(source.source_id)
            )
            if known.path:
                told = msg(
                    "the source id {source_id} is taken: it reads {path}",
                    source_id=repr(source.source_id),
                    path=known.path,
                )
            hint = msg(
                "choose another --source, or remove that one: wenyuan source remove {source_id}",
                source_id=source.source_id,
            )
            raise InvalidRequest(told, hint=hint)
        if known is not None:
            source = described_anew(known, source)
        try:
            report = self._ingested(source, progress, partial(self._catalog.put_source, source))
            if known is None and (report.failed or report.data) and not (report.added or report.unchanged):
                raise SourceError(_all_failed(report), hint="see the reasons above")
        except (SourceError, ConfigError):
            if known is None and source.source_id in {one.source_id for one in self._catalog.sources()}:
                self._catalog.remove_source(source.source_id)
            raise
        return report

    def ingest(
        self,
        source_id: str,
        progress: Callable[[Progress], None] | None = None,
        access: Mapping[str, AccessList] = MappingProxyType({}),
    ) -> IngestReport:
        """Read a registered source again; only changes are embedded and indexed.

        Args:
            access: By the addresses of uploaded files, who may read them.
        """
        self.check_may_write()
        source = self._catalog.source(source_id)
        if source.type != "static_doc":
            raise InvalidRequest(
                msg(
                    "source {source_id} is searched where it is; there is nothing to take in",
                    source_id=repr(source_id),
                )
            )
        return self._ingested(source, progress, access=access)

    def _ingested(
        self,
        source: Source,
        progress: Callable[[Progress], None] | None,
        register: Callable[[], None] = lambda: None,
        access: Mapping[str, AccessList] = MappingProxyType({}),
    ) -> IngestReport:
        if self._encoder is not None and self._catalog.value("encoder") is None:
            self._catalog.set_value("encoder", asdict(self._encoder.fingerprint))
        report = self.ingester.ingest(source, progress, register, access)
        self._expire(source, report)
        self._settle()
        self._audited(report)
        return report

    def _expire(self, source: Source, report: IngestReport) -> None:
        """Erase the former versions that the source does not keep, and say where something holds them."""
        found = VersionExpiry(ingester=self.ingester).erase(source)
        if found.held:
            hold = found.holds[0]
            told = msg(
                "{count} former versions are past their retention, and held by {actor}: {reason}",
                count=found.held, actor=hold.actor, reason=hold.reason,
            )  # fmt: skip
            report.notes[source.source_id] = (*report.notes.get(source.source_id, ()), told)

    def _audited(self, report: IngestReport) -> None:
        """Record what a reading of a source changed, if it changed anything."""
        told = {name: getattr(report, name) for name in ("added", "changed", "retired")} | {
            "failures": len(report.failed)
        }
        if any(told.values()):
            self._catalog.database.on_change("refresh", "ingested", report.source_id, None, told)

    def clear(self, source_id: str) -> IngestReport:
        """Retire all documents of a source whose uploaded files are all deleted."""
        report = self.ingester.clear(self._catalog.source(source_id))
        self._settle()
        self._audited(report)
        return report

    def embedding(self, jobs: int) -> AbstractContextManager[None]:
        """A context in which this process embeds for all who take sources in, with so many threads.

        Raises:
            CatalogVersion: a worker of a newer program is at work on this library.
        """
        workers = self.ingester.workers
        return nullcontext() if workers is None or self.refusal else workers.at_work(jobs)

    def behind(self, source: Source) -> bool:
        """Whether a source must be read again because its redaction became stricter."""
        return source.type == "static_doc" and self.ingester.behind(source)

    def check_may_write(self) -> None:
        """EncoderUnavailable where nothing may be ingested."""
        if self.refusal:
            raise EncoderUnavailable(self.refusal, component="encoder", hint="wenyuan doctor")

    def remove(self, source_id: str) -> int:
        """Remove a source and everything ingested from it; returns the number of documents.

        Raises:
            CatalogBusy: its uploaded files lie in another server's folder.
            SourceError: it is removed, but files that were uploaded to it are still there.
        """
        if not self._catalog.source(source_id).path:
            check_home(self._catalog, self.ingester.uploads)
        note_removal(self._catalog, source_id)
        gone = self._catalog.remove_source(source_id)
        try:
            take_away(self._catalog, self.ingester.uploads, source_id)
        finally:
            self.ingester.purge()
            self._settle()
        return gone

    def _settle(self) -> None:
        """After a change: measure the collection, and prepare a fast next start."""
        self.traits.keep()
        with suppress(CatalogBusy):  # whoever takes the next source in saves the files, too
            self.ingester.engine.checkpoint()

    def follow_reembedding(self) -> None:
        """After `embed_anew`: build the index, measure what depends on vectors, and check completeness.

        Does nothing when already done. Can be interrupted and repeated.

        Raises:
            KnowledgeError: the index does not hold what the catalog does, or cannot be built.
        """
        pending = self._catalog.value(PENDING)
        if not pending or self._encoder is None:
            return
        for source in self._catalog.sources():  # or every document would be read anew: its stamp names the encoder
            redaction = self.ingester.redacting(source).fingerprint
            before = self.ingester.reading(source, pending["from"], redaction).each
            after = self.ingester.reading(source, self._encoder.fingerprint.key, redaction).each
            for old, new in zip(before, after, strict=True):
                self._catalog.renew_stamps(source.source_id, old, new)
        self.ingester.follow()
        self.traits.keep()
        self.ingester.engine.checkpoint(always=True)
        readiness = self.health.readiness()
        if not readiness.ready:
            failed = joined(part["detail"] for part in readiness.parts.values() if part["state"] == "failed")
            raise KnowledgeError(failed, component="re-embedding", hint="wenyuan doctor")
        self._catalog.set_value(PENDING, None)


def _check_described(source: Source) -> None:
    """Validate the settings in a source's description; InvalidRequest when they are invalid."""
    check_address(source.path)
    parse_copyright(source.copyright)
    parse_cycle(source.refresh_cycle)
    Redactor.of(source)
    retention_of(source.settings)
    if faults := secret_faults(source.settings):
        raise InvalidRequest(listed(faults), faults=faults)


def _all_failed(report: IngestReport) -> str:
    failed = {**report.failed, **report.data}
    uri, reason = next(iter(failed.items()))
    more = msg(" (and {count} more)", count=len(failed) - 1) if len(failed) > 1 else ""
    return msg("nothing could be taken in: {uri}: {reason}{more}", uri=uri, reason=reason, more=more)
