"""Files that are open, and whether a file is still the one that was read, as far as that is told without reading it again."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import TypeAlias

__all__ = ["OpenFile", "Signature", "signature"]

Signature: TypeAlias = tuple[int, int, int, int]
"""Inode, bytes, and when content and description were last changed, in ns. A device may have another number tomorrow."""


def signature(path: Path) -> Signature | None:
    """None where there is no such file."""
    try:
        return _of(path.stat())
    except OSError:
        return None


class OpenFile:
    """A file that is closed once nothing refers to it.

    Attributes:
        handle: Its number.
    """

    def __init__(self, handle: int) -> None:
        self.handle = handle
        weakref.finalize(self, os.close, handle)

    def signature(self) -> Signature:
        return _of(os.fstat(self.handle))


def _of(found: os.stat_result) -> Signature:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
