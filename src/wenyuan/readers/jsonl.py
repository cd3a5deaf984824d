"""JSON Lines to one `Document` per line: a title or question, a text or answer, an address, facets."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn
from urllib.parse import quote

from wenyuan.core.addresses import with_part
from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.model import Document, Facet
from wenyuan.core.stated_addresses import scheme_of, stated_address
from wenyuan.core.validity_dates import validity_field, validity_from
from wenyuan.readers.assemble import (
    Original,
    Piece,
    assemble,
    plain_title,
    rejected,
)
from wenyuan.readers.decoding import clean, decode
from wenyuan.readers.text import measured, read_text

_TITLES = ("title", "question")
_TEXTS = ("text", "content", "page_content", "answer")
_MEDIA_TYPE = "application/jsonl"
_MAX_INTEGER = 2**53


def read_jsonl(content: bytes, *, uri: str, name: str) -> tuple[Document, ...]:
    """Read one document per line.

    A line is an object with ``title`` or ``question``; ``text``, ``content``, ``page_content`` or ``answer``; optionally ``url`` or
    ``uri`` (http, https or urn; of another one, ``stated`` tells the service), or ``id``; and ``metadata``, whose scalars become facets, as do the line's own keys that say when
    it is in force (``effective_until``, ``状态``, ``supersedes``). A line without an address gets ``<uri>?id=<id>`` or
    ``<uri>?line=<n>``. A question and an answer make one ``row`` block. ``collection`` says which one a
    line belongs to. Lines without title and question whose ids are the same up to a ``#`` are parts of one text. The hash
    is that of the line.

    A line that is not such an object is refused by its number, and the others are taken: see `Document.refused`.

    Raises:
        DocumentRejected: no line is valid (the message has the first reason), or the file is empty.
    """
    decoded = decode(content)
    documents: dict[str, Document] = {}
    refused: list[tuple[str, str]] = []
    for number, line in enumerate(decoded.text.split("\n"), 1):
        if not line.strip():
            continue
        record: Mapping[str, Any] = {}
        try:
            record = _parsed(line)
            document = _document(record, line.strip(), uri, name, number, decoded.notes)
            if document.uri in documents:
                raise ValueError(msg("its address {uri} was used before", uri=repr(document.uri)))
            documents[document.uri] = document
        except (ValueError, RecursionError, DocumentRejected) as error:
            reason = error.message if isinstance(error, DocumentRejected) else str(error)
            refused.append((place_of_refused(record, uri, number, documents), f"line {number}: {reason}"))
    if not documents:
        raise rejected(_none_taken(refused), name)
    first, *others = documents.values()
    return (replace(first, refused=_bound_refusals(refused, uri)), *others)


_MOST_REFUSED = 200  # lines that are named one by one


def place_of_refused(record: Mapping[str, Any], uri: str, number: int, taken: Mapping[str, Document]) -> str:
    """The address of a refused line: its own, so that its older version is kept, unless another line uses it."""
    try:
        own = stated_address(_stated(record)) or _place(record, uri, number)
    except ValueError:
        own = ""
    return own if own and own not in taken else with_part(uri, f"line={number}")


def _none_taken(refused: Sequence[tuple[str, str]]) -> str:
    if not refused:
        return "it holds no lines"
    more = msg("; further lines like it: {count}", count=len(refused) - 1) if len(refused) > 1 else ""
    return refused[0][1] + more


def _bound_refusals(refused: Sequence[tuple[str, str]], uri: str) -> tuple[tuple[str, str], ...]:
    if len(refused) <= _MOST_REFUSED:
        return tuple(refused)
    rest = len(refused) - _MOST_REFUSED
    return (*refused[:_MOST_REFUSED], (with_part(uri, "line=more"), msg("{rest} more lines were refused", rest=rest)))


def _parsed(line: str) -> Mapping[str, Any]:
    def no_constant(constant: str) -> NoReturn:
        raise ValueError(msg("{constant} is not JSON", constant=constant))

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a key stands twice in one object")
        return found

    record = json.loads(line, parse_constant=no_constant, object_pairs_hook=unique)
    if not isinstance(record, dict):
        raise ValueError("it is not an object")
    return record


def _string(record: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    for key in keys:
        value = record.get(key)
        if value is None:
            continue
        if not isinstance(value, str):
            raise ValueError(msg("{key} is not a string", key=repr(key)))
        if value.strip():
            return value.strip()
    return ""


def _document(
    record: Mapping[str, Any], line: str, uri: str, name: str, number: int, notes: tuple[str, ...]
) -> Document:
    body = _string(record, _TEXTS)
    question = _string(record, ("question",))
    title = _string(record, _TITLES)
    if not body:
        raise ValueError("it has no text: one of 'text', 'content', 'answer' is needed")
    stated, own = _stated(record), _place(record, uri, number)
    own = stated_address(stated) or own
    content = line.encode("utf-8", "surrogatepass")
    validity, facets = _validity(record), _facets(record)
    twice = [key for key, value in validity.items() if facets.get(key, value) != value]
    for key in twice:
        said, both = {key: validity[key]}, {key: facets[key]}
        if validity_from(said)[0] == validity_from(said, both)[0]:
            facets[key] = validity[key]
    if question and _string(record, ("answer",)) == body:
        pieces = [Piece("row", f"{question}\n{body}", line=number)]
        document = assemble(pieces, Original(content, own, name), title=title)
        document = measured(document, [question, body])
        title = document.title
    else:
        (document,) = read_text(body.encode("utf-8", "replace"), uri=own, name=name)
    return replace(
        document,
        title=plain_title(title) or document.title,
        titled=bool(title) or document.titled,
        part_of="" if title else _whole(record),
        blocks=tuple(replace(block, line=number, anchor="") for block in document.blocks),
        sha256=hashlib.sha256(content).hexdigest(),
        media_type=_MEDIA_TYPE,
        notes=(
            *notes,
            *document.notes,
            *(f"{key!r} says otherwise in metadata; the narrower counts" for key in twice),
        ),
        metadata={**validity, **facets},
        stated=stated and (stated_address(stated) or stated),
        collection=" ".join(clean(_string(record, ("collection",)))[0].split())[:200],
    )


def document_of(record: Mapping[str, Any], line: str, uri: str, name: str, number: int) -> Document:
    """The document of a record that is written otherwise than as a line, such as a row of a table of columns.

    Args:
        line: Its text, of which the hash is taken.

    Raises:
        ValueError, DocumentRejected: it is no record; see `read_jsonl`.
    """
    return _document(record, line, uri, name, number, ())


def _stated(record: Mapping[str, Any]) -> str:
    """The address given in a line, without its fragment; ``""`` without one."""
    for key in ("url", "uri"):
        own = _string(record, (key,))
        if own and not scheme_of(own):
            raise ValueError(f"{key!r} is not absolute: {own[:100]!r}")
        if own:
            return own.partition("#")[0]
    return ""


def _place(record: Mapping[str, Any], uri: str, number: int) -> str:
    """The address of a line within its file: by its id, or by its number."""
    own_id = record.get("id")
    if own_id is None or own_id == "":
        return with_part(uri, f"line={number}")
    if isinstance(own_id, bool) or not isinstance(own_id, (str, int)):
        raise ValueError("'id' is neither a string nor an integer")
    return with_part(uri, f"id={quote(str(own_id), safe='')}")


def _whole(record: Mapping[str, Any]) -> str:
    """The id of the text that a line is a part of: its id up to the last ``#``; ``""`` without one."""
    whole, mark, part = str(record.get("id") or "").rpartition("#")
    return whole if mark and part else ""


def _validity(values: Mapping[str, Any]) -> dict[str, Facet]:
    """Facets of a line or its metadata that give its period of validity; lists as lists of texts."""
    facets: dict[str, Facet] = {}
    for key, value in values.items():
        if not validity_field(key):
            continue
        if isinstance(value, str) or (type(value) is int and abs(value) <= _MAX_INTEGER):
            facets[key] = value
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            facets[key] = ", ".join(value)
    return facets


def _facets(record: Mapping[str, Any]) -> dict[str, Facet]:
    metadata = record.get("metadata")
    if metadata is None:
        return {}
    if not isinstance(metadata, dict):
        raise ValueError("'metadata' is not an object")
    facets = _validity(metadata)
    for key, value in metadata.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"metadata {key!r} is not a finite number")
        if isinstance(value, int) and abs(value) > _MAX_INTEGER:
            raise ValueError(f"metadata {key!r} is beyond 2^53")
        if isinstance(value, (str, int, float, bool)):
            facets[key] = value
    return facets
