"""Reading files that must be regular ones: a device is read without end, and opening a pipe waits for who writes to it."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MOST = 1 << 32
"""Bytes that are read of a file at most, unless the caller says less."""


class IrregularFile(OSError):
    """A folder, a device, a pipe or a socket stands where a regular file is needed."""


def open_regular(path: str | Path, flags: int = os.O_RDONLY) -> int:
    """A handle to a regular file, following links; the caller closes it.

    Args:
        path: of the file.
        flags: as of `os.open`; a file that is made by `O_CREAT` can be read by its owner alone.

    Raises:
        IrregularFile: it is a folder (EISDIR), or a device, a pipe or a socket (EINVAL).
        OSError: it cannot be opened.
    """
    try:
        handle = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY, 0o600)
    except OSError as error:
        if error.errno in (errno.EISDIR, errno.ENXIO):  # a folder to write to; a socket, or a pipe that none reads
            raise _irregular(path, error.errno == errno.EISDIR) from error
        raise
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise _irregular(path, stat.S_ISDIR(mode))
    return handle


def _irregular(path: str | Path, folder: bool) -> IrregularFile:
    if folder:
        return IrregularFile(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return IrregularFile(errno.EINVAL, "it is not a regular file", str(path))


def read_regular(path: str | Path, most: int = MOST) -> bytes:
    """The content of a regular file.

    Raises:
        IrregularFile: as `open_regular`.
        OSError: it cannot be read, or is larger than `most` bytes (EFBIG).
    """
    with os.fdopen(open_regular(path), "rb") as file:
        # To ask for `most` bytes would take a buffer of that size first.
        content = file.read() if os.fstat(file.fileno()).st_size <= most else None
    if content is None or len(content) > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return content
