"""What every peer is put through, the same for all; it needs nothing but numpy, and runs in each peer's environment.

    python bench/peers/NAME/run.py build CORPUS FOLDER RESULT
    python bench/peers/NAME/run.py ask   CORPUS FOLDER RESULT

CORPUS is a folder that `compare.py` prepared: texts, queries, and a vector of each, made once with one encoder.
`build` takes the texts in and stores the index in FOLDER; `ask` opens FOLDER in a new process and asks. What went wrong
is written to RESULT like any other finding.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

K = 10
WARM = 20


@dataclass(frozen=True)
class Corpus:
    """Texts and queries with their vectors, (n, dim) float32 unit rows."""

    origin: Path
    ids: list[str]
    texts: list[str]
    vectors: np.ndarray
    queries: list[str]
    query_vectors: np.ndarray
    junk: list[str]
    junk_vectors: np.ndarray

    @classmethod
    def read(cls, folder: Path) -> Corpus:
        told = json.loads((folder / "texts.json").read_text("utf-8"))
        rows = [np.load(folder / f"{name}.npy") for name in ("vectors", "query_vectors", "junk_vectors")]
        return cls(
            Path(told["origin"]), told["ids"], told["texts"], rows[0], told["queries"], rows[1], told["junk"], rows[2]
        )

    def lookup(self) -> dict[str, np.ndarray]:
        """The vector of every text and query: an encoder that has done its work already."""
        pairs = ((self.texts, self.vectors), (self.queries, self.query_vectors), (self.junk, self.junk_vectors))
        return {text: row for texts, rows in pairs for text, row in zip(texts, rows, strict=True)}


class Peer(Protocol):
    packages: Sequence[str]

    def build(self, folder: Path, corpus: Corpus) -> float | None:
        """Take everything in and store it in `folder`; the seconds, where not all of the time is to be counted."""

    def open(self, folder: Path, corpus: Corpus) -> None:
        """Open what another process stored."""

    def ask(self, text: str, vector: np.ndarray, k: int) -> list[str]:
        """Ids of the best `k`, best first."""


def main(peer: Peer) -> None:
    action, corpus_folder, folder, result = sys.argv[1], *map(Path, sys.argv[2:5])
    corpus = Corpus.read(corpus_folder)
    try:
        found = (_build if action == "build" else _ask)(peer, corpus, folder)
    except BaseException as error:  # a panic of a library written in another language is no Exception
        found = {"error": f"{type(error).__name__}: {str(error).strip()[:300]}"}
    versions = {name: _version(name) for name in peer.packages}
    result.write_text(json.dumps(found | {"versions": versions, "peak_mb": _memory("VmHWM")}), "utf-8")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from its source
        return ""


def _build(peer: Peer, corpus: Corpus, folder: Path) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    counted = peer.build(folder, corpus)
    return {"seconds": time.perf_counter() - begun if counted is None else counted}


def _ask(peer: Peer, corpus: Corpus, folder: Path) -> dict[str, Any]:
    begun = time.perf_counter()
    peer.open(folder, corpus)
    opening = time.perf_counter() - begun
    for text, vector in zip(corpus.queries[:WARM], corpus.query_vectors, strict=False):
        peer.ask(text, vector, K)
    gc.collect()
    ranked, milliseconds = [], []
    for text, vector in zip(corpus.queries, corpus.query_vectors, strict=True):
        begun = time.perf_counter()
        ranked.append(peer.ask(text, vector, K))
        milliseconds.append((time.perf_counter() - begun) * 1e3)
    junk = [len(peer.ask(text, vector, K)) for text, vector in zip(corpus.junk, corpus.junk_vectors, strict=True)]
    return {"opening": opening, "ranked": ranked, "ms": milliseconds, "junk": junk, "memory_mb": _memory("VmRSS")}


def _memory(name: str) -> float:
    """Megabytes of this process, as the kernel tells them."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    return 0.0
