"""Until when what this thread does must be done, for what is called without being told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from wenyuan.core.ports import Deadline

__all__ = ["patient", "time_left", "until"]

_deadline: ContextVar[Deadline | None] = ContextVar("wenyuan_deadline", default=None)


@contextmanager
def until(deadline: Deadline) -> Iterator[None]:
    """Within it, whatever this thread does on a timed connection ends at the deadline, however the other side behaves."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


@contextmanager
def patient() -> Iterator[None]:
    """Within it no deadline of this thread counts: for what is done once for all, and would never be done in time."""
    token = _deadline.set(None)
    try:
        yield
    finally:
        _deadline.reset(token)


def time_left() -> float | None:
    """Seconds until the deadline of this thread, 0 when it has passed; None where there is none."""
    deadline = _deadline.get()
    return None if deadline is None else deadline.remaining()
