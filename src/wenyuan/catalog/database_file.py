"""Whether a database file is still the one that was opened.

A removed, replaced or overwritten file is still read from what the process has open, and nothing that is written to
it is kept.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from wenyuan.catalog.sql import told_by_file
from wenyuan.core.errors import CatalogError, CatalogUnavailable, msg
from wenyuan.runtime.regular import open_regular

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
            with os.fdopen(open_regular(self._path), "rb") as file:
                if file.read(len(_MAGIC)) != _MAGIC:
                    return "was written over"
            ids = frozenset(map(str, told_by_file(self._path, self._names)))
        except (OSError, CatalogError):  # a checkpoint is running, or the file is still empty
            return ""
        if self._ids and ids and not self._ids & ids:
            return msg("was written over by that of another library ({ids})", ids=", ".join(sorted(ids)))
        self._ids = ids or self._ids
        return ""
