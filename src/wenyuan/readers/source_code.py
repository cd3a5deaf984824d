"""Source code to a `Document`: comments and docstrings as paragraphs, the code by functions and classes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from wenyuan.core.model import Document
from wenyuan.readers.assemble import Original, Piece, assemble
from wenyuan.readers.selection import CODE, suffix_of
from wenyuan.readers.text import measured, readable

HASH = re.compile(r"\s*#+!?")
_SLASHES = re.compile(r"\s*//+!?")
_DASHES = re.compile(r"\s*--+")
_STAR = re.compile(r"^\s*(?:/\*+!?|\*+/?)|\*+/\s*\Z")
_NAME = r"(?P<name>[A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff.:~]*)"
DECLARED = re.compile(
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


class Language(NamedTuple):
    """Comment syntax of a language (line comments, ``/* */``), and the pattern of its declarations."""

    comment: re.Pattern[str]
    blocks: bool
    declared: Sequence[re.Pattern[str]]


_LANGUAGES = {
    "text/x-csrc": Language(_SLASHES, True, (DECLARED, _CALLED)),
    "text/javascript": Language(_SLASHES, True, (DECLARED, _ASSIGNED)),
    "application/sql": Language(_DASHES, True, (DECLARED,)),
    "application/x-sh": Language(HASH, False, (_SHELL,)),
    "text/x-ruby": Language(HASH, False, (DECLARED,)),
}
"""By media type; all others have the comments of C."""
_OTHERS = Language(_SLASHES, True, (DECLARED,))
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
    pieces = list(with_names(code_runs(text.split("\n"), language), language, added))
    document = assemble(pieces, Original(content, uri, name), title=name, media_type=media_type, notes=notes)
    return (measured(document, text, added=added),)


class _Run(NamedTuple):
    """Consecutive lines of one kind, a comment or code; `first` is the number of the first line."""

    lines: list[str]
    first: int
    comment: bool


def code_runs(lines: Sequence[str], language: Language) -> Iterator[_Run]:
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


def with_names(runs: Iterator[_Run], language: Language, added: list[str]) -> Iterator[Piece]:
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
