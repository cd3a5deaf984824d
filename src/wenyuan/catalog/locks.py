"""Locks of a library.

In a folder they are lock files, which name their owner and which the system releases when the owner dies:
``commit.lock`` is held for one transaction, ``writer.lock`` by who takes a source in or writes the index, for as long
as that lasts. `catalog.postgres` has those of a library on PostgreSQL.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wenyuan.core.errors import CatalogBusy, CatalogUnavailable, msg
from wenyuan.runtime.regular import open_regular


class Lock(ABC):
    """Mutual exclusion between processes (`_take`, by subclass) and between this process's threads (an RLock)."""

    def __init__(self) -> None:
        self._threads = threading.RLock()
        self._depth = 0

    @contextmanager
    def held(self, *, wait: float = 10.0) -> Iterator[None]:
        """Hold the lock; waits up to `wait` seconds.

        Raises:
            CatalogBusy: another process or thread holds it; the message names the process.
        """
        until = time.monotonic() + wait
        if not self._threads.acquire(timeout=wait):
            raise CatalogBusy("another thread of this process is writing", component="catalog")
        try:
            if self._depth == 0:
                self._take(until)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
        finally:
            if self._depth == 0:  # also when a signal interrupted the acquisition
                self._let_go()
            self._threads.release()

    @abstractmethod
    def _take(self, until: float) -> None:
        """Acquire the lock against other processes; CatalogBusy when it is not free by `until` (`time.monotonic`)."""

    @abstractmethod
    def _let_go(self) -> None:
        """Release the lock, whether it was fully acquired or not."""


def being_written(owner: str) -> CatalogBusy:
    """The error for a lock that `owner` holds."""
    return CatalogBusy(
        msg("the library is being written by {owner}", owner=owner or "an unknown process"),
        component="catalog",
        hint="wait until it has finished, or stop that process",
    )


class WriterLock(Lock):
    """A lock of a library in a folder: a lock file (flock)."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file: int | None = None

    def _take(self, until: float) -> None:
        handle = self._open()
        try:
            self._wait_for(handle, until)
            while not self._has_the_name(handle):  # somebody removed it meanwhile, and others hold a new one
                self._let_go()
                handle = self._open()
                self._wait_for(handle, until)
            os.ftruncate(handle, 0)
            os.pwrite(handle, msg("process {pid}", pid=os.getpid()).encode(), 0)
        except OSError as error:
            raise self._unavailable("take", error) from error

    def _open(self) -> int:
        try:
            self._file = open_regular(self._path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise self._unavailable("open", error) from error
        return self._file

    def _has_the_name(self, handle: int) -> bool:
        try:
            return os.path.samestat(os.fstat(handle), self._path.stat())
        except FileNotFoundError:
            return False

    def _let_go(self) -> None:
        handle, self._file = self._file, None
        if handle is not None:
            os.close(handle)  # closing releases the lock

    def _wait_for(self, handle: int, until: float) -> None:
        while True:
            try:
                return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() >= until:
                    raise being_written(os.pread(handle, 200, 0).decode("utf-8", "replace").strip()) from error
                time.sleep(0.01)

    def _unavailable(self, doing: str, error: OSError) -> CatalogUnavailable:
        return CatalogUnavailable(
            msg(
                "cannot {doing} the lock file {path}: {error}",
                doing=doing,
                path=self._path,
                error=error.strerror,
            ),
            component="catalog",
            hint="check that this user may write to the library's folder: ls -la",
        )
