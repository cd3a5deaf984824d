"""Checks on ZIP containers (DOCX, PPTX, ODT, EPUB …) before anything in them is parsed."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import IO
from xml.parsers import expat

from wenyuan.core.errors import msg
from wenyuan.readers.assemble import rejected

MAX_ENTRIES = 2_000
MAX_RATIO = 100
RATIO_COUNTS_FROM = 1_000_000
MAX_UNPACKED = 200_000_000
CHUNK = 65_536
_XML_SUFFIXES = (".xml", ".rels", ".vml", ".svg")


class _Dtd(Exception):
    """Raised at the start of a document type declaration."""


class _Root(Exception):
    """Raised at the start of the root element: no document type declaration can follow."""


def check_archive(content: bytes, *, name: str, needs: str, doctypes: bool = False) -> None:
    """Refuse a container that unpacks to too much, or whose XML declares a document type.

    Args:
        needs: The entry that the format requires, e.g. ``word/document.xml``; ``""`` for none.
        doctypes: Whether a DOCTYPE is allowed, as in XHTML, as long as it declares nothing itself.

    Raises:
        DocumentRejected: with the reason.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            check_count(entries, name)
            if needs and needs not in archive.namelist():
                raise rejected(msg("the archive has no {needs}: it is another kind of file", needs=needs), name)
            total = 0
            for entry in entries:
                total += _unpacked(archive, entry, MAX_UNPACKED - total, name, doctypes)
            check_ratio(total, len(content), name=name)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        raise rejected(msg("the archive is damaged: {error}", error=error), name) from error
    except (RuntimeError, NotImplementedError) as error:
        raise rejected(
            msg("the archive is encrypted or packed in an unknown way: {error}", error=error), name
        ) from error


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, allowed: int, name: str, doctypes: bool) -> int:
    """Number of bytes that an entry really unpacks to."""
    declared, size, first = entry.file_size, 0, b""
    entry.file_size = MAX_UNPACKED + 1  # zipfile would stop at the declared size, other parsers need not
    with archive.open(entry) as stream:
        for chunk in _chunks(stream):
            first = first or chunk
            size += len(chunk)
            if size > allowed:
                raise rejected(
                    msg("the archive unpacks to more than {max_unpacked} MB", max_unpacked=MAX_UNPACKED // 1000000),
                    name,
                )
            check_ratio(size, entry.compress_size, entry.filename, name)
        if size != declared:
            raise rejected(
                msg("entry {filename} has another size than the archive declares", filename=repr(entry.filename)),
                name,
            )
        if _looks_like_xml(entry.filename, first):
            stream.seek(0)
            _check_prolog(stream, entry.filename, name, doctypes)
    return size


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(CHUNK):
        yield chunk


def check_count(entries: Sequence[zipfile.ZipInfo], name: str) -> None:
    """Refuse an archive with more than `MAX_ENTRIES`."""
    if len(entries) > MAX_ENTRIES:
        raise rejected(
            msg("the archive has {count} entries; at most {max_entries} are read", count=len(entries), max_entries=MAX_ENTRIES),
            name,
        )  # fmt: skip


def check_ratio(size: int, packed: int, entry: str = "", name: str = "") -> None:
    """Refuse content that unpacks to more than `MAX_RATIO` times its size and to more than `RATIO_COUNTS_FROM` bytes.

    Args:
        entry: The entry of an archive that it is; ``""``: it is the archive.
    """
    if size > RATIO_COUNTS_FROM and size > MAX_RATIO * max(packed, 1):
        reason = msg("the archive unpacks to more than {most} times its size: a decompression bomb", most=MAX_RATIO)
        if entry:
            reason = msg(
                "entry {filename} unpacks to more than {most} times its size: a decompression bomb",
                filename=repr(entry), most=MAX_RATIO,
            )  # fmt: skip
        raise rejected(reason, name)


def _looks_like_xml(filename: str, first: bytes) -> bool:
    if filename.lower().endswith(_XML_SUFFIXES):
        return True
    return first.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"<")


def _check_prolog(stream: IO[bytes], filename: str, name: str, doctypes: bool) -> None:
    """Parse XML up to its root element with a parser that stops at a DTD before expanding anything."""

    def stop(_name: str, _system: str | None, _public: str | None, declares: int) -> None:
        if declares or not doctypes:
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
            msg(
                "its part {filename} declares a document type (DTD), which may hide entities", filename=repr(filename)
            ),
            name,
        ) from None
    except (expat.ExpatError, ValueError, LookupError) as error:  # the latter two: an encoding it does not know
        if filename.lower().endswith(_XML_SUFFIXES):
            raise rejected(
                msg("its part {filename} is not well-formed XML: {error}", filename=repr(filename), error=error), name
            ) from error
