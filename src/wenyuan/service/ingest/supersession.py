"""Which version of a document is in force: what it says of itself, dates in file names, and what supersedes what.

What Markdown says in front matter and JSON Lines in their keys is read here, by one list of words (`core.terms_of_use`).

A date in brackets at the end of a file's name, as statutes have it (``数据安全法(2021-06-10).md``), is the day from
which that version counts, and ends the version before it in the same folder. Front matter says ``supersedes:
old-policy.md``: the file of that name in the same folder or, where there is none, the only one elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.model import Document
from wenyuan.core.okf import SUPERSEDED_BY
from wenyuan.core.validity import LIST, LiveVersion, Validity
from wenyuan.core.validity_dates import date_from_name, validity_field, validity_from
from wenyuan.core.validity_ends import effective_ends, without_circles
from wenyuan.service.ingest.versions import series_of, superseded_by

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


_SHOWN = 20  # names in an error
_NOT_YET = date.max  # the beginning of a draft
_UNKNOWN_END = date.min  # the own end of a retired version without a date
_BRACKETED = re.compile(r"\s*[（(【\[][^（(【\[]*\d{4}[^）)】\]]*[）)】\]]\s*\Z")


def dated(document: Document) -> Document:
    """The document with its validity, from reader, metadata or, failing these, file name.

    Raises:
        DocumentRejected: it ends before it begins.
    """
    said, faults = validity_from(document.metadata, _document_name(document))
    notes = tuple(f"validity: {fault.path}: {fault.message}" for fault in faults)
    begin, end = said.effective_from, said.effective_until
    stem = _path(document.uri).stem
    if begin is None and _BRACKETED.search(stem):
        begin = date_from_name(stem)
    if begin and end and end < begin:
        raise DocumentRejected("effective_until lies before effective_from")
    if said.status == "draft":
        begin, end = _NOT_YET, None
    elif said.status == "retired":
        end = end or _UNKNOWN_END
    if (begin, end) == (document.effective_from, document.effective_until) and not notes:
        return document
    return replace(document, effective_from=begin, effective_until=end, notes=(*document.notes, *notes))


def _document_name(document: Document) -> Mapping[str, date]:
    days = {"effective_from": document.effective_from, "effective_until": document.effective_until}
    return {name: day for name, day in days.items() if day is not None}


class SettledVersions(NamedTuple):
    """Notes by URI, and which documents supersede one another in a circle; ``""`` where none do."""

    notes: Mapping[str, tuple[str, ...]]
    circle: str = ""


def settle(catalog: Catalog, source_id: str) -> SettledVersions:
    """End superseded versions and reopen those no longer superseded.

    Documents that supersede one another in a circle supersede nothing; all others do.

    Raises:
        InvalidRequest: something supersedes what is not there.
    """
    live = catalog.live_versions(source_id)
    stated = catalog.stated_files(source_id)
    series, replaced = _series(live), superseded_by([replace(v, uri=stated.get(v.uri, v.uri)) for v in live])
    named, notes = _superseded_ids(live)
    successors, unknown = _successors(live)
    notes = {uri: (*notes.get(uri, ()), *unknown.get(uri, ())) for uri in {*notes, *unknown}}
    for successor, olds in successors.items():
        named.setdefault(successor, []).extend(olds)
    items = [
        Validity(
            id=str(v.document_id),
            effective_from=v.effective_from,
            effective_until=None if v.own_until == _UNKNOWN_END else v.own_until,
            status="draft" if v.effective_from == _NOT_YET else "in_force",
            supersedes=tuple(
                dict.fromkeys(
                    (*named.get(v.document_id, ()), *series.get(v.document_id, ()), *replaced.get(v.document_id, ()))
                )
            ),
        )
        for v in live
    ]
    if not any(item.supersedes for item in items) and all(v.own_until == v.effective_until for v in live):
        return SettledVersions(notes)
    items, circle = without_circles(items)
    ends = effective_ends(items, undated=date.min)
    changed = {}
    for version in live:
        end = ends[str(version.document_id)]
        if end is None and version.own_until == _UNKNOWN_END:
            end = _UNKNOWN_END
        if end != version.effective_until:
            changed[version.document_id] = end
    catalog.amend_ends(source_id, changed)
    return SettledVersions(notes, _in_circle(live, circle))


def _in_circle(live: Sequence[LiveVersion], circle: frozenset[str]) -> str:
    if not circle:
        return ""
    names = sorted(_path(v.uri).name for v in live if str(v.document_id) in circle)
    shown = ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
    return msg("supersede one another in a circle, so none of them ends: {names}", names=shown)


def _path(uri: str) -> PurePosixPath:
    return _path_of(uri.partition("?")[0])


@lru_cache(maxsize=1_024)
def _path_of(path: str) -> PurePosixPath:
    return PurePosixPath(unquote(path))  # rows of one file have it in common


def _bare(path: PurePosixPath) -> PurePosixPath:
    """The path without suffix: a version may have another format than its predecessor."""
    return path.parent / path.stem


def _series(live: Sequence[LiveVersion]) -> Mapping[int, tuple[str, ...]]:
    """By document, its predecessor's documents in a series: files of one folder whose names differ only in the date.

    A file may hold many documents (rows, sheets), some with days of their own. They are one version, which begins on
    the day of its name, if any of them does; the first that does stands for all.
    """
    files: dict[PurePosixPath, list[LiveVersion]] = {}
    for version in live:
        path = _path(version.uri)
        if _BRACKETED.search(path.stem) and version.effective_from not in (None, _NOT_YET):
            files.setdefault(path, []).append(version)
    groups: dict[tuple[PurePosixPath, str], dict[date, list[LiveVersion]]] = {}
    for path, documents in files.items():
        begins = {v.effective_from or date.min for v in documents}
        named = date_from_name(path.stem)
        begin = named if named in begins else min(begins)
        group = groups.setdefault((path.parent, _BRACKETED.sub("", path.stem)), {})
        group.setdefault(begin, []).extend(documents)
    before: dict[int, tuple[str, ...]] = {}
    for group in groups.values():
        for (_, old), (begin, new) in pairwise(sorted(group.items())):
            first = next(v for v in new if v.effective_from == begin)
            before[first.document_id] = tuple(str(v.document_id) for v in old)
    return before


def _successors(live: Sequence[LiveVersion]) -> tuple[Mapping[int, list[str]], Mapping[str, tuple[str, ...]]]:
    """By document, the ids of those whose front matter says ``superseded_by`` and names it; by URI, notes on names of nothing."""
    saying = [version for version in live if version.facets.get(SUPERSEDED_BY)]
    if not saying:
        return {}, {}
    known = _by_name(live)
    found: dict[int, list[str]] = {}
    notes: dict[str, tuple[str, ...]] = {}
    for version in saying:
        for name in filter(str.strip, LIST.split(str(version.facets[SUPERSEDED_BY]))):
            meant = _versions_at(unquote(name.partition("#")[0]).strip(), version, known)
            for successor in meant:
                found.setdefault(successor.document_id, []).append(str(version.document_id))
            if not meant:
                told = msg(
                    "superseded_by {name}: there is no such document here, so it does not end",
                    name=repr(name.strip()[:200]),
                )
                notes[version.uri] = (*notes.get(version.uri, ()), told)
    return found, notes


def _versions_at(path: str, version: LiveVersion, known: Mapping[str, list[LiveVersion]]) -> Sequence[LiveVersion]:
    """The versions that a path means: beside the document; else, and with a slash before it, from the root."""
    name = path.lstrip("/")
    found = _versions_named(name, version, known) if name else ()
    wanted = _bare(PurePosixPath(name))
    beside = PurePosixPath(normpath(_path(version.uri).parent / wanted))
    here = [v for v in found if _bare(_path(v.uri)) == beside]
    if here and not path.startswith("/"):
        return here
    least = min((len(_path(v.uri).parts) for v in found), default=0)
    return [v for v in found if len(_path(v.uri).parts) == least]


def _by_name(live: Sequence[LiveVersion]) -> Mapping[str, list[LiveVersion]]:
    """The versions that may be meant by a title, an address or a file's name; of a file, the one that is in its place now."""
    known: dict[str, list[LiveVersion]] = {}
    for version in live:
        if not series_of(version.uri)[1]:
            for name in {version.uri, version.title, _path(version.uri).stem}:
                known.setdefault(name, []).append(version)
    return known


