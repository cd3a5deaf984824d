"""The reading process: ``python -m wenyuan.readers.worker``, started only by `sandbox.Sandbox`.

It receives file bytes on standard input and sends documents on standard output. It has no network access where the
system can remove it, writes no file, and is killed at its limits: a hostile file costs one process.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import resource
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import date
from typing import Any, BinaryIO

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.fidelity import Fidelity, Line, Uncertain
from wenyuan.core.model import Block, Document
from wenyuan.readers import PagesWanted, read_guarded, unpack_guarded
from wenyuan.readers.containers import Part, Unpacked
from wenyuan.readers.pictures import draw_page

# What passes between the service and its reading process: frames of JSON and bytes, never pickles.


HEADER = struct.Struct(">Q")
_BLOCK_FIELDS = tuple(f.name for f in fields(Block))
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
        record["fidelity"] = document.fidelity and asdict(document.fidelity)
        encoded.append(record)
    return encoded


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
        parts=tuple(Part(**{**part, "content": base64.b64decode(part["content"])}) for part in answer["parts"]),
        refused=tuple((address, reason) for address, reason in answer["refused"]),
        notes=tuple(answer["notes"]),
    )


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
        values["lines"] = tuple(
            Line(start, end, page, tuple(box), sure) for start, end, page, box, sure in values["lines"]
        )
        values["uncertain"] = tuple(Uncertain(*row) for row in values["uncertain"])
        if values["fidelity"]:
            told = values["fidelity"]
            values["fidelity"] = Fidelity(**told | {"warnings": tuple(told["warnings"])})
        documents.append(Document(**values))
    return tuple(documents)


_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_OPEN_FILES = 64


def main() -> int:
    """Answer requests until standard input ends; the first one holds the limits and is answered with "ready"."""
    source = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    first = read_frame(source.read)
    if first is None:
        return 1
    limits = decode_json(first)
    _confine(limits["memory"])
    answers.write(frame(encode_json({"ready": True})))
    answers.flush()
    _silence()
    while True:
        header, content = read_frame(source.read), read_frame(source.read)
        if header is None or content is None:
            return 0
        _allow_seconds(limits["cpu_seconds"])
        if not _answer(decode_json(header), content, answers):
            return 0


def _confine(memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    give_up_network()


def give_up_network() -> None:
    """Remove this process's network access where the system allows it; the parsers open no sockets anyway."""
    unshare = getattr(ctypes.CDLL(None), "unshare", None)
    if unshare and unshare(_CLONE_NEWNET) != 0:
        unshare(_CLONE_NEWUSER | _CLONE_NEWNET)


def _silence() -> None:
    """Redirect the output of native libraries, away from the answers and the service's terminal."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _allow_seconds(seconds: float) -> None:
    """Limit the processor time for the next document; the process is killed beyond it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def _done(request: dict[str, Any], content: bytes) -> dict[str, Any]:
    """Carry out a request: draw a page, recognise a page, unpack a file, or read one."""
    name = request["name"]
    if "page" in request:
        drawn = draw_page(content, name=name, page=request["page"], width=request["width"])
        return {"png": base64.b64encode(drawn).decode()}
    if "recognise" in request:
        from wenyuan.readers.ocr.pages import recognised

        return {"recognised": recognised(content, name=name, page=request["recognise"])}
    if "reader" not in request:
        return encode_unpacked(unpack_guarded(content, uri=request["uri"], name=name))
    pages = request["recognised"]
    documents = read_guarded(
        content,
        uri=request["uri"],
        name=name,
        reader=request["reader"],
        recognised=None if pages is None else {int(page): told for page, told in pages.items()},
    )
    return {"documents": encode_documents(documents)}


def _answer(request: dict[str, Any], content: bytes, answers: BinaryIO) -> bool:
    """Carry out a request and send the answer; False when the process should be replaced."""
    sound = True
    try:
        answer = encode_json(_done(request, content))
    except PagesWanted as wanted:
        answer = encode_json({"wanted": list(wanted.pages)})
    except DocumentRejected as error:
        sound = not isinstance(error.__cause__, MemoryError)
        answer = encode_json({"rejected": error.message, "hint": error.hint, "retires": not sound})
    except MemoryError:
        answer, sound = encode_json({"rejected": "it needs more memory than is allowed", "retires": True}), False
    answers.write(frame(answer))
    answers.flush()
    return sound


if __name__ == "__main__":
    raise SystemExit(main())
