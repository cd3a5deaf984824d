"""Checks on ZIP containers (DOCX, XLSX) before any parser sees them: entries, sizes, ratios, no DTD.

What the headers say about sizes is not believed: every entry is unpacked in bounded chunks and counted.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO
from xml.parsers import expat

from wenyuan.readers.assemble import rejected

MAX_ENTRIES = 2_000
MAX_RATIO = 100
RATIO_COUNTS_FROM = 1_000_000
MAX_UNPACKED = 200_000_000
_CHUNK = 65_536
_XML_SUFFIXES = (".xml", ".rels", ".vml", ".svg")


class _Dtd(Exception):
    """A document type declaration begins here."""


class _Root(Exception):
    """The root element begins: no document type declaration can follow."""


def check_archive(content: bytes, *, name: str, needs: str) -> None:
    """Refuse a container that unpacks to too much, or whose XML declares a document type.

    Args:
        needs: The entry that makes it the format it claims to be, e.g. ``word/document.xml``.

    Raises:
        DocumentRejected: with the reason.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_ENTRIES:
                raise rejected(f"the archive has {len(entries)} entries; at most {MAX_ENTRIES} are read", name)
            if needs not in archive.namelist():
                raise rejected(f"the archive has no {needs}: it is another kind of file", name)
            total = 0
            for entry in entries:
                total += _unpacked(archive, entry, MAX_UNPACKED - total, name)
            _check_ratio(total, len(content), "the archive", name)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        raise rejected(f"the archive is damaged: {error}", name) from error
    except (RuntimeError, NotImplementedError) as error:
        raise rejected(f"the archive is encrypted or packed in an unknown way: {error}", name) from error


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, allowed: int, name: str) -> int:
    """Bytes that an entry unpacks to, counted."""
    declared, size, first = entry.file_size, 0, b""
    entry.file_size = MAX_UNPACKED + 1  # zipfile would stop at the declared size, other parsers need not
    with archive.open(entry) as stream:
        for chunk in _chunks(stream):
            first = first or chunk
            size += len(chunk)
            if size > allowed:
                raise rejected(f"the archive unpacks to more than {MAX_UNPACKED // 1_000_000} MB", name)
            _check_ratio(size, entry.compress_size, f"entry {entry.filename!r}", name)
        if size != declared:
            raise rejected(f"entry {entry.filename!r} has another size than the archive declares", name)
        if _looks_like_xml(entry.filename, first):
            stream.seek(0)
            _check_prolog(stream, entry.filename, name)
    return size


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk


def _check_ratio(size: int, packed: int, what: str, name: str) -> None:
    if size > RATIO_COUNTS_FROM and size > MAX_RATIO * max(packed, 1):
        raise rejected(f"{what} unpacks to more than {MAX_RATIO} times its size: a decompression bomb", name)


def _looks_like_xml(filename: str, first: bytes) -> bool:
    if filename.lower().endswith(_XML_SUFFIXES):
        return True
    return first.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"<")


def _check_prolog(stream: IO[bytes], filename: str, name: str) -> None:
    """Read XML up to its root element with a parser that stops at a DTD before it expands anything."""

    def stop(*_: object) -> None:
        raise _Dtd

    def root(*_: object) -> None:
        raise _Root

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = stop
    parser.StartElementHandler = root
    try:
        for chunk in _chunks(stream):
            parser.Parse(chunk)
    except _Root:
        return
    except _Dtd:
        raise rejected(
            f"its part {filename!r} declares a document type (DTD), which may hide entities", name
        ) from None
    except (expat.ExpatError, ValueError, LookupError) as error:  # the latter two: an encoding it does not know
        if filename.lower().endswith(_XML_SUFFIXES):
            raise rejected(f"its part {filename!r} is not well-formed XML: {error}", name) from error
