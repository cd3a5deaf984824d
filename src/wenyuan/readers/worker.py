"""The reading process: ``python -m wenyuan.readers.worker``, started by `sandbox.Sandbox` and by nobody else.

It takes a file's bytes on standard input and gives documents on standard output. It has no network where
the system lets it give that up, writes no file, and dies at its limits: a hostile file costs one process.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from typing import Any, BinaryIO

from wenyuan.core.errors import DocumentRejected
from wenyuan.readers import read_guarded
from wenyuan.readers.exchange import decode_json, encode_documents, encode_json, frame, read_frame

__all__ = ["main"]

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_OPEN_FILES = 64


def main() -> int:
    """Serve until standard input ends; the first request holds the limits, its answer says "ready"."""
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
    libc = ctypes.CDLL(None)
    unshare = getattr(libc, "unshare", None)
    if unshare and unshare(_CLONE_NEWNET) != 0:
        unshare(_CLONE_NEWUSER | _CLONE_NEWNET)  # not permitted everywhere: the parsers open no sockets anyway


def _silence() -> None:
    """Native libraries print; their words must reach neither the answers nor the service's terminal."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _allow_seconds(seconds: float) -> None:
    """Processor time for the next document, beyond what the process has used; it is killed past it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def _answer(request: dict[str, Any], content: bytes, answers: BinaryIO) -> bool:
    """Read one document and answer; False when the process should be replaced."""
    sound = True
    try:
        documents = read_guarded(content, uri=request["uri"], name=request["name"], reader=request["reader"])
        answer = encode_json({"documents": encode_documents(documents)})
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
