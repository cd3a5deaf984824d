"""Haystack: a retriever component.

>>> from wenyuan.integrations.haystack import WenyuanRetriever  # doctest: +SKIP
>>> WenyuanRetriever("http://127.0.0.1:8765").run(query="客户投诉多久响应")["documents"]  # doctest: +SKIP
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from wenyuan.core.errors import ConfigError, InvalidRequest, msg
from wenyuan.integrations.asker import Asker, flat, told

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
        domain, min_trust: Restrict each query; see `wenyuan.Client.retrieve_fragments`.
        filters: Of Haystack, or as `wenyuan.Client.retrieve_fragments` takes them; they restrict each query. ``meta.year`` is the
            field ``metadata.year``.
        key: The API key, for a URL; a pipeline that is saved keeps the name of its variable only.
    """

    def __init__(
        self,
        service: Any,
        *,
        top_k: int = 5,
        context: Mapping[str, Any] | None = None,
        domain: str | None = None,
        filters: Mapping[str, Any] | None = None,
        min_trust: int | None = None,
        key: Secret | None = None,
    ) -> None:
        self.service = service
        self.top_k = top_k
        self.context = context
        self.domain, self.filters, self.min_trust = domain, filters, min_trust
        self.key = key
        chosen = filter_of(filters) if filters else None
        told_key = None if key is None else key.resolve_value()
        self._asker = Asker(service, key=told_key, domain=domain, filter=chosen, min_trust=min_trust)

    def to_dict(self) -> dict[str, Any]:
        """For a pipeline that is saved.

        Raises:
            ConfigError: it asks an object, which cannot be written down; give it a URL.
        """
        if not isinstance(self.service, str):
            raise ConfigError("a retriever that asks an object cannot be saved", hint="give it the URL of a service")
        saved: dict[str, Any] = default_to_dict(
            self, service=self.service, top_k=self.top_k, context=self.context, domain=self.domain,
            filters=self.filters, min_trust=self.min_trust, key=self.key and self.key.to_dict(),
        )  # fmt: skip
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

        Args:
            filters: As those of the retriever; both are met.

        Raises:
            InvalidRequest: the query, or filters that cannot be applied.
            RetrievalFailed: there is no answer.
        """
        chosen = filter_of(filters) if filters else None
        fragments = self._asker(query, self.top_k if top_k is None else top_k, self.context, filter=chosen)
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


def filter_of(filters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Filters of Haystack in the form of `wenyuan.core.filters`; those in that form already are returned as they are.

    Raises:
        InvalidRequest: an operator that cannot be applied exactly, or no filter.
    """
    if "operator" not in filters:
        return filters
    operator = filters["operator"]
    if "conditions" in filters:
        conditions = filters["conditions"]
        if not isinstance(conditions, list) or not all(isinstance(one, Mapping) for one in conditions):
            raise InvalidRequest("conditions must be an array of objects")
        parts = [filter_of(one) for one in conditions]
        joined: Mapping[str, Mapping[str, Any]] = {
            "AND": {"and": parts},
            "OR": {"or": parts},
            "NOT": {"not": {"and": parts}},
        }
        if operator in joined:
            return joined[operator]
        raise InvalidRequest(msg("there is no operator {operator}", operator=repr(operator)))
    field, value = str(filters.get("field", "")), filters.get("value")
    name = f"metadata.{field.removeprefix('meta.')}" if field.startswith("meta.") else field
    tests: Mapping[str, Mapping[str, Any]] = {
        "==": {name: value}, "in": {name: value}, "!=": {"not": {name: value}}, "not in": {"not": {name: value}},
        ">=": {name: {"ge": value}}, "<=": {name: {"le": value}},
        ">": {"and": [{name: {"ge": value}}, {"not": {name: value}}]},
        "<": {"and": [{name: {"le": value}}, {"not": {name: value}}]},
    }  # fmt: skip
    if operator not in tests:
        raise InvalidRequest(msg("there is no operator {operator}", operator=repr(operator)))
    return tests[operator]
