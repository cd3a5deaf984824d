"""Ingestion: from a source's files to stored, embedded and indexed passages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from wenyuan import plugins
from wenyuan.core.addresses import file_uri
from wenyuan.core.connectors import Connector
from wenyuan.core.errors import IndexCorrupt, SourceError, msg
from wenyuan.core.model import Document, Source
from wenyuan.core.okf import is_bundle
from wenyuan.core.ports import Deadline, Encoder, Engine
from wenyuan.core.principals import AccessList
from wenyuan.core.remote_addresses import is_remote
from wenyuan.core.scanning import Scanner
from wenyuan.core.source_entries import PASSAGE_SIZE, passage_size
from wenyuan.core.source_readers import FRONT_MATTER, readers_of
from wenyuan.core.vector_files import ENCODER, VectorFileReader, is_vector_source
from wenyuan.runtime.deadlines import deadline_after
from wenyuan.runtime.presence import is_dir
from wenyuan.service.ingest.addresses import Addresses
from wenyuan.service.ingest.bundle_files import concepts_of, readable_in
from wenyuan.service.ingest.document_digests import digest
from wenyuan.service.ingest.file_permissions import ConnectorPermissions, LocalPermissions, check_no_permissions
from wenyuan.service.ingest.local_files import PRIVATE, LocalHoldings, find_files, of_library
from wenyuan.service.ingest.lost_files import FileLost, lost_files
from wenyuan.service.ingest.progress import IngestReport, Progress
from wenyuan.service.ingest.recognition import NO_RECOGNITION, OcrReading, ReadingPrefixes
from wenyuan.service.ingest.redaction import Redactor
from wenyuan.service.ingest.redaction_change import RedactionChange, change_of
from wenyuan.service.ingest.remote_files import Memory, ReadContent, RemoteHoldings
from wenyuan.service.ingest.removed_uploads import take_away
from wenyuan.service.ingest.source_run import SourceRun
from wenyuan.service.ingest.uploads_home import check_home
from wenyuan.service.ingest.vector_files import VectorFiles
from wenyuan.service.ingest.versions import FOLDER, Arrivals
from wenyuan.service.rules.withdrawn_evidence import WithdrawnEvidence, follow_quotes
from wenyuan.service.upload_journal import recover_unless_busy

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.service.generation.context_sentences import ContextSentences
    from wenyuan.service.ingest.embedding_workers import EmbeddingWorkers


# The write path: source → read → chunk → passages → embed → catalog commit → index sync → report.


READING = "read/15+chunk/3"
"""Version of what turns a file into passages; documents read by another version are read anew."""

_NO_HURRY = 3_600.0  # seconds: writing an index has no deadline of a request
_SOON = 2.0  # seconds for the index to follow a change by a person, who waits; else whoever writes it follows


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorAccess:
    """Access to sources that are read through connectors.

    Attributes:
        connect: A source → its connector; ConfigError where there is none or a setting is wrong.
        schemes: The schemes for which there is one.
        read: As `Ingester.read`, of bytes.
    """

    connect: Callable[[Source], Connector]
    schemes: Callable[[], Sequence[str]]
    read: ReadContent


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingester:
    """Ingests sources.

    Attributes:
        read: File and its URI → documents, perhaps as a stream; raises `DocumentRejected`.
        readable: Whether a file of this name can be read at all.
        uploads: Folder of the files uploaded to sources without a path, with a subfolder for each source.
        redacting: The redaction of a source's documents (see `service.ingest.redaction`).
        remote: Reads remote sources; None: only local files are read.
        recognition: Recognises pages by OCR while `read` runs.
        contexts: What gives passages their context sentences; None: nothing does.
        scanner: What `read` and `remote` ask first; None: nothing.
        workers: Who embeds beside the run; None: nobody does.
        vectors: Reads files of passages with their vectors; None: nothing does.
    """

    catalog: Catalog
    engine: Engine
    encoder: Encoder | None
    read: Callable[[Path, str], Iterable[Document]]
    readable: Callable[[str], bool]
    uploads: Path
    redacting: Callable[[Source], Redactor] = Redactor.of
    remote: ConnectorAccess | None = None
    recognition: OcrReading = NO_RECOGNITION
    contexts: ContextSentences | None = None
    scanner: Scanner | None = None
    workers: EmbeddingWorkers | None = None
    vectors: VectorFileReader | None = None

    def ingest(
        self,
        source: Source,
        progress: Callable[[Progress], None] | None = None,
        register: Callable[[], None] = lambda: None,
        access: Mapping[str, AccessList] = MappingProxyType({}),
    ) -> IngestReport:
        """Update catalog and index to the present content of the source.

        Others write meanwhile, and wait for one batch at most: what is read and embedded is so without the lock of
        the tables.

        Args:
            register: Called once nobody else takes the source in, before anything is read.
            access: By the addresses of files, who may read what is read of them.

        Raises:
            CatalogBusy: somebody else takes it in.
            SourceError: there is no path, it is gone, or holds nothing that can be read (then nothing is retired).
            CatalogError, EncoderError, EngineError: earlier commits stay, and the next run continues.
        """
        begun = time.monotonic()
        if not source.path:
            check_home(self.catalog, self.uploads)
            take_away(self.catalog, self.uploads, source.source_id)
            recover_unless_busy(self.uploads, source.source_id)
        source = at_home(source, self.uploads)
        report = IngestReport(source_id=source.source_id)
        with self.catalog.taking_in(source.source_id):
            register()
            run = SourceRun(self, source, report, progress)
            run.access.given = access
            change = RedactionChange(self.catalog, source.source_id, run.redactor, run.how.has)
            try:
                self._read_all(source, run)
            except SourceError:
                if change.to_more:  # what was stored may not stay, though it cannot be read again
                    self._end(change, report)
                raise
            finally:
                run.close()
            run.settle_versions()
            self._end(change, report)
            if run.addresses.forget_outspoken():
                self.purge()
                run.addresses.forgotten()
        run.settle_contexts()  # a model is asked: others write meanwhile
        report.seconds = time.monotonic() - begun
        return report

    def clear(self, source: Source) -> IngestReport:
        """Retire the documents of a source that has no files left, but for those whose file was lost."""
        check_home(self.catalog, self.uploads)
        report = IngestReport(source_id=source.source_id)
        with self.catalog.taking_in(source.source_id):
            documents = self.catalog.live_documents(source.source_id)
            lost = lost_files(self.catalog, source.source_id, documents.keys(), ())
            live = [number for uri, (number, _) in documents.items() if uri not in lost]
            report.retired = self.catalog.retire_documents(source.source_id, live)
            report.held_back = len(lost)
            self.catalog.forget_failures(source.source_id, list(self.catalog.failures(source.source_id)))
            for file in sorted({*lost.values()}):
                error = FileLost()
                report.failed[file] = msg("{reason}; {hint}", reason=error.message, hint=error.hint)
                self.catalog.record_failure(source.source_id, file, error.code, report.failed[file])
            self.follow()
            quotes = self.recheck_quotes(source.source_id)
            report.evidences_lost, report.rules_retired = quotes.evidences, quotes.rules
            self.follow()
        return report

    def _end(self, change: RedactionChange, report: IngestReport) -> None:
        report.retired += change.withdraw()
        self.follow()  # before what takes longer: questions meet what is no longer there until the index knows
        lost = self.recheck_quotes(report.source_id)
        report.evidences_lost, report.rules_retired = lost.evidences, lost.rules
        self.follow()
        change.forget(self.purge)

    def _read_all(self, source: Source, run: SourceRun) -> None:
        if not source.path:  # Path("") is the folder that the process happens to run in
            raise SourceError(
                msg("source {source_id} has no path: there is nothing to read", source_id=repr(source.source_id)),
                hint="give it one in a registry file: wenyuan apply FILE; or upload documents to it: wenyuan document upload",
            )
        if is_remote(source.path):
            self._read_remote(source, run)
            return
        home = self.uploads.absolute() / source.source_id
        uploaded = Path(source.path) == home
        library = self.uploads.absolute().parent.resolve()
        if not uploaded and any(Path(source.path).resolve().is_relative_to(library / name) for name in PRIVATE):
            raise of_library(Path(source.path))
        if uploaded:
            check_no_permissions(source)
            run.arrivals = Arrivals(home)
        else:
            run.access.permissions = LocalPermissions(source, Path(source.path), run.unpermitted)
        try:
            readable = readable_in(source, self.readable)
            found = LocalHoldings(Path(source.path), readable, self._read_of(source), FOLDER if uploaded else "")
        except SourceError:
            if not (uploaded and self.catalog.withheld(source.source_id)):
                raise
            return  # every file of it was erased, and what was read of these stays
        run.take_all(found)
        run.retire_vanished()
        if uploaded:
            self._delete_erased(source)

    def _delete_erased(self, source: Source) -> None:
        """Delete the uploaded files that hold what was erased; what was read of them stays.

        Raises:
            SourceError: one cannot be deleted.
        """
        withheld = self.catalog.withheld(source.source_id)
        if not withheld:
            return
        addresses = Addresses(self.catalog, source.source_id, self.redacting(source))
        for file in find_files(Path(source.path), lambda _: True, FOLDER).files:
            if addresses.stored(file_uri(file.absolute())) in withheld:
                try:
                    file.unlink(missing_ok=True)
                except OSError as error:
                    raise SourceError(
                        msg("{path} cannot be deleted: {strerror}", path=file.name, strerror=error.strerror)
                    ) from error

    def _read_remote(self, source: Source, run: SourceRun) -> None:
        if is_vector_source(source.settings):
            raise SourceError("files of vectors are read from this machine alone")
        if self.remote is None:
            raise SourceError(
                msg("only files and folders of this machine are read here, not {path}", path=source.path)
            )
        run.memory = memory = Memory(self.catalog, source.source_id, run.how.plain, run.redactor)
        with closing(self.remote.connect(source)) as connector:
            readable = readable_in(source, self.readable)
            found = RemoteHoldings(source, connector, memory.known, readable, _read_content(source, self.remote.read))
            run.access.permissions = ConnectorPermissions(source, connector, run.unpermitted)
            memory.begin()
            try:
                run.take_all(found)
            except SourceError:
                run.finish()  # what was read before the listing broke off stays
                raise
        if found.cut:
            run.hold_unmet(found.cut)
        else:
            run.retire_vanished()
        memory.end(whole=not found.cut)

    def _read_of(self, source: Source) -> Callable[[Path, str], Iterable[Document]]:
        if is_vector_source(source.settings):
            return self._vector_files(source).documents
        if not is_bundle(source.settings):
            return self.read
        return lambda path, uri: concepts_of(self.read(path, uri), path.name)

    def _vector_files(self, source: Source) -> VectorFiles:
        if self.scanner is not None:
            raise SourceError(
                "a file of vectors is read in parts, and the library's scanner sees whole files alone",
                hint="take its texts in as JSON Lines: wenyuan add FILE.jsonl",
            )
        if self.vectors is None:
            raise SourceError("files of vectors are not read here")
        declared = source.settings.get(ENCODER, "")
        return VectorFiles(reader=self.vectors, encoder=self.encoder, declared=str(declared))

    def behind(self, source: Source) -> bool:
        """Whether the source's redaction is stricter now than when its texts were stored."""
        return change_of(self.catalog, source.source_id, self.redacting(source)) == "more"

    def reading(self, source: Source, encoder: str, redaction: str) -> ReadingPrefixes:
        """The prefixes of document fingerprints for this way of reading, this encoder and this redaction.

        Behind one and a colon stands the digest of the content; by that the catalog finds what is in two sources.
        """
        seen_by = () if self.scanner is None else (self.scanner.name,)  # what was taken in unseen is read again
        if FRONT_MATTER in readers_of(source).origins:
            seen_by = (*seen_by, FRONT_MATTER)
        if PASSAGE_SIZE in source.settings:
            seen_by = (*seen_by, f"{PASSAGE_SIZE}={passage_size(source.settings)}")
        how = (encoder, source.language, source.collection, redaction, *seen_by)

        def prefix(reader: str) -> str:
            return digest(reader, *how)[:16]

        by_plugin = {str(plugin): prefix(f"{READING}+{plugin}") for plugin in plugins.READERS.installed()}
        return ReadingPrefixes(prefix(READING), prefix(f"{READING}+{self.recognition.version}"), by_plugin)

    def follow(self) -> None:
        """Update the index to the catalog, however long that takes."""
        self.engine.sync(self.catalog, deadline=_unhurried())

    def follow_soon(self) -> None:
        """Update the index as far as a question would; who takes a source in meanwhile follows with what is left.

        Raises:
            EngineError: it cannot be read or written.
        """
        try:
            self.engine.sync(self.catalog, deadline=deadline_after(_SOON))
        except IndexCorrupt:  # which is mended where there is time
            self.follow()

    def recheck_quotes(self, source_id: str) -> WithdrawnEvidence:
        """Withdraw the evidence whose words the source no longer has. Nobody corrects a document meanwhile."""
        with self.catalog.writing():
            return follow_quotes(self.catalog, source_id, date.today())

    def purge(self) -> None:
        """As `follow`, and also remove deleted texts from the index's files."""
        self.follow()  # immediately, while rewriting the files takes time
        self.engine.purge(self.catalog)


def at_home(source: Source, uploads: Path) -> Source:
    """The source with the path it is read from: uploads to a source without a path are in a folder of the library."""
    if source.path or source.type != "static_doc" or not is_dir(uploads / source.source_id):
        return source
    return replace(source, path=str((uploads / source.source_id).absolute()))


def _read_content(source: Source, read: ReadContent) -> ReadContent:
    if not is_bundle(source.settings):
        return read
    return lambda content, uri, name: concepts_of(read(content, uri, name), name)


def _unhurried() -> Deadline:
    return deadline_after(_NO_HURRY)
