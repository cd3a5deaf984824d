"""What stands in a folder, in a document and in what was looked for, as it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

EntryKind = Literal["source", "folder", "document", "section"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """A source, folder or document, or a section of a document.

    Attributes:
        path: Under which it is listed or read; of a section, that of its document.
        title: Of a section, its heading.
        ref: ``document-12``: what `fetch` takes; ``""`` of what is no document.
        line: Where a section begins.
        level: How deep a section's heading is, from 1.
    """

    kind: EntryKind
    path: str
    title: str = ""
    ref: str = ""
    media_type: str = ""
    language: str = ""
    effective_from: str | None = None
    effective_until: str | None = None
    copyright: str = ""
    trust: int | None = None
    line: int | None = None
    level: int | None = None

    def described(self) -> Mapping[str, Any]:
        """As JSON values, without what is not said."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPage:
    """Entries in order.

    Attributes:
        next: For `after` of the following page; ``""`` on the last.
    """

    path: str
    entries: tuple[TreeEntry, ...]
    next: str

    def described(self) -> Mapping[str, Any]:
        """As JSON values."""
        return {"path": self.path, "entries": [one.described() for one in self.entries], "next": self.next or None}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPart:
    """Lines of a document that follow one another.

    Attributes:
        lines: The first is that of number `line`.
        next_line: Which follows; None where nothing does.
        notice: What must be known beside the text: that its terms allow no more of it. In Chinese and English.
    """

    path: str
    ref: str
    uri: str
    title: str
    line: int
    lines: tuple[str, ...]
    next_line: int | None
    notice: str = ""
    credit: str = ""
    audit_id: str = ""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def described(self) -> Mapping[str, Any]:
        """As JSON values."""
        told = {"notice": self.notice, "credit": self.credit, "audit_id": self.audit_id}
        return {
            "path": self.path,
            "ref": self.ref,
            "uri": self.uri,
            "title": self.title,
            "line": self.line,
            "text": self.text,
            "next_line": self.next_line,
            **{name: value for name, value in told.items() if value},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LineQuery:
    """What lines are looked for.

    Attributes:
        regex: Whether the pattern is a regular expression (RE2); else a text, in any width.
        case: Whether capital letters differ from small ones.
        context: How many lines before and after each are given, too.
        name: Only in documents whose path or title has this form; None: in all.
    """

    pattern: str
    regex: bool = False
    case: bool = False
    context: int = 0
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LineMatch:
    """A line that holds what was looked for.

    Attributes:
        text: The line; of a long one, the part around what was found.
        before, after: Lines around it, as far as they were asked for.
    """

    path: str
    ref: str
    title: str
    line: int
    text: str
    headings: tuple[str, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def described(self) -> Mapping[str, Any]:
        """As JSON values, without what is empty."""
        return {name: value for name, value in asdict(self).items() if value not in ("", ())}


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchPage:
    """Matches in the order of paths and lines.

    Attributes:
        documents: How many were looked through.
        next: For `after` of the following page, where not everything was looked through; ``""`` otherwise.
    """

    matches: tuple[LineMatch, ...]
    documents: int
    next: str

    def described(self) -> Mapping[str, Any]:
        """As JSON values."""
        return {
            "matches": [one.described() for one in self.matches],
            "documents": self.documents,
            "next": self.next or None,
        }
