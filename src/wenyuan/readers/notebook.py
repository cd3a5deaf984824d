"""Notebooks (IPYNB) to a `Document`: Markdown cells, code, and text outputs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.model import Document
from wenyuan.readers.assemble import Original, Piece, assemble, rejected
from wenyuan.readers.markdown import read_markdown
from wenyuan.readers.text import measured, readable

_MEDIA_TYPE = "application/x-ipynb+json"
_MAX_OUTPUT = 2_000
"""Characters of what one cell gave: training logs and dumps of tables go on for pages."""
_MAX_CELLS = 20_000


def read_ipynb(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read a Jupyter notebook (nbformat 3 and 4). Nothing is executed; only the beginning of each output is read.

    Raises:
        DocumentRejected: it is no notebook, or holds no text.
    """
    text, notes = readable(content, name)
    book = _Notebook(_notebook_cells(text, name))
    document = assemble(
        book.pieces(uri),
        Original(content, uri, name),
        media_type=_MEDIA_TYPE,
        language="",
        notes=[*notes, *book.notes()],
    )
    return (measured(document, book.source, pictures=book.pictures, warnings=book.warnings()),)


def _notebook_cells(text: str, name: str) -> Sequence[Mapping[str, Any]]:
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise rejected(msg("it is not well-formed JSON: {error}", error=error), name) from error
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None
    holders = sheets if isinstance(sheets, list) else [notebook]
    found = [
        cell
        for holder in holders
        if isinstance(holder, dict) and isinstance(holder.get("cells"), list)
        for cell in holder["cells"]
        if isinstance(cell, dict)
    ]
    if not found:
        raise rejected("it is no notebook: it has no cells", name)
    if len(found) > _MAX_CELLS:
        raise rejected(msg("it has {count} cells; at most {most} are read", count=len(found), most=_MAX_CELLS), name)
    return found


class _Notebook:
    def __init__(self, cells: Iterable[Mapping[str, Any]]) -> None:
        self._cells = cells
        self.source: list[str] = []
        self.pictures = 0
        self._cut = 0

    def notes(self) -> tuple[str, ...]:
        return (f"left out the end of {self._cut} outputs",) if self._cut else ()

    def warnings(self) -> tuple[str, ...]:
        told = msg("of {count} outputs only the first {most} characters are read", count=self._cut, most=_MAX_OUTPUT)
        return (told,) if self._cut else ()

    def pieces(self, uri: str) -> Iterator[Piece]:
        for cell in self._cells:
            source = _text(cell.get("source", cell.get("input")))
            kind = cell.get("cell_type")
            if source.strip():
                self.source.append(source)
                if kind in ("markdown", "heading"):
                    level = cell.get("level")
                    marks = "#" * level + " " if kind == "heading" and type(level) is int and 0 < level < 7 else ""
                    yield from _markdown(marks + source, uri)
                else:
                    yield Piece("code" if kind == "code" else "paragraph", source)
            for output in cell.get("outputs") or () if isinstance(cell.get("outputs"), list) else ():
                yield from self._output(output if isinstance(output, dict) else {})

    def _output(self, output: Mapping[str, Any]) -> Iterator[Piece]:
        """An output as text; images and widgets are counted only."""
        data = output.get("data") if isinstance(output.get("data"), dict) else output
        assert isinstance(data, Mapping)
        self.pictures += any(str(key).startswith("image/") or key in ("png", "jpeg", "svg") for key in data)
        text = _text(data.get("text/plain", data.get("text")))
        if output.get("output_type") in ("error", "pyerr"):
            text = f"{output.get('ename')}: {output.get('evalue')}"
        if text.strip():
            self.source.append(text)
            self._cut += len(text) > _MAX_OUTPUT
            yield Piece("code", text[:_MAX_OUTPUT])


def _text(value: object) -> str:
    """A text in notebook format: a string, or a list of lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _markdown(source: str, uri: str) -> Iterator[Piece]:
    """The blocks of a Markdown cell, as the Markdown reader gives them."""
    try:
        (document,) = read_markdown(("\n" + source).encode("utf-8", "replace"), uri=uri, name="cell.md")
    except DocumentRejected:  # nothing but comments
        return
    for block in document.blocks:
        piece = Piece(block.kind, document.text[block.start : block.end], level=block.level, label=block.label)
        yield replace(piece, anchor=None)
