"""That the disk holds what was written, before anything rests on it."""

from __future__ import annotations

import os
from pathlib import Path


def flush(path: Path) -> None:
    """Have the disk hold a file, or the names in a folder; OSError where it cannot."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
