"""Which process is this, and has another one of this machine ended? A number alone would not tell: it is given again."""

from __future__ import annotations

import os
import socket
from pathlib import Path

_PROC = Path("/proc")


def own_name(number: int) -> str:
    """A unique name for this process, from host, process id and start time, and `number`."""
    return f"{socket.gethostname()}-{os.getpid()}-{_start_time(os.getpid())}.{_numbering()}-{number:x}"


def has_ended(name: str) -> bool:
    """Whether a name made by `own_name` belongs to a process of this machine that has ended; False where unknown."""
    host, *rest = name.rsplit("-", 3)
    if len(rest) != 3 or host != socket.gethostname() or not rest[0].isdecimal():
        return False
    begun, _, numbering = rest[1].partition(".")
    # In another container of this host the same number is another process, and cannot be seen.
    return bool(begun) and numbering == _numbering() and _start_time(int(rest[0])) != begun


def _start_time(pid: int) -> str:
    """Start time of a process in system ticks; ``""`` where unknown, ``gone`` when there is no such process."""
    if not _PROC.joinpath("self/stat").exists():
        return ""
    try:
        told = _PROC.joinpath(str(pid), "stat").read_text("utf-8", "replace")
    except OSError:
        return "gone"
    state, *fields = told.rpartition(")")[2].split()  # its name stands in brackets, and may hold anything
    return "gone" if state in "ZX" else fields[18]


def _numbering() -> str:
    """Identifies the process id namespace: each container has its own."""
    try:
        return str(_PROC.joinpath("self/ns/pid").stat().st_ino)
    except OSError:
        return "0"
