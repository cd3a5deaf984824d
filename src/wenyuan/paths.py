"""Is there a file or folder, or can that not be seen? The same answer on every Python.

Since Python 3.14 ``Path.exists``, ``is_file`` and ``is_dir`` say False where the system refuses to tell. A folder that this
user may not search would look as if nothing were in it: a library as if it were not there, documents as if they were removed.
"""

from __future__ import annotations

import errno
import stat
from pathlib import Path

__all__ = ["exists", "is_dir", "is_file"]


def exists(path: Path) -> bool:
    """Whether something is there; a link counts for what it leads to. OSError where that cannot be seen."""
    return _mode(path) is not None


def is_file(path: Path) -> bool:
    """Whether it is a regular file, or a link to one; False for what is not there. OSError as in `exists`."""
    mode = _mode(path)
    return mode is not None and stat.S_ISREG(mode)


def is_dir(path: Path) -> bool:
    """Whether it is a folder, or a link to one; False for what is not there. OSError as in `exists`."""
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def _mode(path: Path) -> int | None:
    """The mode of what is there; None for nothing, a link to nothing, or a path that leads through a file."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link to itself leads to nothing
            return None
        raise
