"""A team's stack as it is often built: LangChain's vector store in memory, plain and with a fallback that hides failures."""

from __future__ import annotations

import os
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore, VectorStoreRetriever

from wenyuan.conformance.documents import documents
from wenyuan.encoders.checking import HashingEncoder


class Hashed(Embeddings):
    """Vectors of hashed words; they cannot be made while ``STACK_FAILS`` is set."""

    def __init__(self) -> None:
        self._encoder = HashingEncoder()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [list(map(float, row)) for row in self._encoder.encode_passages(texts)]

    def embed_query(self, text: str) -> list[float]:
        if os.environ.get("STACK_FAILS"):
            raise OSError("the embedding service is gone")
        return list(map(float, self._encoder.encode_queries([text])[0]))


def vectors() -> VectorStoreRetriever:
    """The retriever."""
    store = InMemoryVectorStore(Hashed())
    store.add_documents(
        [Document(page_content=text, metadata={"source": f"urn:kit:{name}"}) for name, text in documents().items()]
    )
    return store.as_retriever()


def swallowing() -> Runnable[Any, list[Document]]:
    """The same, with a fallback that gives nothing when the retriever raises."""
    return vectors().with_fallbacks([RunnableLambda(lambda _query, **_: [])])
