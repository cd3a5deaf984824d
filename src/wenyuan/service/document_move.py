"""Moves an uploaded document to another source of uploads, with its earlier versions, its readers and what was said of it."""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from wenyuan.core.errors import Conflict, InvalidRequest, NotFound, SourceError, msg
from wenyuan.core.redaction.policy import LEVELS
from wenyuan.core.source_readers import NO_READERS, readers_of
from wenyuan.service.document_details import OPEN, DetailsDesk, DetailsRequest, version_of
from wenyuan.service.ingest.corrections import LOCAL_ACTOR
from wenyuan.service.ingest.lost_files import file_of
from wenyuan.service.ingest.versions import version_at, versions_in
from wenyuan.service.uploads import Given, Uploads, not_kept

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.catalog.document_details import KeptDetails
    from wenyuan.core.model import Source
    from wenyuan.service.ingest.progress import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedDocument:
    """What came of a move.

    Attributes:
        source_id: Where it is now.
        moved_from: Where it was.
        documents: The numbers of what was read from its file there.
        versions: How many earlier versions came with it.
    """

    source_id: str
    moved_from: str
    documents: tuple[int, ...]
    versions: int


@dataclass(frozen=True, kw_only=True, eq=False)
class DocumentMove:
    """Moves them. Whatever ends a move, the document is in one of the two sources, or, until it is moved once more, in both."""

    catalog: Catalog
    uploads: Uploads
    details: DetailsDesk

    def move(
        self,
        document_id: int,
        to: str,
        progress: Callable[[Progress], None] | None = None,
        *,
        actor: str = LOCAL_ACTOR,
    ) -> MovedDocument:
        """Move the file of a document, with all documents that were read from it.

        Raises:
            NotFound: there is no such document, or no such source.
            InvalidRequest: one of the two sources is read from elsewhere; they are the same; it is an earlier version; or it cannot
                be read there.
            Conflict: something would be lost: corrections, statements of rules that cite it, another file of its name there; or less
                would be taken out of its text.
            KnowledgeError: it is where it was, or in both.
        """
        source = self._source_of(document_id)
        target = self.uploads.check_takes_uploads(to)
        source, file = self.uploads.stored_file_of(document_id)
        home = self.uploads.home(source)
        name = file.relative_to(home).as_posix()
        if version_at(PurePosixPath(name)) is not None:
            raise InvalidRequest(
                msg("document {document_id} is an earlier version, which moves with the present one", document_id=document_id),
                hint="wenyuan document history",
            )  # fmt: skip
        uris = self._documents(source, document_id)
        self._check(source, target, uris, file, self.uploads.home(target) / name)
        said = {uri[len(base) :]: kept for uri, base in uris.items() if (kept := self._said(source, uri))}
        access = self.uploads.access_of(source, document_id)
        versions = versions_in(home, name)
        with self.uploads.incoming() as folder:
            former = {one.place: _copy(home / one.place, folder / f"version-{one.number}") for one in versions}
            given = Given(name=name, path=_copy(file, folder / "file"), access=access, versions=former)
            (taken,) = self.uploads.upload(to, [given], progress).files
        if taken.state == "failed":
            raise InvalidRequest(
                msg("{name} is not moved: {reason}", name=file.name, reason=taken.reason),
                hint="wenyuan document show",
            )
        files = self._files(target, taken.documents)
        self._say_again(target, taken.documents, said, actor)
        address = next(iter(uris.values()))
        self.uploads.delete(document_id)
        numbers = self._numbers(target, files)
        told = {"source_id": target.source_id, "versions": len(versions)}
        self.catalog.database.on_change("document", "moved", address, {"source_id": source.source_id}, told)
        return MovedDocument(
            source_id=target.source_id, moved_from=source.source_id, documents=numbers, versions=len(versions)
        )

    def _source_of(self, document_id: int) -> Source:
        """The source of a document, which is one of uploads."""
        name = self.catalog.source_of_document(document_id)
        if name is None:
            raise NotFound(
                msg("there is no document {number}", number=document_id),
                hint="its number changes when it is read again: look for it in wenyuan document list",
            )
        source: Source = self.catalog.source(name)
        if source.type != "static_doc" or source.path:
            raise InvalidRequest(
                msg(
                    "document {number} is read from {where}, and would come back from there: move its file there",
                    number=document_id, where=source.path or source.type,
                ),
                hint=msg("then: wenyuan refresh {source_id}", source_id=name),
            )  # fmt: skip
        return source

    def _documents(self, source: Source, document_id: int) -> Mapping[str, str]:
        """The addresses of all documents of the same file, each with that of the file."""
        stated = self.catalog.stated_files(source.source_id)
        live = self.catalog.live_documents(source.source_id)
        own = next((uri for uri, (number, *_) in live.items() if number == document_id), None)
        if own is None:
            raise NotFound(msg("there is no document {number}", number=document_id), hint="wenyuan document list")
        base = file_of(own, stated)
        return {uri: base for uri in live if file_of(uri, stated) == base}

    def _check(self, source: Source, target: Source, uris: Mapping[str, str], file: Path, place: Path) -> None:
        """Check that nothing is lost, and no more is shown, where a file is moved."""
        if target.source_id == source.source_id:
            raise InvalidRequest(msg("the document is in {source_id} already", source_id=target.source_id))
        if LEVELS.index(target.sensitivity) < LEVELS.index(source.sensitivity):
            raise Conflict(
                msg(
                    "{to} is {laxer}, {source_id} is {stricter}: less would be taken out of what is moved",
                    to=target.source_id, laxer=target.sensitivity, source_id=source.source_id, stricter=source.sensitivity,
                ),
                hint=msg("wenyuan source set {source_id} --sensitivity", source_id=target.source_id),
            )  # fmt: skip
        readers = readers_of(source)
        if readers not in (NO_READERS, readers_of(target)):
            raise Conflict(
                msg(
                    "{source_id} says who may read its documents, and {to} says otherwise: more might read what is moved",
                    source_id=source.source_id,
                    to=target.source_id,
                ),
                hint=msg("wenyuan source show {source_id}", source_id=target.source_id),
            )
        if set(self.catalog.counting_corrections(source.source_id)) & uris.keys():
            raise Conflict(
                "it has corrections, which hold for its present place: undo them first",
                hint="wenyuan corrections",
            )
        cited = {one.statement_id for uri, every in self.catalog.cited(source.source_id).items() if uri in uris for one in every}  # fmt: skip
        if cited:
            raise Conflict(
                msg("{count} statements of rules cite it, and would lose what they rest on", count=len(cited)),
                hint=msg("wenyuan rules show {number}", number=min(cited)),
            )
        if place.is_file() and not filecmp.cmp(place, file, shallow=False):
            raise Conflict(
                msg("{source_id} has another file {name}", source_id=target.source_id, name=place.name),
                hint="delete one of them, or replace it",
            )

    def _said(self, source: Source, uri: str) -> KeptDetails | None:
        kept: KeptDetails | None = self.catalog.kept_details(source.source_id, uri)
        return kept

    def _say_again(
        self, target: Source, numbers: tuple[int, ...], said: Mapping[str, KeptDetails], actor: str
    ) -> None:
        """Say of the documents there what was said of them here."""
        if not said:
            return
        stated = self.catalog.stated_files(target.source_id)
        live = self.catalog.live_documents(target.source_id)
        for uri in [uri for uri, (number, *_) in live.items() if number in numbers]:
            kept = said.get(uri[len(file_of(uri, stated)) :])
            if kept is None:
                continue
            values = kept.of_version(version_of(self.catalog, target.source_id, uri)).values
            if values:
                self.details.set_details(live[uri][0], _request(values, kept.reason), actor)

    def _files(self, target: Source, numbers: tuple[int, ...]) -> frozenset[str]:
        """The addresses of the files that documents were read from."""
        live = self.catalog.live_documents(target.source_id)
        stated = self.catalog.stated_files(target.source_id)
        return frozenset(file_of(uri, stated) for uri, (number, *_) in live.items() if number in numbers)

    def _numbers(self, target: Source, files: frozenset[str]) -> tuple[int, ...]:
        """The numbers of what was read from files, as they are now: they change where something is said of a document."""
        live = self.catalog.live_documents(target.source_id)
        stated = self.catalog.stated_files(target.source_id)
        return tuple(sorted(number for uri, (number, *_) in live.items() if file_of(uri, stated) in files))


def _request(values: Mapping[Any, Any], reason: str) -> DetailsRequest:
    begins, ends = (
        None if name not in values else OPEN if values[name] is None else str(values[name])
        for name in ("effective_from", "effective_until")
    )
    return DetailsRequest(
        title=values.get("title"), effective_from=begins, effective_until=ends, tags=values.get("tags", {}), reason=reason
    )  # fmt: skip


def _copy(file: Path, to: Path) -> Path:
    try:
        shutil.copy2(file, to)
    except OSError as error:
        raised: SourceError = not_kept(file, error)
        raise raised from error
    return to
