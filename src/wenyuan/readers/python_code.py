"""Python, whose own parser tells what is a docstring."""

from __future__ import annotations

import ast

from wenyuan.core.model import Document
from wenyuan.readers.assemble import Original, Piece, assemble
from wenyuan.readers.source_code import DECLARED, HASH, Language, code_runs, with_names
from wenyuan.readers.text import measured, readable


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
        language = Language(HASH, False, (DECLARED,))
        pieces = list(with_names(code_runs(text.split("\n"), language), language, added))
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
        language = Language(HASH, False, ())
        for run in code_runs(self._lines[first - 1 : last], language):
            line = first + run.first - 1
            if run.comment:
                text = "\n".join(HASH.sub("", each, count=1).strip() for each in run.lines)
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
