"""Joining pieces of text to a `Document` with offsets."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.fidelity import Line
from wenyuan.core.model import Block, BlockKind, Document, Facet
from wenyuan.core.text.structure import opening
from wenyuan.readers.decoding import clean

# From pieces to a `Document`: one text, blocks that cover it, and the notes of what was done on the way.


EMPTY_CELL = "–"
"""Stands in an empty cell of a table, so that what follows stays under its own column's header."""

_GAP = "\n\n"
_PLACEHOLDER = re.compile(
    r"(?i)[(<\[（【]?(?:anonymous|unspecified|unknown|untitled(?:[ _-]?(?:document|page|\d+))*|no title|none|null|title|document ?\d*"
    r"|word document|powerpoint presentation|slide \d+|presentation ?\d*|microsoft (?:word|excel|powerpoint) (?:- |document).*"
    r"|.*\.(?:docx?|wps|pdf|pptx?|xlsx?|rtf|tex|dvi|indd)|匿名|无标题.*|無標題.*|未命名.*|未知|文档 ?\d*|文檔 ?\d*|幻灯片 ?\d*|演示文稿 ?\d*"
    r"|新建.{0,20}(?:文档|文件).*)[)>\]）】]?"
)
_SET = re.compile(
    r"(?is)<(em|strong|b|i|u|s|sub|sup|small|mark|code|span|font|a)(?:\s[^<>]{0,200})?>((?:(?!</?\1[\s>]).){0,1000})</\1\s*>"
)
_ASSEMBLE_BREAK = re.compile(r"(?i)<br\s*/?>")


@dataclass(frozen=True, slots=True)
class Piece:
    """A block with its own text, before its offsets in the document are known. See `core.model.Block`,
    `Document.cells`.

    Attributes:
        inner: ``(offset, anchor)``; offsets are those of `text`.
        lines: Its printed lines; offsets are those of `text`. A paragraph with them has no line break.
        made: A heading that the reader has made, as ``Slide 1``: it names a place, never the document.
    """

    kind: BlockKind
    text: str
    level: int = 0
    label: str = ""
    line: int | None = None
    page: int | None = None
    cell: str | None = None
    anchor: str | None = None
    inner: tuple[tuple[int, str], ...] = ()
    cells: Sequence[tuple[int, int, str]] = ()
    lines: Sequence[Line] = ()
    made: bool = False


@dataclass(frozen=True, slots=True)
class Original:
    """An original file: bytes, document URI and display name."""

    content: bytes
    uri: str
    name: str


def stem(name: str) -> str:
    """A file name without folders and suffix: the fallback title."""
    return PurePosixPath(name.replace("\\", "/")).stem or name


def no_title(title: str) -> bool:
    """Whether a title is a program's placeholder: ``(anonymous)``, ``Microsoft Word - x.doc``, ``无标题``."""
    return not title or _PLACEHOLDER.fullmatch(title.strip()) is not None


def plain_title(title: str) -> str:
    """A title on one line, without markup of single words: ``A <em>new</em> rule`` → ``A new rule``.

    Only closed tags are removed: ``<em>: the element`` may be the title of a page about HTML.
    """
    while (without := _SET.sub(r"\2", title)) != title:
        title = without
    return " ".join(_ASSEMBLE_BREAK.sub(" ", title).split())


def left_out_note(counts: Mapping[str, int]) -> tuple[str, ...]:
    """A note on the parts of a file that were not read, by kind: ``left out hidden elements (2), nav (1)``; empty
    without any.
    """
    told = ", ".join(f"{what} ({count})" for what, count in sorted(counts.items()) if count)
    return (f"left out {told}",) if told else ()


def unread(counts: Mapping[str, int]) -> tuple[str, ...]:
    """A warning that names the kinds of content that a file holds and its reader does not know; empty without any."""
    told = ", ".join(f"{what} ({count})" for what, count in sorted(counts.items())[:20] if count)
    return (msg("content of kinds that are not read: {kinds}", kinds=told),) if told else ()


