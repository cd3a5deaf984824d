"""Plain text to a `Document`: paragraphs, numbered headings and clauses."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Block, BlockKind, Document
from wenyuan.core.text.structure import Line, Opening, openings
from wenyuan.readers.assemble import Piece, clean, decode, rejected, stem
from wenyuan.readers.fidelity import measured

# Plain text: paragraphs, numbered headings and clauses.


_BULLET = re.compile(r"\s*(?:[-*+•·●○■▪◆–—]|[0-9０-９]{1,3}[.)、．）]|[（(][^）)\s]{1,4}[）)])\s*\S")
_INDENT = re.compile(r"\u3000| {2,}|\t")
_FULL_STOPS = tuple("。！？；：")
_MAX_TITLE = 60
_NO_TITLE = re.compile(r"[。；;！!，,：:、.]$|。|；|[.?!] ")


class _Span(NamedTuple):
    """A line ``text[start:end]``, without its line end."""

    start: int
    end: int


def readable(content: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    """Decoded and cleaned text of a file, with notes.

    Raises:
        DocumentRejected: it is no text, or blank; the message names the file.
    """
    try:
        decoded = decode(content)
    except DocumentRejected as error:
        raise rejected(error.message, name) from error
    text, notes = clean(decoded.text)
    if not text.strip():
        raise rejected("it holds no text", name)
    return text, decoded.notes + notes


def spans(text: str) -> list[_Span]:
    r"""The lines of a text with ``\n`` line ends."""
    found = []
    at = 0
    for line in text.split("\n"):
        found.append(_Span(at, at + len(line)))
        at += len(line) + 1
    return found


def heading_label(found: Opening) -> str:
    """A heading's text with white space made even: ``第一章　总  则`` → ``第一章 总 则``."""
    return " ".join(f"{found.label} {found.title}".split())


