"""Haystack: the in-memory store with BM25 and embedding retrievers in one pipeline, joined by reciprocal ranks."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import numpy as np
from harness import Corpus, K, main
from haystack import Document, Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore


class Haystack:
    packages = ("haystack-ai",)

    def build(self, folder: Path, corpus: Corpus) -> None:
        store = InMemoryDocumentStore()
        rows = zip(corpus.ids, corpus.texts, corpus.vectors, strict=True)
        store.write_documents([Document(id=n, content=text, embedding=row.tolist()) for n, text, row in rows])
        store.save_to_disk(str(folder / "store.json"))

    def open(self, folder: Path, corpus: Corpus) -> None:
        store = InMemoryDocumentStore.load_from_disk(str(folder / "store.json"))
        self.pipeline = Pipeline()
        self.pipeline.add_component("words", InMemoryBM25Retriever(store, top_k=K))
        self.pipeline.add_component("vectors", InMemoryEmbeddingRetriever(store, top_k=K))
        self.pipeline.add_component("both", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=K))
        self.pipeline.connect("words", "both")
        self.pipeline.connect("vectors", "both")

    def ask(self, text: str, vector: np.ndarray, k: int) -> list[str]:
        found = self.pipeline.run({"words": {"query": text}, "vectors": {"query_embedding": vector.tolist()}})
        return [document.id for document in found["both"]["documents"]]


main(Haystack())
