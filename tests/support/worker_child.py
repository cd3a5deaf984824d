"""Forks workers of one library, of which some are killed: after a time, or right after one of their effects on the catalog.

Commands come as lines of JSON on standard input: the workers of a round, and which of them dies where, or is stopped for a while,
has another clock or another version, or an encoder that is slow or answers badly, always. Each line is answered when all of them are dead. The
parts are imported once, so that a worker begins at once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from contextlib import suppress
from typing import Any

import numpy as np

import wenyuan
import wenyuan.app
import wenyuan.catalog
import wenyuan.encoders.checking
import wenyuan.readers.markdown
import wenyuan.readers.sandbox
from wenyuan.catalog import Catalog, embedding_batches
from wenyuan.core.errors import CatalogBusy, EncoderUnavailable, KnowledgeError
from wenyuan.core.sources import SourceState
from wenyuan.encoders.checking import HashingEncoder
from wenyuan.service.ingest import embedding_workers, pending_batches, source_run
from wenyuan.service.ingest.embedding_workers import EmbeddingWorkers
from wenyuan.service.operations.refresh import Worker

EFFECTS = (
    "put_batch", "take_batch", "renew_lease", "give_vectors", "give_back", "remove_batches", "note_worker", "note_progress",
    "commit_documents", "retire_documents", "claim_source", "let_go", "keep_access", "forget_failures",
)  # fmt: skip


class Effects:
    """Counts the effects of this process, and ends it after one of them."""

    def __init__(self, die_at: int | None) -> None:
        self.count, self.die_at = 0, die_at
        for name in EFFECTS:
            setattr(Catalog, name, self.counted(getattr(Catalog, name)))

    def counted(self, method: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            result = method(*given, **named)
            self.count += 1
            if self.count == self.die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call


def spoilt(command: dict[str, Any]) -> None:
    """Give this process another clock or version, a short lease, or an encoder that is slow or answers badly."""
    if ahead := command.get("clock"):
        real, begun, later = time.time, time.monotonic(), command.get("clock_after", 0.0)
        time.time = lambda: real() + (ahead if time.monotonic() - begun >= later else 0.0)  # type: ignore[assignment]
        Worker.__init__.__kwdefaults__["clock"] = time.time  # type: ignore[index]
    if version := command.get("program"):
        embedding_workers.PROGRAM = embedding_batches.PROGRAM = version
    if lease := command.get("lease"):
        EmbeddingWorkers.__init__.__kwdefaults__["lease"] = lease  # type: ignore[index]
    answers, plain = command.get("answers", ""), HashingEncoder.encode_passages

    def encode(self: Any, texts: Any, *, progress: Any = None) -> Any:
        for _ in range(
            int(command.get("delay", 0.0) / 0.05)
        ):  # as a model does, it says now and then that it is at work
            time.sleep(0.05)
            if progress:
                progress(0)
        if answers:
            if answers == "unavailable":
                raise EncoderUnavailable("HTTP 503", component="encoder")
            size = 3 if answers == "dimension" else self.fingerprint.dimension
            return np.full((len(texts), size), np.nan if answers == "nan" else 1.0, np.float32)
        if any("毒药" in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return plain(self, texts, progress=progress)

    HashingEncoder.encode_passages = encode  # type: ignore[method-assign]


def work(folder: str, catalog: dict[str, Any] | None, die_at: int | None, told: int, patient: bool = False) -> None:
    source_run._BATCH_EMBEDDED = 4
    embedding_workers._LONGEST_PAUSE = 0.5
    embedding_workers._IDLE, embedding_workers._LONGEST_IDLE, pending_batches._NOTED = 0.01, 0.05, 0.1
    effects = Effects(die_at)
    more = {"catalog": catalog} if catalog else {}
    with wenyuan.open(folder, encoder={"kind": "hashing"}, **more) as library:
        worker, until = Worker(library), time.monotonic() + 120
        with library.ingestion.embedding(1):
            while time.monotonic() < until:
                with suppress(KnowledgeError if patient else CatalogBusy):
                    worker.run_once()
                    state = library.catalog.source_states().get("docs")
                    if state is not None and state.last_success is not None and not state.claimed_by:
                        break
                    if (
                        patient and state is not None and state.failures and not state.claimed_by
                    ):  # it is tried anew at once
                        library.catalog.put_source_state(SourceState(source_id="docs", next_refresh=0.0))
                time.sleep(0.05)
    os.write(told, f"{effects.count}\n".encode())


def child(command: dict[str, Any], told: int) -> None:
    code = 1
    try:
        spoilt(command)
        work(command["folder"], command.get("catalog"), command.get("die_at"), told, command.get("patient", False))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def main() -> None:
    for line in sys.stdin:
        reads, writes = os.pipe()
        pids = {}
        for one in json.loads(line):
            time.sleep(one.get("begins", 0.0))
            pid = os.fork()
            if pid == 0:
                child(one, writes)
            pids[pid] = one
        os.close(writes)
        for pid, one in pids.items():
            if one.get("after") is not None:
                time.sleep(one["after"])
                os.kill(pid, signal.SIGKILL)
            if one.get("stopped") is not None:
                after, seconds = one["stopped"]
                time.sleep(after)
                os.kill(pid, signal.SIGSTOP)
                time.sleep(seconds)
                os.kill(pid, signal.SIGCONT)
        ends = [os.waitpid(pid, 0)[1] for pid in pids]
        counts = b""
        while part := os.read(reads, 1_000):
            counts += part
        os.close(reads)
        answer = {
            "killed": [os.WIFSIGNALED(end) for end in ends],
            "failed": [os.WIFEXITED(end) and os.WEXITSTATUS(end) != 0 for end in ends],
            "effects": [int(count) for count in counts.split()],
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
