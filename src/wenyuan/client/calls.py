"""The base of the classes that add calls to `Client`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

T = TypeVar("T")


class Calls:
    """The methods of `Client` that its mixin classes use.

    Every call raises `InvalidRequest`, `NotPermitted` or `RetrievalFailed` as `Client.retrieve_fragments` does.
    """

    def _call(
        self,
        method: str,
        path: str,
        read: Callable[[Mapping[str, Any]], T],
        members: Mapping[str, Any] | None = None,
        secrets: Sequence[str] = (),
        timeout: float | None = None,
    ) -> T:
        raise NotImplementedError

    def _send(self, method: str, path: str, body: bytes, kind: str, read: Callable[[Mapping[str, Any]], T]) -> T:
        raise NotImplementedError

    def _fetch(self, path: str) -> bytes:
        raise NotImplementedError


def with_query(path: str, parameters: Mapping[str, Any]) -> str:
    """A path with the non-None query parameters."""
    given = {name: value for name, value in parameters.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path
