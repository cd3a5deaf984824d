"""Chroma: a persistent collection, asked by vector."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import chromadb
import numpy as np
from chromadb.config import Settings
from harness import Corpus, main

BATCH = 5_000


class Chroma:
    packages = ("chromadb",)

    def _client(self, folder: Path) -> chromadb.ClientAPI:
        return chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))

    def build(self, folder: Path, corpus: Corpus) -> None:
        collection = self._client(folder).create_collection("texts", embedding_function=None)
        for at in range(0, len(corpus.ids), BATCH):
            part = slice(at, at + BATCH)
            collection.add(ids=corpus.ids[part], documents=corpus.texts[part], embeddings=corpus.vectors[part])

    def open(self, folder: Path, corpus: Corpus) -> None:
        self.collection = self._client(folder).get_collection("texts", embedding_function=None)

    def ask(self, text: str, vector: np.ndarray, k: int) -> list[str]:
        return self.collection.query(query_embeddings=[vector], n_results=k)["ids"][0]


main(Chroma())
