"""Haystack: a retriever component.

>>> from wenyuan.integrations.haystack import WenyuanRetriever  # doctest: +SKIP
>>> WenyuanRetriever("http://127.0.0.1:8765").run(query="客户投诉多久响应")["documents"]  # doctest: +SKIP
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from wenyuan.core.errors import ConfigError, InvalidRequest
from wenyuan.integrations import Asker, flat, told

__all__ = ["WenyuanRetriever"]


try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.utils import Secret
except ImportError as error:
    raise ImportError("Haystack is not installed: pip install haystack-ai") from error


@component
class WenyuanRetriever:
    """Documents from a knowledge service, best first.

    A failure raises `wenyuan.RetrievalFailed`; results that came despite a failed part have ``meta["degraded"]``.

    Args:
        service: URL, `wenyuan.Client`, or an object that keeps the contract (a `wenyuan.Library`).
        top_k: Documents at most.
        context: Passed on with each query: ``task_id``, ``source_document_uri``, ``as_of``.
        key: The API key, for a URL; a pipeline that is saved keeps the name of its variable only.
    """

    def __init__(
        self, service: Any, *, top_k: int = 5, context: Mapping[str, Any] | None = None, key: Secret | None = None
    ) -> None:
        self.service = service
        self.top_k = top_k
        self.context = context
        self.key = key
        self._asker = Asker(service, key=None if key is None else key.resolve_value())

    def to_dict(self) -> dict[str, Any]:
        """For a pipeline that is saved.

        Raises:
            ConfigError: it asks an object, which cannot be written down; give it a URL.
        """
        if not isinstance(self.service, str):
            raise ConfigError("a retriever that asks an object cannot be saved", hint="give it the URL of a service")
        saved: dict[str, Any] = default_to_dict(
            self, service=self.service, top_k=self.top_k, context=self.context, key=self.key and self.key.to_dict()
        )
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> WenyuanRetriever:
        """As it was saved."""
        parameters = data["init_parameters"]
        if parameters.get("key") is not None:
            parameters["key"] = Secret.from_dict(parameters["key"])
        made: WenyuanRetriever = default_from_dict(cls, data)
        return made

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, Any]:
        """Documents for a query.

        Raises:
            InvalidRequest: `filters` are given: the contract has none, and to leave them out would widen the answer.
            RetrievalFailed: there is no answer.
        """
        if filters:
            raise InvalidRequest("filters are not taken here: the contract has none")
        fragments = self._asker(query, self.top_k if top_k is None else top_k, self.context)
        return {
            "documents": [
                Document(
                    id=str(f.metadata.get("passage_id") or f.source),
                    content=f.content,
                    meta=flat(told(f)),
                    score=f.retrieval_score,
                )
                for f in fragments
            ]
        }

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, Any]:
        """As `run`, in a thread."""
        return await asyncio.to_thread(self.run, query, filters, top_k)
