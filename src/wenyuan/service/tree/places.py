"""Where a path leads, and where a page of what lies there begins."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from wenyuan.catalog.address_tree import AddressedDocument
from wenyuan.core.errors import Fault, InvalidRequest, NotFound, listed, msg
from wenyuan.core.model import Source
from wenyuan.core.ports import Deadline
from wenyuan.service.tree.tree_paths import Mount, TreePath, mounts_of

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

_PASSAGE = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.\-]{0,63})#([0-9]{1,18})")
_DOCUMENT = re.compile(r"document-([0-9]{1,18})")
_PAGE = 200  # documents that are read at once
ANSWERED_WITHIN = 20.0
"""Seconds that listing, reading and looking through may take; a question has its own."""


class Place(NamedTuple):
    """Where a path leads: to a document, a folder (`document` is None), or the root (`source` is None, too).

    Attributes:
        address: Of the document, or the folder's with a slash at its end.
        passage_id: Of the passage by whose id it was named.
    """

    source: Source | None
    mount: Mount | None
    address: str
    document: AddressedDocument | None
    passage_id: int | None = None

    def readable(self, path: str) -> tuple[AddressedDocument, Source, Mount]:
        """The document that the path leads to, its source, and where that hangs.

        Raises:
            InvalidRequest: it leads to a folder.
        """
        if self.document is None or self.source is None or self.mount is None:
            raise InvalidRequest(
                msg("{path} is a folder, and only documents are read", path=repr(path[:200])),
                hint=f"wenyuan fs ls {path[:200]}",
            )
        return self.document, self.source, self.mount


class PageMark(NamedTuple):
    """The document at which a page begins, and the line behind which it does.

    Attributes:
        rest: Of its address, what its path says: no path of this machine leaves it.
    """

    source_id: str
    rest: str
    line: int

    @classmethod
    def at(cls, document: AddressedDocument, mount: Mount, line: int = 0) -> PageMark:
        """The mark of a document."""
        return cls(document.source_id, document.uri.removeprefix(mount.base), line)

    def names(self, document: AddressedDocument, mount: Mount) -> bool:
        """Whether it is the mark of a document."""
        return self[:2] == self.at(document, mount)[:2]

    @classmethod
    def parse(cls, text: str) -> PageMark:
        """The mark that a page before gave; the beginning for ``""``.

        Raises:
            InvalidRequest: it is none.
        """
        if not text:
            return cls("", "", 0)
        try:
            source_id, rest, line = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            if not (isinstance(source_id, str) and isinstance(rest, str) and type(line) is int and line >= 0):
                raise TypeError
        except (ValueError, TypeError, binascii.Error, RecursionError) as error:
            faults = (Fault("after", "must be what the page before gave as next"),)
            raise InvalidRequest(listed(faults), faults=faults) from error
        return cls(source_id, rest, line)

    @property
    def text(self) -> str:
        written = json.dumps(list(self), separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(written).decode().rstrip("=")


@dataclass(frozen=True, kw_only=True, eq=False)
class PathFinder:
    """Finds what paths lead to, among the sources that a caller may read.

    Attributes:
        uploads: The folder of uploads.
        limit: Until when a request has to be answered.
    """

    catalog: Catalog
    uploads: Path
    limit: Callable[[], Deadline]

    def at(self, path: str, sources: Mapping[str, Source]) -> Place:
        """Where a path leads, or an id that answers gave.

        Raises:
            NotFound: nothing is there, or nothing in these sources.
        """
        return self._referred(path, sources) or self._found(path, sources)

    def mounts(self, source: Source) -> tuple[Mount, ...]:
        """Where the documents of a source hang."""
        return mounts_of(source, self.uploads)

    def documents(
        self, place: Place, sources: Mapping[str, Source], mark: PageMark
    ) -> Iterator[tuple[AddressedDocument, Mount, Source]]:
        """The documents at or below a place, by source and address, from that of the mark on."""
        if place.document is not None:
            document, source, mount = place.readable("")
            yield document, mount, source
            return
        today, deadline = date.today(), self.limit()
        for source_id in sorted(sources) if place.source is None else [place.source.source_id]:
            if source_id < mark.source_id:
                continue
            source = sources[source_id]
            for mount in self.mounts(source) if place.mount is None else (place.mount,):
                below = place.address if place.mount is not None else mount.base
                at = mount.base + mark.rest if source_id == mark.source_id else ""
                if at and at.startswith(below):
                    first = self.catalog.addressed.document_at(source_id, at, today=today)
                    if first is not None:
                        yield first, mount, source
                while True:
                    some = self.catalog.addressed.documents_below(
                        source_id, below, today=today, after=at, limit=_PAGE, deadline=deadline
                    )
                    for one in some:
                        yield one, mount, source
                    if len(some) < _PAGE:
                        break
                    at = some[-1].uri

    def _referred(self, path: str, sources: Mapping[str, Source]) -> Place | None:
        """Where an id leads that answers gave: of a passage or a document; None where it is none."""
        passage_id, document_id = None, 0
        if match := _PASSAGE.fullmatch(path.strip()):
            passage_id = int(match[2])
            known = self.catalog.source_of_passage(passage_id) in sources.keys() & {match[1]}
            passage = self.catalog.passages([passage_id]).get(passage_id) if known else None
            document_id = 0 if passage is None else passage.document_id
        elif match := _DOCUMENT.fullmatch(path.strip()):
            document_id = int(match[1])
        else:
            return None
        known = self.catalog.source_of_document(document_id) in sources
        document = self.catalog.addressed.numbered(document_id, today=date.today()) if known else None
        if document is None:
            raise _nothing(path)
        source = sources[document.source_id]
        mount = next(one for one in reversed(self.mounts(source)) if document.uri.startswith(one.base))
        return Place(source, mount, document.uri, document, passage_id)

    def _found(self, path: str, sources: Mapping[str, Source]) -> Place:
        parsed = TreePath.parse(path)
        if not parsed.source_id:
            return Place(None, None, "", None)
        source = sources.get(parsed.source_id)
        if source is None:
            raise _nothing(path)
        for mount in self.mounts(source):
            found = self._below(source, mount, parsed.rest)
            if found is not None:
                return found
        if not parsed.rest:
            mount = self.mounts(source)[0]
            return Place(source, mount, mount.base, None)
        raise _nothing(path)

    def _below(self, source: Source, mount: Mount, rest: str) -> Place | None:
        """The document, else the folder, that a path below a mount leads to; None where nothing is there."""
        if not rest:
            return Place(source, mount, mount.base, None) if self._holds(source, mount.base) else None
        addresses = mount.addresses(rest)
        for address in addresses:
            document = self.catalog.addressed.document_at(source.source_id, address, today=date.today())
            if document is not None:
                return Place(source, mount, document.uri, document)
        for address in addresses:
            whole = address if address.endswith("://") else f"{address.rstrip('/')}/"
            for folder in (whole, f"{address}?"):  # the parts of a workbook, an archive or a mail
                if self._holds(source, folder):
                    return Place(source, mount, folder, None)
        return None

    def _holds(self, source: Source, folder: str) -> bool:
        """Whether something in force that the caller may see stands below a folder."""
        below = self.catalog.addressed.documents_below(
            source.source_id, folder, today=date.today(), limit=1, deadline=self.limit()
        )
        return bool(below)


def _nothing(path: str) -> NotFound:
    return NotFound(msg("there is nothing at {path}", path=repr(path[:200])), hint="wenyuan fs ls /")
