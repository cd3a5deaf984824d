"""Files of Word: made and changed for a test, and as they are read."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

from wenyuan.core.model import Document
from wenyuan.readers.docx import read_docx


def saved(package: Any) -> bytes:
    """A document of python-docx as a file."""
    buffer = io.BytesIO()
    package.save(buffer)
    return buffer.getvalue()


def rewritten(content: bytes, part: str, change: Callable[[bytes], bytes]) -> bytes:
    """The same archive with one part changed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            body = old.read(entry)
            new.writestr(entry.filename, change(body) if entry.filename == part else body)
    return buffer.getvalue()


def with_entries(content: bytes, entries: dict[str, bytes]) -> bytes:
    """The same archive with more parts."""
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        for name, body in entries.items():
            archive.writestr(name, body)
    return buffer.getvalue()


def read(content: bytes) -> Document:
    """The one document of a file."""
    (document,) = read_docx(content, uri="file:///a.docx", name="a.docx")
    return document


def blocks(content: bytes) -> list[tuple[str, str]]:
    """The kind and the text of each block of a file."""
    document = read(content)
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]
