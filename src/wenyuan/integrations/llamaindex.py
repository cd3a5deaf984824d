"""LlamaIndex: a retriever.

>>> from wenyuan.integrations.llamaindex import WenyuanRetriever  # doctest: +SKIP
>>> WenyuanRetriever("http://127.0.0.1:8765", top_k=5).retrieve("客户投诉多久响应")  # doctest: +SKIP
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from wenyuan.integrations.asker import Asker, flat, told

__all__ = ["WenyuanRetriever"]


try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise ImportError("LlamaIndex is not installed: pip install llama-index-core") from error


class WenyuanRetriever(BaseRetriever):
    """Nodes from a knowledge service, best first, with flat metadata.

    A failure raises `wenyuan.RetrievalFailed`; results that came despite a failed part have ``metadata["degraded"]``.

    Args:
        service: URL, `wenyuan.Client`, or an object that keeps the contract (a `wenyuan.Library`).
        top_k: Nodes at most.
        context: Passed on with each query: ``task_id``, ``source_document_uri``, ``as_of``.
        domain, filter, min_trust: Restrict each query; see `wenyuan.Client.retrieve_fragments`.
        key: The API key, for a URL.
        options: Of LlamaIndex' own base class, such as ``callback_manager``.
    """

    def __init__(
        self,
        service: Any,
        *,
        top_k: int = 5,
        context: Mapping[str, Any] | None = None,
        domain: str | None = None,
        filter: Mapping[str, Any] | None = None,
        min_trust: int | None = None,
        key: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._asker = Asker(service, key=key, domain=domain, filter=filter, min_trust=min_trust)
        self._top_k = top_k
        self._context = context

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        fragments = self._asker(query_bundle.query_str, self._top_k, self._context)
        return [
            NodeWithScore(
                node=TextNode(
                    id_=str(f.metadata.get("passage_id") or f.source), text=f.content, metadata=flat(told(f))
                ),
                score=f.retrieval_score,
            )
            for f in fragments
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
