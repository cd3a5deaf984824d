"""Documents of a run that wait for their vectors, and are committed in the order in which they were read."""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from wenyuan.core.embedding_batches import TRIES, BatchOutcome, EmbeddingBatch
from wenyuan.core.errors import DocumentRejected, EncoderTimeout, EncoderUnavailable, VectorRejected, msg
from wenyuan.core.model import Document, NewDocument, NewPassage
from wenyuan.core.principals import AccessList
from wenyuan.service.ingest.embedding import Embedding

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.catalog.listings import Remembered
    from wenyuan.core.ports import Encoder
    from wenyuan.service.ingest.embedding_workers import EmbeddingWorkers

_AHEAD = 2  # batches that are read ahead for each thread that embeds
_MOST_AHEAD = 64
_SHORT, _LONG = 0.01, 0.2  # seconds between two looks at a batch
_NOTED = 2.0  # seconds between two notes of the progress
_ALL_REFUSED = 3  # documents of a batch, and all of them, whose vectors were none: the encoder is to blame, not they
_OUTAGE = frozenset({EncoderUnavailable.code, EncoderTimeout.code})


class DocumentSetAside(DocumentRejected):
    """Several tries to embed the texts of a document failed; the others of its source are taken in."""

    code = "set_aside"

    def __init__(self, reason: str) -> None:
        super().__init__(
            msg(
                "it is set aside, for its texts could not be embedded in {count} tries: {reason}",
                count=TRIES,
                reason=reason,
            )
        )


class Cut(NamedTuple):
    """A document that was read, with its stamp and its passages as they were cut."""

    document: Document
    stamp: str
    passages: tuple[NewPassage, ...]
    access: AccessList | None = None


@dataclass(eq=False)
class DocumentBatch:
    """Documents that are committed together.

    Attributes:
        size: Passages of all of them.
        entries: What a connector listed of them, remembered once they are committed.
        queued: Of the queue: key and vector keys of what is embedded elsewhere; None: nothing is.
    """

    embedding: Embedding
    items: list[tuple[Cut, NewDocument]] = field(default_factory=list)
    size: int = 0
    entries: list[Remembered] = field(default_factory=list)
    queued: tuple[EmbeddingBatch, tuple[str, ...]] | None = None


class CommittingRun(Protocol):
    """The run whose batches wait."""

    def commit(self, batch: DocumentBatch, ready: Mapping[str, Any]) -> None:
        """Commit a batch; vectors that are not in `ready` are embedded."""
        ...

    def set_aside(self, document: NewDocument, reason: str) -> None:
        """Report a document whose texts cannot be embedded; an older version stays."""
        ...

    def tell(self, embedded: int) -> None:
        """Say how many passages were embedded; raises where the run is to end."""
        ...


