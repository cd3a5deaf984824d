"""The file that stores the head of the audit's chain, beside the database."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from wenyuan.catalog.audit.chain import GENESIS, Head
from wenyuan.core.errors import CatalogUnavailable, InvalidRequest, msg
from wenyuan.runtime.presence import exists
from wenyuan.runtime.regular import open_regular, read_regular


class HeadFile:
    """``audit.head``: one line, rewritten in place after every commit, so it is never ahead of the database."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Head | None:
        """The stored head, or None without a file; CatalogUnavailable when the file cannot be parsed."""
        try:
            with os.fdopen(open_regular(self.path), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)
                text = file.read(200).decode("ascii", "replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(str(error.strerror)) from error
        return self._parsed(text) if text else None

    def create(self, head: Head = GENESIS) -> None:
        """Create the file for a new or newly joined chain; an existing file with a later head is kept."""
        self._write(lambda written: not written or self._parsed(written).seq < head.seq, head)

    def advance(self, head: Head) -> None:
        """Write a head and sync it to disk, unless another process has already written a later one.

        A missing or empty file is not created again: whoever deleted it may have cut off the chain's end, and a new
        file would hide that.
        """
        try:
            there = exists(self.path)
        except OSError as error:
            raise self._unreadable(str(error.strerror)) from error
        if there:
            self._write(lambda written: bool(written) and self._parsed(written).seq < head.seq, head)

    def replace(self, head: Head) -> None:
        """Write a head whatever the file says; called only on an operator's order, which is recorded."""
        self._write(lambda written: True, head)

    def text(self) -> str:
        """The file's raw content, whether it can be parsed or not; ``""`` without a file."""
        try:
            return read_regular(self.path)[:200].decode("ascii", "replace").strip()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise self._unreadable(str(error.strerror)) from error

    def _write(self, wanted: Callable[[str], bool], head: Head) -> None:
        try:
            handle = open_regular(self.path, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                written = os.pread(handle, 200, 0).decode("ascii", "replace")
                if wanted(written):
                    line = f"{head.seq:019d}:{head.hash}\n".encode()  # of one length: a rewrite needs no new space
                    os.pwrite(handle, line, 0)
                    os.ftruncate(handle, len(line))
                    os.fsync(handle)
            finally:
                os.close(handle)  # closing releases the lock
            if not written:
                self._sync_folder()
        except OSError as error:
            raise CatalogUnavailable(
                msg("cannot write {path}: {strerror}", path=self.path, strerror=error.strerror),
                component="audit",
                hint="check that there is room on the disk, and that this user may write to the library's folder",
            ) from error

    def _sync_folder(self) -> None:
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _parsed(self, text: str) -> Head:
        try:
            return Head.parse(text)
        except InvalidRequest as error:
            raise self._unreadable(error.message) from error

    def _unreadable(self, why: str) -> CatalogUnavailable:
        return CatalogUnavailable(
            msg("{path} cannot be read: {why}", path=self.path, why=why),
            component="audit",
            hint="verify the audit against a head that was exported, then: wenyuan audit verify --renew-head",
        )
