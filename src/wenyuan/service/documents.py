"""Lists of documents and their passages, for people who maintain them."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from wenyuan.core.access import Principal
from wenyuan.core.document_choice import DocumentChoice, DocumentSort
from wenyuan.core.errors import Fault, InvalidRequest, NotFound, NotPermitted, listed, msg
from wenyuan.core.fidelity import Line, part_of
from wenyuan.core.model import Corrected, DocumentState, Source
from wenyuan.core.terms_of_use import parse_copyright
from wenyuan.service.document_details import details_said
from wenyuan.service.fragments import recognised, reworded
from wenyuan.service.ingest.source_run import NOT_KEPT
from wenyuan.service.operations.freshness import iso_time
from wenyuan.service.originals import keeps_library
from wenyuan.service.reading import DocumentAccess, allowed_part
from wenyuan.service.search.searcher import LOCAL

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.catalog.readings import HeldDocument, PlacedPassage


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

    def list_documents(  # noqa: PLR0913  (what is wanted, each by name)
        self,
        principal: Principal = LOCAL,
        *,
        source: str | None = None,
        state: DocumentState | None = None,
        q: str = "",
        after: str = "",
        limit: int = 50,
        trust: int = 1,
        owner: str | None = None,
        kind: str = "",
        fidelity_below: float | None = None,
        read_since: float | None = None,
        read_until: float | None = None,
        sort: DocumentSort = "address",
    ) -> DocumentPage:
        """Documents visible to the caller, by source and address unless another order is asked for.

        A caller bound to an agent sees the documents that it may read today; others see all, including those that
        could not be ingested.

        Args:
            q: What title or address must hold.
            after: `DocumentPage.next` of the page before.
            trust: Only of sources that are trusted so far at least.
            owner: Only of sources of this owner.
            kind, fidelity_below, read_since, read_until, sort: See `core.document_choice.DocumentChoice`.

        Raises:
            NotFound: there is no such source, or none that the caller may see.
            NotPermitted: a caller bound to an agent asks by owner, who is not an agent's to know.
            InvalidRequest: `after` is no such mark; or what could not be read is to be chosen by how it was read.
            EngineTimeout: the request's deadline passed before all candidates were checked.
        """
        sources = self._sources(principal)
        if source is not None and source not in sources:
            raise NotFound(msg("there is no source {name}", name=repr(source[:64])), hint="wenyuan source list")
        if read_since is not None and read_until is not None and read_since >= read_until:
            faults = (Fault("read_since", "must be earlier than the end of the time that is asked for"),)
            raise InvalidRequest(listed(faults), faults=faults)
        if owner is not None and principal.agent_id is not None:
            raise NotPermitted("a key that is bound to an agent cannot choose documents by owner")
        names = sorted(
            name
            for name, one in sources.items()
            if source in (None, name) and one.trust >= trust and owner in (None, one.owner)
        )
        if principal.agent_id is not None and state not in (None, "live"):
            return DocumentPage(documents=(), next="")
        own: DocumentState | None = "live" if principal.agent_id is not None else state
        choice = DocumentChoice(
            state=own, words=q.strip(), kind=kind.strip(), fidelity_below=fidelity_below, read_since=read_since,
            read_until=read_until, sort=sort,
        )  # fmt: skip
        if not choice.plain:
            return self._sorted(names, choice, after, limit, sources, principal)
        found = self.catalog.listed_documents(
            names, today=date.today(), state=own, words=q.strip(), after=_place(after), limit=limit + 1,
            deadline=self.access.retriever.limit(),
        )  # fmt: skip
        last = found[limit - 1] if len(found) > limit else None
        return DocumentPage(
            documents=tuple(self._described(one, sources, principal) for one in found[:limit]),
            next="" if last is None else _mark(last),
        )

    def _sorted(
        self, names: Sequence[str], choice: DocumentChoice, after: str, limit: int, sources: Mapping[str, Source],
        principal: Principal,
    ) -> DocumentPage:  # fmt: skip
        """A page of a list that is chosen by how documents were read, or sorted otherwise than by address."""
        if choice.state == "failed":
            raise InvalidRequest(
                "what could not be read has no kind, date or fidelity, and is listed by address alone",
                hint="leave out the other choices",
            )
        found = self.catalog.sorted_documents(
            names, choice, today=date.today(), after=_sorted_place(after, choice.sort), limit=limit + 1,
            deadline=self.access.retriever.limit(),
        )  # fmt: skip
        last = found[limit - 1] if len(found) > limit else None
        return DocumentPage(
            documents=tuple(self._described(one, sources, principal) for one, _ in found[:limit]),
            next="" if last is None else _encoded([choice.sort, last[1], last[0].document_id]),
        )

    def document(self, document_id: int, principal: Principal = LOCAL) -> Mapping[str, Any]:
        """All data of one document, with notes and reading warnings.

        Raises:
            NotFound: there is no such document, or none that the caller may see; the two are told alike.
        """
        held, sources = self._document(document_id, principal)
        told = {**self._described(held, sources, principal), "notes": list(held.notes), "tags": dict(held.tags)}
        if principal.agent_id is not None:
            return told
        return {**told, "details": details_said(self.catalog, held.source_id, held.uri)}

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
        held, sources = self._document(document_id, principal)
        terms = parse_copyright(sources[held.source_id].copyright)
        # Before the page is read: of a document that is removed between the two, nothing is given.
        chars = self.catalog.document_chars({document_id}).get(document_id, 0)
        room = None if keeps_library(principal) else terms.room(chars)
        if room is not None and after:
            room = max(0, room - self.catalog.chars_up_to(document_id, after))
        found, more = self.catalog.passages_of_document(document_id, after=after, limit=limit)
        start, end = min((p.start for p in found), default=0), max((p.end for p in found), default=0)
        lines = self.catalog.document_lines(document_id, start, end) if found else []
        texts = _cut_texts([one.text for one in found], room)
        told = tuple(_passage(one, text, lines) for one, text in zip(found, texts, strict=True))
        return PassagePage(
            document={**self._described(held, sources, principal), "credit": terms.credit},
            passages=told,
            next=found[-1].passage_id if more else None,
        )

    def place_of(self, passage_id: int, principal: Principal = LOCAL, *, page: int = 50) -> Mapping[str, Any]:
        """The document of a passage, and the `after` value of the page of `page` passages that contains it; of a passage that ended,
        those of the one with the same words in the same document now.

        Raises:
            NotFound: there is no such passage, or none that the caller may see.
            InvalidRequest: a page of less than one passage.
        """
        if page < 1:
            raise InvalidRequest(msg("{place} {fault}", place="page", fault=msg("must be at least {limit}", limit=1)))
        sources, found = self._sources(principal), None
        if self.catalog.source_of_ended_passage(passage_id) in sources:
            passage_id = self._in_its_place(passage_id)
        if self.catalog.source_of_passage(passage_id) in sources:  # else nothing is read of it: it may be another's
            found = self.catalog.passages([passage_id]).get(passage_id)
        try:
            if found is not None:
                self._document(found.document_id, principal)
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

    def _in_its_place(self, passage_id: int) -> int:
        """The passage with the same words that the document of a removed one has now: numbers change with each reading and each
        change of its details. The same number where there is none.
        """
        heir = self.catalog.passage_fate(passage_id).get("replaced_by") or {}
        return int(heir.get("passage_id") or passage_id)

    def _sources(self, principal: Principal) -> Mapping[str, Source]:
        """The sources visible to a caller; for an agent, those it may read that are in force today."""
        if principal.agent_id is not None:
            return self.access.readable_sources(principal)
        return {source.source_id: source for source in self.catalog.sources()}

    def _document(self, document_id: int, principal: Principal) -> tuple[HeldDocument, Mapping[str, Source]]:
        sources, held = self._sources(principal), None
        if self.catalog.source_of_document(document_id) in sources:  # else nothing is read of it: it may be another's
            held = self.catalog.held_document(document_id, date.today())
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
            "trust": sources[one.source_id].trust,
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
    return _encoded([one.source_id, one.uri])


def _encoded(place: Sequence[Any]) -> str:
    written = json.dumps(place, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(written).decode().rstrip("=")


def _sorted_place(mark: str, sort: str) -> tuple[Any, int] | None:
    """Where a sorted list goes on: what its last one is sorted by, and its id."""
    if not mark:
        return None
    try:
        of, value, number = json.loads(base64.urlsafe_b64decode(mark + "=" * (-len(mark) % 4)))
        kind: tuple[type, ...] = (str,) if sort in ("address", "title") else (int, float)
        if of != sort or type(value) not in kind or type(number) is not int:
            raise TypeError
    except (ValueError, TypeError, binascii.Error, RecursionError) as error:
        raise _no_mark() from error
    return value, number


def _no_mark() -> InvalidRequest:
    faults = (Fault("after", "must be what the page before gave as next"),)
    return InvalidRequest(listed(faults), faults=faults)


def _place(mark: str) -> tuple[str, str] | None:
    if not mark:
        return None
    try:
        source_id, uri = json.loads(base64.urlsafe_b64decode(mark + "=" * (-len(mark) % 4)))
        if not isinstance(source_id, str) or not isinstance(uri, str):
            raise TypeError
    except (ValueError, TypeError, binascii.Error, RecursionError) as error:
        raise _no_mark() from error
    return source_id, uri


def _cut_texts(texts: Sequence[str], room: int | None) -> list[str | None]:
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
