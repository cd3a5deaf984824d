"""What passes between the service and its reading process: frames of JSON and bytes, never pickles."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import date
from typing import Any

from wenyuan.core.model import Block, Document

__all__ = ["HEADER", "decode_documents", "decode_json", "encode_documents", "encode_json", "frame", "read_frame"]

HEADER = struct.Struct(">Q")
_BLOCK_FIELDS = tuple(f.name for f in fields(Block))
_PAIRS = ("cells", "refused")
_DATES = ("effective_from", "effective_until")


def frame(payload: bytes) -> bytes:
    """A payload behind its length, 8 bytes big-endian."""
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
    """JSON in UTF-8; NaN and infinity raise ValueError, lone surrogates survive."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def decode_json(payload: bytes) -> dict[str, Any]:
    """Inverse of `encode_json`; raises ValueError for anything but an object."""
    value = json.loads(payload.decode("utf-8", "surrogatepass"))
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def encode_documents(documents: Sequence[Document]) -> list[dict[str, Any]]:
    """Documents as JSON values: blocks as rows, dates in ISO 8601."""
    encoded = []
    for document in documents:
        record = {f.name: getattr(document, f.name) for f in fields(Document)}
        record["blocks"] = [[getattr(block, name) for name in _BLOCK_FIELDS] for block in document.blocks]
        record["notes"] = list(document.notes)
        record |= {key: [list(each) for each in record[key]] for key in _PAIRS}
        record["metadata"] = dict(document.metadata)
        record |= {key: record[key] and record[key].isoformat() for key in _DATES}
        encoded.append(record)
    return encoded


def decode_documents(records: Sequence[Mapping[str, Any]]) -> tuple[Document, ...]:
    """Inverse of `encode_documents`; the values check themselves and raise TypeError or ValueError."""
    documents = []
    for record in records:
        values = dict(record)
        rows = [dict(zip(_BLOCK_FIELDS, row, strict=True)) for row in values["blocks"]]
        values["blocks"] = tuple(Block(**row | {"inner": tuple(map(tuple, row["inner"]))}) for row in rows)
        values["notes"] = tuple(values["notes"])
        values |= {key: tuple(map(tuple, values[key])) for key in _PAIRS}
        values |= {key: values[key] and date.fromisoformat(values[key]) for key in _DATES}
        documents.append(Document(**values))
    return tuple(documents)
