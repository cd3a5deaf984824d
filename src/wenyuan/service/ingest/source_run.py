"""One run over a source: its files are read, cut, embedded and committed batch by batch."""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from wenyuan.core.addresses import file_uri, with_fragment
from wenyuan.core.connectors import Entry
from wenyuan.core.corrections import corrected
from wenyuan.core.errors import CatalogBusy, DocumentRejected, InvalidRequest, NoDocument, VectorsGone, msg
from wenyuan.core.fidelity import Recognised
from wenyuan.core.model import Document, Draft, NewDocument, NewPassage, Source
from wenyuan.core.principals import AccessList
from wenyuan.core.redaction.known_values import KnownValues
from wenyuan.core.remote_addresses import is_remote
from wenyuan.core.source_entries import passage_size
from wenyuan.core.text.folding import language_of
from wenyuan.core.text.leads import lead_of
from wenyuan.service.ingest.addresses import Addresses
from wenyuan.service.ingest.document_digests import content_digest, storable
from wenyuan.service.ingest.erased_documents import ErasedDocuments
from wenyuan.service.ingest.file_reading import FileReading, RedactedDocument
from wenyuan.service.ingest.holdings import Holding, Holdings
from wenyuan.service.ingest.local_files import LocalFile
from wenyuan.service.ingest.lost_files import FileLost, lost_files
from wenyuan.service.ingest.pending_batches import Cut, DocumentBatch, DocumentSetAside, PendingBatches
from wenyuan.service.ingest.peoples_words import PeoplesWords
from wenyuan.service.ingest.progress import IngestReport, Progress, name_in
from wenyuan.service.ingest.remote_files import Memory
from wenyuan.service.ingest.run_access import RunAccess
from wenyuan.service.ingest.stated_addresses import AddressTaken, StatedAddresses
from wenyuan.service.ingest.supersession import dated, settle
from wenyuan.service.ingest.vector_files import drafts_of, without_changed_vector
from wenyuan.service.ingest.versions import Arrivals, present_versions

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.core.ports import Encoder
    from wenyuan.service.generation.context_sentences import ContextSentences
    from wenyuan.service.ingest.embedding_workers import EmbeddingWorkers
    from wenyuan.service.ingest.recognition import OcrReading, ReadingPrefixes
    from wenyuan.service.ingest.redaction import Redactor

_PART = re.compile("[?&#]")  # what a part's address has behind that of its file
_BATCH_EMBEDDED = 192  # passages in one commit: some seconds of embedding
_BATCH_PLAIN = 2_000
_SYNC_AFTER = 4_000  # passages after which the index follows during a long run
_SYNC_SECONDS = 2.0  # or this time: queries meanwhile use the index, which may not be far behind
NOT_KEPT = "not_kept"
"""Code of an uploaded file that could not be read, and so was not kept: no reading of the folder meets it again."""
_TRIES = 5  # commits of one batch, while others change what it rests on
_LINES, _LINES_TYPE = (".jsonl", ".ndjson"), "application/jsonl"  # whose documents may have addresses of their own


class IngestParts(Protocol):
    """What a run uses of the `Ingester` that begins it."""

    @property
    def catalog(self) -> Catalog: ...
    @property
    def encoder(self) -> Encoder | None: ...
    @property
    def contexts(self) -> ContextSentences | None: ...
    @property
    def recognition(self) -> OcrReading: ...
    @property
    def workers(self) -> EmbeddingWorkers | None: ...
    @property
    def redacting(self) -> Callable[[Source], Redactor]: ...
    def reading(self, source: Source, encoder: str, redaction: str) -> ReadingPrefixes:
        """The prefixes of document fingerprints for this way of reading, this encoder and this redaction."""
        ...

    def follow(self) -> None:
        """Bring the index up to the catalog."""
        ...


