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
        until = time.monotonic() + wait
        if not self._threads.acquire(timeout=wait):
            raise CatalogBusy("another thread of this process is writing", component="catalog")
        try:
            if self._depth == 0:
                self._file = self._take(until)
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

    def _take(self, until: float) -> int:
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unavailable("open", error) from error
        try:
            self._wait_for(handle, until)
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"process {os.getpid()}".encode(), 0)
        except OSError as error:
            os.close(handle)
            raise self._unavailable("take", error) from error
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _wait_for(self, handle: int, until: float) -> None:
        while True:
            try:
                return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() >= until:
                    owner = os.pread(handle, 200, 0).decode("utf-8", "replace").strip() or "an unknown process"
                    raise CatalogBusy(
                        f"the library is being written by {owner}",
                        component="catalog",
                        hint="wait until it has finished, or stop that process",
                    ) from error
                time.sleep(0.01)

    def _unavailable(self, doing: str, error: OSError) -> CatalogUnavailable:
        return CatalogUnavailable(
            f"cannot {doing} the lock file {self._path}: {error.strerror}",
            component="catalog",
            hint="check that this user may write to the library's folder: ls -la",
        )
