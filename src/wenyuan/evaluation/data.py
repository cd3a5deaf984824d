"""Judged sets in BEIR layout: corpus, queries and judgements."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urldefrag, urlsplit

from wenyuan.core.errors import InvalidRequest, SourceError, msg
from wenyuan.core.filters import And, Filter, parse_filter
from wenyuan.core.model import Block, Document, Facet
from wenyuan.readers.decoding import clean
from wenyuan.runtime.regular import open_regular, read_regular

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


# The questions of a judged set and what answers them: ``queries.jsonl`` and ``qrels.tsv``.


Qrels = Mapping[str, Mapping[str, int]]
"""By query id: the grade of each judged document, 0 for one that was judged to be no answer."""

_CONTEXT = ("source_document_uri", "task_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A judged query.

    Attributes:
        context: What its metadata says of where it was asked (``source_document_uri``, ``task_id``).
        filter: Of its metadata, joined with the filter of the whole run.
    """

    query_id: str
    text: str
    context: Mapping[str, str]
    filter: Filter | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Queries with at least one relevant document, and their judgements."""

    questions: tuple[Question, ...]
    qrels: Qrels


def read_judged(
    folder: Path,
    known: Container[str],
    *,
    qrels: Path | None = None,
    limit: int | None = None,
    narrowed: Filter | None = None,
) -> Judged:
    """Read and validate the queries and judgements of a set.

    Args:
        known: The ids of the corpus.
        qrels: Another file than the folder's ``qrels.tsv``.
        limit: Take so many questions, always the same ones: those whose ids have the lowest hashes.
        narrowed: A filter for every question.

    Raises:
        SourceError: a file is missing or invalid, or the judgements name unknown ids.
    """
    judgements_path, queries_path = qrels or folder / "qrels.tsv", folder / "queries.jsonl"
    found = {q: grades for q, grades in _qrels(judgements_path).items() if max(grades.values()) > 0}
    if not found:
        raise SourceError(
            msg(
                "{judgements_path} judges no document as an answer: there is nothing to measure",
                judgements_path=judgements_path,
            )
        )
    unknown = [(q, d) for q, grades in found.items() for d in grades if d not in known]
    if unknown:
        raise SourceError(
            msg(
                "{judgements_path} names {count} documents that are not in the corpus, e.g. {unknown} for "
                "query {unknown2}",
                judgements_path=judgements_path,
                count=len(unknown),
                unknown=repr(unknown[0][1]),
                unknown2=repr(unknown[0][0]),
            ),
            hint="the corpus and the judgements must be of the same set",
        )
    questions = {q.query_id: q for q in _questions(queries_path, found, narrowed)}
    unasked = [q for q in found if q not in questions]
    if unasked:
        raise SourceError(
            msg(
                "{judgements_path} judges {count} queries that are not in {queries_path}, e.g. {unasked}",
                judgements_path=judgements_path,
                count=len(unasked),
                queries_path=queries_path,
                unasked=repr(unasked[0]),
            ),
            hint="the queries and the judgements must be of the same set",
        )
    chosen = set(sorted(questions, key=_lot)[:limit])
    return Judged(
        questions=tuple(q for q in questions.values() if q.query_id in chosen),
        qrels={q: grades for q, grades in found.items() if q in chosen},
    )


def _lot(query_id: str) -> str:
    return hashlib.sha256(b"lot 1\0" + query_id.encode("utf-8", "surrogatepass")).hexdigest()


def _qrels(path: Path) -> dict[str, dict[str, int]]:
    try:
        lines = read_regular(path).decode("utf-8-sig").splitlines()
    except OSError as error:
        raise SourceError(
            msg("cannot read {path}: {strerror}", path=path, strerror=error.strerror),
            hint="--qrels names another file",
        ) from error
    except UnicodeDecodeError as error:
        raise SourceError(msg("{path} is not UTF-8", path=path)) from error
    found: dict[str, dict[str, int]] = {}
    for number, line in enumerate(lines, 1):
        fields = line.split("\t")
        if not line.strip() or (number == 1 and fields[-1].strip() == "score"):
            continue
        try:
            query_id, document_id, grade = fields[0], fields[1], int(fields[2])
        except (IndexError, ValueError) as error:
            raise SourceError(
                msg(
                    "{path}, line {number}: it must be a query id, a document id and a whole number, with tabs "
                    "between",
                    path=path,
                    number=number,
                )
            ) from error
        if found.setdefault(query_id, {}).setdefault(document_id, grade) != grade:
            raise SourceError(
                msg(
                    "{path}, line {number}: {document_id} has two grades for query {query_id}",
                    path=path,
                    number=number,
                    document_id=repr(document_id),
                    query_id=repr(query_id),
                )
            )
    return found


def _questions(path: Path, wanted: Container[str], narrowed: Filter | None) -> Iterator[Question]:
    seen: set[str] = set()
    for number, _, record in read_lines(path):
        query_id = record_id(record, path, number)
        if query_id in seen:
            raise SourceError(
                msg(
                    "{path}, line {number}: the id {query_id} stands twice",
                    path=path,
                    number=number,
                    query_id=repr(query_id),
                )
            )
        seen.add(query_id)
        if query_id in wanted:
            try:
                yield _question(query_id, record, narrowed)
            except InvalidRequest as error:
                raise SourceError(
                    msg("{path}, line {number}: {reason}", path=path, number=number, reason=error)
                ) from error


def _question(query_id: str, record: Mapping[str, Any], narrowed: Filter | None) -> Question:
    text, metadata = record.get("text"), record.get("metadata") or {}
    if not isinstance(text, str) or not text.strip():
        raise InvalidRequest("'text' must be a string that is not blank")
    if not isinstance(metadata, dict):
        raise InvalidRequest("'metadata' is not an object")
    context = {name: metadata[name] for name in _CONTEXT if isinstance(metadata.get(name), str)}
    filters = [narrowed] if narrowed is not None else []
    if metadata.get("filter") is not None:
        filters.append(parse_filter(metadata["filter"]))
    joined = And(tuple(filters)) if len(filters) > 1 else next(iter(filters), None)
    return Question(query_id=query_id, text=text, context=context, filter=joined)
