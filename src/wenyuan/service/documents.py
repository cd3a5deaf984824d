"""Lists and shows documents and their passages, for maintainers and readers, and opens their original files."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

from wenyuan.core.access import Principal
from wenyuan.core.addresses import file_uri, legible
from wenyuan.core.connectors import MOST_BYTES, Connector, is_remote
from wenyuan.core.errors import (
    DocumentRejected,
    Fault,
    InvalidRequest,
    NotFound,
    NotPermitted,
    OriginalChanged,
    OriginalGone,
    OriginalUnavailable,
    SourceError,
    listed,
    msg,
)
from wenyuan.core.fidelity import Line, part_of
from wenyuan.core.model import Corrected, DocumentState, Source
from wenyuan.core.terms_of_use import parse_copyright
from wenyuan.runtime import is_file
from wenyuan.runtime.regular import open_regular
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.fragments import DocumentAccess, allowed_part, recognised, reworded
from wenyuan.service.ingest import at_home
from wenyuan.service.ingest.addresses import Addresses
from wenyuan.service.ingest.holdings import find_files
from wenyuan.service.ingest.redaction import Redactor
from wenyuan.service.ingest.source_run import NOT_KEPT
from wenyuan.service.ingest.versions import FOLDER
from wenyuan.service.operations import iso_time
from wenyuan.service.search.searcher import LOCAL

if TYPE_CHECKING:
    from wenyuan.catalog import Catalog
    from wenyuan.catalog.readings import HeldDocument, Origin, PlacedPassage


MOST_LISTED = 200
"""Documents, or passages of one, that are told of at once."""

_NOISE = 1e-6  # of ten thousand times a share, as floats have it
_BOX = 4  # digits of a box's sides, which are shares of a page


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPage:
    """Documents by source and address; `next` is the value for `after` of the following page, ``""`` on the last."""

    documents: tuple[Mapping[str, Any], ...]
    next: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagePage:
    """Passages of a document in order; `next` as in `DocumentPage`, a passage id."""

    document: Mapping[str, Any]
    passages: tuple[Mapping[str, Any], ...]
    next: int | None


@dataclass(frozen=True, kw_only=True, eq=False)
class DocumentDesk:
    """Answers questions about documents within what the caller may see."""

    catalog: Catalog
    access: DocumentAccess

    def list_documents(
        self,
        principal: Principal = LOCAL,
        *,
        source: str | None = None,
        state: DocumentState | None = None,
        q: str = "",
        after: str = "",
        limit: int = 50,
    ) -> DocumentPage:
        """Documents visible to the caller, by source and address.

        A caller bound to an agent sees the documents that it may read today; others see all, including those that
        could not be ingested.

        Args:
            q: What title or address must hold.
            after: `DocumentPage.next` of the page before.

        Raises:
            NotFound: there is no such source, or none that the caller may see.
            InvalidRequest: `after` is no such mark.
            EngineTimeout: the request's deadline passed before all candidates were checked.
        """
        sources = self._sources(principal)
        if source is not None and source not in sources:
            raise NotFound(msg("there is no source {name}", name=repr(source[:64])), hint="wenyuan source list")
        names = sorted(sources) if source is None else [source]
        if principal.agent_id is not None and state not in (None, "live"):
            return DocumentPage(documents=(), next="")
        own = "live" if principal.agent_id is not None else state
        found = self.catalog.listed_documents(
            names, today=date.today(), state=own, words=q.strip(), after=_place(after), limit=limit + 1,
            deadline=self.access.retriever.limit(),
        )  # fmt: skip
        last = found[limit - 1] if len(found) > limit else None
        return DocumentPage(
            documents=tuple(self._described(one, sources, principal) for one in found[:limit]),
            next="" if last is None else _mark(last),
        )

    def document(self, document_id: int, principal: Principal = LOCAL) -> Mapping[str, Any]:
        """All data of one document, with notes and reading warnings.

        Raises:
            NotFound: there is no such document, or none that the caller may see; the two are told alike.
        """
        held, sources = self._held(document_id, principal)
        return {**self._described(held, sources, principal), "notes": list(held.notes)}

    def passages(
        self, document_id: int, principal: Principal = LOCAL, *, after: int = 0, limit: int = 50
    ) -> PassagePage:
        """Passages of a document in order, with texts as far as copyright allows to others than who keeps the library: so
        much of the whole document, not of each page.

        Args:
            after: The number of the last passage of the page before.

        Raises:
            NotFound: as `document`.
        """
        held, sources = self._held(document_id, principal)
        terms = parse_copyright(sources[held.source_id].copyright)
        # Before the page is read: of a document that is removed between the two, nothing is given.
        chars = self.catalog.document_chars({document_id}).get(document_id, 0)
        room = None if keeps_library(principal) else terms.room(chars)
        if room is not None and after:
            room = max(0, room - self.catalog.chars_up_to(document_id, after))
        found, more = self.catalog.passages_of_document(document_id, after=after, limit=limit)
        start, end = min((p.start for p in found), default=0), max((p.end for p in found), default=0)
        lines = self.catalog.document_lines(document_id, start, end) if found else []
        texts = _given([one.text for one in found], room)
        told = tuple(_passage(one, text, lines) for one, text in zip(found, texts, strict=True))
        return PassagePage(
            document={**self._described(held, sources, principal), "credit": terms.credit},
            passages=told,
            next=found[-1].passage_id if more else None,
        )

    def place_of(self, passage_id: int, principal: Principal = LOCAL, *, page: int = 50) -> Mapping[str, Any]:
        """The document of a passage, and the `after` value of the page of `page` passages that contains it.

        Raises:
            NotFound: there is no such passage, or none that the caller may see.
            InvalidRequest: a page of less than one passage.
        """
        if page < 1:
            raise InvalidRequest(msg("{place} {fault}", place="page", fault=msg("must be at least {limit}", limit=1)))
        found = self.catalog.passages([passage_id]).get(passage_id)
        try:  # the document of what is not there is looked up, too: it takes as long as what is another's
            self._held(0 if found is None else found.document_id, principal)
        except NotFound:
            found = None
        order = [] if found is None else [row[0] for row in self.catalog.document_passages(found.document_id)]
        if found is None or passage_id not in order:  # it may have ended between the two look-ups
            raise NotFound(msg("there is no passage {number}", number=passage_id))
        begins = order.index(passage_id) // page * page
        return {
            "passage_id": passage_id,
            "document_id": found.document_id,
            "source_id": found.source_id,
            "after": order[begins - 1] if begins else 0,
        }

    def _sources(self, principal: Principal) -> Mapping[str, Source]:
        """The sources visible to a caller; for an agent, those it may read that are in force today."""
        if principal.agent_id is not None:
            return self.access.readable_sources(principal)
        return {source.source_id: source for source in self.catalog.sources()}

    def _held(self, document_id: int, principal: Principal) -> tuple[HeldDocument, Mapping[str, Source]]:
        held, sources = self.catalog.held_document(document_id, date.today()), self._sources(principal)
        if held is None or held.source_id not in sources or (principal.agent_id is not None and held.state != "live"):
            raise NotFound(
                msg("there is no document {number}", number=document_id),
                hint="its number changes when it is read again: look for it in wenyuan document list",
            )
        return held, sources

    def _described(self, one: HeldDocument, sources: Mapping[str, Source], principal: Principal) -> dict[str, Any]:
        told: dict[str, Any] = {
            "document_id": one.document_id or None,
            "source_id": one.source_id,
            "uri": one.uri,
            "title": one.title,
            "state": one.state,
            "media_type": one.media_type,
            "language": one.language,
            "collection": one.collection,
            "ingested_at": None if one.ingested_at is None else iso_time(one.ingested_at),
            "effective_from": None if one.effective_from is None else one.effective_from.isoformat(),
            "effective_until": None if one.effective_until is None else one.effective_until.isoformat(),
            "passages": one.passages,
            "corrections": one.corrections,
            "corrections_lost": one.corrections_lost,
            "excluded": bool(one.corrections) and not one.passages,
            "copyright": sources[one.source_id].copyright,
            "fidelity": None,
            "failure": None,
        }
        if one.fidelity is not None:
            told["fidelity"] = {
                **asdict(one.fidelity),
                "warnings": list(one.fidelity.warnings),
                "kept": _share(one.fidelity.kept),
                "score": _share(one.fidelity.score),
            }
        if one.failure is not None and principal.agent_id is None:
            code, reason = one.failure
            told["failure"] = {"code": code, "reason": reason, "remedy": _remedy(code, one.source_id)}
        return told


def _remedy(code: str, source_id: str) -> str:
    """The command that helps with a document that could not be ingested."""
    again = f"wenyuan ingest {source_id}"
    if code == NOT_KEPT:
        return msg("mend the file, then upload it again: wenyuan document upload {source} FILE", source=source_id)
    if code == "unreadable":
        return msg("see to it that this user may read the file, then: {again}", again=again)
    if code == "address_taken":
        return msg("give it an address of its own, then: {again}", again=again)
    return msg("mend or replace the file, then: {again}", again=again)


def _share(value: float | None) -> float | None:
    """A share truncated (not rounded) to four digits, so that 1 means complete."""
    return None if value is None else math.floor(10_000 * value + _NOISE) / 10_000


def _mark(one: HeldDocument) -> str:
    written = json.dumps([one.source_id, one.uri], separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(written).decode().rstrip("=")


def _place(mark: str) -> tuple[str, str] | None:
    if not mark:
        return None
    try:
        source_id, uri = json.loads(base64.urlsafe_b64decode(mark + "=" * (-len(mark) % 4)))
        if not isinstance(source_id, str) or not isinstance(uri, str):
            raise TypeError
    except (ValueError, TypeError, binascii.Error, RecursionError) as error:
        faults = (Fault("after", "must be what the page before gave as next"),)
        raise InvalidRequest(listed(faults), faults=faults) from error
    return source_id, uri


def _given(texts: Sequence[str], room: int | None) -> list[str | None]:
    """The texts until `room` characters are used (None: all); None for the rest."""
    given: list[str | None] = []
    for text in texts:
        part = text if room is None else allowed_part(text, room)
        if room is not None:
            room = max(0, room - len(part)) if len(part) == len(text) else 0
        given.append(part or None)
    return given


def _changed(told: Corrected | None) -> dict[str, Any]:
    """The members about corrections of a passage; empty without any."""
    if told is None:
        return {}
    asked = {"questions": list(told.questions)} if told.questions else {}
    return {"corrections": list(told.ids), **asked, **reworded(told)}


def _passage(one: PlacedPassage, text: str | None, lines: Sequence[Line]) -> dict[str, Any]:
    """A passage as JSON values; `text` is None where copyright does not allow it."""
    shown = text or ""
    told = part_of(one.recognition, 0, len(shown))
    place = {"page": one.page, "line": one.line, "cell": one.cell}
    return {
        "ref": f"{one.source_id}#{one.passage_id}",
        "passage_id": one.passage_id,
        "uri": one.uri,
        "headings": list(one.headings),
        "text": shown,
        "withheld": len(shown) < len(one.text),
        "start": one.start,
        "end": one.end,
        **{name: value for name, value in place.items() if value is not None},
        **recognised(told, shown),
        **_changed(one.corrected),
        **({"context": {**asdict(one.context), "generated": True}} if one.context is not None else {}),
        "boxes": [
            {"page": line.page, "box": [round(side, _BOX) for side in line.box], "start": line.start, "end": line.end}
            for line in lines
            if line.start < one.end and one.start < line.end and line.box[0] < line.box[2]
        ],
    }


# Access to original files: downloads, and pages as images.
#
# An original contains what the library does not: redacted values, and images that were not read. So it is given to
# operators, and to others only where its source is public and nothing read from the file was redacted or excluded from
# answers.

_KEPT = 32_000_000  # bytes of pictures
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
            self._check_may_see(origin, source, principal)
            name = self._as_read(origin, source).name
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
        self._check_may_see(origin, source, principal)
        self._check_may_copy(source)
        found = self._as_read(origin, source)
        self._told(origin, principal, door)
        return found

    def page_picture(
        self, document_id: int, page: int, principal: Principal = LOCAL, *, width: int, door: str = "page"
    ) -> bytes:
        """A page of a document's original as PNG.

        Args:
            page: 1-based.
            width: Pixels, as a wish: see `readers.ocr.pages.draw_page`.

        Raises:
            NotFound, NotPermitted, OriginalGone, OriginalChanged, OriginalUnavailable: as `original`; its terms do not
                count, since a look at a page is no copy of the file.
            DocumentRejected: there is no such page, or it cannot be drawn.
        """
        origin, source = self._found(document_id, principal)
        self._check_may_see(origin, source, principal)
        found = self._as_read(origin, source)
        if not self.drawable(found.name):
            raise DocumentRejected("files of its kind have no pages that could be drawn", component=found.name)
        what = (hashlib.sha256(found.content).digest(), found.name, page, width)
        png = self.pictures.get(what)
        if png is None:
            png = self.draw(found.content, name=found.name, page=page, width=width)
            self.pictures.put(what, png)
        self._told(origin, principal, door)
        return png

    # -- who may see what --------------------------------------------------------------------------------

    def _found(self, document_id: int, principal: Principal) -> tuple[Origin, Source]:
        """A document's origin and source: any for an operator, for others only what they may read today."""
        origin = self.catalog.origin(document_id)
        if origin is not None:
            if keeps_library(principal):
                return origin, self.catalog.source(origin.source_id)
            source = self.access.readable_sources(principal).get(origin.source_id)
            if source is not None and origin.effective_from <= date.today() <= origin.effective_until:
                return origin, source
        raise NotFound(msg("there is no such document: {document_id}", document_id=document_id))

    def _check_may_see(self, origin: Origin, source: Source, principal: Principal) -> None:
        if keeps_library(principal):
            return
        file = origin.uri.partition("?")[0].partition("#")[0]  # what is given holds other documents, too
        if source.sensitivity != "public" or self.catalog.file_held(origin.source_id, file, _TAKEN_OUT):
            raise NotPermitted(
                "its original may hold what was taken out of the text: only who keeps the library sees it"
            )
        if self.catalog.file_excluded(origin.source_id, file):
            raise NotPermitted("its original holds what is excluded from answers: only who keeps the library sees it")
        if parse_copyright(source.copyright).excerpt != "allow":
            raise NotPermitted("its terms do not allow to give the whole document")

    @staticmethod
    def _check_may_copy(source: Source) -> None:
        if parse_copyright(source.copyright).excerpt != "allow":
            raise NotPermitted("its terms do not allow to give the whole document")

    def _told(self, origin: Origin, principal: Principal, door: str) -> None:
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


