"""Files of the local index: verified when opened, and read safely while other processes may truncate them."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from wenyuan.core.errors import IndexCorrupt
from wenyuan.core.messages import msg

# Open files, and whether a file is still the one that was read, as far as that shows without reading it again.


Signature: TypeAlias = tuple[int, int, int, int]
"""Inode, bytes, and when content and description were last changed, in ns. A device may have another number tomorrow."""


def signature(path: Path) -> Signature | None:
    """Identity of a file (inode, size, times); None if it does not exist."""
    try:
        return _of(path.stat())
    except OSError:
        return None


class OpenFile:
    """A file descriptor that is closed when nothing refers to it any more.

    Attributes:
        handle: Its number.
    """

    def __init__(self, handle: int) -> None:
        self.handle = handle
        weakref.finalize(self, os.close, handle)

    def signature(self) -> Signature:
        return _of(os.fstat(self.handle))


def _of(found: os.stat_result) -> Signature:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


# An array that grows at its end while readers hold slices of it.


Array = np.ndarray[Any, Any]


class GrowableArray:
    """An append-only array: slices taken earlier stay valid.

    Attributes:
        view: What it holds now.
    """

    def __init__(self, values: Array) -> None:
        self._buffer = self.view = values

    def extend(self, values: Array) -> None:
        size = len(self.view)
        need = size + len(values)
        if need > len(self._buffer):
            shape = (max(need, 2 * len(self._buffer), 1024), *self._buffer.shape[1:])
            grown = np.empty(shape, dtype=self._buffer.dtype)
            grown[:size] = self.view
            self._buffer = grown
        self._buffer[size:need] = values
        self.view = self._buffer[:need]

    def frozen(self, size: int) -> GrowableArray:
        """The first `size` rows; later `extend` calls do not change them."""
        return GrowableArray(self._buffer[:size])


# float32 rows in a file that somebody may cut off while they are read: then that is an error, and the process lives.
#
# Few rows are read into memory. Many are mapped, so that processes share them, and read through the kernel
# (``process_vm_readv`` of this process itself): a page that is gone is a short count there, where reading it directly ends
# the process by SIGBUS. Where a system forbids that call, rows are read from the file one by one, which takes thrice as long.


_COMPONENT = "engine local/vector"
_IN_MEMORY = 16_000_000  # bytes: below, a copy costs no more memory than the pages of the file would take
_AT_ONCE = 1_024  # pieces in one call (IOV_MAX)
BLOCK = 8_192  # rows

_libc = ctypes.CDLL(None, use_errno=True)
_readv = getattr(_libc, "process_vm_readv", None)
if _readv is not None:
    _readv.argtypes = [ctypes.c_int, *[ctypes.c_void_p, ctypes.c_ulong] * 2, ctypes.c_ulong]
    _readv.restype = ctypes.c_ssize_t


class StoredRows:
    """The first `count` rows of a file, (count, dimension) float32, little endian.

    Attributes:
        count: How many rows there are.
        signature: Of the file as it was when it was opened.

    Raises:
        ValueError, OSError: on construction, when it is shorter, or cannot be read.
    """

    def __init__(self, path: Path | None, count: int, dimension: int) -> None:
        self.name = ""
        self.signature: Signature | None = None
        self.count, self._dimension = count, dimension
        self._width = 4 * dimension
        self._held: Array | None = np.empty((0, dimension), dtype=np.float32)
        if path is not None:
            self._open(path)

    def _open(self, path: Path) -> None:
        self.name = path.name
        self._file = OpenFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        self.signature = self._file.signature()
        if os.fstat(self._file.handle).st_size < self.count * self._width:
            raise ValueError(f"{path.name} is shorter than {self.count} rows")
        if self.count * self._width <= _IN_MEMORY:
            self._held = self._read(0, np.empty((self.count, self._dimension), dtype="<f4"))
            del self._file
        else:
            self._held = None
            size = self.count * self._width
            mapped = mmap.mmap(self._file.handle, size, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
            self._mapped = np.frombuffer(mapped, dtype="<f4").reshape(self.count, self._dimension)

    def take(self, numbers: Array) -> Array:
        """Rows by number, (k,) int64 → (k, dimension) float32; IndexCorrupt if the file no longer has them."""
        if self._held is not None:
            return self._held.take(numbers, axis=0)
        out = np.empty((len(numbers), self._dimension), dtype=np.float32)
        pieces = np.empty((len(numbers), 2), dtype=np.uint64)  # where each begins, and its bytes
        pieces[:, 0], pieces[:, 1] = numbers * self._width + self._mapped.ctypes.data, self._width
        for at in range(0, len(numbers), _AT_ONCE):
            part = slice(at, at + _AT_ONCE)
            if not _copied(pieces[part], out[part]):
                self._read_each(numbers[part], out[part])
        return out

    def span(self, first: int, end: int) -> Array:
        """Rows `first` to `end`, exclusive."""
        if self._held is not None:
            return self._held[first:end]
        return self._read(first, np.empty((end - first, self._dimension), dtype=np.float32))

    def blocks(self) -> Iterator[Array]:
        """All rows, in blocks of some thousands."""
        for at in range(0, self.count, BLOCK):
            yield self.span(at, min(self.count, at + BLOCK))

    def intact(self, crcs: Array) -> bool:
        """Mask of the rows whose checksum is right, (n,); checksum 0 means no checksum."""
        at = 0
        try:
            for block in self.blocks():
                found = [zlib.crc32(row) for row in block]
                if ((crcs[at : at + len(block)] != found) & (crcs[at : at + len(block)] != 0)).any():
                    return False
                at += len(block)
        except IndexCorrupt:
            return False
        return True

    def _read_each(self, numbers: Array, out: Array) -> None:
        for number, row in zip(numbers.tolist(), out, strict=True):
            self._read(number, row)

    def _read(self, first: int, out: Array) -> Array:
        """Fill `out` from row `first` on."""
        room, at = out.reshape(-1).view(np.uint8).data, 0
        while at < len(room):
            got = os.preadv(self._file.handle, [room[at:]], first * self._width + at)
            if not got:
                raise IndexCorrupt(msg("{name} was cut off while it was read", name=self.name), component=_COMPONENT)
            at += got
        return out


def _copied(pieces: Array, out: Array) -> bool:
    """Whether the kernel copied these adjacent pieces of memory."""
    room = np.array([out.ctypes.data, out.nbytes], dtype=np.uint64)
    if _readv is None:
        return False
    got = _readv(os.getpid(), room.ctypes.data, 1, pieces.ctypes.data, len(pieces), 0)
    return bool(got == out.nbytes)
