"""What was read from the catalog a moment ago, for as long as nobody has written to it since."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

__all__ = ["Remembered"]

V = TypeVar("V")
_MOST = 1_000


class Remembered:
    """Values by key, dropped all at once when anybody commits: another process, or this one.

    The number of what was committed is asked for before a value is read, so a value is never older than the number it
    is kept under. Safe to share between threads.

    Args:
        version: Another number after every commit; see `Place.version`.
    """

    def __init__(self, version: Callable[[], int]) -> None:
        self._asked = version
        self._lock = threading.Lock()
        self._version: int | None = None
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, read: Callable[[], V]) -> V:
        """The value of `key`, by `read` unless it was read since the last commit; what `read` raises is not kept.

        Raises:
            CatalogUnavailable: the catalog cannot be asked whether it changed.
        """
        with self._lock:
            version = self._asked()
            if version != self._version or len(self._values) >= _MOST:
                self._version, self._values = version, {}
            values = self._values
        if key not in values:  # read outside of the lock, into the values of this version only
            values[key] = read()
        return cast(V, values[key])
