"""Plain text: paragraphs, numbered headings and clauses."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.fidelity import Fidelity
from wenyuan.core.model import Block, BlockKind, Document
from wenyuan.core.text.structure import DocumentLine, SectionOpening, openings
from wenyuan.readers import notation
from wenyuan.readers.assemble import EMPTY_CELL, rejected, stem
from wenyuan.readers.decoding import clean, decode

# Measures how much of a file its document contains: character counts of the file, taken independently, against those
# of the text.
#
# Both are counted per character, without white space and hidden characters: text that a reader reorders does not count
# as lost.

_MARK = re.compile(r"^\s*(?:[-*+•]|[0-9]{1,9}[.)])(?=\s)", re.MULTILINE)
_NOTATION = re.compile(r"\^\(?|_\(?|~~|\)|/")
"""What readers write for raised, lowered and struck text, and for formulas; see `notation`."""
_SHAPES = {"table": re.compile(rf"\||{EMPTY_CELL}"), "row": re.compile(rf"[:;{EMPTY_CELL}]"), "list": _MARK}


def characters(text: str) -> Counter[str]:
    """Counts of the characters of a text, without white space and hidden characters."""
    counts = Counter(notation.counted(clean(text)[0]))
    for char in [char for char in counts if char.isspace()]:
        del counts[char]
    return counts


def measured(
    document: Document,
    source: str | Iterable[str] | None,
    *,
    added: str | Iterable[str] = "",
    pages: int = 0,
    pictures: int = 0,
    warnings: Sequence[str] = (),
) -> Document:
    """The same document with its `Fidelity`.

    Args:
        source: All text of the file, extracted in another way than the document's; None where there is no other way.
        added: Text that the reader inserts on purpose, as often as it does: automatic numbers, column names repeated
            in each row, repeated merged cells. Table bars and list bullets are known already.
        warnings: Sentences for users of the document, each a `core.errors.msg`.
    """
    read = characters(document.text)
    own = None if source is None else read if source == document.text else characters(_join_texts(source))
    lost = invented = 0
    if own is not None:
        taken = read - characters(_join_texts(added))
        lost = (own - taken).total()
        invented = (taken - own - _structure(document)).total()
    return replace(
        document,
        fidelity=Fidelity(
            pages=pages,
            source_characters=None if own is None else own.total(),
            read_characters=read.total(),
            lost=lost,
            invented=invented,
            tables=sum(block.kind == "table" for block in document.blocks),
            pictures=pictures,
            warnings=tuple(warnings),
        ),
    )


def _join_texts(text: str | Iterable[str]) -> str:
    return text if isinstance(text, str) else "\n".join(text)


def _structure(document: Document) -> Counter[str]:
    """Counts of the characters that a document's text has only as table, row and list markup."""
    marks: Counter[str] = Counter("".join(_NOTATION.findall(document.text)))
    for block in document.blocks:
        if pattern := _SHAPES.get(block.kind):
            marks.update("".join(pattern.findall(document.text, block.start, block.end)))
    return marks


_BULLET = re.compile(r"\s*(?:[-*+•·●○■▪◆–—]|[0-9０-９]{1,3}[.)、．）]|[（(][^）)\s]{1,4}[）)])\s*\S")
_INDENT = re.compile(r"\u3000| {2,}|\t")
_FULL_STOPS = tuple("。！？；：")
_MAX_TITLE = 60
_NO_TITLE = re.compile(r"[。；;！!，,：:、.]\Z|。|；|[.?!] ")


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


def heading_label(found: SectionOpening) -> str:
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


def _lines(text: str, lines: Sequence[_Span]) -> list[DocumentLine]:
    found = []
    blank = True
    for line in lines:
        written = text[line.start : line.end]
        found.append(DocumentLine(written, first=blank or bool(_INDENT.match(written))))
        blank = not written.strip()
    return found


def _title(text: str, lines: Sequence[_Span], found: Sequence[SectionOpening | None], first: int) -> str:
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


def _blocks(text: str, lines: Sequence[_Span], found: Sequence[SectionOpening | None], first: int) -> Iterator[Block]:
    start: int | None = None
    for i in range(first, len(lines)):
        if start is not None and _ends(text, lines, found, i):
            yield _block(text, lines, found[start], start, i)
            start = None
        if start is None and text[lines[i].start : lines[i].end].strip():
            start = i
    if start is not None:
        yield _block(text, lines, found[start], start, len(lines))


def _ends(text: str, lines: Sequence[_Span], found: Sequence[SectionOpening | None], i: int) -> bool:
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


def _block(text: str, lines: Sequence[_Span], found: SectionOpening | None, first: int, after: int) -> Block:
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
