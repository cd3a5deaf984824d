"""A process that has no file handle or memory left: how that is recognised, and said in its log once a minute."""

from __future__ import annotations

import errno
import logging
import threading
import time

log = logging.getLogger(__name__)

_SHORT = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
_EVERY = 60.0  # seconds between two lines of the log


class Rarely:
    """Lets one of many equal lines of a log through each minute, with how many there were. Safe between threads."""

    def __init__(self, every: float = _EVERY) -> None:
        self._every = every
        self._lock = threading.Lock()
        self._next = 0.0
        self._count = 0

    def count(self) -> int:
        """How many there were since the last line, this one among them; 0 where no line is due."""
        with self._lock:
            self._count += 1
            if time.monotonic() < self._next:
                return 0
            self._next = time.monotonic() + self._every
            found, self._count = self._count, 0
            return found


_TOLD = Rarely()


def is_shortage(error: BaseException) -> bool:
    """Whether an error, or what caused it, says that the process or the system has no handle or memory left."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MemoryError) or (isinstance(seen, OSError) and seen.errno in _SHORT):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def tell_shortage() -> None:
    """Log that something failed for it: at most one line each minute, with how often it was."""
    if count := _TOLD.count():
        log.error("no file handle is left (ulimit -n): %d refused", count)
