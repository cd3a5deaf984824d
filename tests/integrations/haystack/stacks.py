"""A team's stack as it is often built: Haystack's BM25 over the kit's documents, in memory."""

from __future__ import annotations

import os
from typing import Any

from haystack import Document
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from wenyuan.conformance.documents import documents


class Store(InMemoryDocumentStore):
    """The store of a machine whose disk is gone, while ``STACK_FAILS`` is set."""

    def bm25_retrieval(self, *args: Any, **named: Any) -> list[Document]:
        if os.environ.get("STACK_FAILS"):
            raise OSError("the index is gone")
        return super().bm25_retrieval(*args, **named)


def bm25() -> InMemoryBM25Retriever:
    """The retriever."""
    store = Store()
    store.write_documents(
        [Document(content=text, meta={"source": f"urn:kit:{name}"}) for name, text in documents().items()]
    )
    return InMemoryBM25Retriever(store, scale_score=True)
