"""Writes what a library holds as a bundle of the Open Knowledge Format."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from wenyuan.core.errors import (
    DocumentRejected,
    InvalidRequest,
    NotFound,
    NotPermitted,
    OriginalUnavailable,
    SourceError,
    msg,
)
from wenyuan.core.model import Facet, Source
from wenyuan.core.okf import RESERVED, VERSION, is_concept
from wenyuan.core.source_readers import readers_of
from wenyuan.core.terms_of_use import parse_copyright
from wenyuan.service.bundles.concept_file import concept_text, front_of, index_text, log_text
from wenyuan.service.documents import DocumentDesk
from wenyuan.service.ingest.remote_files import ReadContent
from wenyuan.service.originals import Originals
from wenyuan.service.tree.document_text import DocumentText
from wenyuan.service.tree.places import PathFinder

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog
    from wenyuan.service.library import Library

_PAGE = 200
_LONGEST = 240  # bytes of a file's name, less than file systems take by what sets names apart
_MOST_LOGGED = 1_000  # rows of a day


@dataclass(slots=True)
class ExportReport:
    """What was written.

    Attributes:
        verbatim: Of the concepts, how many are the bytes that were read.
        renamed: Paths of concepts by where they stand in the source, where the two differ by more than ``.md``.
        left_out: Documents that were not written, by source and address, with the reason.
    """

    folder: str
    concepts: int = 0
    verbatim: int = 0
    renamed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class BundleExport:
    """Writes bundles; for who keeps the library.

    Attributes:
        read: Reads the bytes of a file, in the reading process; None: nothing is written as it was read.
    """

    catalog: Catalog
    desk: DocumentDesk
    originals: Originals
    paths: PathFinder
    read: ReadContent | None

    def write(
        self, folder: Path, source_ids: Sequence[str] = (), progress: Callable[[int, int], None] = lambda *_: None
    ) -> ExportReport:
        """Write the documents of sources, of all without any named, into a new folder; all of it or nothing.

        Of one source its paths begin at the root, of several each has a folder. What is a concept already, and was
        stored as it was read, is written byte for byte; all else as the text that answers. Documents that not everybody
        may read, and those whose terms do not allow to give the whole, are left out and named.

        Raises:
            InvalidRequest: the folder is there already.
            NotFound: there is no such source.
            SourceError: it cannot be written.
        """
        known = {source.source_id: source for source in self.catalog.sources()}
        if missing := [name for name in source_ids if name not in known]:
            raise NotFound(msg("there is no source {name}", name=repr(missing[0][:64])), hint="wenyuan source list")
        if os.path.lexists(folder):
            raise InvalidRequest(
                msg("{path} is there already: a bundle is written into a new folder", path=folder),
                hint="name another folder, or remove this one first",
            )
        sources = [known[name] for name in (source_ids or sorted(known))]
        total = sum(self.catalog.counts(source.source_id)["documents"] for source in sources)
        part = folder.with_name(f".{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        report = ExportReport(folder=str(folder))
        try:
            part.mkdir(parents=True)
            written = _Writing(part)
            for source in sources:
                for document in self._documents(source):
                    self._export(document, source, written, report, alone=len(sources) == 1)
                    progress(report.concepts, total)
            written.finish(sources)
            part.rename(folder)
        except OSError as error:
            raise SourceError(
                msg("{path} cannot be written: {strerror}", path=folder, strerror=error.strerror)
            ) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return report

    def _documents(self, source: Source) -> Iterator[Mapping[str, Any]]:
        after, more = "", True
        while more:
            page = self.desk.list_documents(source=source.source_id, after=after, limit=_PAGE)
            yield from (one for one in page.documents if one["document_id"] is not None)
            after, more = page.next, bool(page.next)

    def _export(
        self, document: Mapping[str, Any], source: Source, written: _Writing, report: ExportReport, *, alone: bool
    ) -> None:
        if why := self._shut(document, source):
            report.left_out[f"{source.source_id}: {document['uri']}"] = why
            return
        facets = self._facets(document["document_id"])
        mount = self._mounts(source, document["uri"])[0]
        path = mount.path(document["uri"])
        lines = DocumentText(catalog=self.catalog, document_id=document["document_id"], room=None, deadline=None)
        text = "\n".join(line.text for line in lines.lines())
        content = self._as_read(document, facets, text, source)
        report.verbatim += content is not None
        if content is None:
            content = concept_text(front_of(document, facets, source, date.today(), path), text).encode()
        named = _unescaped(path.removeprefix(f"/{source.source_id}/") if alone else path.lstrip("/"))
        stands = written.add(named, content, document, str(facets.get("description") or ""))
        if mount.base and stands not in (named, f"{named}.md"):
            report.renamed[stands] = named
        report.concepts += 1

    def _mounts(self, source: Source, uri: str) -> Sequence[Any]:
        mounts = self.paths.mounts(source)
        return [one for one in mounts if uri.startswith(one.base)] or mounts

    def _shut(self, document: Mapping[str, Any], source: Source) -> str:
        """Why a document is not written; ``""`` where it is."""
        if parse_copyright(source.copyright).excerpt != "allow":
            return msg("its terms do not allow to give the whole document")
        lists = self.catalog.document_access(source.source_id, document["uri"])
        if readers_of(source).enforce or any(one.access.readers is not None or one.access.deny for one in lists):
            return msg("not everybody may read it, which a folder of files could not keep")
        return ""

    def _facets(self, document_id: int) -> Mapping[str, Facet]:
        found, _ = self.catalog.passages_of_document(document_id, after=0, limit=1)
        number = found[0].passage_id if found else 0
        held = self.catalog.passages([number]).get(number)
        return {} if held is None else held.facets

    def _as_read(
        self, document: Mapping[str, Any], facets: Mapping[str, Facet], text: str, source: Source
    ) -> bytes | None:
        """The bytes of a concept of which nothing was taken out or corrected; None where they may not be given, or are gone.

        A file holds more than was read of it, such as comments: in all of it there is nothing that redaction takes out.
        """
        if (
            self.read is None
            or document["media_type"] != "text/markdown"
            or not is_concept(facets)
            or document["corrections"]
        ):
            return None
        try:
            file = self.originals.original(document["document_id"], door="okf")
            file.content.decode()  # the format is UTF-8
            read = next(iter(self.read(file.content, document["uri"], file.name)))
        except (OriginalUnavailable, NotPermitted, NotFound, DocumentRejected, StopIteration, UnicodeDecodeError):
            return None  # then its text is written
        if self.originals.holds_more(file.content, source):
            return None
        whole = _squeezed(read.text) == _squeezed(text) and read.title == document["title"]
        return file.content if whole and all(facets.get(name) == one for name, one in read.metadata.items()) else None


def bundle_export(library: Library) -> BundleExport:
    """The export of a library's documents."""
    remote = library.ingestion.ingester.remote
    return BundleExport(
        catalog=library.catalog, desk=library.desk, originals=library.originals, paths=library.tree.paths,
        read=None if remote is None else remote.read,
    )  # fmt: skip


