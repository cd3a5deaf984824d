"""What passes between the service and its reading process: frames of JSON and bytes, never pickles."""

from __future__ import annotations

import base64
import json
import struct
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from datetime import date
from typing import Any

from wenyuan.core.fidelity import Fidelity, Line, Uncertain
from wenyuan.core.model import Block, Document
from wenyuan.readers.contained_files import ContainedFile, Unpacked

HEADER = struct.Struct(">Q")


_BLOCK_FIELDS: Mapping[str, Any] = {f.name: None if f.default is MISSING else f.default for f in fields(Block)}
"""The fields of a block, in order, with what each is where nothing is said."""


_PAIRS = ("cells", "refused")


_DATES = ("effective_from", "effective_until")


def frame(payload: bytes) -> bytes:
    """A payload preceded by its length, 8 bytes big-endian."""
    return HEADER.pack(len(payload)) + payload


def read_frame(read: Callable[[int], bytes]) -> bytes | None:
    """The next payload from a blocking, buffered stream; None at its end."""
    header = read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (size,) = HEADER.unpack(header)
    payload = read(size)
    return payload if len(payload) == size else None


def encode_json(value: Mapping[str, Any]) -> bytes:
    """JSON in UTF-8. NaN and infinity raise ValueError; lone surrogates are preserved."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def decode_json(payload: bytes) -> dict[str, Any]:
    """Inverse of `encode_json`; raises ValueError for anything but an object."""
    return parse_json(payload.decode("utf-8", "surrogatepass"))


def parse_json(text: str) -> dict[str, Any]:
    """The object that a text of `encode_json` says; raises ValueError for anything but an object."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def encode_documents(documents: Sequence[Document]) -> list[dict[str, Any]]:
    """Documents as JSON values: blocks as columns, dates in ISO 8601."""
    encoded = []
    for document in documents:
        record = {f.name: getattr(document, f.name) for f in fields(Document)}
        record["blocks"] = dict(_columns(document.blocks))
        record["notes"] = list(document.notes)
        record |= {key: [list(each) for each in record[key]] for key in _PAIRS}
        record["metadata"] = dict(document.metadata)
        record |= {key: record[key] and record[key].isoformat() for key in _DATES}
        record["fidelity"] = document.fidelity and asdict(document.fidelity)
        encoded.append(record)
    return encoded


def _columns(blocks: Sequence[Block]) -> Iterator[tuple[str, list[Any]]]:
    """The values of blocks by field, without the fields that are the default in all of them: where a text is a
    million short paragraphs, a list for each would take more memory than all else.
    """
    for name, default in _BLOCK_FIELDS.items():
        column = [getattr(block, name) for block in blocks]
        if any(value != default for value in column):
            yield name, column


def _blocks(columns: Mapping[str, list[Any]]) -> Iterator[Block]:
    """Inverse of `_columns`."""
    count = len(columns["start" if "start" in columns else "end"]) if columns else 0
    values = [columns.get(name) or [default] * count for name, default in _BLOCK_FIELDS.items()]
    for row in zip(*values, strict=True):
        block = dict(zip(_BLOCK_FIELDS, row, strict=True))
        yield Block(**block | {"kind": sys.intern(block["kind"]), "inner": tuple(map(tuple, block["inner"]))})


def encode_unpacked(unpacked: Unpacked) -> dict[str, Any]:
    """A container's content as JSON values, the bytes of its parts in Base64."""
    return {
        "documents": encode_documents(unpacked.documents),
        "parts": [
            {"uri": part.uri, "name": part.name, "content": base64.b64encode(part.content).decode(),
             "metadata": dict(part.metadata)}
            for part in unpacked.parts
        ],
        "refused": [list(each) for each in unpacked.refused],
        "notes": list(unpacked.notes),
    }  # fmt: skip


def decode_unpacked(answer: Mapping[str, Any]) -> Unpacked:
    """Inverse of `encode_unpacked`."""
    return Unpacked(
        documents=decode_documents(answer["documents"]),
        parts=tuple(
            ContainedFile(**{**part, "content": base64.b64decode(part["content"])}) for part in answer["parts"]
        ),
        refused=tuple((address, reason) for address, reason in answer["refused"]),
        notes=tuple(answer["notes"]),
    )


def decode_documents(records: Sequence[Mapping[str, Any]]) -> tuple[Document, ...]:
    """Inverse of `encode_documents`; the values check themselves and raise TypeError or ValueError."""
    documents = []
    for record in records:
        values = dict(record)
        values["blocks"] = tuple(_blocks(values["blocks"]))
        values["notes"] = tuple(values["notes"])
        values |= {key: tuple(map(tuple, values[key])) for key in _PAIRS}
        values |= {key: values[key] and date.fromisoformat(values[key]) for key in _DATES}
        values["lines"] = tuple(
            Line(start, end, page, tuple(box), sure) for start, end, page, box, sure in values["lines"]
        )
        values["uncertain"] = tuple(Uncertain(*row) for row in values["uncertain"])
        if values["fidelity"]:
            told = values["fidelity"]
            values["fidelity"] = Fidelity(**told | {"warnings": tuple(told["warnings"])})
        documents.append(Document(**values))
    return tuple(documents)