def lists_joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Pieces with neighbouring list items joined to one list, for formats that mark list paragraphs but no lists."""
    joined: list[Piece] = []
    for piece in pieces:
        if piece.kind == "list" and joined and joined[-1].kind == "list":
            joined[-1] = replace(joined[-1], text=f"{joined[-1].text}\n{piece.text}")
        else:
            joined.append(piece)
    return joined


def rejected(reason: str, name: str) -> DocumentRejected:
    """A `DocumentRejected` that names its document: its text is ``name: reason``."""
    return DocumentRejected(reason, component=name)


def assemble(
    pieces: Iterable[Piece],
    original: Original,
    *,
    title: str = "",
    media_type: str = "",
    language: str = "",
    empty: str = "it holds no text",
    notes: Sequence[str] = (),
    metadata: Mapping[str, Facet] | None = None,
) -> Document:
    """Join pieces with blank lines between them, cleaned of hidden characters; empty pieces are dropped.

    Args:
        title: Of the document; when empty or a program's own, the first heading that opens no numbered part, else the file's stem.
        empty: Why the document is rejected when no piece has text.

    Raises:
        DocumentRejected: no piece has text.
    """
    kept, seen = _cleaned(tuple(pieces))
    if not kept:
        raise rejected(empty, original.name)
    blocks = []
    cells: list[tuple[int, int, str]] = []
    lines: list[Line] = []
    at = 0
    for piece in kept:
        end = at + len(piece.text)
        lines += (line._replace(start=at + line.start, end=at + line.end) for line in piece.lines)
        cells += ((at + start, at + stop, kind) for start, stop, kind in piece.cells)
        label = piece.label or (" ".join(piece.text.split()) if piece.kind == "heading" else "")
        blocks.append(
            Block(kind=piece.kind, start=at, end=end, level=piece.level, label=label,
                  line=piece.line, page=piece.page, cell=piece.cell, anchor=piece.anchor,
                  inner=tuple((at + offset, anchor) for offset, anchor in piece.inner))
        )  # fmt: skip
        at = end + len(_GAP)
    # 第一章 or 一、 opens a part of the document, and names only that.
    named = ("" if piece.made else block.label for block, piece in zip(blocks, kept, strict=True)
             if block.kind == "heading" and not opening(piece.text))  # fmt: skip
    title = plain_title(clean(title)[0])
    title = next(named, "") if no_title(title) else title
    return Document(
        uri=original.uri,
        title=title or stem(original.name),
        titled=bool(title),
        text=_GAP.join(piece.text for piece in kept),
        blocks=tuple(blocks),
        sha256=hashlib.sha256(original.content).hexdigest(),
        language=language,
        media_type=media_type,
        notes=(*notes, *seen),
        metadata=dict(metadata or {}),
        cells=tuple(cells),
        lines=tuple(lines),
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell for output as text: the column name put before it, its value, and the column's meaning (see
    `Document.cells`).
    """

    value: str
    kind: str = ""
    name: str = ""


def joined(cells: Iterable[Cell], between: str) -> tuple[str, list[tuple[int, int, str]]]:
    """The text of a row of cells, and the spans (start, end, meaning) of cells whose column has a known meaning."""
    text, told = "", []
    for number, cell in enumerate(cells):
        text += (between if number else "") + (f"{cell.name}: " if cell.name else "")
        if cell.kind:
            told.append((len(text), len(text) + len(cell.value), cell.kind))
        text += cell.value
    return text, told


def lines_of(rows: Iterable[Sequence[Cell]]) -> tuple[str, list[tuple[int, int, str]]]:
    """A table as text, one line per row with cells separated by ``|``; and the spans as in `joined`."""
    lines: list[str] = []
    told: list[tuple[int, int, str]] = []
    at = 0
    for row in rows:
        line, cells = joined(row, " | ")
        told += ((at + start, at + end, kind) for start, end, kind in cells)
        lines.append(line)
        at += len(line) + 1
    return "\n".join(lines), told


def _in_clean(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Map ascending spans of a text to the cleaned text."""
    found = []
    at = done = 0
    for start, end in spans:
        begin = done + len(clean(text[at:start])[0])
        done = begin + len(clean(text[start:end])[0])
        found.append((begin, done))
        at = end
    return found


def _cleaned(pieces: tuple[Piece, ...]) -> tuple[list[Piece], tuple[str, ...]]:
    """Pieces with cleaned text, and the cleaner's notes, with counts over all pieces."""
    joined = _GAP.join(piece.text for piece in pieces)
    cleaned, notes = clean(joined)
    untouched = cleaned == joined
    kept = []
    for piece in pieces:
        text = piece.text if untouched else clean(piece.text)[0]
        strip = "\n" if piece.kind == "code" else None
        gone = len(text) - len(text.lstrip(strip))
        text = text.strip(strip).rstrip()
        if text.strip():
            inner = _moved(piece, gone, len(text), untouched)
            spans = _shifted(piece, [cell[:2] for cell in piece.cells], gone, len(text), untouched)
            cells = [(*span, cell[2]) for span, cell in zip(spans, piece.cells, strict=True) if span[0] < span[1]]
            spans = _shifted(piece, [(line.start, line.end) for line in piece.lines], gone, len(text), untouched)
            lines = [
                line._replace(start=start, end=end)
                for (start, end), line in zip(spans, piece.lines, strict=True)
                if start < end
            ]
            kept.append(replace(piece, text=text, inner=inner, cells=cells, lines=lines))
    return kept, tuple(notes)


def _shifted(
    piece: Piece, spans: Sequence[tuple[int, int]], gone: int, length: int, untouched: bool
) -> list[tuple[int, int]]:
    """Map spans of a piece to its cleaned text, from which the first `gone` characters are stripped."""
    found = spans if untouched else _in_clean(piece.text, spans)
    return [(max(0, start - gone), min(end - gone, length)) for start, end in found]


def _moved(piece: Piece, gone: int, length: int, untouched: bool) -> tuple[tuple[int, str], ...]:
    """Map the anchors of a piece to its cleaned text, from which the first `gone` characters are stripped."""
    found = []
    for offset, anchor in piece.inner:
        at = offset if untouched else len(clean(piece.text[:offset])[0])
        found.append((min(max(at - gone, 0), length), anchor))
    return tuple(found)
