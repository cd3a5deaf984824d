"""Lessons: judged questions resolved to the passages of a library."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from wenyuan.core.addresses import readable, with_fragment
from wenyuan.core.anchors import as_kept, parted, passages_at
from wenyuan.core.filters import Scope
from wenyuan.core.learning_records import Judgement, QuestionAddress
from wenyuan.core.records import AuditRecord
from wenyuan.core.text.analysis import query_terms
from wenyuan.service.learning.service_addresses import documents_under

if TYPE_CHECKING:
    from wenyuan.catalog.catalog import Catalog


# Questions with the passages that answer them: what a library can learn from, and of what it came.
#
# A lesson needs passages, and people name addresses: of a document, of a passage, the ref of a fragment, or a path
# within a source. What the library does not hold is not learned from, and is told.


Rows = NDArray[np.int64]

_OF_FILE = re.compile(r"[?&](?:sheet|line|id)=[^?&#]*\Z")
"""How the address of a sheet or of a row of JSON Lines ends that is a document of its own; before it stands its file's."""
_REF = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.\-]*)#([0-9]{1,15})")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingPassages:
    """The passages of a scope as rows, with their stored vectors.

    Attributes:
        ids, documents: ``(n,)``: of each row its passage and its document.
        sources: Of each row.
        vectors: ``(n, d)`` float32, unit rows; ``(0, 0)`` where they were not asked for.
        place: The row of each passage.
    """

    ids: Rows
    documents: Rows
    sources: Sequence[str]
    vectors: NDArray[np.float32]
    place: Mapping[int, int]

    def sizes(self) -> Mapping[int, int]:
        """Number of rows of each document."""
        documents, counts = np.unique(self.documents, return_counts=True)
        return dict(zip(documents.tolist(), counts.tolist(), strict=True))


