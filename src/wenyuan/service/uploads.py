"""Uploaded documents: stored in the library's folder, ingested at once, replaced and deleted.

Only a source without a path is uploaded to: its files are in ``uploads/<source id>`` of the library's folder. A
source with a path is read from there, and nothing is ever written to it. A file that cannot be read is not kept, and
a new version that cannot be read leaves the one before it in its place.
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import threading
import time
import unicodedata
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial, reduce
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from wenyuan.core.addresses import file_uri
from wenyuan.core.arguments import checking_fields
from wenyuan.core.errors import (
    CatalogBusy,
    CatalogError,
    EncoderError,
    EngineError,
    InvalidRequest,
    NotFound,
    SourceError,
    msg,
    said_by,
)
from wenyuan.core.model import Source
from wenyuan.core.principals import AccessList
from wenyuan.core.source_readers import SET, WITH_UPLOAD
from wenyuan.runtime.full_disk import next_step
from wenyuan.service.ingest.addresses import Addresses
from wenyuan.service.ingest.ingester import Ingester
from wenyuan.service.ingest.ingestion import Ingestion
from wenyuan.service.ingest.lost_files import file_of, may_go, name_of
from wenyuan.service.ingest.progress import IngestReport, Progress
from wenyuan.service.ingest.removed_uploads import take_away
from wenyuan.service.ingest.source_run import NOT_KEPT
from wenyuan.service.ingest.uploads_home import check_home
from wenyuan.service.ingest.versions import next_version, version_at, versions_in
from wenyuan.service.upload_journal import INCOMING, Journal, alone, has_journal, recover, unfinished

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

_PATIENCE = 10.0  # seconds to wait for another upload
_FORGOTTEN = 24 * 3600.0  # seconds after which what a killed process left behind is removed


@checking_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A received file.

    Attributes:
        name: That it was sent with, perhaps with folders.
        path: The received file, which is moved from there.
        reason: Why it is refused already; then there are no bytes.
        access: Who may read what is read of it, beside what else is said of that; None: what was said of the file before.
        versions: Earlier ones by their places in the source's folder, which come with it, and are moved, too.
    """

    name: str
    path: Path
    reason: str = ""
    access: AccessList | None = None
    versions: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The result for one file.

    Attributes:
        name: As stored; for a refused file, as sent.
        documents: Numbers of the documents that were read from it.
        reason: Why it failed.
    """

    name: str
    state: Literal["added", "changed", "unchanged", "failed"]
    documents: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadReport:
    """The result for each file in order of arrival; `report` is None where no file was kept."""

    source_id: str
    files: tuple[Taken, ...]
    report: IngestReport | None = None


@dataclass(slots=True)
class _Placed:
    """A file moved to its place."""

    name: str
    target: Path
    before: bool  # whether one was there
    same: bool  # and had the same bytes
    shown: str = ""  # its address as it is stored, once it was read
    kept: tuple[int, ...] = ()  # steps of the journal that keep the version before it


@dataclass(frozen=True, kw_only=True, eq=False)
class Uploads:
    """Stores uploaded files."""

    catalog: Catalog
    ingestion: Ingestion
    keep: int = 0  # earlier versions of each file
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def _ingester(self) -> Ingester:
        return self.ingestion.ingester

    @contextmanager
    def incoming(self) -> Iterator[Path]:
        """A temporary folder for incoming files on the same disk as the uploads; removed with its content at the end.

        Raises:
            SourceError: it cannot be made.
        """
        root = self._ingester.uploads / INCOMING
        folder = root / uuid.uuid4().hex
        try:
            folder.mkdir(parents=True, mode=0o700)
            for old in root.iterdir():
                with suppress(FileNotFoundError):  # another upload ended meanwhile, and removed its own
                    if old.is_dir() and not has_journal(old) and time.time() - old.stat().st_mtime > _FORGOTTEN:
                        shutil.rmtree(old, ignore_errors=True)
        except OSError as error:
            raise not_kept(folder, error) from error
        try:
            yield folder
        finally:
            if not has_journal(folder):  # else not all files could be put back
                shutil.rmtree(folder, ignore_errors=True)

    def check_takes_uploads(self, source_id: str) -> Source:
        """The source, if documents can be uploaded to it.

        Raises:
            NotFound: there is no such source.
            InvalidRequest: it is read from elsewhere.
        """
        source: Source = self.catalog.source(source_id)
        if source.type != "static_doc" or source.path:
            where = source.path or source.type
            raise InvalidRequest(
                msg("the source {source_id} is read from {where}: nothing is uploaded to it", source_id=source_id, where=where),
                hint="put the file there and refresh the source; documents are uploaded to a source without a path",
            )  # fmt: skip
        return source

    def upload(
        self, source_id: str, given: Sequence[Given], progress: Callable[[Progress], None] | None = None
    ) -> UploadReport:
        """Store files and ingest them. A file with an existing name is a new version.

        Raises:
            NotFound, InvalidRequest: see `check_takes_uploads`.
            CatalogBusy: another process is at the source; nothing was kept.
            SourceError: the files cannot be written or read; nothing was kept.
            EncoderError, EngineError, CatalogError: the files are kept, and read at the next refresh.

        Whatever else ends it, nothing was kept: see `service.upload_journal`.
        """
        self.ingestion.check_may_write()
        source = self.check_takes_uploads(source_id)
        named: dict[str, Given] = {}
        refused: dict[int, Taken] = {}
        for at, one in enumerate(given):
            name, reason = self._checked(one, named)
            if reason:
                refused[at] = Taken(name=one.name, state="failed", reason=reason)
            else:
                named[name] = one
        taken, report = self._take(source, named, progress) if named else ({}, None)
        rest = iter(taken.values())
        files = tuple(refused[at] if at in refused else next(rest) for at in range(len(given)))
        return UploadReport(source_id=source_id, files=files, report=report)

    def replace(
        self, document_id: int, given: Given, progress: Callable[[Progress], None] | None = None
    ) -> UploadReport:
        """Replace the file of a document; the new version supersedes the document.

        A file of the same kind takes the old one's name, another one comes under its own and the old one goes.

        Raises:
            NotFound: there is no such document.
            InvalidRequest: its file was not uploaded, or the new one is of a kind that is not read.
            CatalogBusy, SourceError, EncoderError, EngineError, CatalogError: as `upload`.
        """
        self.ingestion.check_may_write()
        source, file = self.stored_file_of(document_id)
        name, reason = self._checked(given, {})
        if reason:
            raise InvalidRequest(msg("{name}: {reason}", name=given.name, reason=reason))
        home = self.home(source)
        old = file.relative_to(home).as_posix()
        if (version := version_at(PurePosixPath(old))) is not None:
            raise InvalidRequest(
                msg(
                    "document {document_id} is an earlier version of {name}",
                    document_id=document_id,
                    name=version.name,
                ),
                hint="replace the one that is in its place now: wenyuan document history",
            )
        if PurePosixPath(name).suffix.lower() == file.suffix.lower():
            name = old
        else:
            name = (PurePosixPath(old).parent / PurePosixPath(name).name).as_posix()
        if given.access is None:
            given = replace(given, access=self.access_of(source, document_id))
        taken, report = self._take(source, {name: given}, progress, instead_of=file)
        return UploadReport(source_id=source.source_id, files=tuple(taken.values()), report=report)

    def delete(self, document_id: int) -> tuple[str, int]:
        """Delete the file of a document; returns the source, and the number of documents removed with it.

        Raises:
            NotFound: there is no such document.
            InvalidRequest: its file was not uploaded.
            KnowledgeError: nothing was deleted. What no longer had its document has it again at the next refresh.
        """
        self.ingestion.check_may_write()
        with self._alone():
            source, shown = self._origin(document_id)
            home, file = self.home(source), self._stored_file(source, shown)
            if file is None and name_of(shown, source.source_id) in self._names(source):
                source, file = self.stored_file_of(document_id)  # which says that the folder is to be read anew
            gone: list[Path] = []  # none, where the file was lost
            if file is not None:
                name = file.relative_to(home).as_posix()
                gone = [
                    file,
                    *(home / one.place for one in versions_in(home, name)),
                ]  # none of them comes to life again
            stated = self.catalog.stated_files(source.source_id)
            own = sum(file_of(uri, stated) == shown for uri in self.catalog.live_documents(source.source_id))
            with self._journal(source, dict.fromkeys(gone, None), (), shown) as journal:
                for number in range(len(gone)):
                    journal.do(number)
                self._read(source, None)
            self._drop_empty(home)
        self._audited("deleted", source, shown, {"documents": own, "versions": max(0, len(gone) - 1)})
        return source.source_id, own

    def access_of(self, source: Source, document_id: int) -> AccessList | None:
        """Who may read an uploaded file, as was said by name or with it, of any document that was read of it."""
        file = self._origin(document_id)[1]
        stated = self.catalog.stated_files(source.source_id)
        uris = {file, *(uri for uri in self.catalog.live_documents(source.source_id) if file_of(uri, stated) == file)}
        lists = [
            one.access
            for uri in sorted(uris)
            for one in self.catalog.document_access(source.source_id, uri)
            if one.origin in (SET, WITH_UPLOAD)
        ]
        return reduce(AccessList.narrowed, lists) if lists else None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock against whoever else moves files, and undo what was cut off."""
        if not self.lock.acquire(timeout=_PATIENCE):
            raise CatalogBusy("other documents are being taken in", component="uploads", hint="try again in a while")
        try:
            check_home(self.catalog, self._ingester.uploads, begin=True)
            with alone(self._ingester.uploads, _PATIENCE):
                self._forget_removed()
                yield
        finally:
            self.lock.release()

    def _forget_removed(self) -> None:
        """Delete journals of sources that were removed with their files."""
        registered = {source.source_id for source in self.catalog.sources()}
        with suppress(OSError, ValueError, LookupError):
            for journal in unfinished(self._ingester.uploads):
                if journal.source_id not in registered:
                    shutil.rmtree(journal.folder, ignore_errors=True)

    @contextmanager
    def _journal(
        self, source: Source, moves: Mapping[Path, Path | None], stays: tuple[type[Exception], ...], leaving: str = ""
    ) -> Iterator[Journal]:
        """Moves of files that count at the end; whatever else happens, they are undone.

        Args:
            moves: See `Journal.note`.
            stays: Errors at which the files stay where they were moved to, but for `CatalogBusy`.
            leaving: The stored address of a file that goes, whether it is there or not.

        Raises:
            SourceError: files cannot be written.
        """
        recover(self._ingester.uploads, lambda name: name == source.source_id)
        addresses = self._addresses(source)
        named = filter(None, (leaving, *(addresses.stored(file_uri(file)) for file in moves)))
        with may_go(self.catalog, source.source_id, named), self.incoming() as aside:
            journal = Journal(aside, source.source_id, self.home(source).absolute())
            try:
                journal.note(moves)
                yield journal
                journal.end()
            except BaseException as error:
                try:
                    if isinstance(error, stays) and not isinstance(error, CatalogBusy):
                        journal.end()
                    else:
                        journal.undo()
                except OSError as broken:
                    raise not_kept(journal.home, broken) from error
                if isinstance(error, OSError):
                    raise not_kept(Path(error.filename or journal.home), error) from error
                raise

    # -- in the folder -----------------------------------------------------------------------------------

    def home(self, source: Source) -> Path:
        """The folder of a source's uploads; absolute, as addresses of its files are."""
        return self._ingester.uploads.absolute() / source.source_id

    def _checked(self, given: Given, named: Mapping[str, Given]) -> tuple[str, str]:
        """The name under which a file is stored, and the reason why it is refused."""
        if given.reason:
            return "", given.reason
        try:
            name = clean_name(given.name)
        except ValueError as error:
            return "", said_by(error)
        if not self._ingester.readable(name):
            kind = PurePosixPath(name).suffix or name
            return name, msg("files of the kind {name} are not read", name=repr(kind))
        if self.catalog.database.erased().holds(name):
            return "", "its name names somebody who was erased: give it another one"
        return name, msg("the name {name} stands twice", name=name) if name in named else ""

    def _origin(self, document_id: int) -> tuple[Source, str]:
        """The source of an uploaded document, and the stored address of its file."""
        origin = self.catalog.origin(document_id)
        if origin is None:
            raise NotFound(
                msg("there is no such document: {document_id}", document_id=document_id),
                hint=msg(
                    "its number changes when it is read again: wenyuan document history {document_id}; "
                    "or look for it: wenyuan document list",
                    document_id=document_id,
                ),
            )
        return self.check_takes_uploads(origin.source_id), file_of(
            origin.uri, self.catalog.stated_files(origin.source_id)
        )

    def _stored_file(self, source: Source, address: str) -> Path | None:
        """The uploaded file with a stored address; None where there is none."""
        addresses = self._addresses(source)
        return next((file for file in self._files(source) if addresses.stored(file_uri(file)) == address), None)

    def _names(self, source: Source) -> frozenset[str]:
        """The names of the uploaded files, as they are stored."""
        stored = self._addresses(source).stored
        return frozenset(name_of(stored(file_uri(file)) or "", source.source_id) for file in self._files(source))

    def stored_file_of(self, document_id: int) -> tuple[Source, Path]:
        """The source and the uploaded file of a document; NotFound or InvalidRequest where there is none."""
        source, address = self._origin(document_id)
        if (file := self._stored_file(source, address)) is not None:
            return source, file
        raise InvalidRequest(
            msg("the file of document {document_id} is not among those that were uploaded", document_id=document_id),
            hint=msg("read the source again: wenyuan refresh {source_id}", source_id=source.source_id),
        )

    def _addresses(self, source: Source) -> Addresses:
        return Addresses(self.catalog, source.source_id, self._ingester.redacting(source))

    def _files(self, source: Source) -> list[Path]:
        return sorted(file for file in self.home(source).rglob("*") if file.is_file())

    def _take(
        self,
        source: Source,
        named: Mapping[str, Given],
        progress: Callable[[Progress], None] | None,
        instead_of: Path | None = None,
    ) -> tuple[dict[str, Taken], IngestReport]:
        home = self.home(source)
        with self._alone(), self.incoming() as spare:
            take_away(self.catalog, self._ingester.uploads, source.source_id)
            placed, moves = self._planned(home, named, instead_of, spare)
            leaving = len(moves)
            if instead_of is not None and instead_of not in moves:
                moves |= _leaving(home, instead_of)
            with self._journal(source, moves, (EncoderError, EngineError, CatalogError)) as journal:
                for number, one in enumerate(placed):
                    for step in (*one.kept, number):
                        journal.do(step)
                access = {file_uri(home / name): one.access for name, one in named.items() if one.access is not None}
                report = self._read(source, progress and partial(_of_own, progress, len(placed)), access)
                if not self._taken_back(source, placed, report, journal) and len(moves) > leaving:
                    for step in range(leaving, len(moves)):
                        journal.do(step)  # not before its new version was read
                    report.retired += self._read(source, None).retired
            self._drop_empty(home)
        report.files, report.unchanged = len(placed), sum(one.same for one in placed)  # not those that were there
        live = self.catalog.live_documents(source.source_id)
        stated = self.catalog.stated_files(source.source_id)
        files = {uri: file_of(uri, stated) for uri in live}
        taken = {
            one.name: _upload_state(one, report, [live[uri][0] for uri in live if files[uri] == one.shown])
            for one in placed
        }
        for one in placed:
            state = taken[one.name].state
            if state in ("added", "changed"):
                action = "replaced" if state == "changed" or instead_of is not None else "uploaded"
                self._audited(action, source, one.shown, {"documents": list(taken[one.name].documents)})
        return taken, report

    def _planned(
        self, home: Path, named: Mapping[str, Given], instead_of: Path | None, spare: Path
    ) -> tuple[list[_Placed], dict[Path, Path | None]]:
        """The files with their places, and the moves that bring them there and keep what was there before."""
        placed = [_upload_place(home, name, given.path) for name, given in named.items()]
        moves: dict[Path, Path | None] = {home / name: given.path for name, given in named.items()}
        for one in placed if self.keep else ():
            former = one.target if one.before and not one.same else None
            if instead_of is not None and instead_of != one.target:
                former = instead_of
            if former is not None:
                kept = _keeping(home, one.name, former, self.keep, spare)
                one.kept = tuple(range(len(moves), len(moves) + len(kept)))
                moves |= kept
        for one in placed:
            brought = {home / place: file for place, file in named[one.name].versions.items()}
            one.kept += tuple(range(len(moves), len(moves) + len(brought)))
            moves |= brought
        return placed, moves

    def _taken_back(self, source: Source, placed: Sequence[_Placed], report: IngestReport, journal: Journal) -> bool:
        """Undo what was done for files that could not be read; whether there were any."""
        addresses = self._addresses(source)
        for one in placed:
            one.shown = addresses.stored(file_uri(one.target)) or ""
        failed = [(number, one) for number, one in enumerate(placed) if one.shown in (report.failed | report.data)]
        for number, one in failed:
            for step in (number, *one.kept):
                journal.take_back(step)
        if failed:
            self._note_failures(source, [(one, (report.failed | report.data)[one.shown]) for _, one in failed])
            if any(one.kept for _, one in failed):
                self._read(source, None)  # what was kept of them is no version before any other
        return bool(failed)

    def _audited(self, action: str, source: Source, shown: str, more: Mapping[str, object]) -> None:
        told = {"source_id": source.source_id, "uri": shown, **more}
        self.catalog.database.on_change("document", action, shown, None, told)

    def _read(
        self,
        source: Source,
        progress: Callable[[Progress], None] | None,
        access: Mapping[str, AccessList] = MappingProxyType({}),
    ) -> IngestReport:
        """Ingest the folder; if it is empty, retire all documents of the source."""
        if self._files(source):
            return self.ingestion.ingest(source.source_id, progress, access)
        return self.ingestion.clear(source.source_id)

    def _note_failures(self, source: Source, failed: Sequence[tuple[_Placed, str]]) -> None:
        """Keep failures of new files listed until a file of the name is taken in. Where a version could not be read, the
        one before it is in its place, and nothing is wrong with that.
        """
        self.catalog.forget_failures(source.source_id, [one.shown for one, _ in failed])
        for one, reason in failed:
            if not one.before:
                self.catalog.record_failure(source.source_id, one.shown, NOT_KEPT, reason)

    @staticmethod
    def _drop_empty(home: Path) -> None:
        """Remove empty folders, including the source's own."""
        for where, _, _ in os.walk(home, topdown=False):
            with suppress(OSError):  # it is not empty, or stays for another reason: nothing is read there
                Path(where).rmdir()


