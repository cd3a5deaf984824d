"""Files that contain files: archives and mails. Each part is read as its own document, under limits for all parts together.

A container is only unpacked in the reading process. Its parts come back to the service, which has each read like any other
file, with that file's limits: a broken or hostile part fails alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from wenyuan.core.errors import DocumentRejected, NoDocument, msg
from wenyuan.core.model import Document
from wenyuan.readers.assemble import rejected
from wenyuan.readers.contained_files import Unpacked
from wenyuan.readers.selection import suffix_of

MAX_PARTS = 1_000
"""Files that are read of one container, those of containers in it included."""
MAX_DEPTH = 3
"""Containers within one another: a mail with an archive with a mail."""
MAX_BYTES = 100_000_000
"""What one container may unpack to."""
MAX_SECONDS = 600.0
"""What all parts of one container may take to read."""
_MOST_REFUSED = 200  # parts that are named one by one


def left_out(names: Iterable[str], kind_of: Callable[[str], str]) -> tuple[str, ...]:
    """A note on the files in a container that have no reader, by kind."""
    counts = Counter(kind_of(name) or "without a suffix" for name in names)
    told = ", ".join(f"{kind} ({count})" for kind, count in sorted(counts.items()))
    return (f"left out files of kinds that are not read: {told}",) if counts else ()


Read = Callable[[bytes, str, str], Sequence[Document]]
"""Reads one file that is no container: its bytes, URI and name."""
Unpack = Callable[[bytes, str, str], Unpacked]


class ContainerReader:
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
        told = (*first.refused, *_bound_refusals(refused, uri))
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


def _bound_refusals(refused: Sequence[tuple[str, str]], uri: str) -> Sequence[tuple[str, str]]:
    if len(refused) <= _MOST_REFUSED:
        return refused
    rest = len(refused) - _MOST_REFUSED
    return [
        *refused[:_MOST_REFUSED],
        (f"{uri}{'&' if '?' in uri else '?'}entry=more", msg("{rest} more files were refused", rest=rest)),
    ]
