"""The caller's side of the contract: fragments, or an exception; never an empty answer for a failure.

    >>> from wenyuan.client import Client, RetrievalFailed
    >>> with Client("http://127.0.0.1:8000", key="…") as client:  # doctest: +SKIP
    ...     for fragment in client.retrieve_fragments("如何实现数据库连接池？", max_results=3):
    ...         print(fragment.retrieval_score, fragment.source)

It talks to any service that keeps the contract, and imports neither the server nor the engines.
"""

from __future__ import annotations

from wenyuan.client.caller import Client
from wenyuan.client.governed import AgentClient, Knowledge, Passages
from wenyuan.core.errors import InvalidRequest, NotPermitted, RetrievalFailed
from wenyuan.core.model import Fragment

__all__ = [
    "AgentClient",
    "Client",
    "Fragment",
    "InvalidRequest",
    "Knowledge",
    "NotPermitted",
    "Passages",
    "RetrievalFailed",
]
