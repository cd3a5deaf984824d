"""Ingestion: from a source's files to stored, embedded and indexed passages."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from wenyuan.core.addresses import legible, with_fragment
from wenyuan.core.connectors import Connector, Entry, is_remote
from wenyuan.core.corrections import Correction, corrected
from wenyuan.core.errors import DocumentRejected, InvalidRequest, SourceError, VectorsGone, msg
from wenyuan.core.fidelity import Recognised
from wenyuan.core.model import (
    Document,
    Draft,
    NewDocument,
    NewPassage,
    Source,
)
from wenyuan.core.ports import Deadline, Encoder, Engine
from wenyuan.core.scanning import Scanner
from wenyuan.core.text import language_of
from wenyuan.core.text.chunking import chunk
from wenyuan.core.text.summaries import lead_of
from wenyuan.runtime import deadline_after, is_dir
from wenyuan.service.ingest.addresses import Addresses
from wenyuan.service.ingest.holdings import Holding, Holdings, LocalHoldings, Memory, ReadContent, RemoteHoldings
from wenyuan.service.ingest.redaction import RedactionChange, Redactor, change_of
from wenyuan.service.ingest.run import AddressTaken, Embedding, IngestReport, Progress, Stated, dated, settle
from wenyuan.service.rules.quotes import follow_quotes
from wenyuan.service.upload_journal import recover_unless_busy

if TYPE_CHECKING:
    from wenyuan.catalog import Catalog
    from wenyuan.service.generation.context_sentences import ContextSentences

# The write path: source → read → chunk → passages → embed → catalog commit → index sync → report.


READING = "read/8+chunk/2"
"""Version of what turns a file into passages; documents read by another version are read anew."""

_PART = re.compile("[?&#]")  # what a part's address has behind that of its file
_BATCH_EMBEDDED = 192  # passages in one commit: some seconds of embedding
_BATCH_PLAIN = 2_000
_SYNC_AFTER = 4_000  # passages after which the index follows during a long run
_SYNC_SECONDS = 2.0  # or this time: queries meanwhile use the index, which may not be far behind
_NO_HURRY = 3_600.0  # seconds: writing an index has no deadline of a request
_LINES, _LINES_TYPE = (".jsonl", ".ndjson"), "application/jsonl"  # whose documents may have addresses of their own


@dataclass(frozen=True, slots=True)
class Recognition:
    """The OCR used while reading files, and its version.

    Attributes:
        watched: Context for reading files, with a callback for pages done and in total (an exception from it ends the
            reading), and a predicate whether a page with this text may be cached in the library's folder until its
            document is stored.
        settled: Called when the documents are stored.
        version: Of the recogniser; ``""`` without one. When it changes, what it has read, or would have, is read again.
    """

    watched: Callable[[Callable[[int, int], None], Callable[[str], bool]], AbstractContextManager[None]]
    settled: Callable[[], None]
    version: str = ""


class Reading(NamedTuple):
    """Prefixes of document fingerprints: of documents that no OCR reads, and of those that the present one does."""

    plain: str
    recognised: str

    def of(self, document: Document) -> str:
        by_recognition = document.fidelity is not None and document.fidelity.by_recognition
        return self.recognised if by_recognition else self.plain

    def has(self, fingerprint: str) -> bool:
        """Whether a document with this fingerprint would be read in the same way now."""
        return fingerprint.partition(":")[0] in self


NO_RECOGNITION = Recognition(watched=lambda _told, _keep: nullcontext(), settled=lambda: None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
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
    """

    catalog: Catalog
    engine: Engine
    encoder: Encoder | None
    read: Callable[[Path, str], Iterable[Document]]
    readable: Callable[[str], bool]
    uploads: Path
    redacting: Callable[[Source], Redactor] = Redactor.of
    remote: Remote | None = None
    recognition: Recognition = NO_RECOGNITION
    contexts: ContextSentences | None = None
    scanner: Scanner | None = None

    def ingest(self, source: Source, progress: Callable[[Progress], None] | None = None) -> IngestReport:
        """Update catalog and index to the present content of the source.

        Raises:
            SourceError: there is no path, it is gone, or holds nothing that can be read (then nothing is retired).
            CatalogError, EncoderError, EngineError: earlier commits stay, and the next run continues.
        """
        begun = time.monotonic()
        if not source.path:
            recover_unless_busy(self.uploads, source.source_id)
        source = at_home(source, self.uploads)
        report = IngestReport(source_id=source.source_id)
        with self.catalog.taking_in(source.source_id):
            run = _Run(self, source, report, progress)
            change = RedactionChange(self.catalog, source.source_id, run.redactor, run.how.has)
            try:
                self._read_all(source, run)
            except SourceError:
                if change.to_more:  # what was stored may not stay, though it cannot be read again
                    self._end(change, report)
                raise
            run.settle_versions()
            self._end(change, report)
        run.settle_contexts()  # a model is asked: others write meanwhile
        report.seconds = time.monotonic() - begun
        return report

    def clear(self, source: Source) -> IngestReport:
        """Retire all documents of a source that has no files left."""
        report = IngestReport(source_id=source.source_id)
        with self.catalog.taking_in(source.source_id):
            live = [number for number, _ in self.catalog.live_documents(source.source_id).values()]
            report.retired = self.catalog.retire_documents(source.source_id, live)
            self.catalog.forget_failures(source.source_id, list(self.catalog.failures(source.source_id)))
            self.follow()
            lost = follow_quotes(self.catalog, source.source_id, date.today())
            report.evidences_lost, report.rules_retired = lost.evidences, lost.rules
            self.follow()
        return report

    def _end(self, change: RedactionChange, report: IngestReport) -> None:
        report.retired += change.withdraw()
        self.follow()  # before what takes longer: questions meet what is no longer there until the index knows
        lost = follow_quotes(self.catalog, report.source_id, date.today())
        report.evidences_lost, report.rules_retired = lost.evidences, lost.rules
        self.follow()
        change.forget(self.purge)

    def _read_all(self, source: Source, run: _Run) -> None:
        if not source.path:  # Path("") is the folder that the process happens to run in
            raise SourceError(
                msg("source {source_id} has no path: there is nothing to read", source_id=repr(source.source_id)),
                hint="give it one in a registry file: wenyuan apply FILE; or upload documents to it: wenyuan document upload",
            )
        if is_remote(source.path):
            self._read_remote(source, run)
            return
        found = LocalHoldings(Path(source.path), self.readable, self.read)
        run.take_all(found)
        run.retire_vanished()

    def _read_remote(self, source: Source, run: _Run) -> None:
        if self.remote is None:
            raise SourceError(
                msg("only files and folders of this machine are read here, not {path}", path=source.path)
            )
        run.memory = memory = Memory(self.catalog, source.source_id, run.how.plain, run.redactor)
        with closing(self.remote.connect(source)) as connector:
            found = RemoteHoldings(source, connector, memory.known, self.readable, self.remote.read)
            memory.begin()
            try:
                run.take_all(found)
            except SourceError:
                run.flush()  # what was read before the listing broke off stays
                raise
        if found.cut:
            run.hold_unmet(found.cut)
        else:
            run.retire_vanished()
        memory.end(whole=not found.cut)

    def behind(self, source: Source) -> bool:
        """Whether the source's redaction is stricter now than when its texts were stored."""
        return change_of(self.catalog, source.source_id, self.redacting(source)) == "more"

    def reading(self, source: Source, encoder: str) -> Reading:
        """The prefixes of document fingerprints for this way of reading and this encoder.

        Behind one and a colon stands the digest of the content; by that the catalog finds what is in two sources.
        """
        seen_by = () if self.scanner is None else (self.scanner.name,)  # what was taken in unseen is read again
        how = (encoder, source.language, source.collection, self.redacting(source).fingerprint, *seen_by)
        return Reading(_digest(READING, *how)[:16], _digest(f"{READING}+{self.recognition.version}", *how)[:16])

    def follow(self) -> None:
        """Update the index to the catalog, however long that takes."""
        self.engine.sync(self.catalog, deadline=_unhurried())

    def purge(self) -> None:
        """As `follow`, and also remove deleted texts from the index's files."""
        self.follow()  # immediately, while rewriting the files takes time
        self.engine.purge(self.catalog)


