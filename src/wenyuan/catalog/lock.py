"""One writer per library: a lock file that names its owner and is let go by the system when that dies."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wenyuan.core.errors import CatalogBusy, CatalogUnavailable

__all__ = ["WriterLock"]


class WriterLock:
    """Mutual exclusion between processes (flock) and between this process's threads (an RLock)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.RLock()
        self._depth = 0
        self._file: int | None = None

    @contextmanager
    def held(self, *, wait: float = 10.0) -> Iterator[None]:
        """Hold the lock; waits up to `wait` seconds.

        Raises:
            CatalogBusy: somebody else holds it; the message names the process.
        """
        if not self._threads.acquire(timeout=wait):
            raise CatalogBusy("another thread of this process is writing", component="catalog")
        try:
            if self._depth == 0:
                self._file = self._take(wait)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0 and self._file is not None:
                    os.close(self._file)  # closing lets go of the lock
                    self._file = None
        finally:
            self._threads.release()

    def _take(self, wait: float) -> int:
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise CatalogUnavailable(
                f"cannot open the lock file {self._path}: {error.strerror}", component="catalog"
            ) from error
        until = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() < until:
                    time.sleep(0.01)
                    continue
                owner = os.pread(handle, 200, 0).decode("utf-8", "replace").strip() or "an unknown process"
                os.close(handle)
                raise CatalogBusy(
                    f"the library is being written by {owner}",
                    component="catalog",
                    hint="wait until it has finished, or stop that process",
                ) from error
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"process {os.getpid()}".encode(), 0)
            return handle
