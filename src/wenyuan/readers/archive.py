"""ZIP archives of documents: their files, with correctly decoded names."""

from __future__ import annotations

import io
import re
import zipfile
import zlib

from wenyuan.core.addresses import escaped_value, legible, with_part
from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.readers.assemble import rejected
from wenyuan.readers.contained_files import ContainedFile, Unpacked
from wenyuan.readers.container_check import CHUNK, check_count, check_ratio
from wenyuan.readers.containers import MAX_BYTES, left_out
from wenyuan.readers.selection import is_read, suffix_of

_UTF8 = 0x800
_ENCRYPTED = 0x1
_DRIVE = re.compile(r"^(?:[A-Za-z]:)?/+")


def unpack_zip(content: bytes, *, uri: str, name: str) -> Unpacked:
    """The files of an archive, each at ``<uri>?entry=<path>``; nothing is written to disk.

    Hidden files and what systems add (``__MACOSX``) are passed over; of kinds that are not read there is a note.

    Raises:
        DocumentRejected: it is no archive, or has too many entries.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise rejected(msg("the archive is damaged: {error}", error=error), name) from error
    entries = archive.infolist()
    check_count(entries, name)
    parts: dict[str, ContainedFile] = {}
    refused: list[tuple[str, str]] = []
    unread: list[str] = []
    total = 0
    for entry in entries:
        path = _path(entry)
        if entry.is_dir() or _is_hidden(path):
            continue
        if not is_read(path):
            unread.append(path)
            continue
        address = with_part(uri, f"entry={escaped_value(path)}")
        try:
            if ".." in path.split("/"):
                raise DocumentRejected("its name leads out of the archive")
            if address in parts:
                raise DocumentRejected("its name stands twice in the archive")
            body = _read(archive, entry, MAX_BYTES - total)
        except DocumentRejected as error:
            refused.append((address, error.message))
            continue
        total += len(body)
        parts[address] = ContainedFile(
            uri=address, name=path, content=body, metadata={"archive": name, "entry": path}
        )
    return Unpacked(parts=tuple(parts.values()), refused=tuple(refused), notes=left_out(unread, suffix_of))


def _path(entry: zipfile.ZipInfo) -> str:
    """The path of an entry without drive and root, its encoding detected."""
    path = entry.filename
    if not entry.flag_bits & _UTF8:
        path = legible(path.encode("cp437", "replace").decode("utf-8", "surrogateescape"))
    return _DRIVE.sub("", path.replace("\\", "/"))


def _is_hidden(path: str) -> bool:
    return any(step.startswith((".", "~$", "__MACOSX")) and step != ".." for step in path.split("/"))


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, allowed: int) -> bytes:
    """The bytes of an entry, counted while unpacking: the declared size is not trusted.

    Raises:
        DocumentRejected: it is encrypted, damaged, or unpacks to too much.
    """
    if entry.flag_bits & _ENCRYPTED:
        raise DocumentRejected("it is encrypted")
    body = bytearray()
    try:
        entry.file_size = MAX_BYTES + 1  # zipfile would stop at the declared size
        with archive.open(entry) as stream:
            while chunk := stream.read(CHUNK):
                body += chunk
                if len(body) > allowed:
                    raise DocumentRejected(
                        msg("the archive unpacks to more than {max_unpacked} MB", max_unpacked=MAX_BYTES // 1_000_000)
                    )
                check_ratio(len(body), entry.compress_size, entry.filename)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        ValueError,
        RuntimeError,
        NotImplementedError,
    ) as error:
        raise DocumentRejected(msg("the archive is damaged: {error}", error=error)) from error
    return bytes(body)
