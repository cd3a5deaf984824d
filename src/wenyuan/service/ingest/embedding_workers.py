"""The threads of this process that embed batches of texts, for whichever process takes the source in."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import numpy as np

from wenyuan.core.embedding_batches import LEASE, PROGRAM, EmbeddingBatch, WorkerState, is_older
from wenyuan.core.errors import (
    CatalogVersion,
    EncoderTimeout,
    EncoderUnavailable,
    KnowledgeError,
    VectorRejected,
    msg,
)
from wenyuan.core.ports import Encoder
from wenyuan.runtime.installation import upgrade_command
from wenyuan.runtime.processes import own_name

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

log = logging.getLogger(__name__)

_IDLE = 0.2  # seconds between two looks at an empty queue; more, the longer it has been empty
_LONGEST_IDLE = 2.0
_SIGN = 5.0  # seconds between two signs of life
_MINUTE = 60.0
_LONGEST_PAUSE = 30.0  # seconds of waiting for an encoder that cannot be reached
_LOOK = 1.0  # seconds for which it is known who else works


class _LeaseEnded(BaseException):
    """The batch at hand is another's by now, or the worker is to stop. No error handler may catch it."""


class EmbeddingWorkers:
    """Embeds what waits in the queue, with as many threads as it was given, and says so in the catalog.

    Attributes:
        refusal: Why this process may not work, such as a version older than that of the queue.
    """

    def __init__(self, catalog: Catalog, encoder: Encoder | None, *, lease: float = LEASE) -> None:
        self._catalog, self._encoder, self._lease = catalog, encoder, lease
        self.name = own_name(id(self))
        self.jobs = 0
        self.refusal: KnowledgeError | None = None
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._begun = self._noted = 0.0
        self._batches = self._passages = 0
        self._recent: deque[tuple[float, int]] = deque()  # of the last minute: when, and how many passages
        self._reason = ""
        self._others, self._looked_at = 0, float("-inf")

    @contextmanager
    def at_work(self, jobs: int) -> Iterator[None]:
        """Let `jobs` threads embed while the block runs; then what they were at waits for others.

        Raises:
            CatalogVersion: a worker of a newer program is at work on this library.
        """
        if self._encoder is None:
            yield
            return
        self._check_version()
        self.jobs, self._begun = jobs, time.monotonic()
        self._stop.clear()
        self._sign(always=True)
        threads = [threading.Thread(target=self._work, name=f"embedding-{n}", daemon=True) for n in range(jobs)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()
            self.jobs = 0
            with suppress(KnowledgeError):  # it is forgotten in an hour
                self._catalog.remove_worker(self.name)

    def _check_version(self) -> None:
        for other in self._catalog.workers():
            if is_older(PROGRAM, other.program):
                raise CatalogVersion(
                    msg(
                        "this worker is of version {own}, and {name} of version {program} is at work on this library",
                        own=PROGRAM,
                        name=other.name,
                        program=other.program,
                    ),
                    component="worker",
                    hint=msg("upgrade the program: {upgrade_command}", upgrade_command=upgrade_command()),
                )

    def width(self) -> int:
        """How many threads embed, of all processes that share the library; those of older programs may not, and wait in vain."""
        if time.monotonic() - self._looked_at >= _LOOK:
            encoder = "" if self._encoder is None else self._encoder.fingerprint.key
            states = self._catalog.workers()
            able = [one for one in states if one.encoder == encoder and not is_older(one.program, PROGRAM)]
            self._others = sum(one.jobs for one in able if one.name != self.name)
            self._looked_at = time.monotonic()
        return self._others + (0 if self.refusal else self.jobs)

    def embed_one(self, *, until_stopped: bool = False) -> bool:
        """Lease a batch and embed it; False when none waits.

        Args:
            until_stopped: Give it back where this process is to stop embedding for others. A reader that waits for it goes
                on: it would get the same batch again and again.

        Raises:
            EncoderUnavailable, EncoderTimeout: the encoder does not answer; the batch waits for another try.
            CatalogVersion: the batch is of a newer program.
        """
        if self._encoder is None:
            return False
        others = self.width() > self.jobs
        batch = self._catalog.take_batch(self.name, self._encoder.fingerprint.key, self._lease, others=others)
        if batch is None:
            return False
        try:
            vectors = self._vectors(batch, self._encoder, until_stopped)
        except _LeaseEnded:
            self._catalog.give_back(batch)
            return True
        except (EncoderUnavailable, EncoderTimeout) as error:
            self._catalog.give_back(batch, code=error.code, reason=str(error), outage=True)
            raise
        except KnowledgeError as error:
            self._reason = str(error)
            self._looked_at = float("-inf")  # who else could try it is to be known now
            self._catalog.give_back(batch, code=error.code, reason=str(error))
            return True
        except Exception as error:
            log.exception("a batch could not be embedded")
            reason = msg("internal error: {kind}", kind=type(error).__name__)
            self._catalog.give_back(batch, code="internal", reason=reason)
            return True
        if self._catalog.give_vectors(batch, vectors):
            self._count(batch.counted)
        else:
            log.warning("the lease on a batch of %s ran out before it was embedded: it is another's", batch.source_id)
        return True

    def _vectors(self, batch: EmbeddingBatch, encoder: Encoder, until_stopped: bool) -> bytes:
        beat_at = time.monotonic() + self._lease / 3

        def beat(_: int) -> None:
            nonlocal beat_at
            if until_stopped and self._stop.is_set():
                raise _LeaseEnded
            self._sign()
            if time.monotonic() >= beat_at:
                if not self._catalog.renew_lease(batch, self._lease):
                    raise _LeaseEnded
                beat_at = time.monotonic() + self._lease / 3

        vectors = b""
        for texts in (batch.texts[: batch.counted], batch.texts[batch.counted :]):  # as `Embedding.vectors` does
            if texts:
                found = np.asarray(encoder.encode_passages(list(texts), progress=beat), np.float32)
                if found.shape != (len(texts), encoder.fingerprint.dimension) or not np.isfinite(found).all():
                    raise VectorRejected("what the encoder gave is no vectors", component="encoder")
                vectors += found.tobytes()
        return vectors

    def _work(self) -> None:
        idle, failures = _IDLE, 0
        while not self._stop.is_set():
            pause = 0.0
            try:
                self._sign()
                if self.embed_one(until_stopped=True):
                    idle, failures = _IDLE, 0
                else:
                    pause, idle = idle, min(_LONGEST_IDLE, idle * 1.5)
            except CatalogVersion as error:
                self.refusal, self._reason = error, str(error)
                log.error("%s", error)
                self._stop.wait(_LONGEST_PAUSE)
            except KnowledgeError as error:
                failures += 1
                pause = min(_LONGEST_PAUSE, 2.0 ** min(failures - 1, 6))
                self._reason = str(error)
                log.warning("no batch was embedded, the next try is in %g s: %s", pause, error)
            self._stop.wait(pause)

    def _count(self, passages: int) -> None:
        with self._lock:
            self._batches += 1
            self._passages += passages
            self._recent.append((time.monotonic(), passages))
            self._reason = ""
        self._sign()

    def _sign(self, *, always: bool = False) -> None:
        """Give a sign of life, if the last one is some seconds old."""
        with self._lock:
            at = time.monotonic()
            if not always and at - self._noted < _SIGN:
                return
            self._noted = at
            while self._recent and self._recent[0][0] < at - _MINUTE:
                self._recent.popleft()
            rate = sum(count for _, count in self._recent) / max(1.0, min(_MINUTE, at - self._begun))
            state = WorkerState(
                name=self.name, program=PROGRAM, encoder=self._encoder.fingerprint.key if self._encoder else "",
                jobs=self.jobs, seconds=0.0, silent=0.0, batches=self._batches, passages=self._passages,
                rate=round(rate, 2), reason=self._reason,
            )  # fmt: skip
        self._catalog.note_worker(state)
