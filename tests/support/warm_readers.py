"""Reading processes for the libraries that tests open: to start one, and to load its parsers, takes half a second of a
core, so the next library goes on with the one of a library that was closed.
"""

from __future__ import annotations

from contextlib import suppress

from wenyuan.readers import sandbox
from wenyuan.readers.process import ReadingLimits, ReadingProcess

_IDLE: dict[ReadingLimits, list[ReadingProcess]] = {}


class WarmSandbox(sandbox.Sandbox):
    """As `Sandbox`, but its process outlives it. Whether it dies, is replaced or is given up is decided as ever."""

    def close(self) -> None:
        with self._lock:
            if self._worker is not None:
                _IDLE.setdefault(self.limits, []).append(self._worker)
                self._worker = None
        super().close()

    def _warm(self) -> ReadingProcess:
        if self._worker is None:
            with suppress(IndexError):  # none is left
                self._worker = _IDLE.get(self.limits, []).pop()
        return super()._warm()


def share() -> None:
    """Let libraries that are opened from now on read with shared processes; who has imported `Sandbox` has its own."""
    sandbox.Sandbox = WarmSandbox  # type: ignore[misc]


def end() -> None:
    """End the processes that no library has."""
    for idle in _IDLE.values():
        while idle:
            idle.pop().end()
