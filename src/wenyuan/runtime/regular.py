"""Reading files that must be regular ones: a device is read without end, and opening a pipe waits for who writes to it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST = 1 << 32
"""Bytes that are read of a file at most, unless the caller says less."""


def open_regular(path: Path) -> int:
    """A handle to read a regular file, following links; the caller closes it.

    Raises:
        OSError: it cannot be opened, or is a folder, a device, a pipe or a socket (EINVAL).
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return handle


def read_regular(path: Path, most: int = MOST) -> bytes:
    """The content of a regular file.

    Raises:
        OSError: as `open_regular`, or it is larger than `most` bytes (EFBIG).
    """
    with os.fdopen(open_regular(path), "rb") as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
        return file.read(most)