class SourceRun:
    """One run over a source; collects documents into batches and commits them."""

    def __init__(
        self, ingester: IngestParts, source: Source, report: IngestReport, progress: Callable[[Progress], None] | None
    ) -> None:
        self._to = ingester
        self._source = source
        self.report = report
        self._progress = progress
        self._live = ingester.catalog.live_documents(source.source_id)
        self._seen: set[str] = set()
        self._files: set[str] = set()  # addresses of those that are there
        # Of the file at hand: what its parts are parts of → the first one's lead.
        self._leads: dict[tuple[object, ...], str] = {}
        self._pending = PendingBatches(ingester.catalog, ingester.encoder, ingester.workers, source.source_id, self)
        self._batch = self._pending.new_batch()
        self._aside: set[str] = set()  # documents whose texts cannot be embedded
        self._since_sync, self._synced_at = 0, time.monotonic()
        self._synced = ingester.catalog.seq()
        self._at = (0, "")
        self._pages, self._looked = (0, 0), (0, 0)
        self._unread = 0  # files that were as before
        self._read: list[str] = []  # of the current file: the URIs of its documents
        self._values = KnownValues()  # of the current file: those that its documents hold
        self._versions: dict[str, list[Holding]] = {}  # by address of an uploaded file: those before it
        self.memory: Memory | None = None  # of what a connector listed
        self.arrivals: Arrivals | None = None  # of files that were uploaded
        self.access = RunAccess(ingester.catalog, source)
        self.redactor = ingester.redacting(source)
        self.erased = ErasedDocuments(ingester.catalog, source.source_id, self.redactor)
        root = source.path if is_remote(source.path) else file_uri(Path(source.path).absolute())
        self.addresses = Addresses(ingester.catalog, source.source_id, self.redactor, root)
        self._people = PeoplesWords(ingester.catalog, source.source_id, self.addresses)
        self._sentences = ingester.contexts.of(source, self.redactor) if ingester.contexts is not None else None
        self._stated = StatedAddresses(ingester.catalog, source)
        self.how = ingester.reading(
            source, ingester.encoder.fingerprint.key if ingester.encoder else "", self.redactor.fingerprint
        )

    @cached_property
    def _divided(self) -> Set[str]:
        """Files of which more was read, or refused, than the document at their own address, as attachments of a mail:
        that this one is as before says nothing of the others.
        """
        known = (*self._live, *self._to.catalog.failures(self._source.source_id))
        return {uri[: mark.start()] for uri in known for mark in _PART.finditer(uri)}

    def take_all(self, found: Holdings) -> None:
        """Read and commit everything in a source."""
        self.report.files, self.report.skipped = found.total, found.skipped
        if self.arrivals is not None:
            self._versions = self.arrivals.versions(found)
            self.addresses.versions = {one.uri: file for file, each in self._versions.items() for one in each}
            self._people.present = present_versions(filter(None, map(self.addresses.stored, self.addresses.versions)))
        for number, holding in enumerate(found):
            self.report.files = max(found.total, number + 1)
            if not self.erased.is_erased(holding.uri):
                self.take(holding, number)
        self.report.skipped = self.report.left_out(found.skipped)
        self.finish()

    def take(self, holding: Holding, number: int) -> None:
        """Read one file, unless its live version is of the same bytes, read in the same way."""
        uri, entry = holding.uri, holding.entry
        shown = self._address(uri)  # what is stored and told: a file's name may say too much
        self._begin(holding, shown)
        self._at = (number, name_in(shown))
        self._pages = (0, 0)
        self.tell(0)
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
                    reading = FileReading(holding, partial(self._redacted, holding))
                    shown = self._named(holding, shown, reading)
                    self._take_documents(holding, shown, content, reading)
        except (DocumentRejected, OSError) as error:
            self._refuse(holding, shown, error)
        if entry is not None and self.memory is not None:
            read = self._read if len(self.report.failed) == failed else ()
            self.memory.note(entry, read, named=self.addresses.names_values(uri))

    def _refuse(self, holding: Holding, shown: str, error: DocumentRejected | OSError) -> None:
        """Report a file that cannot be read; an older version stays."""
        if isinstance(error, NoDocument) and self.report.files > 1:
            self.report.data[shown] = self.redactor.text(storable(str(error)))
            return
        self._fail(shown, error)
        if isinstance(error, NoDocument):
            return
        self._keep_older(holding, shown)

    def _redacted(self, holding: Holding, document: Document, values: KnownValues) -> RedactedDocument:
        settled, declared = self.access.declared(self._stated.settled(self._dated(document, holding)))
        redacted, counts = self.redactor.document(settled, values)
        return RedactedDocument(settled.uri, without_changed_vector(redacted, settled), counts, declared)

    def _named(self, holding: Holding, shown: str, reading: FileReading) -> str:
        """The stored address of a file that was read, whose name may show what its documents say is a value.

        Raises:
            DocumentRejected: it could not be read to its end, and its name would have to change: all of it stays as it was.
        """
        for version in self._versions.get(holding.uri, ()):  # what one says is known of the name that all have
            stamp = self._live.get(self._address(version.uri), (0, ""))[1]
            if not stamp or not self.how.has(stamp):
                with suppress(DocumentRejected, OSError):
                    reading.values.add_all(FileReading(version, partial(self._redacted, version)).values)
        self._values = reading.values
        if not self._values:
            return shown
        entry = holding.entry
        beside = () if entry is None else (entry.key, entry.name, entry.note)
        if reading.error is not None and self.addresses.tells(holding.uri, self._values):
            raise reading.error
        given = self._address(holding.uri, beside=beside)
        self._files.add(given)
        self.access.rename(holding.uri, shown, given)
        self._at = (self._at[0], name_in(given))
        return given

    def _keep_older(self, holding: Holding, shown: str) -> None:
        """Keep the older version of a file that failed, with who may read it."""
        self.access.begin(holding, shown, taken=False)
        self.access.note(uri for uri in self._live if self._file_of(uri) == shown)
        if holding.entry is not None and self.memory is not None:
            self._seen.update(self.memory.documents_of(holding.entry))  # they stay, though they were not met

    def _begin(self, holding: Holding, shown: str) -> None:
        """Begin with a file, which is stored under an address."""
        self._files.add(shown)
        self._leads, self._values = {}, KnownValues()
        self.access.begin(holding, shown)

    def _address(self, uri: str, file: tuple[str, str] = ("", ""), beside: Sequence[str] = ()) -> str:
        if self._values:
            return self.addresses.learn(uri, self._values, self._live, self._seen, file, beside=beside)
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
        self.access.note(documents)
        self.report.unchanged += len(documents)
        self._unread += 1
        self.memory.note(entry, documents)
        return True

    def _recognised(self, pages: int, total: int) -> None:
        self._pages = pages, total
        self.tell(0)

    def _take_documents(self, holding: Holding, shown: str, content: str, reading: FileReading) -> None:
        file = holding.uri, shown
        for part in reading.parts():
            for refused, reason in part.refused:
                self._fail(storable(self._address(refused, file)), DocumentRejected(reason))
            try:
                if isinstance(part.outcome, DocumentRejected):
                    raise part.outcome
                if self.erased.is_erased(part.uri):
                    continue
                self._take(part.outcome, content if part.uri == holding.uri else None, file)
            except DocumentRejected as error:
                own = self._address(part.uri, file)
                if not isinstance(error, AddressTaken):  # else its older version stays
                    self._seen.add(own)
                self._fail(storable(f"{shown}#{own}"), error)
            if self._batch.size >= (_BATCH_EMBEDDED if self._batch.embedding.waits() else _BATCH_PLAIN):
                self.flush()

    def _dated(self, document: Document, holding: Holding) -> Document:
        """The document with the days from and until which it counts."""
        told = dated(document)
        if self.arrivals is None or not isinstance(holding, LocalFile):
            return told
        return self.arrivals.dated(self.arrivals.placed(told, holding.path), holding.path)

    def _take(self, redacted: RedactedDocument, content: str | None, file: tuple[str, str]) -> None:
        """Take one document of a file; `content` is the file's digest if it has the file's address."""
        own = file[1] if redacted.uri == file[0] else self._address(redacted.uri, file)
        document, counts, declared = replace(redacted.document, uri=own), redacted.counts, redacted.access
        if self._values:
            document = without_changed_vector(self.redactor.named(document, self._values), document)
        if self.erased.read(file[1], counts) and content:
            content = self._keyed_digest(content)  # of a short file, the plain one would say what it was
        self.addresses.check(own)
        if document.uri in self._seen:
            raise DocumentRejected(msg("the URI {uri} stands twice", uri=document.uri))
        spoken = [document.uri, document.title, *document.metadata, *map(str, document.metadata.values())]
        if any(storable(text) != text for text in (*spoken, document.text)):
            raise DocumentRejected("it holds half of a surrogate pair, which is no text")
        notes = (*document.notes, *self._stated.claim(document, self.addresses))
        document = replace(document, notes=notes, lead=self._lead(document))
        content = content or content_digest(document)
        self._read.append(document.uri)
        self.access.note((document.uri,))
        if document.stated:
            self._stated.note(document.uri, file[1])
        if not self._is_live(document.uri, content):
            self.report.redacted = dict(Counter(self.report.redacted) + Counter(counts))
            self._add(document, f"{self.how.of(document)}:{content}", declared)

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
        if stamp.partition(":")[2] not in (content, self._keyed_digest(content)) or not self.how.has(stamp):
            return False
        if uri not in self._read:
            self._read.append(uri)
        self.access.note((uri,))
        self._seen.add(uri)
        self.report.unchanged += 1
        return True

    def _fail(self, uri: str, error: Exception) -> None:
        self._seen.add(uri)
        told = error.strerror if isinstance(error, OSError) and error.strerror else error
        reason = str(error) if isinstance(error, DocumentRejected) else msg("cannot be read: {error}", error=told)
        if hint := getattr(error, "hint", ""):  # such as the command that installs what is missing
            reason = msg("{reason}; {hint}", reason=reason, hint=hint)
        reason = self.redactor.text(storable(reason))
        self.report.failed[uri] = reason
        code = getattr(error, "code", "unreadable")
        self._to.catalog.record_failure(self._source.source_id, uri, code, reason)

    def unpermitted(self, uri: str, reason: str) -> None:
        """Report that it cannot be told who may read what lies at an address."""
        self._fail(self.redactor.uri(uri), DocumentRejected(reason))

    def _add(self, document: Document, stamp: str, declared: AccessList | None) -> None:
        self._seen.add(document.uri)
        content = stamp.partition(":")[2]
        if self._live.get(document.uri, (0, ""))[1].partition(":")[2] != content:
            self.access.same(document.uri, content)
        if document.notes:
            self.report.notes[document.uri] = document.notes
        if document.uri in self._live:
            self.report.changed += 1
        else:
            self.report.added += 1
        told = Recognised(document.lines, document.uncertain)
        drafts = drafts_of(document, passage_size(self._source.settings))
        self.report.count_vector(document)
        cut = Cut(document, stamp, tuple(self._passage(document, draft, told) for draft in drafts), declared)
        made = self._made(cut, self._batch)
        self._batch.items.append((cut, made))
        self._batch.size += len(made.passages)
        self.report.passages += len(made.passages)

    def _made(self, cut: Cut, batch: DocumentBatch) -> NewDocument:
        """The document to be stored, with the corrections that are known."""
        document = cut.document
        corrections, details = self._people.corrections_of(document), self._people.details_of(document)
        served, lost = corrected(cut.passages, corrections)
        self.report.corrections_lost.pop(document.uri, None)
        if lost:
            self.report.corrections_lost[document.uri] = lost
        kept = set(served if corrections else cut.passages)
        lead = document.lead if len(cut.passages) > 1 or document.part_of else ""  # else nothing stands below it
        return NewDocument(
            source_id=self._source.source_id,
            uri=document.uri,
            title=details.title,
            lead=lead,
            fingerprint=cut.stamp,
            passages=tuple(self._keyed(one, details.title, document, lead, batch) for one in served),
            media_type=document.media_type,
            language=document.language or self._source.language or language_of(document.text),
            collection=document.collection or self._source.collection,
            effective_from=details.effective_from,
            effective_until=details.effective_until,
            facets=details.tags,
            notes=document.notes,
            lines=document.lines,
            uncertain=document.uncertain,
            fidelity=document.fidelity,
            originals=tuple(one for one in cut.passages if one not in kept),
            corrections=tuple(one.correction_id for one in corrections),
            corrections_lost=lost,
            access=cut.access,
        )

    def _keyed(
        self, passage: NewPassage, title: str, document: Document, lead: str, batch: DocumentBatch
    ) -> NewPassage:
        """A passage with the keys of its vectors, and with what a model said of it before."""
        said = None if self._sentences is None else self._sentences.known(passage, title, lead)
        if said is None and document.vector and passage.corrected is None:
            return batch.embedding.given(passage, document.vector)
        if said is None:
            return batch.embedding.keyed(passage, title, document.lead)
        return batch.embedding.keyed(replace(passage, context=said), title, lead)

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

    def _follow_others(self) -> None:
        """Let the index follow what others wrote: it is this run that may write its files."""
        if time.monotonic() - self._synced_at >= _SYNC_SECONDS and self._to.catalog.seq() != self._synced:
            self._follow()

    def _follow(self) -> None:
        self._synced = self._to.catalog.seq()
        self._to.follow()
        self._since_sync, self._synced_at = 0, time.monotonic()

    def flush(self) -> None:
        """Let the batch be embedded and committed; where others embed, later than this returns."""
        renamed = self.addresses.keep()
        self._stated.keep()
        self.access.keep(renamed)  # before the documents: none is seen before its readers are known
        self.erased.keep()
        if self.memory is not None:
            self._batch.entries = self.memory.noted()
        if self._batch.items or self._batch.entries:
            self._pending.take(self._batch)
            self._batch = self._pending.new_batch()

    def finish(self) -> None:
        """Flush, and commit what waits for its vectors."""
        self.flush()
        self._pending.drain()
        self._to.recognition.settled()

    def close(self) -> None:
        """Leave nothing in the queue: what was not committed is read again."""
        self._pending.close()

    def commit(self, batch: DocumentBatch, ready: Mapping[str, Any]) -> None:
        """Embed what is not `ready`, commit a batch, and update the index from time to time."""
        if batch.items:
            self._commit(batch, ready)
        if self.memory is not None:
            self.memory.keep(self.memory.without(batch.entries, self._aside))

    def _commit(self, batch: DocumentBatch, ready: Mapping[str, Any]) -> None:
        for tries_left in reversed(range(_TRIES)):
            vectors = batch.embedding.vectors(self.tell, ready)  # without the lock: that takes seconds
            try:
                with self._to.catalog.writing():
                    if self._as_corrected(batch):
                        self._to.catalog.commit_documents([made for _, made in batch.items], vectors)
                        self._people.note_read([cut.document for cut, _ in batch.items])
                        break
            except VectorsGone:  # another source had the same texts, and was removed between the look and the commit
                if not tries_left:
                    raise
        else:
            raise CatalogBusy(
                msg("the documents of source {source_id} are corrected while they are read", source_id=repr(self._source.source_id)),
                component="catalog",
                hint="try again",
            )  # fmt: skip
        if self._pending.is_empty():
            self._to.recognition.settled()
        self._since_sync += batch.size
        replaced = any(made.uri in self._live for _, made in batch.items)  # to be dropped from the index
        if replaced or self._since_sync >= _SYNC_AFTER or time.monotonic() - self._synced_at >= _SYNC_SECONDS:
            self._follow()

    def set_aside(self, document: NewDocument, reason: str) -> None:
        """Report a document whose texts were tried several times and cannot be embedded; an older version stays."""
        if document.uri in self._live:
            self.report.changed -= 1
        else:
            self.report.added -= 1
        self.report.passages -= len(document.passages)
        self._fail(document.uri, DocumentSetAside(reason))
        self._aside.add(document.uri)

    def _as_corrected(self, batch: DocumentBatch) -> bool:
        """Whether the batch has the corrections and details that there are now; where it has not, it is given them."""
        before = {id(cut): self._people.of(cut.document) for cut, _ in batch.items}
        self._people.renew()
        new = {id(cut) for cut, _ in batch.items if self._people.of(cut.document) != before[id(cut)]}
        batch.items = [(cut, self._made(cut, batch) if id(cut) in new else made) for cut, made in batch.items]
        return not new

    def retire_vanished(self) -> None:
        """Retire documents no longer in the source, unless they may be in a file that failed."""
        source_id, failed = self._source.source_id, self.report.failed
        unmet = {uri: number for uri, (number, _) in self._live.items() if uri not in self._seen}
        unmet = {uri: number for uri, number in unmet.items() if not self._is_withheld(uri)}
        held = {uri for uri in unmet if self._file_of(uri) in failed}
        if self.arrivals is not None:
            lost = lost_files(self._to.catalog, source_id, unmet.keys() - held, self._files)
            for file in sorted({*lost.values()}):
                self._fail(file, FileLost())
            held |= lost.keys()
        if unmet.keys() - held and any(uri.lower().endswith(_LINES) and "#" not in uri for uri in failed):
            lines = self._to.catalog.uris_of_type(source_id, _LINES_TYPE)
            held |= {uri for uri in unmet.keys() & lines if not self._file_of(uri).lower().endswith(_LINES)}
        self.report.held_back = len(held)
        if self.erased.met:
            told = msg(
                "{count} documents were erased at somebody's request, and are not taken in", count=self.erased.met
            )
            self.report.notes[self._source.path] = (told,)
        gone = [number for uri, number in unmet.items() if uri not in held]
        if gone:
            self.report.retired += self._to.catalog.retire_documents(source_id, gone)
        kept = {self._to.catalog.failure_key(uri) for uri in failed}
        old = [uri for uri in self._to.catalog.failures(source_id, NOT_KEPT) if uri not in kept]
        self._to.catalog.forget_failures(source_id, old)
        stays = self._seen | held | {uri for uri in self._live if self._is_withheld(uri)}
        self.addresses.end(stays)
        self._stated.end(stays)

    def _keyed_digest(self, content: str) -> str:
        """The digest of a file that held what was erased."""
        return self.redactor.identity(f"content\0{content}")

    def _is_withheld(self, uri: str) -> bool:
        """Whether the file of a document was deleted, since it held what was erased; what was read of it stays."""
        return self.arrivals is not None and self.erased.is_withheld(self._file_of(uri) or uri)

    def _file_of(self, uri: str) -> str:
        """The address of a document's file: sheets and lines add a query to it, but a line may state one of its own."""
        return self._stated.files.get(uri) or (uri.partition("?")[0] if uri.startswith("file:") else "")

    def hold_unmet(self, reason: str) -> None:
        """Keep documents that were not seen, since the source was not read to its end."""
        self.report.held_back = len(self._live.keys() - self._seen)
        self.report.notes[self._source.path] = (reason,)

    def settle_versions(self) -> None:
        """End superseded versions. Circles are reported; other faults are, too, and leave all versions unchanged."""
        try:
            notes, circle = settle(self._to.catalog, self._source.source_id)
        except InvalidRequest as error:
            notes, circle = {}, error.message
        for uri, told in notes.items():
            self.report.notes[uri] = (*self.report.notes.get(uri, ()), *told)
        if circle:
            self._fail(f"versions of {self._source.source_id}", DocumentRejected(circle))

    def settle_contexts(self) -> None:
        """Ask a language model where passages stand, of a source that wants that; what failed is reported."""
        if self._to.contexts is None:
            return
        came = self._to.contexts.settle(
            self._source, self._sentences, self._batch.embedding, progress=self._looked_at, follow=self._to.follow
        )
        report = self.report
        report.context_sentences, report.context_left_out = came.made, dict(came.left_out)
        report.context_waiting, report.context_removed, report.context_error = came.waiting, came.removed, came.error
        report.context_tokens_in, report.context_tokens_out = came.tokens_in, came.tokens_out

    def _looked_at(self, done: int, total: int) -> None:
        self._looked = done, total
        self.tell(0)

    def tell(self, embedded: int) -> None:
        """Say how far the run is; the callback may raise what ends it."""
        self.report.embedded += embedded
        self._follow_others()
        self._pending.note(self._at[0], self.report.files, self.report.passages, self.report.embedded)
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
