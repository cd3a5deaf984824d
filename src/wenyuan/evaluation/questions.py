"""The questions of a judged set and what answers them: ``queries.jsonl`` and ``qrels.tsv``."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wenyuan.core.errors import InvalidRequest, SourceError, msg
from wenyuan.core.filters import And, Filter, parse_filter
from wenyuan.evaluation.corpus import read_lines, record_id
from wenyuan.runtime.regular import read_regular

Qrels = Mapping[str, Mapping[str, int]]
"""By query id: the grade of each judged document, 0 for one that was judged to be no answer."""

_CONTEXT = ("source_document_uri", "task_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedQuery:
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
class JudgedSet:
    """Queries with at least one relevant document, and their judgements."""

    questions: tuple[JudgedQuery, ...]
    qrels: Qrels


def read_judged(
    folder: Path,
    known: Container[str],
    *,
    qrels: Path | None = None,
    limit: int | None = None,
    narrowed: Filter | None = None,
) -> JudgedSet:
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
    return JudgedSet(
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


def _questions(path: Path, wanted: Container[str], narrowed: Filter | None) -> Iterator[JudgedQuery]:
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


def _question(query_id: str, record: Mapping[str, Any], narrowed: Filter | None) -> JudgedQuery:
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
    return JudgedQuery(query_id=query_id, text=text, context=context, filter=joined)
