"""Files that contain files: ZIP archives of documents, and checks on ZIP containers (DOCX, PPTX, ODT, EPUB …) before any
parser opens them: entries, sizes, ratios, no XML entities.

Sizes in headers are not trusted: every entry is unpacked in bounded chunks and counted.
"""

from __future__ import annotations

import gzip
import io
import re
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import IO
from xml.parsers import expat

from wenyuan.core.addresses import escaped_value, legible, with_part
from wenyuan.core.errors import DocumentRejected, NoDocument, msg
from wenyuan.core.model import Document, Facet
from wenyuan.readers import is_read, suffix_of
from wenyuan.readers.assemble import rejected

MAX_ENTRIES = 2_000
MAX_RATIO = 100
RATIO_COUNTS_FROM = 1_000_000
MAX_UNPACKED = 200_000_000
_CHUNK = 65_536
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
    while chunk := stream.read(_CHUNK):
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


# Files that contain files: archives and mails. Each part is read as its own document, under limits for all parts
# together.
#
# A container is only unpacked in the reading process. Its parts come back to the service, which has each read like any other
# file, with that file's limits: a broken or hostile part fails alone.

MAX_PARTS = 1_000
"""Files that are read of one container, those of containers in it included."""
MAX_DEPTH = 3
"""Containers within one another: a mail with an archive with a mail."""
MAX_BYTES = 100_000_000
"""What one container may unpack to."""
MAX_SECONDS = 600.0
"""What all parts of one container may take to read."""
_MOST_REFUSED = 200  # parts that are named one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A file in a container.

    Attributes:
        uri: Its address: that of the container with ``entry=`` or ``attachment=``.
        name: Display name; its suffix selects the reader.
        metadata: From the container; the part's own metadata takes precedence.
    """

    uri: str
    name: str
    content: bytes
    metadata: Mapping[str, Facet] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """The content of a container.

    Attributes:
        documents: The container's own text, such as the body of a mail.
        refused: Parts that cannot be ingested: address and reason.
        notes: Notes on what was left out.
    """

    documents: tuple[Document, ...] = ()
    parts: tuple[Part, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def left_out(names: Iterable[str], kind_of: Callable[[str], str]) -> tuple[str, ...]:
    """A note on the files in a container that have no reader, by kind."""
    counts = Counter(kind_of(name) or "without a suffix" for name in names)
    told = ", ".join(f"{kind} ({count})" for kind, count in sorted(counts.items()))
    return (f"left out files of kinds that are not read: {told}",) if counts else ()


Read = Callable[[bytes, str, str], Sequence[Document]]
"""Reads one file that is no container: its bytes, URI and name."""
Unpack = Callable[[bytes, str, str], Unpacked]


class Opening:
    """Reads a file and, recursively, the files in it.

    Args:
        opens: Whether a file of this name is a container.
    """

    def __init__(self, read: Read, unpack: Unpack, opens: Callable[[str], bool]) -> None:
        self._read = read
        self._unpack = unpack
        self._opens = opens
        self._parts = 0
        self._until = time.monotonic() + MAX_SECONDS

    def documents(self, content: bytes, uri: str, name: str, depth: int = 0) -> tuple[Document, ...]:
        """All documents of a file, at least one; parts that fail are listed in `Document.refused` of the first.

        Raises:
            DocumentRejected: nothing in it can be read.
        """
        if not self._opens(name):
            return tuple(self._read(content, uri, name))
        if depth >= MAX_DEPTH:
            raise rejected(msg("it lies in more than {most} files within one another", most=MAX_DEPTH), name)
        found = self._unpack(content, uri, name)
        documents, refused, data = list(found.documents), list(found.refused), list[str]()
        for part in found.parts:
            try:
                self._spend()
                inner = self.documents(part.content, part.uri, part.name, depth + 1)
            except NoDocument:
                data.append(part.name)
            except DocumentRejected as error:
                refused.append((part.uri, error.message))
            else:
                documents += (replace(each, metadata={**part.metadata, **each.metadata}) for each in inner)
        if not documents:
            reason = refused[0][1] if refused else msg("it holds no file of a kind that is read")
            raise rejected(reason if len(refused) < 2 else _none(refused), name)
        first, *others = documents
        told = (*first.refused, *_bounded(refused, uri))
        notes = (*first.notes, *found.notes, *left_out(data, suffix_of))
        return (replace(first, refused=told, notes=notes), *others)

    def _spend(self) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise DocumentRejected(msg("only the first {most} files are read", most=f"{MAX_PARTS:,}"))
        if time.monotonic() > self._until:
            raise DocumentRejected(
                msg("the files before it took longer than {seconds} s", seconds=f"{MAX_SECONDS:g}")
            )


def _none(refused: Sequence[tuple[str, str]]) -> str:
    return msg(
        "none of the {count} files in it can be read; the first one: {reason}",
        count=len(refused),
        reason=refused[0][1],
    )


def _bounded(refused: Sequence[tuple[str, str]], uri: str) -> Sequence[tuple[str, str]]:
    if len(refused) <= _MOST_REFUSED:
        return refused
    rest = len(refused) - _MOST_REFUSED
    return [
        *refused[:_MOST_REFUSED],
        (f"{uri}{'&' if '?' in uri else '?'}entry=more", msg("{rest} more files were refused", rest=rest)),
    ]


# A single file that was compressed with gzip.


def unpack_gzip(content: bytes, *, uri: str, name: str) -> Unpacked:
    """The file within, at ``<uri>?entry=<name>``, unpacked within the same bounds as an archive.

    Raises:
        DocumentRejected: it is damaged, cut off, or unpacks to too much.
    """
    path = PurePosixPath(name.replace("\\", "/")).name
    inner = path[: -len(".gz")] if path.lower().endswith(".gz") else path
    body = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            while chunk := stream.read(_CHUNK):
                body += chunk
                if len(body) > MAX_BYTES:
                    raise rejected(
                        msg(
                            "the archive unpacks to more than {max_unpacked} MB", max_unpacked=MAX_BYTES // 1_000_000
                        ),
                        name,
                    )
                check_ratio(len(body), len(content), name=name)
    except (zlib.error, EOFError, OSError) as error:
        raise rejected(msg("the archive is damaged: {error}", error=error), name) from error
    address = with_part(uri, f"entry={escaped_value(inner)}")
    return Unpacked(
        parts=(Part(uri=address, name=inner, content=bytes(body), metadata={"archive": name, "entry": inner}),)
    )


# ZIP archives of documents: their files, with correctly decoded names.

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
    parts: dict[str, Part] = {}
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
        parts[address] = Part(uri=address, name=path, content=body, metadata={"archive": name, "entry": path})
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
            while chunk := stream.read(_CHUNK):
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
