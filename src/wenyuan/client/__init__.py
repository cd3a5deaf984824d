"""The client of the retrieval contract: calls return fragments or raise; an empty answer never stands for a failure.

    >>> from wenyuan.client import Client, RetrievalFailed
    >>> with Client("http://127.0.0.1:8000", key="…") as client:  # doctest: +SKIP
    ...     for fragment in client.retrieve_fragments("如何实现数据库连接池？", max_results=3):
    ...         print(fragment.retrieval_score, fragment.source)

It talks to any service that keeps the contract, and imports neither the server nor the engines.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from wenyuan.client.caller import AgentClient, Client
from wenyuan.client.replies import Knowledge, Passages
from wenyuan.client.rules import Item, Rules, United
from wenyuan.core.errors import InvalidRequest, NotPermitted, RetrievalFailed
from wenyuan.core.model import Fragment

if TYPE_CHECKING:
    from wenyuan.client.context import get_context_from

__all__ = [
    "AgentClient",
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


def __getattr__(name: str) -> Any:
    """Import `get_context_from` on first use, since that takes half a second which most callers do not need."""
    if name != "get_context_from":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from wenyuan.client.context import get_context_from

    return get_context_from
