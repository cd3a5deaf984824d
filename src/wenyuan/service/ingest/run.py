"""What one ingest run keeps: its report, the texts to embed, which document versions supersede others, and which stated
addresses are accepted.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from wenyuan.core.addresses import is_script, lies_under, scheme_of
from wenyuan.core.errors import DocumentRejected, SourceError, msg
from wenyuan.core.model import (
    Document,
    NewPassage,
    Source,
    embedded_text,
    heading_text,
    indexed_headings,
    label_text,
    shown_title,
)
from wenyuan.core.ports import Encoder
from wenyuan.core.terms_of_use import (
    LiveVersion,
    Validity,
    date_from_name,
    effective_ends,
    validity_field,
    validity_from,
)
from wenyuan.core.text.summaries import label_as_embedded, with_lead
from wenyuan.service.ingest.versions import series_of, superseded_by

if TYPE_CHECKING:
    from wenyuan.catalog import Catalog
    from wenyuan.service.ingest.addresses import Addresses


# Which version of a document is in force: what it says of itself, dates in file names, and what supersedes what.
#
# What Markdown says in front matter and JSON Lines in their keys is read here, by one list of words (`core.terms_of_use`).
#
# A date in brackets at the end of a file's name, as statutes have it (``数据安全法(2021-06-10).md``), is the day from
# which that version counts, and ends the version before it in the same folder. Front matter says ``supersedes:
# old-policy.md``: the file of that name in the same folder or, where there is none, the only one elsewhere.


_NOT_YET = date.max  # the beginning of a draft
_UNKNOWN_END = date.min  # the own end of a retired version without a date
_BRACKETED = re.compile(r"\s*[（(【\[][^（(【\[]*\d{4}[^）)】\]]*[）)】\]]\s*\Z")


def dated(document: Document) -> Document:
    """The document with its validity, from reader, metadata or, failing these, file name.

    Raises:
        DocumentRejected: it ends before it begins.
    """
    said, faults = validity_from(document.metadata, _own(document))
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


def _own(document: Document) -> Mapping[str, date]:
    days = {"effective_from": document.effective_from, "effective_until": document.effective_until}
    return {name: day for name, day in days.items() if day is not None}


def settle(catalog: Catalog, source_id: str) -> Mapping[str, tuple[str, ...]]:
    """End superseded versions and reopen those no longer superseded; returns notes by URI.

    Raises:
        InvalidRequest: documents that supersede one another in a loop, or what is not there.
    """
    live = catalog.live_versions(source_id)
    series, replaced = _series(live), superseded_by(live)
    named, notes = _named(live)
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
        return notes
    ends = effective_ends(items, undated=date.min)
    changed = {}
    for version in live:
        end = ends[str(version.document_id)]
        if end is None and version.own_until == _UNKNOWN_END:
            end = _UNKNOWN_END
        if end != version.effective_until:
            changed[version.document_id] = end
    catalog.amend_ends(source_id, changed)
    return notes


def _path(uri: str) -> PurePosixPath:
    return _path_of(uri.partition("?")[0])


@lru_cache(maxsize=1_024)
def _path_of(path: str) -> PurePosixPath:
    return PurePosixPath(unquote(path))  # rows of one file have it in common


def _bare(path: PurePosixPath) -> PurePosixPath:
    """The path without suffix: a version may have another format than its predecessor."""
    return path.parent / path.stem


# --- series of bracketed dates ----------------------------------------------------------------------------
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


# --- what front matter names ------------------------------------------------------------------------------
def _named(live: Sequence[LiveVersion]) -> tuple[Mapping[int, list[str]], Mapping[str, tuple[str, ...]]]:
    """By document, the ids of those that its front matter says it supersedes; and by URI, notes on ambiguous names.

    A name is a file's, with or without its folder, a title or a URI. What it names may come later. Where many documents
    of a file name the same, the one that begins first speaks for all: what is named may be as many again.
    """
    saying: dict[tuple[PurePosixPath, str], LiveVersion] = {}
    for version in sorted(live, key=lambda v: (v.effective_from or date.min, v.document_id)):
        for name in _said(version):
            saying.setdefault((_path(version.uri), name), version)
    known: dict[str, list[LiveVersion]] = {}
    for version in live if saying else ():
        if series_of(version.uri)[1]:
            continue  # what is named is what is in its place now
        for name in {version.uri, version.title, _path(version.uri).stem}:
            known.setdefault(name, []).append(version)
    found: dict[int, list[str]] = {}
    notes: dict[str, tuple[str, ...]] = {}
    for (_, name), version in saying.items():
        meant = [v for v in _meant(name, version, known) if v is not version]
        here = [v for v in meant if _path(v.uri).parent == _path(version.uri).parent]
        if not here and len({_bare(_path(v.uri)) for v in meant}) > 1:
            note = (
                f"supersedes {name!r}, which is in several other places, so none of them ends: name the folder, too"
            )
            notes[version.uri] = (*notes.get(version.uri, ()), note)
        else:
            found.setdefault(version.document_id, []).extend(str(v.document_id) for v in here or meant)
    return found, notes


def _said(version: LiveVersion) -> tuple[str, ...]:
    return validity_from({k: v for k, v in version.facets.items() if validity_field(k) == "supersedes"})[0].supersedes


def _meant(name: str, version: LiveVersion, known: Mapping[str, list[LiveVersion]]) -> Sequence[LiveVersion]:
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


# Addresses that documents state of themselves: which are believed, and whose they are.
#
# A line of a file may say where its text can be found. That is shown and opened as the text's source, so it must be an
# address that is meant to be opened, and not that of another source's document.


_OTHERS = frozenset(("http", "https", "urn", "file"))
"""Schemes that are no source's own."""


