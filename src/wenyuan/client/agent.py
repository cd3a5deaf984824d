"""An agent's own client.

>>> from wenyuan.client import AgentClient
>>> agent = AgentClient("http://127.0.0.1:8765", "support")  # doctest: +SKIP
>>> agent.get_context(retrieval_query="客户投诉多久响应").snippets  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Protocol

from wenyuan.client.caller import Client
from wenyuan.client.governed import Knowledge
from wenyuan.core.closing import refusing_once_closed
from wenyuan.core.naming import required_query

__all__ = ["AgentClient"]


class Asks(Protocol):
    """What an agent asks through; `Client` is one."""

    def get_context(self, retrieval_query: str, **members: Any) -> Knowledge: ...

    def close(self) -> None: ...


@refusing_once_closed()
class AgentClient:
    """One agent's client. Closing it closes the connections that it made itself.

    Args:
        url_or_client: Of the service, or a `Client` that is shared.
        agent_id: Who asks.
        options: For the `Client` that is made: ``key``, ``timeout``, ``retries``.
    """

    _closed = False

    def __init__(self, url_or_client: str | Asks, agent_id: str, **options: Any) -> None:
        self._own = isinstance(url_or_client, str)
        self._client: Asks = Client(url_or_client, **options) if isinstance(url_or_client, str) else url_or_client
        self.agent_id = agent_id

    def get_context(
        self,
        retrieval_query: str | None = None,
        *,
        query: str | None = None,
        extra_queries: Sequence[str] = (),
        top_k: Mapping[str, int | Literal["auto"]] | None = None,
        **members: Any,
    ) -> Knowledge:
        """What the agent needs to know now; see `Client.get_context` for `query` and for what it raises."""
        text = required_query("retrieval_query", retrieval_query, query)
        return self._client.get_context(
            text, agent_id=self.agent_id, extra_queries=extra_queries, top_k=top_k, **members
        )

    def close(self) -> None:
        """Close the connections, if they are its own. Later calls raise `Closed`."""
        self._closed = True
        if self._own:
            self._client.close()

    def __enter__(self) -> AgentClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
