"""Plain text and source code to a `Document`: paragraphs, numbered headings and clauses; and how much of a file its
document contains.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.fidelity import Fidelity
from wenyuan.core.model import Block, BlockKind, Document
from wenyuan.core.text.structure import Line, Opening, openings
from wenyuan.readers import CODE, notation, suffix_of
from wenyuan.readers.assemble import EMPTY_CELL, Original, Piece, assemble, rejected, stem
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
    own = None if source is None else read if source == document.text else characters(_one(source))
    lost = invented = 0
    if own is not None:
        taken = read - characters(_one(added))
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


def _one(text: str | Iterable[str]) -> str:
    return text if isinstance(text, str) else "\n".join(text)


def _structure(document: Document) -> Counter[str]:
    """Counts of the characters that a document's text has only as table, row and list markup."""
    marks: Counter[str] = Counter("".join(_NOTATION.findall(document.text)))
    for block in document.blocks:
        if pattern := _SHAPES.get(block.kind):
            marks.update("".join(pattern.findall(document.text, block.start, block.end)))
    return marks


# Plain text: paragraphs, numbered headings and clauses.


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


# Source code to a `Document`: comments and docstrings as paragraphs, the code by functions and classes.

_HASH = re.compile(r"\s*#+!?")
_SLASHES = re.compile(r"\s*//+!?")
_DASHES = re.compile(r"\s*--+")
_STAR = re.compile(r"^\s*(?:/\*+!?|\*+/?)|\*+/\s*\Z")
_NAME = r"(?P<name>[A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff.:~]*)"
_DECLARED = re.compile(
    r"(?:export\s+|default\s+|pub(?:\([a-z]+\))?\s+|public\s+|private\s+|protected\s+|static\s+|abstract\s+|final\s+|async\s+|"
    r"unsafe\s+|extern\s+|declare\s+|const\s+(?=fn\b)|template\s*<[^>]*>\s*)*"
    r"(?:function\*?|class|interface|struct|enum|union|trait|impl(?:<[^>]*>)?|fn|func(?:\s*\([^)]*\))?|def|module|mod|namespace|record|type|"
    r"(?i:create\s+(?:or\s+replace\s+)?(?:table|view|function|procedure|trigger|index)(?:\s+if\s+not\s+exists)?))\s+[`\"']?"
    + _NAME
)
_CALLED = re.compile(r"[A-Za-z_][\w\s*&<>,:\[\]~]*?(?P<name>[A-Za-z_~][\w:~]*)\s*\([^;]*(?:\{|\Z)")
_ASSIGNED = re.compile(
    r"(?:export\s+)?(?:const|let|var)\s+" + _NAME + r"\s*=\s*(?:async\s*)?(?:function|\([^)]*\)\s*=>|\w+\s*=>)"
)
_SHELL = re.compile(r"(?:function\s+)?(?P<name>[\w\-]+)\s*\(\)\s*\{?")


class _Language(NamedTuple):
    """Comment syntax of a language (line comments, ``/* */``), and the pattern of its declarations."""

    comment: re.Pattern[str]
    blocks: bool
    declared: Sequence[re.Pattern[str]]


_LANGUAGES = {
    "text/x-csrc": _Language(_SLASHES, True, (_DECLARED, _CALLED)),
    "text/javascript": _Language(_SLASHES, True, (_DECLARED, _ASSIGNED)),
    "application/sql": _Language(_DASHES, True, (_DECLARED,)),
    "application/x-sh": _Language(_HASH, False, (_SHELL,)),
    "text/x-ruby": _Language(_HASH, False, (_DECLARED,)),
}
"""By media type; all others have the comments of C."""
_OTHERS = _Language(_SLASHES, True, (_DECLARED,))
_LINE = 400  # characters of a line in which a name is looked for: some files are one line