class AddressTaken(DocumentRejected):
    """A document states an address that belongs to another source's document."""

    code = "address_taken"


class Stated:
    """Decides on the addresses that a source's documents state.

    Args:
        source: Its setting ``base_uri`` is an address, ending in ``/``, below which its documents may state theirs.

    Raises:
        SourceError: ``base_uri`` is no such address.
    """

    def __init__(self, catalog: Catalog, source: Source) -> None:
        self._catalog = catalog
        self._source = source
        self._base = _base_of(source)

    def settled(self, document: Document) -> Document:
        """The document under its accepted address: the stated one if allowed, else that of its line."""
        if document.stated in ("", document.uri):
            return document
        if self._base and lies_under(document.stated, self._base):
            return replace(document, uri=document.stated)
        note = msg(
            "no address that a line may state: {stated}; that of the line stands instead",
            stated=repr(document.stated[:100]),
        )
        return replace(document, stated="", notes=(*document.notes, note))

    def claim(self, document: Document, addresses: Addresses) -> tuple[str, ...]:
        """Claim a document's stated address; notes name the less trusted holder that loses it.

        Two addresses that are only redacted alike are not the same.

        Of two sources that state the same address, the one that is trusted more has it; of equal ones, the first.

        Raises:
            AddressTaken: a source has it that is trusted as much, or more.
        """
        if not document.stated:
            return ()
        held = self._catalog.holders([document.uri], self._source.source_id).get(document.uri, ())
        own = addresses.identity(document.uri)
        others = [
            one
            for one in held
            if self._catalog.address_identity(one.source_id, document.uri) in (own, None) or not own
        ]
        for other in others:
            if other.trust >= self._source.trust:
                raise AddressTaken(
                    msg(
                        "the address {uri} is that of a document of source {source_id}",
                        uri=document.uri,
                        source_id=other.source_id,
                    )
                )
        for other in others:
            self._catalog.retire_documents(other.source_id, [other.document_id])
            reason = msg(
                "the address {uri} is that of a document of source {source_id}",
                uri=document.uri,
                source_id=self._source.source_id,
            )
            self._catalog.record_failure(other.source_id, document.uri, AddressTaken.code, reason)
        return tuple(
            msg("source {source_id} had this address, and is trusted less", source_id=other.source_id)
            for other in others
        )


def _base_of(source: Source) -> str:
    base = source.settings.get("base_uri")
    if base is None:
        return ""
    own = isinstance(base, str) and base.endswith("/") and "://" in base and not is_script(base)
    if not own or scheme_of(base) in _OTHERS:
        raise SourceError(
            msg(
                "settings.base_uri of source {source_id} is no address of the source's own, such as kb://manuals/",
                source_id=repr(source.source_id),
            ),
            hint="http, https and urn need none",
        )
    return str(base)


