"""What was read from the catalog a moment ago, for as long as nobody has written to it since."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar, cast

from wenyuan.catalog.connect import translated, watching

__all__ = ["Remembered"]

V = TypeVar("V")
_MOST = 1_000


class Remembered:
    """Values by key, dropped all at once when anybody commits: another process, or this one.

    SQLite numbers what a connection can see of others' commits (``PRAGMA data_version``). The connection that asks
    here never writes, so to it every commit is another's. The number is asked for before a value is read, so a value
    is never older than the number it is kept under. Safe to share between threads.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: Any = None
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

    def _asked(self) -> int:
        with translated("asking whether the library changed"):
            if self._connection is None:
                self._connection = watching(self._path)
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    def close(self) -> None:
        """Let go of the connection; may be called twice."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection, self._version = None, None