def read_text(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a plain text file as one document. Its title is a title line at the top, else the file's stem.

    Raises:
        DocumentRejected: binary, in an unknown encoding, or blank.
    """
    text, notes = readable(content, name)
    lines = spans(text)
    found = openings(_lines(text, lines))
    first = next(i for i, line in enumerate(lines) if text[line.start : line.end].strip())
    title = _title(text, lines, found, first)
    blocks = []
    if title:
        blocks.append(Block(kind="heading", level=1, label=title, start=lines[first].start,
                            end=lines[first].end, line=first + 1))  # fmt: skip
        first += 1
    blocks += _levelled(_blocks(text, lines, found, first), below=len(blocks))
    document = Document(
        uri=uri,
        title=title or stem(name),
        titled=bool(title),
        text=text,
        blocks=tuple(blocks),
        sha256=hashlib.sha256(content).hexdigest(),
        media_type="text/plain",
        notes=notes,
    )
    return (measured(document, text),)


def _lines(text: str, lines: Sequence[_Span]) -> list[Line]:
    found = []
    blank = True
    for line in lines:
        written = text[line.start : line.end]
        found.append(Line(written, first=blank or bool(_INDENT.match(written))))
        blank = not written.strip()
    return found


def _title(text: str, lines: Sequence[_Span], found: Sequence[Opening | None], first: int) -> str:
    """The first line as the title, when it stands alone or directly above a heading and reads like a title; else
    ``""``.
    """
    written = " ".join(text[lines[first].start : lines[first].end].split())
    if found[first] or len(written) > _MAX_TITLE or _NO_TITLE.search(written) or _BULLET.match(written):
        return ""
    follows = lines[first + 1 : first + 2]
    if not follows or not text[lines[first].end :].strip():
        return ""
    alone = not text[follows[0].start : follows[0].end].strip()
    return written if alone or found[first + 1] else ""


def _blocks(text: str, lines: Sequence[_Span], found: Sequence[Opening | None], first: int) -> Iterator[Block]:
    start: int | None = None
    for i in range(first, len(lines)):
        if start is not None and _ends(text, lines, found, i):
            yield _block(text, lines, found[start], start, i)
            start = None
        if start is None and text[lines[i].start : lines[i].end].strip():
            start = i
    if start is not None:
        yield _block(text, lines, found[start], start, len(lines))


def _ends(text: str, lines: Sequence[_Span], found: Sequence[Opening | None], i: int) -> bool:
    """Whether the current block ends before line `i`."""
    written = text[lines[i].start : lines[i].end]
    before = found[i - 1]
    above = text[lines[i - 1].start : lines[i - 1].end]
    return bool(
        not written.strip()
        or found[i]
        or (before and before.heading)
        or written.startswith("\u3000")
        or bool(_BULLET.match(above)) < bool(_BULLET.match(written))
        or (above.rstrip().endswith(_FULL_STOPS) and not _BULLET.match(written))
        or (_INDENT.match(written) and not _INDENT.match(above) and not _BULLET.match(above))
    )


def _block(text: str, lines: Sequence[_Span], found: Opening | None, first: int, after: int) -> Block:
    start, end = lines[first].start, lines[after - 1].end
    end = start + len(text[start:end].rstrip())
    if found:
        kind: BlockKind = "heading" if found.heading else "clause"
        label = heading_label(found) if found.heading else found.label
        return Block(kind=kind, level=found.level, label=label, start=start, end=end, line=first + 1)
    kind = "list" if _BULLET.match(text, start, end) else "paragraph"
    return Block(kind=kind, start=start, end=end, line=first + 1)


def _levelled(blocks: Iterator[Block], *, below: int) -> list[Block]:
    """The same blocks, with levels renumbered without gaps and deeper than `below`."""
    kept = list(blocks)
    ranks = {level: i for i, level in enumerate(sorted({b.level for b in kept if b.level}), start=below + 1)}
    return [replace(b, level=ranks[b.level]) if b.level else b for b in kept]


# Numbered headings and clauses among paragraphs: where the format marks none, the numbers do.


def sectioned(pieces: Sequence[Piece], *, levels_are_sure: bool = True) -> list[Piece]:
    """Pieces with paragraphs split at lines that open a section, which become headings or clauses.

    Args:
        levels_are_sure: The format says what its headings' levels are; else a number in a heading decides.
    """
    lines: list[Line] = []
    owners: list[int] = []
    for index, piece in enumerate(pieces):
        for n, text in enumerate(piece.text.split("\n") if piece.kind == "paragraph" else [piece.text]):
            lines.append(Line(text if piece.kind in ("paragraph", "heading") else "…", first=n == 0))
            owners.append(index)
    found: list[list[tuple[str, Opening | None]]] = [[] for _ in pieces]
    for owner, line, accepted in zip(owners, lines, openings(lines), strict=True):
        found[owner].append((line.text, accepted))
    result: list[Piece] = []
    depth = 0  # of the marked heading above
    for piece, parts in zip(pieces, found, strict=True):
        if piece.kind == "paragraph":
            result.extend(_cut(piece, parts, depth))
        elif piece.kind == "heading" and not levels_are_sure and (first := parts[0][1]):
            result.append(replace(piece, level=depth + first.level, label=heading_label(first)))
        else:
            depth = piece.level or depth
            result.append(piece)
    return result


def _cut(piece: Piece, parts: Sequence[tuple[str, Opening | None]], depth: int) -> Iterator[Piece]:
    """Split a paragraph at each section opening, and after a line that is entirely a heading."""
    now, gathered = piece, [""]
    for text, accepted in parts:
        if accepted is None:
            gathered.append(text)
            continue
        yield replace(now, text="\n".join(gathered).strip("\n"))
        level = depth + accepted.level
        if accepted.heading:
            yield replace(piece, kind="heading", text=text, level=level, label=heading_label(accepted))
            now, gathered = piece, []
        else:
            now, gathered = replace(piece, kind="clause", level=level, label=accepted.label), [text]
    yield replace(now, text="\n".join(gathered).strip("\n"))
