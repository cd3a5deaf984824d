"""Packs of Git objects, made byte by byte (gitformat-pack)."""

from __future__ import annotations

import hashlib
import io
import zlib

BLOB, OFS_DELTA = 3, 6


def head(kind: int, size: int) -> bytes:
    byte, size = kind << 4 | size & 15, size >> 4
    written = bytearray()
    while size:
        written.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    return bytes([*written, byte])


def varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def back(distance: int) -> bytes:
    written = [distance & 0x7F]
    while distance := distance >> 7:
        distance -= 1
        written.append(0x80 | distance & 0x7F)
    return bytes(reversed(written))


def pack(*objects: bytes, count: int | None = None) -> io.BytesIO:
    told = len(objects) if count is None else count
    body = b"PACK" + (2).to_bytes(4, "big") + told.to_bytes(4, "big") + b"".join(objects)
    return io.BytesIO(body + hashlib.sha1(body, usedforsecurity=False).digest())


def blob(content: bytes, *, size: int | None = None) -> bytes:
    return head(BLOB, len(content) if size is None else size) + zlib.compress(content)


def delta(distance: int, base: int, result: int, orders: bytes) -> bytes:
    content = varint(base) + varint(result) + orders
    return head(OFS_DELTA, len(content)) + back(distance) + zlib.compress(content)
