"""LangChain: a retriever.

>>> from wenyuan.integrations.langchain import WenyuanRetriever  # doctest: +SKIP
>>> WenyuanRetriever(service="http://127.0.0.1:8765", k=5).invoke("客户投诉多久响应")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from wenyuan.integrations.asker import Asker, told

__all__ = ["WenyuanRetriever"]


try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, Field, SecretStr, model_validator
except ImportError as error:
    raise ImportError("LangChain is not installed: pip install langchain-core") from error


class WenyuanRetriever(BaseRetriever):
    """Documents from a knowledge service, best first.

    A failure raises `wenyuan.RetrievalFailed`, so that ``on_retriever_error`` is called. Results that came despite a
    failed part have ``metadata["degraded"]``, and the run's callbacks get ``on_text``.

    Attributes:
        service: URL, `wenyuan.Client`, or an object that keeps the contract (a `wenyuan.Library`).
        k: Documents at most; ``invoke(query, k=3)`` for one call.
        domain, filter, min_trust: Restrict each query; see `wenyuan.Client.retrieve_fragments`. For one call:
            ``invoke(query, filter={"metadata.year": 2024})``, which is met besides.
        search_kwargs: ``k``, ``filter``, ``domain``, ``min_trust`` as vector stores of the framework take them.
        context: Passed on with each query: ``task_id``, ``source_document_uri``, ``as_of``.
        key: The API key, for a URL.
    """

    service: Any
    k: int = Field(default=5, ge=1, le=100)
    context: Mapping[str, Any] | None = None
    domain: str | None = None
    filter: Mapping[str, Any] | None = None
    min_trust: int | None = None
    key: SecretStr | None = None

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _search_kwargs(cls, values: Any) -> Any:
        """`search_kwargs` as the fields that they are."""
        if not isinstance(values, dict) or values.get("search_kwargs") is None:
            return values
        given = dict(values.pop("search_kwargs"))
        unknown = sorted(set(given) - {"k", "domain", "filter", "min_trust"})
        twice = sorted(set(given) & set(values))
        if unknown or twice:
            raise ValueError(f"search_kwargs cannot be applied: {', '.join(unknown or twice)}")
        return {**values, **given}

    @cached_property
    def _asker(self) -> Asker:
        key = None if self.key is None else self.key.get_secret_value()
        return Asker(self.service, key=key, domain=self.domain, filter=self.filter, min_trust=self.min_trust)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Mapping[str, Any] | None = None,
    ) -> list[Document]:
        fragments = self._asker(query, self.k if k is None else k, self.context, filter=filter)
        degraded = {name for f in fragments if (name := f.metadata.get("degraded"))}
        if degraded:
            run_manager.on_text(f"degraded: {', '.join(sorted(degraded))} did not answer")
        return [
            Document(page_content=f.content, metadata=told(f), id=str(f.metadata.get("passage_id") or f.source))
            for f in fragments
        ]
