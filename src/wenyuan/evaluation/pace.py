"""The pace of a run, shown while it goes on."""

from __future__ import annotations

import time
from typing import TextIO

# How far a long run has come, on standard error: what is done, how fast, and how long it will take.


_ON_A_TERMINAL = 0.25  # seconds between two looks
_IN_A_LOG = 15.0


class Pace:
    """A progress line up to `total`: rewritten on a terminal, repeated now and then in a log."""

    def __init__(self, doing: str, total: int, unit: str, out: TextIO) -> None:
        self._doing, self._total, self._unit, self._out = doing, total, unit, out
        self._live = out.isatty()
        self._shown = self._begun = time.monotonic()
        self._first = 0
        self._done = 0

    def skip(self, done: int) -> None:
        """Count work done in an earlier run, which does not enter the rate."""
        self._begun, self._first, self._done = time.monotonic(), done, done

    def at(self, done: int) -> None:
        """Update the count."""
        self._done = done
        if time.monotonic() - self._shown >= (_ON_A_TERMINAL if self._live else _IN_A_LOG):
            self._show("\r" if self._live else "")

    def close(self) -> None:
        """Write the final line."""
        self._show("\r" if self._live else "")
        if self._live:
            self._out.write("\n")

    def _show(self, before: str) -> None:
        self._shown = time.monotonic()
        seconds, done = self._shown - self._begun, self._done - self._first
        line = f"{self._doing} {self._done}/{self._total} {self._unit}"
        if done > 0 and seconds > 0:
            line += f", {done / seconds:.1f}/s"
            left = (self._total - self._done) * seconds / done
            line += f", {_clock(left)} left" if left else f", {_clock(seconds)}"
        self._out.write(f"{before}{line:<78}" if self._live else f"{line}\n")
        self._out.flush()


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return (
        f"{whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02}"
        if whole >= 3600
        else f"{whole // 60}:{whole % 60:02}"
    )
