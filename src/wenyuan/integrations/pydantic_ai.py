"""Pydantic AI: a tool.

>>> from pydantic_ai import Agent  # doctest: +SKIP
>>> from wenyuan.integrations.pydantic_ai import knowledge_tool  # doctest: +SKIP
>>> agent = Agent("openai:gpt-5", tools=[knowledge_tool("http://127.0.0.1:8765")])  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wenyuan.core.errors import InvalidRequest
from wenyuan.integrations.asker import Asker, told

__all__ = ["knowledge_tool"]


try:
    from pydantic_ai import ModelRetry, Tool
except ImportError as error:
    raise ImportError("Pydantic AI is not installed: pip install pydantic-ai-slim") from error


def knowledge_tool(
    service: Any,
    *,
    top_k: int = 5,
    context: Mapping[str, Any] | None = None,
    domain: str | None = None,
    filter: Mapping[str, Any] | None = None,
    min_trust: int | None = None,
    key: str | None = None,
    name: str = "retrieve_fragments",
) -> Tool[Any]:
    """A tool with which a model looks something up.

    A failure raises `wenyuan.RetrievalFailed` out of the agent's run: a model that was told nothing would answer from
    what it remembers. A query that cannot be asked goes back to the model, which may ask another.

    Args:
        service: URL, `wenyuan.Client`, or an object that keeps the contract (a `wenyuan.Library`).
        top_k: Fragments at most.
        context: Passed on with each query: ``task_id``, ``source_document_uri``, ``as_of``.
        domain, filter, min_trust: Restrict each query; see `wenyuan.Client.retrieve_fragments`.
        key: The API key, for a URL.
    """
    asker = Asker(service, key=key, domain=domain, filter=filter, min_trust=min_trust)

    def retrieve_fragments(query: str) -> dict[str, Any]:
        """Look up what governed sources say. An empty list of fragments means that they say nothing about it.

        Args:
            query: A question or keywords, in Chinese or English.
        """
        try:
            fragments = asker(query, top_k, context)
        except InvalidRequest as error:
            raise ModelRetry(str(error)) from error
        # A bare empty list would reach the model as no text at all.
        return {"fragments": [{"content": f.content, **told(f)} for f in fragments]}

    return Tool(retrieve_fragments, name=name)
