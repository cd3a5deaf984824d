"""Golden questions as a judged set in BEIR layout."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urldefrag

from wenyuan.core.addresses import file_uri
from wenyuan.core.errors import InvalidRequest, msg
from wenyuan.core.learning_records import QuestionAddress
from wenyuan.core.registry import LineFault, refuse
from wenyuan.readers.golden_columns import LAYOUT, content_of
from wenyuan.readers.golden_table import grade_of, unaskable


def read_set(folder: Path) -> tuple[QuestionAddress, ...]:
    files = [folder / "qrels.tsv"] if (folder / "qrels.tsv").exists() else sorted((folder / "qrels").glob("*.tsv"))
    if not files:
        raise InvalidRequest(msg("there is no {folder}", folder=folder / "qrels.tsv"), hint=LAYOUT)
    faults: list[LineFault] = []
    queries = folder / "queries.jsonl"
    asked = {name: (line, str(record["text"])) for line, name, record in _entries(queries, faults, needs="text")}
    judged = set()
    addresses = _addresses(folder, faults)
    pairs: list[QuestionAddress] = []
    for file in files:
        for line, query, document, grade in _judgements(file, faults):
            if query not in asked:
                faults.append(
                    LineFault(file.name, msg("the query {query} is not in queries.jsonl", query=repr(query)), line)
                )
                continue
            judged.add(query)
            first, *others = addresses.get(document, (document,))
            pairs.append(
                QuestionAddress(
                    question=asked[query][1], answer=first, otherwise=tuple(others), grade=grade,
                    where=f"{file.name} line {line}",
                )
            )  # fmt: skip
    for line, question in (asked[query] for query in judged):
        if wrong := unaskable(question):
            faults.append(LineFault(queries.name, wrong, line))
    refuse(faults)
    return tuple(pairs)


def _judgements(path: Path, faults: list[LineFault]) -> Iterator[tuple[int, str, str, float]]:
    """Line number, query id, document id and grade of each line of a qrels file; a header is skipped."""
    for number, line in enumerate(_text(path).split("\n"), 1):
        fields = [field.strip() for field in line.split("\t")]
        if not line.strip() or (number == 1 and fields[-1] == "score"):
            continue
        try:
            query, document, grade = fields
            yield number, query, document, grade_of(grade)
        except ValueError:
            message = "it must be a query id, a document id and a grade, with tabs between"
            faults.append(LineFault(path.name, message, number))


def _entries(path: Path, faults: list[LineFault], *, needs: str = "") -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Line number, ``_id`` and object of each line of a JSON Lines file."""
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            faults.append(LineFault(path.name, msg("is not JSON: {error}", error=error), number))
            continue
        name = record.get("_id") if isinstance(record, dict) else None
        if isinstance(name, bool) or not isinstance(name, (str, int)):
            faults.append(LineFault(path.name, "it is no object with an '_id'", number))
        elif needs and not (isinstance(record.get(needs), str) and record[needs].strip()):
            faults.append(
                LineFault(path.name, msg("{needs} must be a string that is not blank", needs=repr(needs)), number)
            )
        else:
            yield number, str(name), record


def _addresses(folder: Path, faults: list[LineFault]) -> Mapping[str, tuple[str, ...]]:
    """By corpus id, the addresses under which a library may hold the entry, the most certain first."""
    path = folder / "corpus.jsonl"
    if not path.exists():
        return {}
    file, name = file_uri(path.resolve()), quote(folder.resolve().name, safe="")
    found = {}
    for number, entry, record in _entries(path, faults):
        own = _own_address(record)
        base = urldefrag(own).url
        found[entry] = tuple(
            filter(None, (
                own,
                base and f"{base}{'&' if '?' in base else '?'}id={quote(entry, safe='')}",
                f"urn:eval:{name}:{quote(entry, safe='')}",
                f"{file}?line={number}",
                entry,
                base,
            ))
        )  # fmt: skip
    return found


def _own_address(record: Mapping[str, Any]) -> str:
    metadata = record.get("metadata")
    for place in (record, metadata if isinstance(metadata, dict) else {}):
        for key in ("uri", "url"):
            if isinstance(place.get(key), str) and ":" in place[key]:
                return str(place[key])
    return ""


def _text(path: Path) -> str:
    try:
        return content_of(path, LAYOUT).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(msg("{path} is not UTF-8 (byte {start})", path=path, start=error.start)) from error