class PendingBatches:
    """Commits batches in order: at once where nobody else embeds, else when they come back from the queue."""

    def __init__(
        self,
        catalog: Catalog,
        encoder: Encoder | None,
        workers: EmbeddingWorkers | None,
        source_id: str,
        run: CommittingRun,
    ) -> None:
        self._catalog, self._encoder, self._workers = catalog, encoder, workers
        self._source_id, self._run = source_id, run
        self._pending: deque[DocumentBatch] = deque()
        self._flying: set[str] = set()  # vector keys that batches before will bring
        self._queues = False
        self._noted_at = float("-inf")

    def new_batch(self) -> DocumentBatch:
        return DocumentBatch(Embedding(self._catalog, self._encoder))

    def take(self, batch: DocumentBatch) -> None:
        """Commit a batch now, or as soon as others have embedded it and those before it are committed."""
        if self._encoder is None or self._workers is None or not (width := self._workers.width()):
            self.drain()
            self._run.commit(batch, {})
            return
        passages, labels = batch.embedding.missing(self._flying)
        batch.queued = self._put(passages, labels)
        if batch.queued is not None:
            self._flying.update(batch.queued[1])
        self._pending.append(batch)
        ahead = min(_MOST_AHEAD, _AHEAD * width)
        while self._pending and (len(self._pending) > ahead or self._is_ready(self._pending[0])):
            self._commit(self._pending.popleft())

    def drain(self) -> None:
        """Commit everything that waits."""
        while self._pending:
            self._commit(self._pending.popleft())

    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._pending

    def close(self) -> None:
        """Take what is not needed any more out of the queue, what a run left that broke off, too."""
        self._catalog.remove_batches(self._source_id)

    def note(self, files: int, files_total: int, passages: int, embedded: int) -> None:
        """Let others see the progress of this run, now and then, where others work for it."""
        if self._queues and time.monotonic() - self._noted_at >= _NOTED:
            self._noted_at = time.monotonic()
            self._catalog.note_progress(files, files_total, passages, embedded)

    def _put(
        self, passages: Mapping[str, str], labels: Mapping[str, str]
    ) -> tuple[EmbeddingBatch, tuple[str, ...]] | None:
        """Queue texts, by their vector keys; None where there are none."""
        keys = (*passages, *labels)
        if not keys or self._encoder is None:
            return None
        encoder = self._encoder.fingerprint.key
        batch = EmbeddingBatch(
            source_id=self._source_id,
            batch_key=hashlib.sha256("\x00".join((encoder, *keys)).encode()).hexdigest(),
            encoder=encoder,
            texts=(*passages.values(), *labels.values()),
            counted=len(passages),
        )
        self._queues = True
        self._catalog.put_batch(batch)
        return batch, keys

    def _is_ready(self, batch: DocumentBatch) -> bool:
        if batch.queued is None:
            return True
        outcome = self._catalog.batch_outcome(self._source_id, batch.queued[0].batch_key)
        return outcome is not None and outcome.state in ("ready", "failed")

    def _commit(self, batch: DocumentBatch) -> None:
        keys = [] if batch.queued is None else [batch.queued[0].batch_key]
        ready: dict[str, Any] = {}
        queued = batch.queued
        while queued is not None:
            keys.append(queued[0].batch_key)
            outcome = self._outcome(queued[0])
            if outcome.state == "ready":
                ready |= self._decoded(queued, outcome)
            else:
                self._divide(batch, ready, outcome, keys)
            queued = self._put(*batch.embedding.missing(ready))
        self._run.commit(batch, ready)
        self._flying.difference_update(() if batch.queued is None else batch.queued[1])
        self._catalog.remove_batches(self._source_id, keys)

    def _divide(self, batch: DocumentBatch, ready: dict[str, Any], outcome: BatchOutcome, keys: list[str]) -> None:
        """Have the documents of a batch that failed embedded one by one; who fails by itself, too, is set aside."""
        if outcome.code in _OUTAGE:
            raise EncoderUnavailable(outcome.reason, component="encoder", hint="wenyuan workers")
        if len(batch.items) == 1:
            self._set_aside(batch, {batch.items[0][1].uri: outcome.reason})
            return
        passages, labels = batch.embedding.missing(ready)
        parts = []
        for _, made in batch.items:
            own = keys_of(made)
            part = self._put(*({key: text for key, text in of.items() if key in own} for of in (passages, labels)))
            parts.append((made.uri, part))
        failed, embedded, refused = {}, 0, 0
        for uri, part in parts:
            if part is None:
                continue
            keys.append(part[0].batch_key)
            told = self._outcome(part[0])
            if told.state == "ready":
                ready |= self._decoded(part, told)
                embedded += 1
            elif told.code in _OUTAGE:
                raise EncoderUnavailable(told.reason, component="encoder", hint="wenyuan workers")
            else:
                failed[uri] = told.reason
                refused += told.code == VectorRejected.code
        if refused == len(failed) >= _ALL_REFUSED and not embedded:
            raise VectorRejected(next(iter(failed.values())), component="encoder", hint="wenyuan workers")
        self._set_aside(batch, failed)

    def _set_aside(self, batch: DocumentBatch, failed: Mapping[str, str]) -> None:
        for _, made in batch.items:
            if made.uri in failed:
                self._run.set_aside(made, failed[made.uri])
        batch.items = [item for item in batch.items if item[1].uri not in failed]
        batch.embedding.keep_only({key for _, made in batch.items for key in keys_of(made)})

    def _outcome(self, batch: EmbeddingBatch) -> BatchOutcome:
        """Wait until a batch was embedded, or has failed; where nobody else works any more, this thread does."""
        assert self._workers is not None
        pause = _SHORT
        while True:
            outcome = self._catalog.batch_outcome(batch.source_id, batch.batch_key)
            if outcome is None:  # it was erased, or removed by who took it for that of a former run
                self._catalog.put_batch(batch)
            elif outcome.state in ("ready", "failed"):
                self._run.tell(batch.counted if outcome.state == "ready" else 0)
                return outcome
            elif not self._workers.width() and self._workers.embed_one():
                continue
            self._run.tell(0)
            time.sleep(pause)
            pause = min(_LONG, pause * 1.3)

    def _decoded(self, queued: tuple[EmbeddingBatch, tuple[str, ...]], outcome: BatchOutcome) -> dict[str, Any]:
        keys = queued[1]
        rows = np.frombuffer(outcome.vectors, np.float32)
        dimension = 0 if self._encoder is None else self._encoder.fingerprint.dimension
        if rows.size != len(keys) * dimension:
            raise VectorRejected(
                msg(
                    "{count} texts went in, {count2} vectors came out",
                    count=len(keys),
                    count2=rows.size // (dimension or 1),
                ),
                component="encoder",
            )
        return dict(zip(keys, rows.reshape(len(keys), dimension), strict=True))


def keys_of(document: NewDocument) -> set[str]:
    """The keys of all vectors of a document."""
    return {key for one in document.passages for key in (one.vector_key, one.label_key) if key}
