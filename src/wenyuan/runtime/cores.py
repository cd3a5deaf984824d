"""How much can be computed at once."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Number of cores this process may use: its CPU affinity where available, else all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
