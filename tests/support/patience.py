"""Bounds by the clock that a busy machine keeps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

HANGS = 60.0
"""Seconds that what hangs in a test hangs, unless the test lets it go: many times the bound."""


@contextmanager
def in_time(at_least: float = 0.0, *, most: float = 15.0) -> Iterator[None]:
    """What is done within takes at least and at most so many seconds.

    A deadline of tenths of a second is kept far within the bound even where other programs use all cores; what ignores
    its deadline waits for something that hangs for `HANGS` seconds, and goes beyond.
    """
    begun = time.monotonic()
    yield
    took = time.monotonic() - begun
    assert at_least <= took < most, f"it took {took:.2f} s"
