"""The reading process: ``python -m wenyuan.readers.worker``, started only by `readers.sandbox.Sandbox`."""

from __future__ import annotations

import base64
import ctypes
import os
import resource
import sys
from typing import Any, BinaryIO

from wenyuan.core.errors import DocumentRejected, NoDocument, msg
from wenyuan.readers.frames import decode_json, encode_documents, encode_json, encode_unpacked, frame, read_frame
from wenyuan.readers.ocr.drawing import draw_page
from wenyuan.readers.selection import PagesWanted, call_guarded, read_guarded, unpack_guarded

# The reading process: ``python -m wenyuan.readers.worker``, started only by `readers.sandbox.Sandbox`.
#
# It receives file bytes on standard input and sends documents on standard output. It has no network access where the
# system can remove it, writes no file, and is killed at its limits: a hostile file costs one process.

# What passes between the service and its reading process: frames of JSON and bytes, never pickles.


_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_OPEN_FILES = 256


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
        request = decode_json(header)
        _allow_seconds(request.get("seconds") or limits["cpu_seconds"])
        if not _answer(request, content, answers):
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


def _handle_request(request: dict[str, Any], content: bytes) -> dict[str, Any]:
    """Carry out a request: call a function, draw a page, recognise a page, unpack a file, or read one."""
    name = request["name"]
    if "function" in request:
        return {"result": call_guarded(content, request["arguments"], name=name, function=request["function"])}
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
        plugin=request["plugin"],
        recognised=None if pages is None else {int(page): told for page, told in pages.items()},
    )
    if (blocks := sum(len(document.blocks) for document in documents)) > request["blocks"]:
        reason = msg(
            "it has {count} parts; at most {limit} are read", count=f"{blocks:,}", limit=f"{request['blocks']:,}"
        )
        raise DocumentRejected(reason, component=name)
    return {"documents": encode_documents(documents)}


def _answer(request: dict[str, Any], content: bytes, answers: BinaryIO) -> bool:
    """Carry out a request and send the answer; False when the process should be replaced."""
    sound = True
    try:
        answer = encode_json(_handle_request(request, content))
    except PagesWanted as wanted:
        answer = encode_json({"wanted": list(wanted.pages)})
    except DocumentRejected as error:
        sound = not isinstance(error.__cause__, MemoryError)
        no_document = isinstance(error, NoDocument)
        told = {"rejected": error.message, "hint": error.hint, "retires": not sound, "no_document": no_document}
        answer = encode_json(told)
    except MemoryError:
        answer, sound = encode_json({"rejected": "it needs more memory than is allowed", "retires": True}), False
    answers.write(frame(answer))
    answers.flush()
    return sound


if __name__ == "__main__":
    raise SystemExit(main())
