"""Access to original files: downloads, and pages as images.

An original contains what the library does not: redacted values, and images that were not read. So it is given to
operators, and to others only where its source is public and nothing read from the file was redacted or excluded from
answers.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

from wenyuan.core.access import Principal
from wenyuan.core.addresses import file_uri
from wenyuan.core.connectors import Connector
from wenyuan.core.errors import DocumentRejected, NotFound, NotPermitted, OriginalChanged, OriginalUnavailable, msg
from wenyuan.core.model import Source
from wenyuan.core.remote_addresses import is_remote
from wenyuan.core.terms_of_use import parse_copyright
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.ingest.addresses import Addresses
from wenyuan.service.ingest.ingester import at_home
from wenyuan.service.ingest.local_files import find_files
from wenyuan.service.ingest.redaction import Redactor
from wenyuan.service.ingest.versions import FOLDER
from wenyuan.service.original_file import OriginalFile, fetch_original, open_original
from wenyuan.service.reading import DocumentAccess
from wenyuan.service.search.searcher import LOCAL

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.catalog.origins import Origin


_KEPT = 32_000_000  # bytes of pictures
_MAY_HOLD = "its original may hold what was taken out of the text: only who keeps the library sees it"
_TAKEN_OUT = ("⟦", "**", ".*.*")  # what redaction writes has one of these in it


class Draw(Protocol):
    """Draws a page of a file as PNG; DocumentRejected where that is impossible."""

    def __call__(self, content: bytes, *, name: str, page: int, width: int) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalState:
    """What is accessible of a document's original.

    Attributes:
        name: Of the file; ``""`` where nothing may be known of it.
        pages: Whether its pages can be drawn and may be seen.
        download: Whether it may be downloaded.
        reason: Why not, where one of them is not.
    """

    name: str = ""
    pages: bool = False
    download: bool = False
    reason: str = ""


class PictureCache:
    """Cache of page images and remote files; the least recent are evicted. Safe to share between threads."""

    def __init__(self, most: int = _KEPT) -> None:
        self._most = most
        self._size = 0
        self._kept: OrderedDict[tuple[Any, ...], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._size = 0

    def get(self, what: tuple[Any, ...]) -> bytes | None:
        with self._lock:
            if what in self._kept:
                self._kept.move_to_end(what)
            return self._kept.get(what)

    def put(self, what: tuple[Any, ...], png: bytes) -> None:
        with self._lock:
            self._size += len(png) - len(self._kept.pop(what, b""))
            self._kept[what] = png
            while self._size > self._most:
                self._size -= len(self._kept.popitem(last=False)[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Originals:
    """Gives access to originals and images of their pages.

    Attributes:
        drawable: Whether the pages of a file of this name can be drawn.
        readable: See `find_files`.
        uploads: See `Ingester`.
        connect: Opens the connector of a remote source; None: there are no connectors.
    """

    catalog: Catalog
    access: DocumentAccess
    recorder: AuditRecorder
    draw: Draw
    drawable: Callable[[str], bool]
    readable: Callable[[str], bool]
    redacting: Callable[[Source], Redactor]
    uploads: Path
    connect: Callable[[Source], Connector] | None = None
    pictures: PictureCache = field(default_factory=PictureCache)

    def original_state(self, document_id: int, principal: Principal = LOCAL) -> OriginalState:
        """What is accessible of a document's original, without opening it to the caller.

        Raises:
            NotFound: there is no such document, or none that the caller may see.
        """
        origin, source = self._found(document_id, principal)
        try:
            name = self._seen(origin, source, principal).name
        except (NotPermitted, OriginalUnavailable) as error:
            return OriginalState(reason=str(error))
        try:
            self._check_may_copy(source)
        except NotPermitted as error:
            return OriginalState(name=name, pages=self.drawable(name), reason=str(error))
        return OriginalState(name=name, pages=self.drawable(name), download=True)

    def original(self, document_id: int, principal: Principal = LOCAL, *, door: str = "original") -> OriginalFile:
        """The file that a document was read from.

        Raises:
            NotFound: there is no such document, or none that the caller may see.
            NotPermitted: its terms, or the caller's rights, do not allow it.
            OriginalGone, OriginalChanged, OriginalUnavailable: the file is not there as it was read.
        """
        origin, source = self._found(document_id, principal)
        self._check_may_copy(source)
        found = self._seen(origin, source, principal)
        self._record_access(origin, principal, door)
        return found

    def holds_more(self, content: bytes, source: Source) -> bool:
        """Whether a text file has, where the reader does not look (comments, front matter), what redaction takes out."""
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            return False
        return "\0" not in text and self.redacting(source).text(text) != text

    def page_picture(
        self, document_id: int, page: int, principal: Principal = LOCAL, *, width: int, door: str = "page"
    ) -> bytes:
        """A page of a document's original as PNG.

        Args:
            page: 1-based.
            width: Pixels, as a wish: see `readers.ocr.drawing.draw_page`.

        Raises:
            NotFound, NotPermitted, OriginalGone, OriginalChanged, OriginalUnavailable: as `original`; its terms do not
                count, since a look at a page is no copy of the file.
            DocumentRejected: there is no such page, or it cannot be drawn.
        """
        origin, source = self._found(document_id, principal)
        found = self._seen(origin, source, principal)
        if not self.drawable(found.name):
            raise DocumentRejected("files of its kind have no pages that could be drawn", component=found.name)
        what = (hashlib.sha256(found.content).digest(), found.name, page, width)
        png = self.pictures.get(what)
        if png is None:
            png = self.draw(found.content, name=found.name, page=page, width=width)
            self.pictures.put(what, png)
        self._record_access(origin, principal, door)
        return png

    # -- who may see what --------------------------------------------------------------------------------

    def _found(self, document_id: int, principal: Principal) -> tuple[Origin, Source]:
        """A document's origin and source: any for an operator, for others only what they may read today."""
        own = self.catalog.source_of_document(document_id)
        keeps = keeps_library(principal)
        source = None if keeps else self.access.readable_sources(principal).get(own or "")
        origin = self.catalog.origin(document_id) if keeps or source is not None else None
        if origin is not None:
            if keeps:
                return origin, self.catalog.source(origin.source_id)
            if source is not None and origin.effective_from <= date.today() <= origin.effective_until:
                return origin, source
        raise NotFound(
            msg("there is no such document: {document_id}", document_id=document_id),
            hint="its number changes when it is read again: look for it in wenyuan document list",
        )

    def _check_may_see(self, origin: Origin, source: Source, principal: Principal) -> None:
        file = origin.uri.partition("?")[0].partition("#")[0]  # what is given holds other documents, too
        if file in self.catalog.withheld(origin.source_id):
            raise NotPermitted("its original holds what was erased at somebody's request: nobody is given it")
        hides = self.catalog.file_hidden(origin.source_id, file)
        if keeps_library(principal) and not hides:
            return
        if hides or source.sensitivity != "public" or self.catalog.file_held(origin.source_id, file, _TAKEN_OUT):
            raise NotPermitted(_MAY_HOLD)
        if self.catalog.file_excluded(origin.source_id, file):
            raise NotPermitted("its original holds what is excluded from answers: only who keeps the library sees it")
        if parse_copyright(source.copyright).excerpt != "allow":
            raise NotPermitted("its terms do not allow to give the whole document")

    def _seen(self, origin: Origin, source: Source, principal: Principal) -> OriginalFile:
        self._check_may_see(origin, source, principal)
        found = self._as_read(origin, source)
        if not keeps_library(principal) and self.holds_more(found.content, source):
            raise NotPermitted(_MAY_HOLD)
        return found

    @staticmethod
    def _check_may_copy(source: Source) -> None:
        if parse_copyright(source.copyright).excerpt != "allow":
            raise NotPermitted("its terms do not allow to give the whole document")

    def _record_access(self, origin: Origin, principal: Principal, door: str) -> None:
        self.recorder.fetched(f"document-{origin.document_id}", origin.uri, 0, principal, door=door)

    # -- the file ----------------------------------------------------------------------------------------

    def _as_read(self, origin: Origin, source: Source) -> OriginalFile:
        """The file of a document, checked to be unchanged since it was read."""
        source = at_home(source, self.uploads)
        uri = self._own_uri(source, origin.uri)
        remote = is_remote(source.path)
        found = self._fetched(source, uri, origin.content) if remote else open_original(source, uri)
        whole = "?" not in uri and "#" not in uri
        if whole and hashlib.sha256(found.content).hexdigest() != origin.content:
            hint = msg("read the source again: wenyuan refresh {source_id}", source_id=origin.source_id)
            raise OriginalChanged("the file is another one than was read", component=found.name, hint=hint)
        return found

    def _fetched(self, source: Source, uri: str, content: str) -> OriginalFile:
        """A remote file, cached for a while since each page view needs it."""
        if self.connect is None:
            raise OriginalUnavailable(msg("no file of the source is known for {uri}", uri=repr(uri)))
        what = (source.source_id, uri, content)
        kept = self.pictures.get(what)
        if kept is not None:
            name, _, held = kept.partition(b"\0")
            return OriginalFile(name=name.decode(), content=held)
        with closing(self.connect(source)) as connector:
            found = fetch_original(self.catalog, connector, source, uri)
        self.pictures.put(what, found.name.encode() + b"\0" + found.content)
        return found

    def _own_uri(self, source: Source, uri: str) -> str:
        """The real address of a file, in which redaction may have replaced parts of the name."""
        if not source.path or not uri.startswith("file:") or not any(mark in unquote(uri) for mark in _TAKEN_OUT):
            return uri
        addresses = Addresses(self.catalog, source.source_id, self.redacting(source))
        files: Sequence[Path] = find_files(Path(source.path), self.readable, FOLDER).files
        found = (file_uri(file.absolute()) for file in files)
        file, mark, part = uri.partition("?")
        return next((address for address in found if addresses.stored(address) == file), file) + mark + part


def keeps_library(principal: Principal) -> bool:
    """Whether a caller is an operator who may see everything: a principal with the registry right and no agent."""
    return principal.agent_id is None and principal.may("registry")
