"""Is there a file or folder, or can that not be seen? The same answer on every Python.

Since Python 3.14 ``Path.exists``, ``is_file`` and ``is_dir`` say False where the system refuses to tell. A folder that this
user may not search would look as if nothing were in it: a library as if it were not there, documents as if they were removed.
"""

from __future__ import annotations

import errno
import stat
from pathlib import Path


def exists(path: Path) -> bool:
    """Whether a path exists, following links. OSError where that cannot be determined."""
    return _mode(path) is not None


def is_file(path: Path) -> bool:
    """Whether a path is a regular file, following links; False where it does not exist. OSError as in `exists`."""
    mode = _mode(path)
    return mode is not None and stat.S_ISREG(mode)


def is_dir(path: Path) -> bool:
    """Whether a path is a folder, following links; False where it does not exist. OSError as in `exists`."""
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def _mode(path: Path) -> int | None:
    """The file mode of a path; None where it does not exist, is a broken link, or leads through a file."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link to itself leads to nothing
            return None
        raise