def _of_own(progress: Callable[[Progress], None], count: int, at: Progress) -> None:
    """Tell of the files that are uploaded, not of the others of their folder, which are as they were."""
    progress(replace(at, files=min(count, at.files - at.unchanged), files_total=count, unchanged=0))


def _keeping(home: Path, name: str, former: Path, most: int, spare: Path) -> dict[Path, Path | None]:
    """The moves that keep a file as an earlier version of the one of a name, and no more versions than `most`.

    Args:
        former: The file; a copy of it is made in `spare`.
    """
    own = former.relative_to(home).as_posix()
    moves: dict[Path, Path | None] = {}
    before = versions_in(home, own)
    if own != name:  # its versions become those of the file of another name
        for one in before:
            moved = replace(one, name=name)
            moves[home / moved.place] = _second(home / one.place, spare)
    elif len(before) >= most:
        moves |= {home / one.place: None for one in before[: len(before) - most + 1]}
    version = replace(next_version(home, own, former.name, date.today()), name=name)
    moves[home / version.place] = _second(former, spare)
    return moves


def _leaving(home: Path, file: Path) -> dict[Path, Path | None]:
    """The moves that take away a file that another one stands in for, and what was kept of its versions."""
    name = file.relative_to(home).as_posix()
    return dict.fromkeys((file, *(home / one.place for one in versions_in(home, name))), None)


