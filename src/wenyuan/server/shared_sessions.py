"""Sessions of the console that several servers on one record share: sealed, so that only the browser's cookie opens them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

_KEY = "console/sessions"
_MOST = 1_000


class StoredValues(Protocol):
    """Where they are stored: the catalog."""

    def value(self, key: str) -> Any: ...

    def set_value(self, key: str, value: Any) -> None: ...

    def writing(self, *, wait: float = 10.0) -> AbstractContextManager[None]: ...


class SharedSessions:
    """What servers keep of sessions, by a digest of each one's id. Each call may wait for the database.

    Args:
        clock: Seconds since the epoch, for servers on several machines compare them.
    """

    def __init__(self, values: StoredValues, clock: Callable[[], float] = time.time) -> None:
        self._values, self._clock = values, clock

    def get(self, name: str) -> tuple[str, float] | None:
        """What was sealed, and the seconds for which it counts; None for none, or one that has ended.

        Raises:
            CatalogError: it cannot be read.
        """
        found = self._held().get(name)
        return None if found is None else (str(found["sealed"]), float(found["until"]) - self._clock())

    def put(self, name: str, sealed: str, lasts: float) -> None:
        """Store a session; beyond a thousand, the one that ends soonest is dropped.

        Raises:
            CatalogError: it cannot be written.
        """
        with self._values.writing():
            held = {**self._held(), name: {"sealed": sealed, "until": self._clock() + lasts}}
            while len(held) > _MOST:
                del held[min(held, key=lambda one: float(held[one]["until"]))]
            self._values.set_value(_KEY, held)

    def drop(self, name: str) -> None:
        """End a session at all servers.

        Raises:
            CatalogError: it cannot be written.
        """
        with self._values.writing():
            if name in (held := dict(self._values.value(_KEY) or {})):
                del held[name]
                self._values.set_value(_KEY, held)

    def _held(self) -> Mapping[str, Any]:
        now = self._clock()
        return {name: one for name, one in (self._values.value(_KEY) or {}).items() if one["until"] > now}