def at_home(source: Source, uploads: Path) -> Source:
    """The source with the path it is read from: uploads to a source without a path are in a folder of the library."""
    if source.path or source.type != "static_doc" or not is_dir(uploads / source.source_id):
        return source
    return replace(source, path=str((uploads / source.source_id).absolute()))


class _Run:
    """One run over a source; collects documents into batches and commits them."""

    def __init__(
        self, ingester: Ingester, source: Source, report: IngestReport, progress: Callable[[Progress], None] | None
    ) -> None:
        self._to = ingester
        self._source = source
        self.report = report
        self._progress = progress
        self._live = ingester.catalog.live_documents(source.source_id)
        self._seen: set[str] = set()
        self._leads: dict[
            tuple[object, ...], str
        ] = {}  # of the file at hand: what its parts are parts of → the first one's
        self._batch: list[NewDocument] = []
        self._embedding = Embedding(ingester.catalog, ingester.encoder)
        self._size = 0
        self._since_sync, self._synced_at = 0, time.monotonic()
        self._at = (0, "")
        self._pages = (0, 0)
        self._looked = (0, 0)
        self._unread = 0  # files that were as before
        self._read: list[str] = []  # of the current file: the URIs of its documents
        self.memory: Memory | None = None  # of what a connector listed
        self.redactor = ingester.redacting(source)
        self.addresses = Addresses(ingester.catalog, source.source_id, self.redactor)
        self._sentences = ingester.contexts.of(source, self.redactor) if ingester.contexts is not None else None
        self._stated = Stated(ingester.catalog, source)
        self.how = ingester.reading(source, ingester.encoder.fingerprint.key if ingester.encoder else "")

    @cached_property
    def _divided(self) -> Set[str]:
        """Files of which more was read, or refused, than the document at their own address, as attachments of a mail:
        that this one is as before says nothing of the others.
        """
        known = (*self._live, *self._to.catalog.failures(self._source.source_id))
        return {uri[: mark.start()] for uri in known for mark in _PART.finditer(uri)}

    @cached_property
    def _corrections(self) -> Mapping[str, tuple[Correction, ...]]:
        """Corrections by document URI, read after `RedactionChange` has redacted their texts."""
        return self._to.catalog.counting_corrections(self._source.source_id)

    def take_all(self, found: Holdings) -> None:
        """Read and commit everything in a source."""
        self.report.files, self.report.skipped = found.total, found.skipped
        for number, holding in enumerate(found):
            self.report.files = max(found.total, number + 1)
            self.take(holding, number)
        self.report.skipped = found.skipped
        self.flush()
        self._to.recognition.settled()

    def take(self, holding: Holding, number: int) -> None:
        """Read one file, unless its live version is of the same bytes, read in the same way."""
        uri, entry = holding.uri, holding.entry
        shown = self._address(uri)  # what is stored and told: a file's name may say too much
        self._leads = {}
        self._at = (number, legible(PurePosixPath(unquote(shown, errors="surrogateescape")).name))
        self._pages = (0, 0)
        self._tell(0)
        if entry is not None and self._listed_as_before(entry):
            return
        self._read = []
        failed = len(self.report.failed)
        try:
            content = holding.digest()
            if shown not in self._divided and self._is_live(shown, content):
                self._unread += 1
            else:
                with self._to.recognition.watched(self._recognised, self.redactor.leaves):
                    self._take_documents(holding, shown, content)
        except (DocumentRejected, OSError) as error:
            self._fail(shown, error)
            if entry is not None and self.memory is not None:
                self._seen.update(self.memory.documents_of(entry))  # they stay, though they were not met
        if entry is not None and self.memory is not None:
            self.memory.note(entry, self._read if len(self.report.failed) == failed else ())

    def _address(self, uri: str, file: tuple[str, str] = ("", "")) -> str:
        return self.addresses.give(uri, self._live, self._seen, file)

    def _listed_as_before(self, entry: Entry) -> bool:
        """Whether a listed entry is unchanged and all its documents are live."""
        if self.memory is None or not self.memory.as_before(entry):
            return False
        documents = self.memory.documents_of(entry)
        stamps = [self._live.get(uri, (0, ""))[1] for uri in documents]
        if not documents or not all(map(self.how.has, stamps)):
            return False
        self._seen.update(documents)
        self.report.unchanged += len(documents)
        self._unread += 1
        self.memory.note(entry, documents)
        return True

    def _recognised(self, pages: int, total: int) -> None:
        self._pages = pages, total
        self._tell(0)

    def _take_documents(self, holding: Holding, shown: str, content: str) -> None:
        file = holding.uri, shown
        for document in holding.documents():
            for part, reason in document.refused:
                self._fail(_storable(self._address(part, file)), DocumentRejected(reason))
            try:
                self._take(document, content if document.uri == holding.uri else None, file)
            except DocumentRejected as error:
                own = self._address(document.uri, file)
                if not isinstance(error, AddressTaken):  # else its older version stays
                    self._seen.add(own)
                self._fail(_storable(f"{shown}#{own}"), error)
            if self._size >= (_BATCH_EMBEDDED if self._to.encoder else _BATCH_PLAIN):
                self.flush()

    def _take(self, document: Document, content: str | None, file: tuple[str, str]) -> None:
        """Take one document of a file; `content` is the file's digest if it has the file's address."""
        settled = self._stated.settled(dated(document))
        own = self._address(settled.uri, file)
        document, counts = self.redactor.document(settled)
        document = replace(document, uri=own)
        self.addresses.check(own)
        if document.uri in self._seen:
            raise DocumentRejected(msg("the URI {uri} stands twice", uri=document.uri))
        spoken = [document.uri, document.title, *document.metadata, *map(str, document.metadata.values())]
        if any(_storable(text) != text for text in (*spoken, document.text)):
            raise DocumentRejected("it holds half of a surrogate pair, which is no text")
        notes = (*document.notes, *self._stated.claim(document, self.addresses))
        document = replace(document, notes=notes, lead=self._lead(document))
        content = content or _content_digest(document)
        self._read.append(document.uri)
        if not self._is_live(document.uri, content):
            self.report.redacted = dict(Counter(self.report.redacted) + Counter(counts))
            self._add(document, f"{self.how.of(document)}:{content}")

    def _lead(self, document: Document) -> str:
        """The lead of a redacted document; for a part of a text, the lead of the first part, or its title.

        Words of a part that is not in force, or in another collection, are not searched with those of one that is.
        """
        own = lead_of(document)
        if not document.part_of:
            return own
        whole = (document.part_of, document.collection, document.effective_from, document.effective_until)
        if whole in self._leads:
            return self._leads[whole]
        self._leads[whole] = document.title if document.titled else own
        return own

    def _is_live(self, uri: str, content: str) -> bool:
        stamp = self._live.get(uri, (0, ""))[1]
        if stamp.partition(":")[2] != content or not self.how.has(stamp):
            return False
        if uri not in self._read:
            self._read.append(uri)
        self._seen.add(uri)
        self.report.unchanged += 1
        return True

    def _fail(self, uri: str, error: Exception) -> None:
        self._seen.add(uri)
        told = error.strerror if isinstance(error, OSError) and error.strerror else error
        reason = str(error) if isinstance(error, DocumentRejected) else msg("cannot be read: {error}", error=told)
        reason = self.redactor.text(_storable(reason))
        self.report.failed[uri] = reason
        code = getattr(error, "code", "unreadable")
        self._to.catalog.record_failure(self._source.source_id, uri, code, reason)

    def _add(self, document: Document, stamp: str) -> None:
        self._seen.add(document.uri)
        if document.notes:
            self.report.notes[document.uri] = document.notes
        told = Recognised(document.lines, document.uncertain)
        cut = tuple(self._passage(document, draft, told) for draft in chunk(document))
        known = self._corrections
        corrections = known.get(document.uri) or known.get(self.addresses.former(document.uri), ())
        served, lost = corrected(cut, corrections)
        if lost:
            self.report.corrections_lost[document.uri] = lost
        kept = set(served if corrections else cut)
        lead = document.lead if len(cut) > 1 or document.part_of else ""  # else nothing stands below it
        passages = tuple(self._keyed(one, document, lead) for one in served)
        if document.uri in self._live:
            self.report.changed += 1
        else:
            self.report.added += 1
        self._batch.append(
            NewDocument(
                source_id=self._source.source_id,
                uri=document.uri,
                title=document.title,
                lead=lead,
                fingerprint=stamp,
                passages=passages,
                media_type=document.media_type,
                language=document.language or self._source.language or language_of(document.text),
                collection=document.collection or self._source.collection,
                effective_from=document.effective_from,
                effective_until=document.effective_until,
                facets=document.metadata,
                notes=document.notes,
                lines=document.lines,
                uncertain=document.uncertain,
                fidelity=document.fidelity,
                originals=tuple(one for one in cut if one not in kept),
                corrections=tuple(one.correction_id for one in corrections),
                corrections_lost=lost,
            )
        )
        self._size += len(passages)
        self.report.passages += len(passages)

    def _keyed(self, passage: NewPassage, document: Document, lead: str) -> NewPassage:
        """A passage with the keys of its vectors, and with what a model said of it before."""
        said = None if self._sentences is None else self._sentences.known(passage, document.title, lead)
        if said is None:
            return self._embedding.keyed(passage, document.title, document.lead)
        return self._embedding.keyed(replace(passage, context=said), document.title, lead)

    def _passage(self, document: Document, draft: Draft, recognised: Recognised) -> NewPassage:
        text = document.text[draft.start : draft.end]
        return NewPassage(
            uri=with_fragment(document.uri, draft.fragment, draft.directive),
            headings=draft.headings,
            text=text,
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            start=draft.start,
            end=draft.end,
            page=draft.page,
            line=draft.line,
            cell=draft.cell,
            recognition=recognised.of(draft.start, draft.end),
        )

    def flush(self) -> None:
        """Embed new texts, commit the batch, and update the index from time to time."""
        self.addresses.keep()
        if self._batch:
            self._commit()
        if self.memory is not None:
            self.memory.keep()

    def _commit(self) -> None:
        try:
            self._to.catalog.commit_documents(self._batch, self._embedding.vectors(self._tell))
        except VectorsGone:  # another source had the same texts, and was removed between the look and the commit
            self._to.catalog.commit_documents(self._batch, self._embedding.vectors(self._tell))
        self._to.recognition.settled()
        self._since_sync += self._size
        replaced = any(document.uri in self._live for document in self._batch)  # to be dropped from the index
        self._embedding.clear()
        self._batch, self._size = [], 0
        if replaced or self._since_sync >= _SYNC_AFTER or time.monotonic() - self._synced_at >= _SYNC_SECONDS:
            self._to.follow()
            self._since_sync, self._synced_at = 0, time.monotonic()

    def retire_vanished(self) -> None:
        """Retire documents no longer in the source, unless they may be in a file that failed."""
        source_id, failed = self._source.source_id, self.report.failed
        unmet = {uri: number for uri, (number, _) in self._live.items() if uri not in self._seen}
        held = {uri for uri in unmet if _file_of(uri) in failed}
        if unmet.keys() - held and any(uri.lower().endswith(_LINES) and "#" not in uri for uri in failed):
            lines = self._to.catalog.uris_of_type(source_id, _LINES_TYPE)
            held |= {uri for uri in unmet.keys() & lines if not _file_of(uri).lower().endswith(_LINES)}
        self.report.held_back = len(held)
        gone = [number for uri, number in unmet.items() if uri not in held]
        if gone:
            self.report.retired += self._to.catalog.retire_documents(source_id, gone)
        kept = {self._to.catalog.failure_key(uri) for uri in failed}
        old = [uri for uri in self._to.catalog.failures(source_id) if uri not in kept]
        self._to.catalog.forget_failures(source_id, old)
        self.addresses.end(self._seen | held)

    def hold_unmet(self, reason: str) -> None:
        """Keep documents that were not seen, since the source was not read to its end."""
        self.report.held_back = len(self._live.keys() - self._seen)
        self.report.notes[self._source.path] = (reason,)

    def settle_versions(self) -> None:
        """End superseded versions. Faults are reported and leave all versions unchanged."""
        try:
            for uri, notes in settle(self._to.catalog, self._source.source_id).items():
                self.report.notes[uri] = (*self.report.notes.get(uri, ()), *notes)
        except InvalidRequest as error:
            self._fail(f"versions of {self._source.source_id}", DocumentRejected(error.message))

    def settle_contexts(self) -> None:
        """Ask a language model where passages stand, of a source that wants that; what failed is reported."""
        if self._to.contexts is None:
            return
        came = self._to.contexts.settle(
            self._source, self._sentences, self._embedding, progress=self._looked_at, follow=self._to.follow
        )
        report = self.report
        report.context_sentences, report.context_left_out = came.made, dict(came.left_out)
        report.context_waiting, report.context_removed, report.context_error = came.waiting, came.removed, came.error
        report.context_tokens_in, report.context_tokens_out = came.tokens_in, came.tokens_out

    def _looked_at(self, done: int, total: int) -> None:
        self._looked = done, total
        self._tell(0)

    def _tell(self, embedded: int) -> None:
        self.report.embedded += embedded
        if self._progress is not None:
            number, name = self._at
            self._progress(
                Progress(
                    files=number,
                    files_total=self.report.files,
                    passages=self.report.passages,
                    embedded=self.report.embedded,
                    name=name,
                    unchanged=min(number, self._unread),
                    pages=self._pages[0],
                    pages_total=self._pages[1],
                    sentences=self._looked[0],
                    sentences_total=self._looked[1],
                )
            )


def _file_of(uri: str) -> str:
    """The file URI of a document: sheets and lines add a query, but a line may state a URI of its own."""
    return uri.partition("?")[0] if uri.startswith("file:") else ""


def _storable(text: str) -> str:
    """The text with lone surrogates replaced: JSON can contain them, databases and models cannot."""
    return text.encode("utf-8", "replace").decode()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()


def _content_digest(document: Document) -> str:
    facets = json.dumps(dict(document.metadata), sort_keys=True, ensure_ascii=False, default=str)
    validity = (str(document.effective_from), str(document.effective_until))
    own: tuple[str, ...] = (document.collection,) if document.collection else ()
    own += ("lead", document.lead) if document.part_of and document.lead else ()  # another document's words
    return _digest(document.title, document.text, facets, *validity, *own)


def _unhurried() -> Deadline:
    return deadline_after(_NO_HURRY)