# Progress and report of an ingest run.


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of a run: files seen, unchanged files, passages made and embedded, and the current file.

    Attributes:
        pages: Pages of the current file recognised by OCR, of `pages_total`; both 0 where none need it.
        sentences: Passages that have a context sentence or were looked at for one, of `sentences_total`; both 0 before that.
    """

    files: int
    files_total: int
    passages: int
    embedded: int
    name: str
    unchanged: int = 0
    pages: int = 0
    pages_total: int = 0
    sentences: int = 0
    sentences_total: int = 0


@dataclass(slots=True, kw_only=True)
class IngestReport:
    """The result of a run. Documents that failed keep their older version, if there was one.

    Attributes:
        held_back: Documents that were not seen but are kept, since they may be in a file that failed.
        skipped: How many files were left out, by suffix: of kinds that are not read, and those in `data`.
        data: Files that hold data and no text, by address, with the reason.
        corrections_lost: By document address, the ids of corrections whose text is no longer in it.
        evidences_lost, rules_retired: Of the rules, what the documents no longer support; see `service.rules.quotes`.
        context_sentences, context_left_out, context_waiting, context_removed, context_error: Results for context
            sentences by a language model; see `service.generation.context_sentences.ContextReport`.
        context_tokens_in, context_tokens_out: Tokens that this took.
    """

    source_id: str
    files: int = 0
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    retired: int = 0
    held_back: int = 0
    evidences_lost: int = 0
    rules_retired: int = 0
    passages: int = 0
    embedded: int = 0
    seconds: float = 0.0
    failed: dict[str, str] = field(default_factory=dict)
    redacted: dict[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    corrections_lost: dict[str, tuple[int, ...]] = field(default_factory=dict)
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    context_sentences: int = 0
    context_left_out: dict[str, int] = field(default_factory=dict)
    context_waiting: int = 0
    context_removed: int = 0
    context_error: str = ""
    context_tokens_in: int = 0
    context_tokens_out: int = 0

    def left_out(self, others: Mapping[str, int]) -> dict[str, int]:
        """How many files were left out by suffix: those in `data`, and others."""
        kinds = (PurePosixPath(unquote(uri, errors="surrogateescape")).suffix.lower() for uri in self.data)
        return dict(Counter(others) + Counter(kind or "(no suffix)" for kind in kinds))


# Collects the texts and labels of passages to be embedded, each once.


def vector_key(encoder: str, text: str) -> str:
    """The key under which the vector of a text is stored.

    Args:
        encoder: The key of its fingerprint.
    """
    return hashlib.sha256(f"{encoder}\x00{text}".encode()).hexdigest()


class Embedding:
    """Collects what must be embedded for passages about to be stored."""

    def __init__(self, catalog: Catalog, encoder: Encoder | None) -> None:
        self._catalog = catalog
        self._encoder = encoder
        self._texts: dict[str, str] = {}  # vector key → what is embedded
        self._labels: dict[str, str] = {}  # of labels

    def keyed(self, passage: NewPassage, title: str, lead: str) -> NewPassage:
        """A passage with its vector keys, using title and lead of its document."""
        if self._encoder is None:
            return passage
        questions = () if passage.corrected is None else passage.corrected.questions
        text = with_lead(lead, passage.text, questions)
        headings = indexed_headings(passage.headings, passage.context)
        named = shown_title(title, passage.cell, passage.text)
        embedded = embedded_text(heading_text(named, headings), text)
        label = label_text(named, headings, lead, questions)
        key_of = partial(vector_key, self._encoder.fingerprint.key)
        if not (lead or questions or passage.context):
            label = label_as_embedded(label, passage.text, passage.label_key, key_of)
        key, label_key = key_of(embedded), key_of(label) if label else ""
        self._texts[key] = embedded
        if label:
            self._labels[label_key] = label
        return replace(passage, vector_key=key, label_key=label_key)

    def vectors(self, progress: Callable[[int], None] | None = None) -> Mapping[str, Any]:
        """Embed what the catalog does not have; (dim,) float32 by key."""
        if self._encoder is None:
            return {}
        vectors: dict[str, Any] = {}
        for texts, tell in ((self._texts, progress), (self._labels, None)):  # what is counted are passages
            known = self._catalog.known_vectors(list(texts))
            new = {key: text for key, text in texts.items() if key not in known}
            if new:
                vectors |= zip(new, self._encoder.encode_passages(list(new.values()), progress=tell), strict=True)
        return vectors

    def clear(self) -> None:
        """Drop everything collected."""
        self._texts, self._labels = {}, {}