# Opens the original file of a document, from its source's path or connector.


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalFile:
    """An original file.

    Attributes:
        name: What a person calls it, with its suffix.
        content: Its bytes.
    """

    name: str
    content: bytes


def open_original(source: Source, uri: str) -> OriginalFile:
    """The file a document was read from. Access must be checked by the caller: see `Originals`.

    Links that lead out of the source's path are refused, as they are when it is read.

    Args:
        uri: The document's; of one that is a part of a file (a sheet, a line) the file is given.

    Raises:
        OriginalGone: the file is no longer there.
        OriginalUnavailable: no file of the source is known for it, it cannot be read now, or is too large.
    """
    bare = uri.partition("#")[0].partition("?")[0]  # an address that a document states need be none that can be split
    root = os.path.realpath(source.path) if source.path else ""
    path = Path(unquote(bare.removeprefix("file://"), errors="surrogateescape"))
    if not bare.startswith("file:///") or not root or not Path(os.path.realpath(path)).is_relative_to(root):
        raise OriginalUnavailable(msg("no file of the source is known for {uri}", uri=repr(uri)))
    try:
        if not is_file(path):  # and nothing that would be waited for
            hint = msg("read the source again: wenyuan refresh {source_id}", source_id=source.source_id)
            raise OriginalGone(msg("the file of {uri} is no longer there", uri=repr(uri)), hint=hint)
        with os.fdopen(open_regular(path), "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise OriginalUnavailable(
            msg("cannot read {path}: {strerror}", path=path, strerror=error.strerror)
        ) from error
    if len(content) > MOST_BYTES:
        raise OriginalUnavailable(msg("{path} is larger than {most} bytes", path=path, most=f"{MOST_BYTES:,}"))
    return OriginalFile(name=legible(path.name), content=content)


def fetch_original(catalog: Catalog, connector: Connector, source: Source, uri: str) -> OriginalFile:
    """As `open_original`, for a source with a connector: fetches the entry as last listed.

    Raises:
        OriginalUnavailable: nothing is remembered of it, or it cannot be had now.
    """
    entry = catalog.listed_for(source.source_id, uri)
    if entry is None:
        raise OriginalUnavailable(msg("no file of the source is known for {uri}", uri=repr(uri)))
    try:
        content = connector.fetch(entry, MOST_BYTES)
    except SourceError as error:
        raise OriginalUnavailable(error.message, component=error.component, hint=error.hint) from error
    return OriginalFile(name=entry.name, content=content)
