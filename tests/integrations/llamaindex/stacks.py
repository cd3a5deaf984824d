"""A team's stack as it is often built: LlamaIndex' vector index in memory."""

from __future__ import annotations

import os
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import TextNode

from wenyuan.conformance.documents import documents
from wenyuan.encoders.checking import HashingEncoder

_ENCODER = HashingEncoder()


class Hashed(BaseEmbedding):
    """Vectors of hashed words; they cannot be made while ``STACK_FAILS`` is set."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return list(map(float, _ENCODER.encode_passages([text])[0]))

    def _get_query_embedding(self, query: str) -> list[float]:
        if os.environ.get("STACK_FAILS"):
            raise OSError("the embedding service is gone")
        return list(map(float, _ENCODER.encode_queries([query])[0]))

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def vectors() -> Any:
    """The retriever."""
    nodes = [TextNode(text=text, metadata={"source": f"urn:kit:{name}"}) for name, text in documents().items()]
    return VectorStoreIndex(nodes, embed_model=Hashed()).as_retriever(similarity_top_k=5)