def load_holdings(catalog: Catalog, scope: Scope, most: int, dimension: int | None) -> TrainingPassages:
    """Load the passages of a scope and their vectors from the catalog; nothing is embedded.

    Args:
        most: How many passages there are at most, with vectors where those are wanted.
        dimension: Of the vectors; None: all passages count, and their vectors are not read.
    """
    vectors = np.empty((most if dimension else 0, dimension or 0), dtype=np.float32)
    ids: list[int] = []
    documents: list[int] = []
    sources: list[str] = []
    for change in catalog.changes(0, catalog.seq(), vectors=dimension is not None):
        row = change.row
        if row is None or not scope.allows(row) or len(ids) == most:
            continue
        if dimension is not None:
            if row.vector is None:
                continue
            vectors[len(ids)] = row.vector
        ids.append(row.passage_id)
        documents.append(row.document_id)
        sources.append(row.source_id)
    return TrainingPassages(
        ids=np.array(ids, dtype=np.int64),
        documents=np.array(documents, dtype=np.int64),
        sources=sources,
        vectors=vectors[: len(ids)],
        place={passage_id: row for row, passage_id in enumerate(ids)},
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerRows:
    """One answer: the rows that contain it, and its grade (above 0)."""

    rows: Rows
    grade: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lesson:
    """A question with at least one answer.

    Attributes:
        by_document: A whole document is the answer, whichever of its passages is found; else passages are.
    """

    question: str
    targets: tuple[AnswerRows, ...]
    by_document: bool

    def keys(self, holdings: TrainingPassages, rows: Rows) -> Rows:
        """What rows are grouped by: their document, or the row itself."""
        return holdings.documents[rows] if self.by_document else rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Lessons:
    """Resolved training questions, in the order given.

    Attributes:
        pairs: How many of the pairs lead to a passage.
        unknown: Pairs whose addresses lead nowhere, or out of the scope.
    """

    lessons: tuple[Lesson, ...]
    pairs: int
    unknown: tuple[QuestionAddress, ...]


def resolve(
    pairs: Iterable[QuestionAddress],
    catalog: Catalog,
    holdings: TrainingPassages,
    sources: Collection[str] | None = None,
) -> Lessons:
    """Resolve the answers of all pairs to passages; identical questions are merged.

    Args:
        sources: Only answers of these count; None for all.
    """
    judged = [pair for pair in pairs if pair.grade > 0 and query_terms(pair.question)]
    found = _Addresses(catalog, holdings, [a for pair in judged for a in (pair.answer, *pair.otherwise)])
    targets: dict[str, list[AnswerRows]] = {}
    unknown = []
    for pair in judged:
        rows = next(filter(len, map(found.rows, (pair.answer, *pair.otherwise))), None)
        if rows is not None and sources is not None:
            rows = np.array([row for row in rows if holdings.sources[row] in sources], dtype=np.int64)
        if rows is None or not len(rows):
            unknown.append(pair)
        else:
            question = unicodedata.normalize("NFKC", pair.question.strip())
            targets.setdefault(question, []).append(AnswerRows(rows=rows, grade=pair.grade))
    sizes = holdings.sizes()
    return Lessons(
        lessons=tuple(_lesson(question, own, holdings, sizes) for question, own in targets.items()),
        pairs=len(judged) - len(unknown),
        unknown=tuple(unknown),
    )


def _lesson(
    question: str, targets: Sequence[AnswerRows], holdings: TrainingPassages, sizes: Mapping[int, int]
) -> Lesson:
    """Merge answers that share a passage or document."""
    by_document = any(_whole(target, holdings, sizes) for target in targets)
    lesson = Lesson(question=question, targets=(), by_document=by_document)
    merged: list[tuple[set[int], AnswerRows]] = []
    for target in targets:
        keys, apart = set(lesson.keys(holdings, target.rows).tolist()), []
        for other_keys, other in merged:
            if keys.isdisjoint(other_keys):
                apart.append((other_keys, other))
                continue
            keys |= other_keys
            rows = np.union1d(target.rows, other.rows)
            target = AnswerRows(rows=rows, grade=max(target.grade, other.grade))  # noqa: PLW2901
        merged = [*apart, (keys, target)]
    return Lesson(question=question, targets=tuple(target for _, target in merged), by_document=by_document)


def _whole(target: AnswerRows, holdings: TrainingPassages, sizes: Mapping[int, int]) -> bool:
    documents, counts = np.unique(holdings.documents[target.rows], return_counts=True)
    return all(sizes[document] == count for document, count in zip(documents.tolist(), counts.tolist(), strict=True))


class _Addresses:
    """Resolves addresses to passages, in bulk."""

    def __init__(self, catalog: Catalog, holdings: TrainingPassages, addresses: Iterable[str]) -> None:
        self._holdings = holdings
        self._ends: Mapping[str, str] = {}
        self._placed: Mapping[str, Sequence[int]] = {}
        self._files: Mapping[str, Sequence[int]] = {}
        wanted = list(dict.fromkeys(addresses))
        self._found = catalog.passages_of({name for address in wanted for name in (address, as_kept(address))})
        numbers = [int(ref[2]) for ref in map(_REF.fullmatch, wanted) if ref]
        self._refs = {passage.ref: passage.passage_id for passage in catalog.passages(numbers).values()}
        ends = {address: _ends(address) for address in wanted if not len(self.rows(address))}
        single = _by_path(catalog, holdings, {path for told in ends.values() for path, _ in told})
        self._ends = {
            address: with_fragment(single[path], fragment)
            for address, told in ends.items()
            for path, fragment in told[::-1]  # of several readings the first one counts
            if path in single
        }
        self._ends = {**self._ends, **documents_under(catalog, (one for one in wanted if not len(self.rows(one))))}
        self._found = {**self._found, **catalog.passages_of(self._ends.values())}
        lost = [address for address in wanted if not len(self.rows(address))]
        self._placed = _passages_at(catalog, {address: self._ends.get(address, address) for address in lost})
        self._files = _of_files(catalog, holdings, [address for address in lost if not len(self.rows(address))])

    def rows(self, address: str) -> Rows:
        """The rows that an address refers to; may be empty."""
        if address in self._refs:
            ids: Iterable[int] = (self._refs[address],)
        elif address in self._placed:
            ids = self._placed[address]
        elif address in self._files:
            ids = self._files[address]
        else:
            names = (address, as_kept(address), self._ends.get(address, ""))
            documents = next((self._found[name] for name in names if name in self._found), {})
            ids = (i for passages in documents.values() for i in passages)
        return np.array(sorted(self._holdings.place[i] for i in ids if i in self._holdings.place), dtype=np.int64)


def _passages_at(catalog: Catalog, addresses: Mapping[str, str]) -> Mapping[str, Sequence[int]]:
    """By name, the passages of addresses whose fragment is not stored but names a place: a clause, a heading."""
    told = {name: parted(address)[:2] for name, address in addresses.items() if parted(address)[1]}
    documents = catalog.passages_of({readable(document) for document, _ in told.values()})
    found: dict[str, Sequence[int]] = {}
    for name, (document, fragment) in told.items():
        ids = sorted({i for own in documents.get(readable(document), {}).values() for i in own})
        passages = catalog.passages(ids)
        if meant := passages_at((passages[i] for i in ids if i in passages), fragment):
            found[name] = [passage.passage_id for passage in meant]
    return found


def _of_files(catalog: Catalog, holdings: TrainingPassages, addresses: Iterable[str]) -> Mapping[str, Sequence[int]]:
    """By name, the passages of a file whose sheets or rows are documents of their own: a workbook, JSON Lines.

    A file is named by its address or by a path that fits no other file. A row with an address of its own is not known
    to be of the file.
    """
    names = {address: _file_names(address) for address in addresses}
    wanted = {name for told in names.values() for name in told}
    if not wanted:
        return {}
    files: dict[str, dict[str, dict[str, None]]] = {}
    for source in dict.fromkeys(holdings.sources):
        for uri in catalog.live_documents(source):
            file, ends = _OF_FILE.subn("", uri)
            for name in {file, *_endings(file)} & wanted if ends else ():
                files.setdefault(name, {}).setdefault(file, {})[uri] = None
    parts: dict[str, list[str]] = {name: list(*found.values()) for name, found in files.items() if len(found) == 1}
    held = catalog.passages_of({uri for uris in parts.values() for uri in uris})
    return {
        address: [i for uri in parts[name] for own in held.get(uri, {}).values() for i in own]
        for address, told in names.items()
        for name in told[::-1]  # of several readings the first one counts
        if name in parts
    }


def _file_names(address: str) -> Sequence[str]:
    told = address.strip()
    if "://" in told or told.startswith("urn:"):
        return () if "#" in told else (readable(told),)
    return tuple(path for path, fragment in _ends(told) if not fragment)


def _ends(address: str) -> Sequence[tuple[str, str]]:
    """The forms in which ``leave.md`` or ``handbook/leave.md#第三条`` may end a document's address, each with its
    fragment.

    Names of files may hold ``#`` and ``?``; they are escaped in an address, and a person may write them either way.
    """
    told = address.strip()
    if "://" in told or told.startswith("urn:") or not told.strip("/."):
        return ()
    document, _, fragment = told.partition("#")
    path, mark, query = document.partition("?")
    readings = (
        (_path(told), ""),
        (_path(document), unquote(fragment)),
        (_path(path) + mark + query, unquote(fragment)),
    )
    return tuple(dict.fromkeys(reading for reading in readings if reading[0] != "/"))


def _path(path: str) -> str:
    return "/" + readable("x://" + path.removeprefix("./").lstrip("/"))[len("x://") :]


def _by_path(catalog: Catalog, holdings: TrainingPassages, paths: Collection[str]) -> Mapping[str, str]:
    """By path, the address of the only document that ends with it; ambiguous paths are dropped."""
    if not paths:
        return {}
    ends: dict[str, list[str]] = {}
    for source in dict.fromkeys(holdings.sources):
        for uri in catalog.live_documents(source):
            for path in _endings(uri):
                if path in paths:
                    ends.setdefault(path, []).append(uri)
    return {path: uris[0] for path, uris in ends.items() if len(uris) == 1}


def _endings(uri: str) -> Iterable[str]:
    at = uri.find("/", uri.find("://") + len("://"))
    while at >= 0:
        yield uri[at:]
        at = uri.find("/", at + 1)


class _Part(NamedTuple):
    """One judged text of a document, in whichever answers it was given."""

    source_id: str
    document: str
    sha256: str


def judged_pairs(
    judgements: Iterable[Judgement], answered: Callable[[str], AuditRecord | None], catalog: Catalog
) -> tuple[list[QuestionAddress], int]:
    """Training pairs from feedback, and the number of judgements whose question was erased.

    Every answer has an id of its own: what was said of one text, asked for in the same words, is counted over all answers.
    Only what more voices call right than wrong is an answer.

    Args:
        answered: The record of an answer; None where it is not kept.
    """
    records: dict[str, AuditRecord | None] = {}
    votes: dict[tuple[str, _Part], list[tuple[Judgement, str]]] = {}
    lost = 0
    for judgement in judgements:
        if judgement.audit_id not in records:
            records[judgement.audit_id] = answered(judgement.audit_id)
        record = records[judgement.audit_id]
        if record is None or record.query is None:
            lost += 1
            continue
        question = unicodedata.normalize("NFKC", str(record.query["query"]).strip())
        uri, part = _judged_part(record, judgement.ref)
        votes.setdefault((question, part), []).append((judgement, uri))
    held = _current_texts(catalog, [(judgement.ref, uri) for said in votes.values() for judgement, uri in said])
    pairs = []
    for (question, part), said in votes.items():
        last, uri = said[-1]
        right = sum(judgement.good for judgement, _ in said)
        pairs.append(
            QuestionAddress(
                question=question,
                answer=_today(held, part, last.ref, uri),
                grade=1.0 if 2 * right > len(said) else 0.0,
                where=last.audit_id,
            )
        )
    return pairs, lost


def _judged_part(record: AuditRecord, ref: str) -> tuple[str, _Part]:
    """The address and text hash of a judged part of an answer."""
    parts: Sequence[Mapping[str, object]] = record.record.get("fragments", ())
    part = next((part for part in parts if part.get("ref") == ref), {})
    uri = str(part.get("uri") or "")
    return uri, _Part(ref.partition("#")[0], uri.partition("#")[0] or ref, str(part.get("sha256") or ref))


def _current_texts(catalog: Catalog, parts: Sequence[tuple[str, str]]) -> Mapping[_Part, Mapping[str, str]]:
    """For the documents of judged parts: every current text with its addresses and refs.

    A document that is changed has other passages: most of their texts are what they were, and what was said of them counts.
    """
    gone = _lost_addresses(catalog, parts)
    names = {name for uri in gone for name in (uri, uri.partition("#")[0]) if name}
    ids = {i for own in catalog.passages_of(names).values() for passages in own.values() for i in passages}
    held: dict[_Part, dict[str, str]] = {}
    for passage in catalog.passages(sorted(ids)).values():
        part = _Part(passage.source_id, passage.uri.partition("#")[0], passage.sha256)
        held.setdefault(part, {}).setdefault(passage.uri, passage.ref)
    return held


def _lost_addresses(catalog: Catalog, parts: Sequence[tuple[str, str]]) -> list[str]:
    """The addresses of judged passages that no longer exist."""
    numbers = {ref: int(found[2]) for ref, _ in parts if (found := _REF.fullmatch(ref))}
    live = catalog.passages(sorted(set(numbers.values())))
    return [uri for ref, uri in parts if ref in numbers and numbers[ref] not in live]


def _today(held: Mapping[_Part, Mapping[str, str]], part: _Part, ref: str, uri: str) -> str:
    """The current ref of a judged text: at its old place if possible, else elsewhere in its document; else the old
    ref.
    """
    refs = held.get(part, {})
    if ref in refs.values():
        return ref
    return refs.get(uri) or next(iter(refs.values()), ref)
