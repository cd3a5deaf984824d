"""Wenyuan, by its defaults: audit, checks and measured floor included.

Passages are cut and embedded by the library itself, so the library is built twice: the first time its encoder works and
is remembered, the second time, which counts, the vectors are given, as they are to every peer.
"""

from __future__ import annotations

import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import Corpus, main

from wenyuan.app import open_encoder, open_library
from wenyuan.evaluation.built_library import entries_of, open_built
from wenyuan.evaluation.corpus import open_corpus
from wenyuan.settings import load_settings

Vectors = dict[str, np.ndarray]


def remembering(name: str, known: Vectors) -> None:
    """Let the encoder's method `name` work only on texts that are not known yet."""
    encoder = open_encoder(load_settings().encoder)
    kind = type(encoder)
    method: Callable[..., Any] = getattr(kind, name)

    def encode(self: Any, texts: Sequence[str], **more: Any) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, method(self, new, **more), strict=True))
        return np.array([known[text] for text in texts], np.float32)

    setattr(kind, name, encode)


class Wenyuan:
    packages = ("wenyuan",)

    def build(self, folder: Path, corpus: Corpus) -> float:
        judged = open_corpus(corpus.origin)
        remembering("encode_passages", dict(zip(corpus.texts, corpus.vectors, strict=True)))
        remembering("encode_queries", {})
        for cache in ("first", "library"):
            begun = time.perf_counter()
            open_built(judged, folder / cache, sys.stderr).close()
            seconds = time.perf_counter() - begun
        shutil.rmtree(folder / "first")
        return seconds

    def open(self, folder: Path, corpus: Corpus) -> None:
        known = {unicodedata.normalize("NFKC", text.strip()): row for text, row in corpus.lookup().items()}
        remembering("encode_queries", known)
        self.library = open_library(next((folder / "library").iterdir()))
        self.entries = entries_of(self.library, open_corpus(corpus.origin))

    def ask(self, text: str, vector: np.ndarray, k: int) -> list[str]:
        hits = self.library.search(text, limit=k).hits
        return list(dict.fromkeys(self.entries[hit.passage_id] for hit in hits))


main(Wenyuan())
