"""Tests that run as root give up root's rights here, to meet what other users meet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def nobody() -> Iterator[None]:
    """Without the superuser's right to read and write everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
