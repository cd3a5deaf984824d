"""A connection to PostgreSQL that does not wait for ever.

Timeouts of the server do not help where the server is what hangs: it takes what it is sent and says nothing, because its
machine is stopped, say. As long as somebody acknowledges the bytes, the system does not end such a connection either.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import psycopg

from wenyuan.core.hurry import time_left

__all__ = ["TimedConnection"]

_LOOK = 0.05  # seconds after which a wait looks at the clock
_GRACE = 0.1  # seconds that a server has to say that it ended a statement at the deadline itself


class TimedConnection(psycopg.Connection[Any]):
    """Waits no longer than its patience, nor than `core.hurry.until` allows; then it is closed.

    Attributes:
        patience: Seconds for one exchange with the server; None: as long as it takes.
    """

    patience: float | None = None

    def wait(self, gen: Generator[Any, Any, Any], interval: float = _LOOK, timeout: float | None = None) -> Any:
        """Raises psycopg.errors.ConnectionTimeout when the server did not answer in time."""
        given = [seconds for seconds in (self.patience, time_left()) if seconds is not None]
        if given:
            gen = self._ending(gen, time.monotonic() + min(given) + _GRACE)
        more: dict[str, Any] = {} if timeout is None else {"timeout": timeout}  # which the oldest drivers do not know
        return super().wait(gen, min(interval, _LOOK), **more)

    def _ending(self, gen: Generator[Any, Any, Any], at: float) -> Generator[Any, Any, Any]:
        ready = None
        while True:
            try:
                wanted = gen.send(ready)
            except StopIteration as done:
                return done.value
            ready = yield wanted
            if not ready and time.monotonic() > at:  # what has come already is still read
                self.close()
                raise psycopg.errors.ConnectionTimeout("no answer in time")
