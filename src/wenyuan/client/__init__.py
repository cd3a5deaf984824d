"""The client of the retrieval contract: calls return fragments or raise; an empty answer never stands for a failure.

    >>> from wenyuan.client import Client, RetrievalFailed
    >>> with Client("http://127.0.0.1:8000", key="…") as client:  # doctest: +SKIP
    ...     for fragment in client.retrieve_fragments("如何实现数据库连接池？", max_results=3):
    ...         print(fragment.retrieval_score, fragment.source)

`AsyncClient` and `AsyncAgentClient` are the same for programs that await.

It talks to any service that keeps the contract, and imports neither the server nor the engines.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from wenyuan.client.caller import AgentClient, Client
from wenyuan.client.context_replies import Knowledge, Passages
from wenyuan.client.rules import Item, Rules, United
from wenyuan.core.errors import InvalidRequest, NotPermitted, RetrievalFailed
from wenyuan.core.model import Fragment

if TYPE_CHECKING:
    from wenyuan.client.async_client import AsyncAgentClient, AsyncClient
    from wenyuan.client.context import get_context_from

__all__ = [
    "AgentClient",
    "AsyncAgentClient",
    "AsyncClient",
    "Client",
    "Fragment",
    "InvalidRequest",
    "Item",
    "Knowledge",
    "NotPermitted",
    "Passages",
    "RetrievalFailed",
    "Rules",
    "United",
    "get_context_from",
]


# Failures are raised; without a configured log handler Python would also print them to standard error.
logging.getLogger("wenyuan.client").addHandler(logging.NullHandler())


_LATE = {"get_context_from": "context", "AsyncClient": "async_client", "AsyncAgentClient": "async_client"}


def __getattr__(name: str) -> Any:
    """Import on first use what takes half a second which most callers do not need."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"wenyuan.client.{_LATE[name]}"), name)
