"""Packs of Git objects from strangers: what they unpack to is counted before a library reads them (gitformat-pack)."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import BinaryIO

from wenyuan.core.connectors import MOST_BYTES
from wenyuan.core.errors import DocumentRejected, msg

MOST_RATIO = 100
"""How many times its packed size an object of more than `MOST_BYTES` may unpack to."""
MOST_DEPTH = 4_095
"""Deltas upon one another, which is as many as Git itself writes."""
MOST_DELTA = 20_000_000
"""Bytes of one delta."""
_HEADER, _CHUNK, _PIECE = 12, 4_096, 65_536
_OFS_DELTA, _REF_DELTA = 6, 7
_SHA = 20


def check_pack(file: BinaryIO, *, objects: int, largest: int, total: int, check: Callable[[], None]) -> None:
    """Refuse a pack that unpacks to too much; nothing of it is kept in memory but one delta at a time.

    Args:
        file: The pack, from its beginning.
        objects: How many objects it may have.
        largest: Bytes of one object, as it is when its deltas are applied.
        total: Bytes of all of them.
        check: Called for every object and piece of one; raises where the time is over.

    Raises:
        DocumentRejected: it has more than that, or is no pack.
    """
    try:
        _Pack(file, objects, largest, total, check).walk()
    except (zlib.error, IndexError) as error:
        raise DocumentRejected("the repository's answer is no sound pack") from error


class _Pack:
    def __init__(
        self,
        file: BinaryIO,
        objects: int,
        largest: int,
        total: int,
        check: Callable[[], None],
    ) -> None:
        self._file, self._check = file, check
        self._objects, self._largest, self._left = objects, largest, total
        self._depths: dict[int, int] = {}  # of deltas, by the place where each begins
        self._buffer, self._next, self._at = b"", 0, 0

    def walk(self) -> None:
        head = bytes(self._byte() for _ in range(_HEADER))
        if head[:4] != b"PACK":
            raise zlib.error("no pack")
        count = int.from_bytes(head[8:], "big")
        if count > self._objects:
            self._refuse(msg("the newest commit has more than {count} objects", count=f"{self._objects:,}"))
        for _ in range(count):
            self._check()
            self._object()

    def _object(self) -> None:
        begun = self._at
        byte = self._byte()
        kind, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & 0x80:
            byte = self._byte()
            size |= (byte & 0x7F) << shift
            shift += 7
        self._count(size)
        if kind == _OFS_DELTA:
            byte = self._byte()
            back = byte & 0x7F
            while byte & 0x80:
                byte = self._byte()
                back = (back + 1 << 7) | (byte & 0x7F)
            self._depths[begun] = depth = self._depths.get(begun - back, 0) + 1
            if depth > MOST_DEPTH:
                self._refuse(msg("an object is made of more than {count} others", count=f"{MOST_DEPTH:,}"))
        elif kind == _REF_DELTA:
            for _ in range(_SHA):
                self._byte()
        self._body(size, delta=kind in (_OFS_DELTA, _REF_DELTA))

    def _body(self, size: int, *, delta: bool) -> None:
        """Unpack an object piece by piece, each let go at once unless it is a delta."""
        if delta and size > MOST_DELTA:
            self._refuse(msg("an object has more than {most} bytes", most=f"{MOST_DELTA:,}"))
        begun, unpacked, kept = self._at, 0, bytearray()
        inflating = zlib.decompressobj()
        while not inflating.eof:
            self._check()
            packed = inflating.unconsumed_tail or self._take()
            piece = inflating.decompress(packed, _PIECE)
            self._give_back(inflating.unused_data)
            unpacked += len(piece)
            if unpacked > size:
                raise zlib.error("larger than declared")
            if delta:
                kept += piece
        if unpacked != size:
            raise zlib.error("smaller than declared")
        result = self._result(bytes(kept)) if delta else size
        if not delta and size > MOST_BYTES and size > MOST_RATIO * (self._at - begun):
            self._refuse(msg("an object unpacks to more than {most} times its size", most=MOST_RATIO))
        if delta:
            self._count(result)

    def _result(self, delta: bytes) -> int:
        """The size that a delta's copies and insertions really come to, which must be the one that it declares."""
        _, at = _varint(delta, 0)
        declared, at = _varint(delta, at)
        made = 0
        while at < len(delta):
            code = delta[at]
            at += 1
            if code & 0x80:
                at += (code & 0x0F).bit_count()
                size = 0
                for place in range(3):
                    if code & 0x10 << place:
                        size |= delta[at] << 8 * place
                        at += 1
                made += size or 0x10000
            else:
                made += code
                at += code
            if made > declared:
                raise zlib.error("a delta makes more than it declares")
        return declared

    def _count(self, size: int) -> None:
        self._left -= size
        if size > self._largest:
            self._refuse(msg("an object has more than {most} bytes", most=f"{self._largest:,}"))
        if self._left < 0:
            self._refuse("the newest commit unpacks to too much (settings.max_mb)")

    def _refuse(self, told: str) -> None:
        raise DocumentRejected(told)

    # -- bytes -------------------------------------------------------------------------------------------

    def _byte(self) -> int:
        if self._next >= len(self._buffer):
            self._buffer, self._next = self._file.read(_CHUNK), 0
        byte = self._buffer[self._next]
        self._next += 1
        self._at += 1
        return byte

    def _take(self) -> bytes:
        taken = self._buffer[self._next :] or self._file.read(_CHUNK)
        self._buffer, self._next = b"", 0
        if not taken:
            raise zlib.error("the pack ends too early")
        self._at += len(taken)
        return taken

    def _give_back(self, unused: bytes) -> None:
        if unused:
            self._buffer, self._next = unused, 0
            self._at -= len(unused)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
