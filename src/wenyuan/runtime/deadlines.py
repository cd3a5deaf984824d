"""Deadlines of work."""

from __future__ import annotations

import time

from wenyuan.core.ports import Deadline


def deadline_after(seconds: float) -> Deadline:
    """A deadline `seconds` from now, on this process's monotonic clock."""
    return Deadline(time.monotonic() + seconds, time.monotonic)
