"""Rows of Parquet and Arrow files, each a passage with its vector. Runs in the reading process, which reads some rows at a time.

A row has what a line of JSON Lines has (`readers.jsonl`), and ``vector`` or ``embedding``: a list of numbers.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from wenyuan.core.errors import DocumentRejected, msg
from wenyuan.core.model import Document
from wenyuan.core.validity_dates import validity_field
from wenyuan.readers.assemble import rejected
from wenyuan.readers.frames import encode_documents
from wenyuan.readers.jsonl import document_of, place_of_refused
from wenyuan.runtime.installation import install_command

_VECTORS = ("vector", "embedding")
_KNOWN = (
    "id", "title", "question", "text", "content", "page_content", "answer", "url", "uri", "metadata", "collection", "language",
    *_VECTORS,
)  # fmt: skip
_PLACES = ("id", "url", "uri")
_ENCODER = (b"wenyuan.encoder", b"encoder")
_NOT_READ = {  # by the first bytes: what other programs write under the same endings
    b"PARE": "it is an encrypted Parquet file; write it without encryption",
    b"\xff\xff\xff\xff": "it is an Arrow stream; write it as an Arrow file",
    b"FEA1": "it is a Feather file of version 1; write it as version 2",
}
_RESTRICTING = frozenset(("readers", "allow", "deny", "acl", "permissions", "copyright", "sensitivity", "trust"))
"""Columns that say who may have a row, or how: of a source these are said, and not of a row."""
_MOST_COLUMNS = 1_000
_BATCH = 512  # rows that are decoded at one time


@dataclass(slots=True)
class _Reading:
    """A file that is being read.

    Attributes:
        key: What tells it from another file, and from the same one when it has changed.
        rows: Those from `at` on: values of the columns that are known, as Arrow holds them, and the vector.
    """

    key: tuple[Any, ...]
    rows: Iterator[tuple[dict[str, Any], Any]]
    at: int


_open: list[_Reading] = []  # the one of this process


def describe(_: bytes, *, path: str) -> dict[str, Any]:
    """How many rows a file has, what it says of its vectors, and its columns.

    Raises:
        DocumentRejected: it is no such file, has no column of texts or of vectors, or one that restricts its rows.
    """
    schema, rows = _schema(path)
    names = list(schema.names)
    if len(names) > _MOST_COLUMNS:
        raise DocumentRejected(msg("it has {count} columns", count=len(names)))
    for name in _wanted(schema):
        if names.count(name) > 1:  # which one would count?
            raise DocumentRejected(msg("its column {name} stands twice", name=repr(name)))
    for name in names:
        if name.lower() in _RESTRICTING:  # left out, everybody would be given what some may have
            raise DocumentRejected(
                msg("its column {name} restricts its rows, which is said of a source alone", name=repr(name[:100])),
                hint="leave the column out, and give rows that differ in it to sources of their own",
            )
    metadata: Mapping[bytes, bytes] = schema.metadata or {}
    told = next((metadata[key] for key in _ENCODER if key in metadata), b"")
    return {
        "rows": rows,
        "encoder": told.decode("utf-8", "replace")[:200],
        "vector": next((name for name in _VECTORS if name in names), ""),
        "unknown": [name[:100] for name in names if name not in _KNOWN and not validity_field(name)][:50],
    }


def read_rows(_: bytes, *, path: str, uri: str, name: str, first: int, count: int) -> dict[str, Any]:
    """Some rows, from the first one, counted from 0.

    Returns:
        ``documents``, without vectors; ``vectors``, of one length each, base64 of float32, and that ``length``; ``refused``,
        address and reason of rows that cannot be taken.
    """
    reading = _reading_at(path, first)
    documents: list[Document] = []
    taken: dict[str, Document] = {}
    vectors, refused = [], []
    for number in range(first + 1, first + count + 1):
        held, vector = next(reading.rows, (None, None))
        if held is None:
            break
        reading.at = number
        row: dict[str, Any] = {}
        try:
            _fill(row, held)
            line = json.dumps(row, default=str, ensure_ascii=False)
            documents.append(document_of(row, line, uri, name, number))
            taken[documents[-1].uri] = documents[-1]
            vectors.append(np.asarray(vector, np.float32).ravel())
        except (ValueError, TypeError, RecursionError, DocumentRejected) as error:
            reason = error.message if isinstance(error, DocumentRejected) else str(error)
            place = place_of_refused(row, uri, number, taken)
            refused.append((place, msg("row {number}: {reason}", number=number, reason=reason)))
    return {
        "documents": encode_documents(documents),
        "lengths": [len(vector) for vector in vectors],
        "vectors": base64.b64encode(b"".join(vector.tobytes() for vector in vectors)).decode(),
        "refused": refused,
    }


def _reading_at(path: str, first: int) -> _Reading:
    told = Path(path).stat()
    key = (path, told.st_ino, told.st_size, told.st_mtime_ns)
    if not (_open and _open[0].key == key and _open[0].at == first):
        _open[:] = [_Reading(key, _rows(path, first), first)]
    return _open[0]


def _arrow() -> Any:
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # others take address space that they do not use
    try:
        import pyarrow
    except ImportError as error:
        raise DocumentRejected(
            "the library that reads Parquet and Arrow is not installed", hint=install_command("parquet")
        ) from error
    pyarrow.set_cpu_count(1)
    return pyarrow


def _schema(path: str) -> tuple[Any, int]:
    arrow = _arrow()
    try:
        if _is_parquet(path):
            from pyarrow import parquet

            with parquet.ParquetFile(path, memory_map=False) as file:
                return file.schema_arrow, int(file.metadata.num_rows)
        with arrow.OSFile(path) as source, arrow.ipc.open_file(source) as file:
            return file.schema, sum(file.get_batch(n).num_rows for n in range(file.num_record_batches))
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = _NOT_READ.get(_begin(path), "it is no Parquet or Arrow file, or is damaged")
        raise rejected(reason, Path(path).name) from error


def _begin(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(4)


def _is_parquet(path: str) -> bool:
    return _begin(path) == b"PAR1"


def _rows(path: str, first: int) -> Iterator[tuple[dict[str, Any], Any]]:
    arrow = _arrow()
    try:
        for at, batch in _batches(arrow, path, first):
            if at + batch.num_rows > first:
                yield from _of_batch(arrow, batch.slice(max(0, first - at)))
    except (arrow.ArrowException, OSError) as error:
        raise rejected("it is damaged", Path(path).name) from error


def _batches(arrow: Any, path: str, first: int) -> Iterator[tuple[int, Any]]:
    """Batches with the number of their first row; of groups of rows, from that on in which row `first` is."""
    at = 0
    if _is_parquet(path):
        from pyarrow import parquet

        with parquet.ParquetFile(path, memory_map=False) as file:
            wanted, group = _wanted(file.schema_arrow), 0
            while group < file.num_row_groups and at + file.metadata.row_group(group).num_rows <= first:
                at += file.metadata.row_group(group).num_rows
                group += 1
            groups = range(group, file.num_row_groups)
            for batch in file.iter_batches(_BATCH, row_groups=list(groups), columns=wanted, use_threads=False):
                yield at, batch
                at += batch.num_rows
        return
    with arrow.OSFile(path) as source, arrow.ipc.open_file(source) as file:
        wanted = _wanted(file.schema)
        for number in range(file.num_record_batches):
            whole = file.get_batch(number).select(wanted)
            for begin in range(0, whole.num_rows, _BATCH):
                yield at + begin, whole.slice(begin, _BATCH)
            at += whole.num_rows


def _wanted(schema: Any) -> list[str]:
    return [name for name in schema.names if name in _KNOWN or validity_field(name)]


def _of_batch(arrow: Any, batch: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    """Rows of a batch: the values, of which one may turn out to be unreadable, and the vector as an array."""
    column = next(name for name in _VECTORS if name in batch.schema.names)
    held = batch.column(column)
    kinds = (arrow.types.is_list, arrow.types.is_large_list, arrow.types.is_fixed_size_list)
    if not any(is_kind(held.type) for is_kind in kinds) or not arrow.types.is_floating(held.type.value_type):
        raise DocumentRejected(msg("its column {name} holds no lists of numbers", name=repr(column)))
    others = {name: batch.column(name) for name in batch.schema.names if name not in _VECTORS}
    for number in range(batch.num_rows):
        vector = held[number]
        given = np.zeros(0, np.float32) if not vector.is_valid else vector.values.to_numpy(zero_copy_only=False)
        yield {name: values[number] for name, values in others.items()}, given


def _fill(row: dict[str, Any], held: Mapping[str, Any]) -> None:
    """Put a row's values in as JSON has them, those that are not there left out; the id first, by which a refused row is known.

    Raises:
        ValueError: one cannot be read.
    """
    for name in sorted(held, key=lambda name: name not in _PLACES):
        try:
            value = held[name].as_py()
        except (ValueError, OverflowError) as error:  # no UTF-8, or a day that no calendar has
            raise ValueError(msg("its column {name} holds what cannot be read", name=repr(name))) from error
        value = _metadata(value) if name == "metadata" else _value(value)
        if value is not None:
            row[name] = value


def _metadata(value: Any) -> Any:
    """A structure, a map of Arrow, which comes as pairs, or either as JSON."""
    try:
        if isinstance(value, str):
            value = json.loads(value) if value.strip() else None
        if isinstance(value, list):
            value = dict(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError("'metadata' is not an object") from error
    if isinstance(value, dict):
        return {key: _value(one) for key, one in value.items() if one is not None}
    return value


def _value(value: Any) -> Any:
    return value.isoformat()[:10] if isinstance(value, (date, datetime)) else value