def _superseded_ids(live: Sequence[LiveVersion]) -> tuple[dict[int, list[str]], Mapping[str, tuple[str, ...]]]:
    """By document, the ids of those that its front matter says it supersedes; and by URI, notes on ambiguous names.

    A name is a file's, with or without its folder, a title or a URI. What it names may come later. Where many documents
    of a file name the same, the one that begins first speaks for all: what is named may be as many again.
    """
    saying: dict[tuple[PurePosixPath, str], LiveVersion] = {}
    for version in sorted(live, key=lambda v: (v.effective_from or date.min, v.document_id)):
        for name in _version_label(version):
            saying.setdefault((_path(version.uri), name), version)
    known = _by_name(live) if saying else {}
    found: dict[int, list[str]] = {}
    notes: dict[str, tuple[str, ...]] = {}
    for (_, name), version in saying.items():
        meant = [v for v in _versions_named(name, version, known) if v is not version]
        here = [v for v in meant if _path(v.uri).parent == _path(version.uri).parent]
        if not here and len({_bare(_path(v.uri)) for v in meant}) > 1:
            note = (
                f"supersedes {name!r}, which is in several other places, so none of them ends: name the folder, too"
            )
            notes[version.uri] = (*notes.get(version.uri, ()), note)
        else:
            found.setdefault(version.document_id, []).extend(str(v.document_id) for v in here or meant)
    return found, notes


def _version_label(version: LiveVersion) -> tuple[str, ...]:
    return validity_from({k: v for k, v in version.facets.items() if validity_field(k) == "supersedes"})[0].supersedes


def _versions_named(name: str, version: LiveVersion, known: Mapping[str, list[LiveVersion]]) -> Sequence[LiveVersion]:
    """The versions that a name may refer to. A name with a folder matches the end of a path, or a path relative to
    the document.
    """
    exact = [v for v in known.get(name, ()) if v.uri == name]
    if exact:
        return exact
    wanted = PurePosixPath(name)
    files = [v for v in known.get(wanted.stem, ()) if _path(v.uri).stem == wanted.stem]
    if len(wanted.parts) > 1:
        beside = PurePosixPath(normpath(_path(version.uri).parent / _bare(wanted)))
        end = tuple(part for part in _bare(wanted).parts if part != "..")
        files = [v for v in files if _bare(_path(v.uri)) == beside] or [
            v for v in files if _bare(_path(v.uri)).parts[-len(end) :] == end
        ]
    return list({v.document_id: v for v in (*files, *known.get(name, ()))}.values())
