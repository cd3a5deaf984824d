"""The corpus of a judged set in BEIR layout."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urldefrag, urlsplit

from wenyuan.core.errors import SourceError, msg
from wenyuan.core.model import Block, Document, Facet
from wenyuan.readers.decoding import clean
from wenyuan.runtime.regular import open_regular

# The corpus of a judged set: ``corpus.jsonl``, one ``{_id, title, text, metadata?}`` a line, read as a stream.


READ_AS = "judged/2"
"""Version of what makes a `Document` of a line; a library built by another version is built anew."""

_MAX_INTEGER = 2**53
_MAX_NAME = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A corpus file, validated: every line is an entry and ids are unique.

    Attributes:
        name: Of the set: its folder's name.
        sha256: Of the file's bytes.
        uris: Address of each entry's document, by its id, in the order of the file.
    """

    path: Path
    name: str
    sha256: str
    uris: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.uris)

    def documents(self) -> Iterator[Document]:
        """One document per entry in file order, read one at a time."""
        for number, line, record in read_lines(self.path):
            entry = record_id(record, self.path, number)
            document = _document(record, line, self.uris[entry])
            yield document if document.titled else replace(document, part_of=entry.rpartition("#")[0])

    def texts(self, ids: Collection[str]) -> dict[str, tuple[str, str]]:
        """Title and text of entries by id."""
        found = {}
        for number, _, record in read_lines(self.path):
            entry = record_id(record, self.path, number)
            if entry in ids:
                found[entry] = (record.get("title") or "", record["text"])
        return found


def open_corpus(folder: Path) -> Corpus:
    """Validate ``corpus.jsonl`` of a set.

    Raises:
        SourceError: it is missing or empty, a line is not an entry, or an id is used twice.
    """
    path, name = folder / "corpus.jsonl", folder.resolve().name
    digest = hashlib.sha256()
    addresses = _Addresses(name)
    for number, line, record in read_lines(path):
        digest.update(line)
        entry = record_id(record, path, number)
        if entry in addresses.uris:
            raise _fault(path, number, f"the id {entry!r} stands twice")
        if not isinstance(record.get("text"), str) or not isinstance(record.get("title") or "", str):
            raise _fault(path, number, "'text' must be a string, and 'title' if there is one")
        if not isinstance(record.get("metadata") or {}, dict):
            raise _fault(path, number, "'metadata' is not an object")
        addresses.add(entry, record)
    if not addresses.uris:
        raise SourceError(msg("{path} holds no documents", path=path))
    return Corpus(path=path, name=name, sha256=digest.hexdigest(), uris=addresses.uris)


def read_lines(path: Path) -> Iterator[tuple[int, bytes, Mapping[str, Any]]]:
    """Line number, line and object of each non-blank line of a JSON Lines file.

    Raises:
        SourceError: the file cannot be read, or a line is no JSON object; the message says which.
    """
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line.decode("utf-8-sig"))
                except (ValueError, RecursionError) as error:
                    raise _fault(path, number, msg("is not JSON: {error}", error=error)) from error
                if not isinstance(record, dict):
                    raise _fault(path, number, "is not a JSON object")
                yield number, line, record
    except OSError as error:
        raise SourceError(
            msg("cannot read {path}: {strerror}", path=path, strerror=error.strerror), hint=_LAYOUT
        ) from error


def record_id(record: Mapping[str, Any], path: Path, number: int) -> str:
    """``_id`` as text.

    Raises:
        SourceError: it is missing, or neither a string nor an integer.
    """
    own = record.get("_id")
    if isinstance(own, bool) or not isinstance(own, (str, int)) or own == "":
        raise _fault(path, number, f"'_id' is {own!r}; it must be a string that is not empty")
    return str(own)


_LAYOUT = "a judged set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv (BEIR layout)"


def _fault(path: Path, number: int, reason: str) -> SourceError:
    return SourceError(msg("{path}, line {number}: {reason}", path=path, number=number, reason=reason), hint=_LAYOUT)


class _Addresses:
    """Assigns a unique URI to every entry.

    An entry's URI names the file it was cut from, so several entries may have the same one. The first
    keeps it; the others get their id as a query, which leaves the folder as it is: a context that names the file
    or a neighbour still finds them.
    """

    def __init__(self, name: str) -> None:
        self._prefix = f"urn:eval:{_quoted(name)}:"
        self._used: set[str] = set()
        self.uris: dict[str, str] = {}

    def add(self, entry: str, record: Mapping[str, Any]) -> None:
        own = (record.get("metadata") or {}).get("uri")
        choices = [self._prefix + _quoted(entry)]
        if isinstance(own, str) and urlsplit(own).scheme and not any(c.isspace() for c in own):
            base = urldefrag(own).url
            choices = [base, f"{base}{'&' if '?' in base else '?'}id={_quoted(entry)}", *choices]
        uri = next((choice for choice in choices if choice not in self._used), f"{choices[-1]}:{len(self._used)}")
        self._used.add(uri)
        self.uris[entry] = uri


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")


def _document(record: Mapping[str, Any], line: bytes, uri: str) -> Document:
    """Document with title and paragraphs; an entry without text has its title as text, so that none is left out."""
    title = " ".join(_sound(record.get("title") or "").split())
    text = _sound(record["text"])
    if not text.strip():
        text = title
    return Document(
        uri=uri,
        title=title,
        titled=bool(title),
        text=text,
        blocks=tuple(_paragraphs(text)),
        sha256=hashlib.sha256(line).hexdigest(),
        media_type="application/jsonl",
        metadata=_facets(record.get("metadata") or {}),
    )


def _sound(text: str) -> str:
    return clean(text.encode("utf-8", "replace").decode())[0]


def _paragraphs(text: str) -> Iterator[Block]:
    """Runs of non-blank lines."""
    begun: int | None = None
    end = at = 0
    for line in text.split("\n"):
        if line.strip():
            begun = at if begun is None else begun
            end = at + len(line.rstrip())
        elif begun is not None:
            yield Block(kind="paragraph", start=begun, end=end)
            begun = None
        at += len(line) + 1
    if begun is not None:
        yield Block(kind="paragraph", start=begun, end=end)


def _facets(metadata: Mapping[str, Any]) -> dict[str, Facet]:
    """Scalar metadata as facets, without the address, which is the document's URI."""
    return {
        name: _sound(value) if isinstance(value, str) else value
        for name, value in metadata.items()
        if name != "uri" and 0 < len(name) <= _MAX_NAME and name.isprintable() and _is_facet(value)
    }


def _is_facet(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (str, bool)) or (isinstance(value, int) and abs(value) <= _MAX_INTEGER)
