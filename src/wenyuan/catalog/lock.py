"""The writer lock of a library, and the check that the database file is still the one that was opened."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wenyuan.catalog.sql import told_by_file
from wenyuan.core.errors import CatalogBusy, CatalogError, CatalogUnavailable
from wenyuan.core.messages import msg

# One writer per library. In a folder that is a lock file, which names its owner and which the system releases when
# the owner dies; `catalog.postgres` has the lock of a library on PostgreSQL.


class Lock(ABC):
    """Mutual exclusion between processes (`_take`, by subclass) and between this process's threads (an RLock)."""

    def __init__(self) -> None:
        self._threads = threading.RLock()
        self._depth = 0

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
    """The writer lock of a library in a folder: a lock file (flock)."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file: int | None = None

    def _take(self, until: float) -> None:
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unavailable("open", error) from error
        self._file = handle
        try:
            self._wait_for(handle, until)
            os.ftruncate(handle, 0)
            os.pwrite(handle, msg("process {pid}", pid=os.getpid()).encode(), 0)
        except OSError as error:
            raise self._unavailable("take", error) from error

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


# Whether a database file is still the one that was opened: what is removed, replaced or written over goes on to be read
# from what the process has open, and nothing that is written to it is kept.


_EVERY = 0.5  # seconds between two checks
_MAGIC = b"SQLite format 3\0"


class Present:
    """Checks that a database file of a library in a folder is still the same. Safe to share between threads.

    Args:
        names: A statement that gives the ids of the library that the file is of, the one it goes by now among them.
        component: What is said to have failed.
    """

    def __init__(self, path: Path, names: str, component: str) -> None:
        self._path, self._names, self._component = path, names, component
        self._lock = threading.Lock()
        self._look_at = 0.0
        self._file: tuple[int, int] | None = None
        self._content: tuple[int, int] | None = None
        self._ids: frozenset[str] = frozenset()
        self._trouble = ""

    def check(self, *, now: bool = False) -> None:
        """Check that the file exists and belongs to the library; at most twice a second, unless `now`.

        Raises:
            CatalogUnavailable: it was removed, replaced or written over since the first look.
        """
        with self._lock:
            if now or time.monotonic() >= self._look_at:
                self._trouble = self._looked()
                self._look_at = time.monotonic() + _EVERY
            trouble = self._trouble
        if trouble:
            raise CatalogUnavailable(
                msg("{name} {trouble} while the library is open", name=self._path.name, trouble=trouble),
                component=self._component,
                hint=msg(
                    "put it back, or restore a backup, then start again what has it open: {path}", path=self._path
                ),
            )

    def _looked(self) -> str:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return "was removed" if self._file else ""
        except OSError as error:
            return f"cannot be seen ({error.strerror})"
        file, content = (found.st_dev, found.st_ino), (found.st_size, found.st_mtime_ns)
        if self._file not in (None, file):
            return "was replaced by another file"
        if content == self._content and not self._trouble:
            return ""
        if self._file and not found.st_size:
            return "was emptied"
        trouble = self._read() if found.st_size else ""
        self._file, self._content = file, content
        return trouble

    def _read(self) -> str:
        """Why the file's content, without its write-ahead log, is not the library's; ``""`` when it is."""
        try:
            with self._path.open("rb") as file:
                if file.read(len(_MAGIC)) != _MAGIC:
                    return "was written over"
            ids = frozenset(map(str, told_by_file(self._path, self._names)))
        except (OSError, CatalogError):  # a checkpoint is running, or the file is still empty
            return ""
        if self._ids and ids and not self._ids & ids:
            return msg("was written over by that of another library ({ids})", ids=", ".join(sorted(ids)))
        self._ids = ids or self._ids
        return ""
