"""The reader of a rule file, chosen by its suffix."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO

from wenyuan.core.errors import DocumentRejected, InvalidRequest, msg
from wenyuan.core.rules.book import Book, BookFault, joined
from wenyuan.core.rules.model import EntryPlace
from wenyuan.runtime.regular import open_regular

MAX_BYTES = 50_000_000
MAX_GRAPH_BYTES = 300_000_000
"""GraphML is read as a stream; everything else as a whole."""

_READERS = {
    **dict.fromkeys((".yaml", ".yml"), "wenyuan.readers.rulebooks.yaml_book:read_yaml"),
    ".xlsx": "wenyuan.readers.rulebooks.excel_book:read_excel",
    **dict.fromkeys((".csv", ".tsv"), "wenyuan.readers.rulebooks.csv_book:read_csv_book"),
    **dict.fromkeys((".jsonl", ".ndjson"), "wenyuan.readers.rulebooks.jsonl_book:read_jsonl_book"),
    ".graphml": "wenyuan.readers.rulebooks.graphml:read_graphml",
    ".json": "wenyuan.readers.rulebooks.graph_json:read_graph_json",
}
SUFFIXES = tuple(_READERS)
_STORES = re.compile(r"(?:kv_store|vdb)_[a-z_]+\.json", re.IGNORECASE)
"""What LightRAG keeps beside its graph: texts and vectors, of which nothing is a rule."""


def read_book(path: Path, *, pack: str = "") -> Book:
    """Read a file, or all files of a folder (and the folders in it) that can be read, as one pack.

    Args:
        pack: The pack's name; by default what the files say, else the name of the file or folder.

    Raises:
        InvalidRequest: there is no such file or folder, no file in it, it is of no known kind, or the files name
            several packs.
    """
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix.lower() in _READERS and _is_rule_file(p, path))
        files = [file for file in files if not _STORES.fullmatch(file.name)]
        if not files:
            raise InvalidRequest(
                msg("no file of rules in {path}: {suffixes} are read", path=path, suffixes=", ".join(SUFFIXES))
            )
    elif path.is_file():
        files = [path]
    else:
        raise InvalidRequest(msg("no such file or folder: {path}", path=path))
    if path.suffix.lower() not in _READERS and not path.is_dir():
        raise InvalidRequest(
            msg("{name} is of no kind that is read: {suffixes}", name=path.name, suffixes=", ".join(SUFFIXES))
        )
    books = [_read(file, str(file.relative_to(path)) if path.is_dir() else file.name) for file in files]
    named = sorted({book.pack for book in books if book.pack})
    if not pack and len(named) > 1:
        raise InvalidRequest(
            msg("the files of {name} name several packs: {named}", name=path.name, named=", ".join(named))
        )
    return joined(pack or (named[0] if named else path.resolve().stem), books)


def _is_rule_file(file: Path, folder: Path) -> bool:
    """Whether a file should be read: not hidden, and no lock file of an office program."""
    return file.is_file() and not any(part.startswith((".", "~$")) for part in file.relative_to(folder).parts)


def _read(path: Path, name: str) -> Book:
    module, _, function = _READERS[path.suffix.lower()].partition(":")
    read: Callable[..., Book] = getattr(import_module(module), function)
    try:
        limit = MAX_GRAPH_BYTES if function == "read_graphml" else MAX_BYTES
        size = path.stat().st_size
        if size > limit:
            raise DocumentRejected(
                msg("it has {size} MB; at most {limit} MB are read", size=size // 1000000, limit=limit // 1000000)
            )
        with os.fdopen(open_regular(path), "rb") as stream:
            return read(stream if function == "read_graphml" else _whole(stream, limit), file=name, pack="")
    except DocumentRejected as error:
        return Book(pack="", faults=(BookFault("bad_file", error.message, EntryPlace(name)),))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        return Book(
            pack="",
            faults=(BookFault("bad_file", msg("it cannot be read: {reason}", reason=reason), EntryPlace(name)),),
        )


def _whole(stream: IO[bytes], limit: int) -> bytes:
    content = stream.read(limit + 1)
    if len(content) > limit:
        raise DocumentRejected(msg("at most {limit} MB are read", limit=limit // 1000000))
    return content