def _second(file: Path, spare: Path) -> Path:
    """A copy of a file. No second name for it: that would be written to by whoever has the file open."""
    other = spare / uuid.uuid4().hex
    try:
        shutil.copy2(file, other)
    except OSError as error:
        raise not_kept(file, error) from error
    return other


def _upload_place(home: Path, name: str, given: Path) -> _Placed:
    target = home / name
    before = target.is_file()
    return _Placed(name, target, before, before and filecmp.cmp(target, given, shallow=False))


def _upload_state(one: _Placed, report: IngestReport, documents: Sequence[int]) -> Taken:
    if reason := report.failed.get(one.shown) or report.data.get(one.shown):
        reason = reason.removeprefix(f"{one.target.name}: ")
        return Taken(name=one.name, state="failed", reason=reason)
    state: Literal["added", "changed", "unchanged"] = (
        "unchanged" if one.same else "changed" if one.before else "added"
    )
    return Taken(name=one.name, state=state, documents=tuple(sorted(documents)))


def not_kept(path: Path, error: OSError) -> SourceError:
    """The error of a file that the disk does not take."""
    return SourceError(
        msg("{name} cannot be kept: {strerror}", name=path.name, strerror=error.strerror), hint=next_step(error)
    )


# Names of uploaded files.
_MOST_STEPS = 8  # folders above a file
_MOST_BYTES = 200  # of a name in UTF-8, where file systems take 255
_UNFIT = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"|?*\ud800-\udfff\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)  # to Windows, devices


def clean_name(given: str) -> str:
    """The relative path, parts joined by ``/``, under which an uploaded file is stored.

    Steps up and to the root lead nowhere and are left out; so are dots that hide a file, and characters that a file
    system or a terminal takes for something else. A name that stands for a device is given a ``_``.

    Raises:
        ValueError: nothing is left of it, or it is too long.
    """
    steps = unicodedata.normalize("NFC", given).replace("\\", "/").split("/")
    kept = [step for step in map(_clean_step, steps) if step]
    if not kept or not steps[-1].strip(" ."):
        raise ValueError("has no name that could be kept")
    if len(kept) - 1 > _MOST_STEPS:
        raise ValueError(msg("lies below more than {most} folders", most=_MOST_STEPS))
    if any(len(step.encode()) > _MOST_BYTES for step in kept):
        raise ValueError(msg("has a name of more than {most} bytes", most=_MOST_BYTES))
    return "/".join(kept)


def _clean_step(step: str) -> str:
    kept = _UNFIT.sub("", step).strip().lstrip(".").rstrip(". ").lstrip()
    return f"_{kept}" if _RESERVED.fullmatch(kept) else kept