def read_code(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a source file by its suffix: comments on lines of their own become paragraphs, all else code blocks.

    Each unindented declaration opens a section with its name. No code is executed or resolved.

    Raises:
        DocumentRejected: binary, in an unknown encoding, or blank.
    """
    media_type = CODE[suffix_of(name)]
    language = _LANGUAGES.get(media_type, _OTHERS)
    text, notes = readable(content, name)
    added: list[str] = []
    pieces = list(_with_names(_runs(text.split("\n"), language), language, added))
    document = assemble(pieces, Original(content, uri, name), title=name, media_type=media_type, notes=notes)
    return (measured(document, text, added=added),)


class _Run(NamedTuple):
    """Consecutive lines of one kind, a comment or code; `first` is the number of the first line."""

    lines: list[str]
    first: int
    comment: bool


def _runs(lines: Sequence[str], language: _Language) -> Iterator[_Run]:
    """Split lines into runs, at blank lines before unindented lines and around unindented comments."""
    run: _Run | None = None
    within, blank = False, True  # a comment in /* */ goes on; the line before was blank
    for number, line in enumerate(lines, 1):
        opens = language.blocks and line.startswith("/*")
        comment = within or opens or bool(language.comment.match(line) and line[:1] not in (" ", "\t"))
        if opens or within:
            within = "*/" not in line
        margin = bool(line.strip()) and line[0] not in " \t})"
        if run and (comment != run.comment or (blank and margin and not (within and not opens))):
            yield run
            run = None
        if line.strip() or run:
            run = run or _Run([], number, comment)
            run.lines.append(line)
        blank = not line.strip()
    if run:
        yield run


def _with_names(runs: Iterator[_Run], language: _Language, added: list[str]) -> Iterator[Piece]:
    """The pieces of a file: a section per declaration, starting with the comment directly above it."""
    comment: Piece | None = None
    below = 0  # the line after the comment
    for run in runs:
        if run.comment:
            if comment:
                yield comment
            text = "\n".join(_STAR.sub("", language.comment.sub("", line, count=1)).strip() for line in run.lines)
            comment, below = Piece("paragraph", text, line=run.first), run.first + len(run.lines)
            continue
        found = next((m for line in run.lines[:3] for p in language.declared if (m := p.match(line[:_LINE]))), None)
        if comment and run.first > below:
            yield comment
            comment = None
        if found:
            added.append(found["name"])
            yield Piece("heading", found["name"], level=1, line=run.first)
        if comment:
            yield comment
        comment = None
        yield Piece("code", "\n".join(run.lines), line=run.first)
    if comment:
        yield comment


# Python, whose own parser tells what is a docstring.


def read_python(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a Python file: classes and functions become sections, docstrings paragraphs, the rest code.

    A file that this Python cannot parse is read as any other source code.

    Raises:
        DocumentRejected: binary, in an unknown encoding, or blank.
    """
    text, notes = readable(content, name)
    added: list[str] = []
    try:
        pieces = _Python(text, added).pieces()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        language = _Language(_HASH, False, (_DECLARED,))
        pieces = list(_with_names(_runs(text.split("\n"), language), language, added))
        notes = (*notes, "is no Python that can be parsed; read line by line")
    document = assemble(pieces, Original(content, uri, name), title=name, media_type="text/x-python", notes=notes)
    return (measured(document, text, added=added),)


_Named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_MAX_NESTED = 8


class _Python:
    """Builds the pieces of a module in line order."""

    def __init__(self, text: str, added: list[str]) -> None:
        self._lines = text.split("\n")
        self._added = added
        self._module = ast.parse(text)
        self._pieces: list[Piece] = []

    def pieces(self) -> list[Piece]:
        self._take(self._module, "", 1, 1, len(self._lines))
        return self._pieces

    def _take(self, holder: ast.Module | _Named, path: str, level: int, first: int, last: int) -> None:
        """Add lines ``first … last`` of a module, class or function."""
        at = first
        if (held := _docstring(holder)) is not None:
            start, end, said = held
            self._code(at, start - 1)
            self._pieces.append(Piece("paragraph", said, line=start))
            at = end + 1
        inner = holder.body if isinstance(holder, (ast.Module, ast.ClassDef)) else []
        for node in inner:
            if isinstance(node, _Named) and node.end_lineno and level <= _MAX_NESTED:
                begins = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                if begins < at:
                    continue  # several on one line
                self._code(at, begins - 1)
                name = f"{path}{node.name}"
                self._added.append(name)
                self._pieces.append(Piece("heading", name, level=level, line=begins))
                self._take(node, f"{name}.", level + 1, begins, node.end_lineno)
                at = node.end_lineno + 1
        self._code(at, last)

    def _code(self, first: int, last: int) -> None:
        """Add lines as code; unindented comments become paragraphs."""
        language = _Language(_HASH, False, ())
        for run in _runs(self._lines[first - 1 : last], language):
            line = first + run.first - 1
            if run.comment:
                text = "\n".join(_HASH.sub("", each, count=1).strip() for each in run.lines)
                self._pieces.append(Piece("paragraph", text, line=line))
            else:
                self._pieces.append(Piece("code", "\n".join(run.lines), line=line))


def _docstring(holder: ast.Module | _Named) -> tuple[int, int, str] | None:
    """First line, last line and text of a docstring that shares no line with code; None without one."""
    first = holder.body[0] if holder.body else None
    said = ast.get_docstring(holder)
    if said is None or not isinstance(first, ast.Expr) or first.end_lineno is None:
        return None
    alone = isinstance(holder, ast.Module) or first.lineno > holder.lineno
    return (first.lineno, first.end_lineno, said) if alone else None