class _Writing:
    """The files of a bundle that is being written."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._used: set[str] = set()
        self._entries: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
        self._days: dict[str, list[tuple[str, str]]] = defaultdict(list)

    def add(self, path: str, content: bytes, document: Mapping[str, Any], description: str) -> str:
        """Write a concept; returns the path at which it stands."""
        name = self._free(path)
        file = self._root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        folder, _, last = name.rpartition("/")
        self._entries[folder].append((document["title"], quote(last), " ".join(description.split())))
        self._days[str(document["ingested_at"])[:10]].append((document["title"], f"/{quote(name)}"))
        return name

    def finish(self, sources: Sequence[Source]) -> None:
        """Write the indexes and the log."""
        folders = {""}
        for folder in self._entries:
            folders |= {folder, *(one.as_posix() for one in PurePosixPath(folder).parents if one.as_posix() != ".")}
        for folder in sorted(folders):
            below = sorted(one for one in folders if one and one.rpartition("/")[0] == folder)
            rows = [(one.rpartition("/")[2], f"{quote(one.rpartition('/')[2])}/", "") for one in below]
            named = [source.title or source.source_id for source in sources]
            front = {"okf_version": VERSION, "title": ", ".join(named)[:200]} if not folder else None
            heading = folder.rpartition("/")[2] or "Contents"
            text = index_text([*rows, *sorted(self._entries.get(folder, ()))], heading, front)
            (self._root / folder).mkdir(parents=True, exist_ok=True)
            (self._root / folder / "index.md").write_text(text, encoding="utf-8")
        log = log_text({day: rows[:_MOST_LOGGED] for day, rows in self._days.items()})
        (self._root / "log.md").write_text(log, encoding="utf-8")

    def _free(self, path: str) -> str:
        """A path that no other file has, and that every file system takes."""
        parts = [_part(part) for part in path.split("/") if part]
        *folders, last = parts or ["document"]
        stem, suffix = (last[:-3], last[-3:]) if last.casefold().endswith(".md") else (last, ".md")
        if f"{stem}{suffix}".casefold() in RESERVED:
            stem += "-document"
        number, name = 1, "/".join((*folders, f"{stem}{suffix}"))
        while name.casefold() in self._used:
            number += 1
            name = "/".join((*folders, f"{stem}-{number}{suffix}"))
        self._used.add(name.casefold())
        return name


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _unescaped(path: str) -> str:
    """A path with the names that files have: an escape for what a path in a library tells apart is undone."""
    name, mark, part = path.partition("?")
    return unquote(name) + mark + part


def _part(name: str) -> str:
    """A name of a file or folder without what leads elsewhere or cannot be written."""
    plain = "".join("_" if char < " " or char in '\\:*?"<>|\x7f' else char for char in name).strip(" ")
    plain = plain.lstrip(".") or "_"
    if len(plain.encode()) > _LONGEST:
        mark = hashlib.sha256(plain.encode()).hexdigest()[:12]
        plain = plain.encode()[: _LONGEST - 20].decode("utf-8", "ignore") + f"-{mark}"
    return plain
