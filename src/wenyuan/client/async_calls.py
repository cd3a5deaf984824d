"""The base of the classes that add calls to `AsyncClient`.

Made of `client.calls` by ``scripts/make_async_client.py``; what is written here by hand is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wenyuan.client.calls import T


class AsyncCalls:
    """The methods of `Client` that its mixin classes use.

    Every call raises `InvalidRequest`, `NotPermitted` or `RetrievalFailed` as `Client.retrieve_fragments` does.
    """

    async def _call(
        self,
        method: str,
        path: str,
        read: Callable[[Mapping[str, Any]], T],
        members: Mapping[str, Any] | None = None,
        secrets: Sequence[str] = (),
        timeout: float | None = None,
    ) -> T:
        raise NotImplementedError

    async def _send(
        self, method: str, path: str, body: bytes, kind: str, read: Callable[[Mapping[str, Any]], T]
    ) -> T:
        raise NotImplementedError

    async def _fetch(self, path: str) -> bytes:
        raise NotImplementedError


__all__ = []
