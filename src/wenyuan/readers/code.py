"""Source code to a `Document`: comments and docstrings as paragraphs, the code by functions and classes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wenyuan.core.model import Document
from wenyuan.readers import CODE, suffix_of
from wenyuan.readers.assemble import Original, Piece, assemble
from wenyuan.readers.fidelity import measured
from wenyuan.readers.text import readable

_HASH = re.compile(r"\s*#+!?")
_SLASHES = re.compile(r"\s*//+!?")
_DASHES = re.compile(r"\s*--+")
_STAR = re.compile(r"^\s*(?:/\*+!?|\*+/?)|\*+/\s*$")
_NAME = r"(?P<name>[A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff.:~]*)"
_DECLARED = re.compile(
    r"(?:export\s+|default\s+|pub(?:\([a-z]+\))?\s+|public\s+|private\s+|protected\s+|static\s+|abstract\s+|final\s+|async\s+|"
    r"unsafe\s+|extern\s+|declare\s+|const\s+(?=fn\b)|template\s*<[^>]*>\s*)*"
    r"(?:function\*?|class|interface|struct|enum|union|trait|impl(?:<[^>]*>)?|fn|func(?:\s*\([^)]*\))?|def|module|mod|namespace|record|type|"
    r"(?i:create\s+(?:or\s+replace\s+)?(?:table|view|function|procedure|trigger|index)(?:\s+if\s+not\s+exists)?))\s+[`\"']?"
    + _NAME
)
_CALLED = re.compile(r"[A-Za-z_][\w\s*&<>,:\[\]~]*?(?P<name>[A-Za-z_~][\w:~]*)\s*\([^;]*(?:\{|$)")
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
