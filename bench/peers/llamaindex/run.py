"""LlamaIndex: a `VectorStoreIndex` and a `BM25Retriever`, fused by `QueryFusionRetriever` with reciprocal ranks.

No query is generated (`num_queries=1`), since that would need a language model.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from typing import Any

import numpy as np
from harness import Corpus, K, main
from llama_index.core import StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from pydantic import PrivateAttr


class FragmentsAnswer(BaseEmbedding):
    """The vectors that were made before."""

    _known: dict[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def of(cls, corpus: Corpus) -> FragmentsAnswer:
        made = cls()
        made._known = {text: row.tolist() for text, row in corpus.lookup().items()}
        return made

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._known[query]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._known[text]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._known[query]


class LlamaIndex:
    packages = ("llama-index-core", "llama-index-retrievers-bm25")

    def build(self, folder: Path, corpus: Corpus) -> None:
        rows = zip(corpus.ids, corpus.texts, corpus.vectors, strict=True)
        nodes = [TextNode(id_=name, text=text, embedding=row.tolist()) for name, text, row in rows]
        index = VectorStoreIndex(nodes, embed_model=FragmentsAnswer.of(corpus))
        index.storage_context.persist(str(folder / "vectors"))
        BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=K).persist(str(folder / "bm25"))

    def open(self, folder: Path, corpus: Corpus) -> None:
        context = StorageContext.from_defaults(persist_dir=str(folder / "vectors"))
        index = load_index_from_storage(context, embed_model=FragmentsAnswer.of(corpus))
        legs = [
            index.as_retriever(similarity_top_k=K),
            BM25Retriever.from_persist_dir(str(folder / "bm25")),
        ]
        self.retriever = QueryFusionRetriever(
            legs, llm=MockLLM(), similarity_top_k=K, num_queries=1, mode="reciprocal_rerank", use_async=False
        )

    def ask(self, text: str, vector: np.ndarray, k: int) -> list[str]:
        return [found.node.node_id for found in self.retriever.retrieve(text)]


main(LlamaIndex())
