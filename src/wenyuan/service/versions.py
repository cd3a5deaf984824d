"""Which version of a document is in force: front matter, dates in file names, and what supersedes what.

A date in brackets at the end of a file's name, as statutes have it (``数据安全法(2021-06-10).md``), is the day from
which that version counts, and ends the version before it. Front matter says ``supersedes: old-policy.md``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Protocol
from urllib.parse import unquote

from wenyuan.core.errors import InvalidRequest
from wenyuan.core.model import Document
from wenyuan.core.validity import LiveVersion, Status, Validity, date_from_name, effective_ends, validity_from

__all__ = ["Versions", "dated", "settle"]

_NOT_YET = date.max  # the beginning of a draft
_UNKNOWN_END = date.min  # the own end of what is retired, nobody says since when
_BRACKETED = re.compile(r"\s*[（(【\[][^（(【\[]*\d{4}[^）)】\]]*[）)】\]]\s*$")


class Versions(Protocol):
    """The part of the catalog that knows which versions live."""

    def live_versions(self, source_id: str) -> Sequence[LiveVersion]: ...

    def amend_ends(self, source_id: str, ends: Mapping[int, date | None]) -> None: ...


def dated(document: Document) -> Document:
    """The document with its validity from its file's name and its status, where front matter leaves them open."""
    begin, end = document.effective_from, document.effective_until
    stem = _stem(document.uri)
    if begin is None and _BRACKETED.search(stem):
        begin = date_from_name(stem)
    status, notes = _status(document)
    if status == "draft":
        begin, end = _NOT_YET, None
    elif status == "retired":
        end = end or _UNKNOWN_END
    if (begin, end) == (document.effective_from, document.effective_until) and not notes:
        return document
    return replace(document, effective_from=begin, effective_until=end, notes=(*document.notes, *notes))


def _status(document: Document) -> tuple[Status, tuple[str, ...]]:
    """What the document says of its status; a word that is none may be anything else's (a case's, a ticket's)."""
    said = {k: v for k, v in document.metadata.items() if k in ("status", "状态")}
    try:
        return validity_from(said).status, ()
    except InvalidRequest as error:
        return "in_force", (f"taken as in force: {error.message}",)


def settle(versions: Versions, source_id: str) -> int:
    """End what is superseded, and let go on what no longer is; returns how many documents changed.

    Raises:
        InvalidRequest: documents that supersede one another in a loop, or what is not there.
    """
    live = versions.live_versions(source_id)
    series = _series(live)
    items = [
        Validity(
            id=str(v.document_id),
            effective_from=v.effective_from,
            effective_until=None if v.own_until == _UNKNOWN_END else v.own_until,
            status="draft" if v.effective_from == _NOT_YET else "in_force",
            supersedes=tuple(dict.fromkeys((*_named(v, live), *series.get(v.document_id, ())))),
        )
        for v in live
    ]
    if not any(item.supersedes for item in items) and all(v.own_until == v.effective_until for v in live):
        return 0
    ends = effective_ends(items, undated=date.min)
    changed = {}
    for version in live:
        end = ends[str(version.document_id)]
        if end is None and version.own_until == _UNKNOWN_END:
            end = _UNKNOWN_END
        if end != version.effective_until:
            changed[version.document_id] = end
    versions.amend_ends(source_id, changed)
    return len(changed)


def _stem(uri: str) -> str:
    return _stem_of_path(uri.partition("?")[0])


@lru_cache(maxsize=1_024)
def _stem_of_path(path: str) -> str:
    return PurePosixPath(unquote(path)).stem  # rows of one file have it in common


def _series(live: Sequence[LiveVersion]) -> Mapping[int, tuple[str, ...]]:
    """By document, the version before it in a series of bracketed dates."""
    groups: dict[str, list[LiveVersion]] = {}
    for version in live:
        stem = _stem(version.uri)
        if _BRACKETED.search(stem) and version.effective_from not in (None, _NOT_YET):
            groups.setdefault(_BRACKETED.sub("", stem), []).append(version)
    before: dict[int, tuple[str, ...]] = {}
    for group in groups.values():
        group.sort(key=lambda v: (v.effective_from or date.min, v.document_id))
        for old, new in pairwise(group):
            if old.effective_from != new.effective_from:
                before[new.document_id] = (str(old.document_id),)
    return before


def _named(version: LiveVersion, live: Sequence[LiveVersion]) -> list[str]:
    """Ids of the documents that this one's front matter names: by file name, title or URI. Others may come later."""
    said = validity_from({k: v for k, v in version.facets.items() if k in ("supersedes", "取代", "替代")}).supersedes
    found = []
    for name in said:
        wanted = PurePosixPath(name).stem
        found += [
            str(v.document_id)
            for v in live
            if v.document_id != version.document_id and (name in (v.uri, v.title) or _stem(v.uri) == wanted)
        ]
    return found
