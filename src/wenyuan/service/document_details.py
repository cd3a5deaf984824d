"""Sets the details of documents in place: title, days and tags; what is not given stays as it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from wenyuan.contract.fields import CLOSED, Text
from wenyuan.core.arguments import checking_fields
from wenyuan.core.declared_readers import without_readers
from wenyuan.core.document_details import DetailField, DocumentDetails, StatedDetails, details_as_json
from wenyuan.core.errors import CatalogBusy, Conflict, Fault, InvalidRequest, NotFound, VectorsGone, listed, msg
from wenyuan.core.filters import MAX_NUMBER
from wenyuan.core.model import Facet, NewPassage
from wenyuan.core.validity_dates import parse_date, validity_field
from wenyuan.service.ingest.corrections import LOCAL_ACTOR, MOST_REASON_CHARS
from wenyuan.service.ingest.embedding import Embedding
from wenyuan.service.ingest.supersession import settle
from wenyuan.service.ingest.versions import file_version, present_versions
from wenyuan.service.operations.freshness import iso_time

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.catalog.document_details import DetailedDocument
    from wenyuan.service.ingest.ingester import Ingester
    from wenyuan.service.ingest.ingestion import Ingestion

MOST_TITLE_CHARS = 500
MOST_TAGS = 100
MOST_TAG_CHARS = 1_000
OPEN = "open"
"""Of a day: there is none, so that the document counts from ever, or without end."""
_TRIES = 5  # while others change the document


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class DetailsRequest:
    """What is said of a document. What is not given stays as it is.

    Raises:
        InvalidRequest: on construction, listing every fault.
    """

    __pydantic_config__ = CLOSED

    title: Annotated[Text, Field(max_length=MOST_TITLE_CHARS)] | None = None
    effective_from: Annotated[
        Text | None, Field(max_length=40, description="The first day on which it counts; `open`: from ever.")
    ] = None
    effective_until: Annotated[
        Text | None, Field(max_length=40, description="The last day on which it counts; `open`: without end.")
    ] = None
    tags: Annotated[
        Mapping[str, Facet | None],
        Field(description="Facets by which searches can be narrowed, as `metadata.NAME`; null takes one away."),
    ] = field(default_factory=dict)
    as_read: Annotated[
        tuple[DetailField, ...], Field(max_length=4, description="What is as the file says again.")
    ] = field(default_factory=tuple)
    reason: Annotated[Text, Field(max_length=MOST_REASON_CHARS)] = ""

    def __post_init__(self) -> None:
        faults = tuple(self._faults())
        if faults:
            raise InvalidRequest(listed(faults), faults=faults)

    def _faults(self) -> Iterator[Fault]:
        said = self.said()
        if not said and not self.as_read:
            yield Fault("title", "is required, or another detail")
        for back in self.as_read:
            if back in said:
                yield Fault("as_read", msg("{name} cannot be set and taken back at once", name=back))
        for name, value in (("effective_from", self.effective_from), ("effective_until", self.effective_until)):
            if value not in (None, OPEN):
                try:
                    parse_date(value)
                except ValueError:
                    yield Fault(name, msg("{value} is no day; write YYYY-MM-DD, or open", value=repr(value[:40])))
        if len(self.tags) > MOST_TAGS:
            yield Fault("tags", msg("must be at most {most}", most=MOST_TAGS))
        for tag, held in self.tags.items():
            yield from _tag_faults(tag, held)

    def said(self) -> dict[DetailField, Any]:
        """What is said, by name; days as ISO has them."""
        said: dict[DetailField, Any] = {}
        if self.title is not None:
            said["title"] = " ".join(self.title.split())
        if self.effective_from is not None:
            said["effective_from"] = None if self.effective_from == OPEN else _iso(self.effective_from)
        if self.effective_until is not None:
            said["effective_until"] = None if self.effective_until == OPEN else _iso(self.effective_until)
        if self.tags:
            said["tags"] = dict(self.tags)
        return said


def _iso(value: str) -> str:
    try:
        return parse_date(value).isoformat()
    except ValueError:
        return value  # a fault, which is told


def _tag_faults(name: str, tag: Facet | None) -> Iterator[Fault]:
    where = f"tags.{name[:60]}"
    if not name.strip() or len(name) > 128 or any(ord(sign) < 0x20 for sign in name):
        yield Fault(where, "a name has 1 to 128 characters and no control characters")
    elif validity_field(name):
        yield Fault(where, "a tag of this name says when a document counts: set effective_from and effective_until")
    elif not without_readers({name: ""}):
        yield Fault(where, "a tag of this name says who may read: wenyuan document readers")
    if isinstance(tag, str) and len(tag) > MOST_TAG_CHARS:
        yield Fault(where, msg("must have at most {most} characters", most=MOST_TAG_CHARS))
    if isinstance(tag, (int, float)) and not (math.isfinite(tag) and abs(tag) <= MAX_NUMBER):
        yield Fault(where, "a number must be finite and within ±2^53")


@dataclass(frozen=True, kw_only=True, eq=False)
class DetailsDesk:
    """Sets them. They count from the next question on, and when the document is read again."""

    ingestion: Ingestion

    @property
    def _ingester(self) -> Ingester:
        return self.ingestion.ingester

    def set_details(self, document_id: int, wanted: DetailsRequest, actor: str = LOCAL_ACTOR) -> int:
        """Say something of a document in place of what its file says; returns its number, which is another one then.

        Raises:
            NotFound: there is no such document.
            InvalidRequest: it would end before it begins.
            Conflict: its source is to be read again first, for its redaction became stricter.
            KnowledgeError: nothing was stored; or it was, and the index is behind.
        """
        self.ingestion.check_may_write()
        for _ in range(_TRIES):
            document = self._document(document_id)
            number = self._stored(document, wanted, actor)
            if number is not None:
                break
        else:
            raise CatalogBusy(
                msg("document {number} is changed by somebody else", number=document_id), component="catalog", hint="try again"
            )  # fmt: skip
        if {*wanted.said(), *wanted.as_read} & {"title", "effective_from", "effective_until"}:
            settle(self._ingester.catalog, document.source_id)  # what ends what goes by these
        self._ingester.follow_soon()
        if self._ingester.recheck_quotes(document.source_id).evidences:
            self._ingester.follow_soon()
        told = {
            "source_id": document.source_id,
            "uri": document.uri,
            "fields": sorted({*wanted.said(), *wanted.as_read}),
        }
        self._ingester.catalog.database.on_change("document", "details", document.uri, None, told)
        return self._number_at(document)

    def _number_at(self, document: DetailedDocument) -> int:
        found = self._ingester.catalog.document_by_uri(document.uri, [document.source_id])
        if found is None:
            raise _missing(document.document_id)
        number: int = found[0]
        return number

    def _document(self, document_id: int) -> DetailedDocument:
        catalog = self._ingester.catalog
        if catalog.held_document(document_id, date.today()) is None:  # which is asked with the caller's eyes
            raise _missing(document_id)
        found = catalog.detailed_document(document_id)
        if found is None:
            raise _missing(document_id)
        return found

    def _stored(self, document: DetailedDocument, wanted: DetailsRequest, actor: str) -> int | None:
        """Store what is said; returns the new number, or None where the document was changed meanwhile."""
        catalog = self._ingester.catalog
        source = catalog.source(document.source_id)
        if self._ingester.behind(source):
            raise Conflict(
                msg("source {source_id} is to be read again first: its redaction became stricter", source_id=source.source_id),
                hint=msg("wenyuan refresh {source_id}", source_id=source.source_id),
            )  # fmt: skip
        kept = catalog.kept_details(document.source_id, document.uri)
        version = version_of(catalog, document.source_id, document.uri)
        redacted = self._ingester.redacting(source).text
        read = document.own if kept is None else kept.read
        before = StatedDetails() if kept is None else kept.of_version(version)
        said = before.changed(_redacted(wanted.said(), redacted), wanted.as_read)
        details = said.over(read)
        _check(details)
        embedding = Embedding(catalog, self._ingester.encoder)

        def keyed(one: NewPassage) -> NewPassage:
            return embedding.keyed(one, details.title, document.lead)

        for one in document.passages:
            keyed(one)
        vectors = embedding.vectors()  # without the lock: an encoder may be slow
        with catalog.writing():
            if catalog.detailed_document(document.document_id) != document:
                return None
            if catalog.kept_details(document.source_id, document.uri) != kept:
                return None
            try:
                number: int = catalog.set_details(
                    document, said, read, keyed=keyed, vectors=vectors, reason=redacted(wanted.reason.strip()), actor=actor,
                    version=version,
                )  # fmt: skip
            except VectorsGone:  # another source had the same texts, and was removed meanwhile
                return None
        return number


def _redacted(said: dict[DetailField, Any], redacted: Any) -> dict[DetailField, Any]:
    if "title" in said:
        said["title"] = redacted(said["title"])
    if "tags" in said:
        said["tags"] = {
            redacted(name): redacted(tag) if isinstance(tag, str) else tag for name, tag in said["tags"].items()
        }
    return said


def _check(details: DocumentDetails) -> None:
    begin, end = details.effective_from, details.effective_until
    if begin is not None and end is not None and end < begin:
        faults = (Fault("effective_until", msg("must not be earlier than {value}", value=begin.isoformat())),)
        raise InvalidRequest(listed(faults), faults=faults)


def version_of(catalog: Catalog, source_id: str, uri: str) -> int:
    """The number of the version of its file that a document was read from, from 1."""
    file, number = file_version(uri)
    return number or present_versions(catalog.live_documents(source_id)).get(file, 1)


def details_said(catalog: Catalog, source_id: str, uri: str) -> dict[str, Any] | None:
    """What people said of a document, what its file says, and who said it when; None where they said nothing."""
    kept = catalog.kept_details(source_id, uri)
    said = None if kept is None else kept.of_version(version_of(catalog, source_id, uri) if kept.version else 0)
    if kept is None or said is None or not said.values:
        return None
    return {
        "said": dict(said.values), "as_read": details_as_json(kept.read), "actor": kept.actor, "at": iso_time(kept.at),
        "reason": kept.reason,
    }  # fmt: skip


def _missing(document_id: int) -> NotFound:
    return NotFound(
        msg("there is no document {number}", number=document_id),
        hint="its number changes when it is read again: look for it in wenyuan document list",
    )
