"""Archives of strangers, looked into by the reading process: what stands in a ZIP or tar file, and one member of it.

Each function is called with no content and the path of an archive on this machine; it writes nothing.
"""

from __future__ import annotations

import base64
import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.runtime.regular import IrregularFile, open_regular

_END, _END_64, _LOCATOR_64 = b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_COMMENT = 65_535
_INDEX_BYTES = 200
"""Bytes of a ZIP's index for each member that it may have, names and comments included."""


def members_of(_content: bytes, *, archive: str, kind: str, most: int) -> dict[str, Any]:
    """The regular files in an archive.

    Args:
        kind: ``zip`` or ``tar``; a tar file may be compressed.
        most: How many members are looked at, folders included.

    Returns:
        ``members``: name, version, size of each; ``cut``: whether there are more.
    """
    found: dict[str, tuple[str, str, int]] = {}
    with _file(archive) as file:
        for count, (name, version, size) in enumerate(_member_list(file, kind, most)):
            if count >= most:
                return {"members": list(found.values()), "cut": True}
            if size >= 0:
                found[name] = (name, version, size)
    return {"members": list(found.values()), "cut": False}


def member_of(_content: bytes, *, archive: str, kind: str, name: str, most: int) -> str:
    """The bytes of a member in Base64, at most `most`."""
    with _file(archive) as file:
        content = (_from_zip if kind == "zip" else _from_tar)(file, name, most)
    if len(content) > most:
        raise DocumentRejected(msg("it is larger than {most} bytes", most=f"{most:,}"))
    return base64.b64encode(content).decode()


@contextmanager
def _file(archive: str) -> Iterator[BinaryIO]:
    """The open archive; what is wrong with it is said as a `DocumentRejected`."""
    try:
        with os.fdopen(open_regular(archive), "rb") as file:
            yield file
    except IrregularFile as error:
        raise DocumentRejected("it is not a regular file") from error
    except FileNotFoundError as error:
        raise DocumentRejected(msg("there is nothing at {url}", url=archive)) from error
    except PermissionError as error:
        raise DocumentRejected("reading it is not permitted") from error
    except (zipfile.BadZipFile, tarfile.TarError, struct.error, zlib.error, lzma.LZMAError, EOFError) as error:
        raise DocumentRejected("it is no sound archive") from error


def _member_list(file: BinaryIO, kind: str, most: int) -> Iterator[tuple[str, str, int]]:
    """Name, version and size of each member; size -1: a folder, link or device."""
    if kind == "tar":
        with tarfile.open(fileobj=file, mode="r:*") as tar:
            for one in tar:
                yield one.name.lstrip("/"), f"chksum {one.chksum}", one.size if one.isreg() else -1
        return
    _check_index(file, most)
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            yield info.filename.lstrip("/"), f"CRC {info.CRC}", -1 if info.is_dir() else info.file_size


def _from_zip(file: BinaryIO, name: str, most: int) -> bytes:
    with zipfile.ZipFile(file) as archive:
        names = {one.filename.lstrip("/"): one for one in archive.infolist()}
        if name not in names:
            raise DocumentRejected("it is no longer there")
        with archive.open(names[name]) as member:
            return member.read(most + 1)


def _from_tar(file: BinaryIO, name: str, most: int) -> bytes:
    with tarfile.open(fileobj=file, mode="r:*") as tar:
        last = None
        for one in tar:
            if one.name.lstrip("/") == name and one.isreg():
                last = one
        member = None if last is None else tar.extractfile(last)
        if member is None:
            raise DocumentRejected("it is no longer there")
        with member:
            return member.read(most + 1)


def _check_index(file: BinaryIO, most: int) -> None:
    """Refuse a ZIP by what it says of its index, before that is read (APPNOTE 4.3.14 and 4.3.16)."""
    size = file.seek(0, os.SEEK_END)
    tail_at = max(0, size - _COMMENT - 22 - 20)
    file.seek(tail_at)
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        raise DocumentRejected("it is no sound archive")
    count, length = struct.unpack_from("<HI", tail, at + 10)
    if at >= 20 and tail[at - 20 : at - 16] == _LOCATOR_64:
        (place,) = struct.unpack_from("<Q", tail, at - 12)
        file.seek(min(place, size))
        record = file.read(56)
        if len(record) < 56 or record[:4] != _END_64:
            raise DocumentRejected("it is no sound archive")
        count, length = struct.unpack_from("<QQ", record, 32)
    if length > _INDEX_BYTES * max(count, 1) + 1_000_000 or length > size:
        raise DocumentRejected("it is no sound archive")
    if count > most:
        raise DocumentRejected(msg("it has more than {count} members", count=f"{most:,}"))
    file.seek(0)
