"""Knowledge as files: what a caller may read, listed, read and looked through by path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from itertools import chain, islice
from typing import TYPE_CHECKING

from wenyuan.catalog.address_tree import AddressedDocument
from wenyuan.core.access import Principal
from wenyuan.core.errors import Fault, InvalidRequest, NotFound, msg
from wenyuan.core.model import Source
from wenyuan.core.terms_of_use import parse_copyright
from wenyuan.service.audit.recorder import AuditRecorder
from wenyuan.service.callers_eyes import reading_for_principals
from wenyuan.service.originals import keeps_library
from wenyuan.service.reading import EXCERPT, NO_EXCERPT, DocumentAccess
from wenyuan.service.search.searcher import LOCAL
from wenyuan.service.tree.document_text import (
    DocumentText,
    SectionLines,
    TextLine,
    section_range,
    sections,
    wanted_lines,
)
from wenyuan.service.tree.entries import DocumentPart, EntryPage, LineMatch, LineQuery, MatchPage, TreeEntry
from wenyuan.service.tree.line_matches import matching_lines
from wenyuan.service.tree.line_pattern import line_pattern, name_pattern
from wenyuan.service.tree.places import PageMark, PathFinder, Place
from wenyuan.service.tree.tree_paths import Mount

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog

MOST_ENTRIES = 1_000
"""Entries of one page."""
MOST_LINES = 5_000
"""Lines of a document that are given at once."""
MOST_MATCHES = 500
"""Matches of one page."""
MOST_CONTEXT = 10
"""Lines before and after a match."""
_MOST_CHARS = 200_000  # of a document that are given at once, about: whole lines
_NAMES_LOOKED_AT = 20_000  # in one call
_LOOKING = 3.0  # seconds after which a page ends with what was found, at the end of a document
_LOOKED_THROUGH = 2_000_000  # characters that one call looks through, about: whole documents


@reading_for_principals
@dataclass(frozen=True, kw_only=True, eq=False)
class KnowledgeTree:
    """Sources as folders, their documents in force below them by address, and their texts by lines.

    A path is ``/SOURCE/folder/document``; where one names a document, ``document-12`` and ``source#42`` (a passage,
    as answers name it) do as well. What a caller may not see is not there.
    """

    catalog: Catalog
    access: DocumentAccess
    recorder: AuditRecorder
    paths: PathFinder

    def list(
        self,
        path: str = "/",
        principal: Principal = LOCAL,
        *,
        name: str | None = None,
        after: str = "",
        limit: int = 100,
    ) -> EntryPage:
        """What stands at a path: sources, folders and documents; of a document, its sections.

        Args:
            name: Only documents at any depth whose path or title has this form: ``*.md``, ``leave``.
            after: `EntryPage.next` of the page before.

        Raises:
            NotFound: there is nothing at this path, or nothing that the caller may see.
            InvalidRequest: an argument.
            EngineTimeout: the deadline passed.
        """
        _check_bound("limit", limit, 1, MOST_ENTRIES)
        sources = self.access.readable_sources(principal)
        place = self.paths.at(path, sources)
        mark = PageMark.parse(after)
        if name is not None:
            return self._named(path, place, sources, name, mark, limit)
        if place.source is None:
            names = [one for one in sorted(sources) if one > mark.source_id]
            entries = [_source_entry(sources[one]) for one in names[:limit]]
            more = PageMark(names[limit - 1], "", 0).text if len(names) > limit else ""
            return EntryPage(path="/", entries=tuple(entries), next=more)
        if place.document is not None:
            return self._sections(place, principal, mark, limit)
        assert place.mount is not None
        found = self.catalog.addressed.children(
            place.source.source_id, place.address, today=date.today(),
            after=place.address + mark.rest if mark.rest else "", limit=limit + 1,
            deadline=self.paths.limit(),
        )  # fmt: skip
        entries = [
            TreeEntry(kind="folder", path=place.mount.folder(one.address))
            if one.document is None
            else _document_entry(one.document, place.mount, place.source)
            for one in found[:limit]
        ]
        return EntryPage(
            path=place.mount.folder(place.address),
            entries=tuple(entries),
            next=PageMark(place.source.source_id, found[limit - 1].behind.removeprefix(place.address), 0).text
            if len(found) > limit
            else "",
        )

    def read(
        self, path: str, principal: Principal = LOCAL, *, line: int | None = None, lines: int | None = 500,
        section: str | None = None, door: str = "tree",
    ) -> DocumentPart:  # fmt: skip
        """Lines of a document, as many as its terms allow to others than who keeps the library.

        Args:
            line: The first; None: the document's, or that of the passage or section that is named.
            lines: How many at most, about 200,000 characters of them; None: all that follow.
            section: Only what stands under this heading.

        Raises:
            NotFound: there is no such document or section, or none that the caller may see.
            InvalidRequest: the path leads to a folder, or a number is out of its bounds.
            EngineTimeout: the deadline passed.
        """
        if lines is not None:
            _check_bound("lines", lines, 1, MOST_LINES)
        if line is not None:
            _check_bound("line", line, 1, None)
        place = self.paths.at(path, self.access.readable_sources(principal))
        document, source, mount = place.readable(path)
        text = self._text(document, source, principal)
        if lines is None:
            text.deadline = None
        within = SectionLines(1) if section is None else section_range(text.lines(), section, document.title)
        wanted = wanted_lines(
            text.lines() if within is not None else (), within or SectionLines(1), line=line,
            passage_id=None if section is not None else place.passage_id,
        )  # fmt: skip
        first = next(wanted, None)
        if first is None and (line is not None or section is not None):
            raise NotFound(
                msg("{path} has no such line or section", path=repr(path[:200])), hint=f"wenyuan fs ls {path[:200]}"
            )
        given, chars, following = list[TextLine](), 0, None
        for one in () if first is None else chain((first,), wanted):
            if lines is not None and given and (len(given) >= lines or chars + len(one.text) > _MOST_CHARS):
                following = one.number
                break
            given.append(one)
            chars += len(one.text) + 1
        ref = f"document-{document.document_id}"
        return DocumentPart(
            path=mount.path(document.uri),
            ref=ref,
            uri=document.uri,
            title=document.title,
            line=1 if first is None else first.number,
            lines=tuple(one.text for one in given),
            next_line=following,
            notice=_notice(text, within, following),
            credit=parse_copyright(source.copyright).credit,
            audit_id=self.recorder.fetched(ref, document.uri, chars, principal, door=door),
        )

    def grep(
        self, wanted: LineQuery, path: str = "/", principal: Principal = LOCAL, *, after: str = "", limit: int = 50,
        door: str = "tree",
    ) -> MatchPage:  # fmt: skip
        """Lines that hold a pattern, in all documents at or below a path.

        Args:
            after: `MatchPage.next` of the page before.

        Raises:
            NotFound: there is nothing at this path, or nothing that the caller may see.
            InvalidRequest: an argument.
            EngineTimeout: the deadline passed.
        """
        _check_bound("limit", limit, 1, MOST_MATCHES)
        _check_bound("context", wanted.context, 0, MOST_CONTEXT)
        find = line_pattern(wanted.pattern, regex=wanted.regex, case=wanted.case)
        named = None if wanted.name is None else name_pattern(wanted.name)
        sources = self.access.readable_sources(principal)
        place = self.paths.at(path, sources)
        mark, deadline = PageMark.parse(after), self.paths.limit()
        enough = deadline.within(_LOOKING)
        matches, documents, read = list[LineMatch](), 0, 0
        for document, mount, source in self.paths.documents(place, sources, mark):
            behind = mark.line if mark.names(document, mount) else 0
            shown = mount.path(document.uri)
            if named is not None and not (named(shown) or named(document.title)):
                continue
            if read > _LOOKED_THROUGH or len(matches) >= limit or (documents and not enough.remaining()):
                here = PageMark.at(document, mount, behind).text
                return MatchPage(matches=tuple(matches), documents=documents, next=here)
            text, documents = self._text(document, source, principal), documents + 1
            found = list(
                islice(
                    matching_lines(text.lines(), find, context=wanted.context, behind=behind),
                    limit - len(matches) + 1,
                )
            )
            read += text.chars
            given = found[: limit - len(matches)]
            if given:
                ref = f"document-{document.document_id}"
                chars = sum(len(one.line.text) + sum(map(len, (*one.before, *one.after))) for one in given)
                self.recorder.fetched(ref, document.uri, chars, principal, door=door)
                matches += (one.described(shown, ref, document.title) for one in given)
            if len(found) > len(given):
                here = PageMark.at(document, mount, given[-1].line.number if given else behind).text
                return MatchPage(matches=tuple(matches), documents=documents, next=here)
        return MatchPage(matches=tuple(matches), documents=documents, next="")

    def _text(self, document: AddressedDocument, source: Source, principal: Principal) -> DocumentText:
        terms, number = parse_copyright(source.copyright), document.document_id
        limited = not keeps_library(principal) and terms.room(0) is not None
        room = terms.room(self.catalog.document_chars({number}).get(number, 0)) if limited else None
        return DocumentText(catalog=self.catalog, document_id=number, room=room, deadline=self.paths.limit())

    def _sections(self, place: Place, principal: Principal, mark: PageMark, limit: int) -> EntryPage:
        document, source, mount = place.readable("")
        path, behind = mount.path(document.uri), mark.line
        found = (one for one in sections(self._text(document, source, principal).lines()) if one[0] > behind)
        entries = [
            TreeEntry(kind="section", path=path, title=title, line=line, level=level)
            for line, level, title in islice(found, limit + 1)
        ]
        # A line may begin several sections: those of one line stay together.
        last = len(entries)
        if len(entries) > limit:
            last = next((i for i in range(limit, 0, -1) if entries[i].line != entries[i - 1].line), len(entries))
        more = PageMark(source.source_id, "", entries[last - 1].line or 0).text if last < len(entries) else ""
        return EntryPage(path=path, entries=tuple(entries[:last]), next=more)

    def _named(
        self, path: str, place: Place, sources: Mapping[str, Source], name: str, mark: PageMark, limit: int
    ) -> EntryPage:
        has_name, looked = name_pattern(name), 0
        entries, deadline = list[TreeEntry](), self.paths.limit()
        for document, mount, source in self.paths.documents(place, sources, mark):
            if mark.names(document, mount):
                continue
            looked += 1
            entry = _document_entry(document, mount, source)
            if has_name(entry.path) or has_name(entry.title):
                entries.append(entry)
            if len(entries) >= limit or looked >= _NAMES_LOOKED_AT:
                here = PageMark.at(document, mount).text
                return EntryPage(path=path, entries=tuple(entries), next=here)
            deadline.check("catalog")
        return EntryPage(path=path, entries=tuple(entries), next="")


def _notice(text: DocumentText, within: SectionLines | None, following: int | None) -> str:
    """What must be known beside lines of a text, in Chinese and English."""
    cut = (NO_EXCERPT if not text.room else EXCERPT) if text.cut and following is None else ""
    others = ", ".join(map(str, within.others)) if within is not None else ""
    same = (
        f"同名的节还有，始于第 {others} 行。Further sections of this name begin at lines {others}." if others else ""
    )
    return " ".join(filter(None, (cut, same)))


def _source_entry(source: Source) -> TreeEntry:
    return TreeEntry(
        kind="source", path=f"/{source.source_id}/", title=source.title, language=source.language,
        copyright=source.copyright, trust=source.trust,
    )  # fmt: skip


def _document_entry(one: AddressedDocument, mount: Mount, source: Source) -> TreeEntry:
    return TreeEntry(
        kind="document", path=mount.path(one.uri), title=one.title, ref=f"document-{one.document_id}",
        media_type=one.media_type, language=one.language, effective_from=_day(one.effective_from),
        effective_until=_day(one.effective_until), copyright=source.copyright,
    )  # fmt: skip


def _day(ordinal: int | None) -> str | None:
    return None if ordinal is None else date.fromordinal(ordinal).isoformat()


def _check_bound(name: str, value: int, least: int, most: int | None) -> None:
    if value < least or (most is not None and value > most):
        why = (
            msg("must be at least {limit}", limit=least)
            if most is None
            else msg("must be {least} to {most}", least=least, most=most)
        )
        raise InvalidRequest(msg("{place} {fault}", place=name, fault=why), faults=(Fault(name, why),))
