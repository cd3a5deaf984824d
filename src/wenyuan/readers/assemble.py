"""From pieces to a `Document`: one text, blocks that cover it, and the notes of what was done on the way."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Block, BlockKind, Document, Facet
from wenyuan.core.structure import opening
from wenyuan.readers.decode import clean

__all__ = [
    "EMPTY_CELL",
    "Cell",
    "Original",
    "Piece",
    "assemble",
    "joined",
    "lines_of",
    "no_title",
    "plain_title",
    "rejected",
    "stem",
]

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
_BREAK = re.compile(r"(?i)<br\s*/?>")


@dataclass(frozen=True, slots=True)
class Piece:
    """A block with its own text, before it has a place in the document. See `core.model.Block`, `Document.cells`.

    Attributes:
        inner: ``(offset, anchor)``; offsets are those of `text`.
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


@dataclass(frozen=True, slots=True)
class Original:
    """A file as it came: its bytes, the document's URI, and what a person calls it."""

    content: bytes
    uri: str
    name: str


def stem(name: str) -> str:
    """The name of a file without folders and suffix: the title of last resort."""
    return PurePosixPath(name.replace("\\", "/")).stem or name


def no_title(title: str) -> bool:
    """Whether a title is what a program writes where nobody gave one: ``(anonymous)``, ``Microsoft Word - x.doc``, ``无标题``."""
    return not title or _PLACEHOLDER.fullmatch(title.strip()) is not None


def plain_title(title: str) -> str:
    """A title on one line, without the tags that set words of it: ``A <em>new</em> rule`` → ``A new rule``.

    Only tags that are closed again: ``<em>: the element`` is what a page about HTML is called.
    """
    while (without := _SET.sub(r"\2", title)) != title:
        title = without
    return " ".join(_BREAK.sub(" ", title).split())


def rejected(reason: str, name: str) -> DocumentRejected:
    """A refusal that names its document: ``str()`` of it is ``name: reason``."""
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
    """Join pieces with a blank line between, cleaned of hidden characters; pieces without text vanish.

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
    at = 0
    for piece in kept:
        end = at + len(piece.text)
        cells += ((at + start, at + stop, kind) for start, stop, kind in piece.cells)
        label = piece.label or (" ".join(piece.text.split()) if piece.kind == "heading" else "")
        blocks.append(
            Block(kind=piece.kind, start=at, end=end, level=piece.level, label=label,
                  line=piece.line, page=piece.page, cell=piece.cell, anchor=piece.anchor,
                  inner=tuple((at + offset, anchor) for offset, anchor in piece.inner))
        )  # fmt: skip
        at = end + len(_GAP)
    # 第一章 or 一、 opens a part of the document, and names only that.
    named = (block.label for block, piece in zip(blocks, kept, strict=True)
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
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table as it is written into a text: a name before it, its value, and what its column says it is."""

    value: str
    kind: str = ""
    name: str = ""


def joined(cells: Iterable[Cell], between: str) -> tuple[str, list[tuple[int, int, str]]]:
    """The text of some cells, and where in it those stand whose column says what they are."""
    text, told = "", []
    for number, cell in enumerate(cells):
        text += (between if number else "") + (f"{cell.name}: " if cell.name else "")
        if cell.kind:
            told.append((len(text), len(text) + len(cell.value), cell.kind))
        text += cell.value
    return text, told


def lines_of(rows: Iterable[Sequence[Cell]]) -> tuple[str, list[tuple[int, int, str]]]:
    """A table as text: a line for each row, cells parted by ``|``; and where its told cells stand."""
    lines: list[str] = []
    told: list[tuple[int, int, str]] = []
    at = 0
    for row in rows:
        line, cells = joined(row, " | ")
        told += ((at + start, at + end, kind) for start, end, kind in cells)
        lines.append(line)
        at += len(line) + 1
    return "\n".join(lines), told


def _in_clean(text: str, cells: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Where cells stand in the text when it is cleaned."""
    found = []
    at = done = 0
    for start, end, kind in cells:
        begin = done + len(clean(text[at:start])[0])
        done = begin + len(clean(text[start:end])[0])
        found.append((begin, done, kind))
        at = end
    return found


def _cleaned(pieces: tuple[Piece, ...]) -> tuple[list[Piece], tuple[str, ...]]:
    """Pieces with clean text, and the cleaner's notes on the whole (so that it counts once, not per piece)."""
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
            found = piece.cells if untouched else _in_clean(piece.text, piece.cells)
            shifted = [(max(0, start - gone), min(end - gone, len(text)), kind) for start, end, kind in found]
            cells = [cell for cell in shifted if cell[0] < cell[1]]
            kept.append(replace(piece, text=text, inner=inner, cells=cells))
    return kept, tuple(notes)


def _moved(piece: Piece, gone: int, length: int, untouched: bool) -> tuple[tuple[int, str], ...]:
    """Where the anchors inside a piece lie in its cleaned text, of which the first `gone` characters are cut off."""
    found = []
    for offset, anchor in piece.inner:
        at = offset if untouched else len(clean(piece.text[:offset])[0])
        found.append((min(max(at - gone, 0), length), anchor))
    return tuple(found)
