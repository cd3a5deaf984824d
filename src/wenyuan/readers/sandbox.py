"""Reading files that may be hostile: a child process with limits, and the service's end of it."""

from __future__ import annotations

import base64
import contextlib
import os
import select
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from wenyuan.core.errors import DocumentRejected, SourceError
from wenyuan.core.messages import msg
from wenyuan.core.model import Document
from wenyuan.readers import CONTAINERS, READERS, read_guarded, suffix_of
from wenyuan.readers.containers import Opening, Unpacked
from wenyuan.readers.office import converted, needs_conversion
from wenyuan.readers.worker import HEADER, decode_documents, decode_json, decode_unpacked, encode_json, frame

# The service's end of the reading process: start it, exchange one document at a time, end it.


_START_SECONDS = 60.0
_PIPE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one document may cost.

    Attributes:
        max_bytes: Size of the file.
        memory: Address space of the worker, bytes.
        cpu_seconds: Processor time; `wall_seconds` is what the clock on the wall says.
        answer_bytes: Size of what the worker may answer.
        in_process_bytes: Plain formats up to this size are read without a worker.
        documents_per_worker: After so many a worker is replaced.
    """

    max_bytes: int = 50_000_000
    memory: int = 1_500_000_000
    cpu_seconds: float = 20.0
    wall_seconds: float = 20.0
    answer_bytes: int = 256_000_000
    in_process_bytes: int = 2_000_000
    documents_per_worker: int = 500


class Died(Exception):
    """The worker ended, or was ended; the message is the reason for the document.

    Attributes:
        by_itself: It ended without our doing: perhaps for what an earlier document has left in it.
    """

    by_itself = False


class _Ended(Died):
    by_itself = True


class Worker:
    """One reading process. `ask` exchanges a request for an answer within the limits, or raises `Died`.

    Raises:
        SourceError: the process does not start.
    """

    def __init__(self, limits: Limits) -> None:
        self.served = 0
        self._limits = limits
        with tempfile.TemporaryFile() as words:  # a file, since a pipe that nobody reads would block the child
            self._process = subprocess.Popen(
                [sys.executable, "-B", "-P", "-m", "wenyuan.readers.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                bufsize=0,
                cwd="/",
                env=_environment(),
                start_new_session=True,
            )
            assert self._process.stdin and self._process.stdout
            self._to, self._from = self._process.stdin, self._process.stdout
            os.set_blocking(self._to.fileno(), False)
            os.set_blocking(self._from.fileno(), False)
            hello = frame(encode_json({"memory": limits.memory, "cpu_seconds": limits.cpu_seconds}))
            try:
                self._exchange(hello, _START_SECONDS)
            except Died as death:
                self.end()
                words.seek(0)
                last = words.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
                raise SourceError(msg("the reading process does not start: {last}", last=last or death)) from death

    def ask(self, request: bytes, content: bytes) -> dict[str, Any]:
        """The worker's answer to one request."""
        self.served += 1
        return self._exchange(frame(request) + frame(content), self._limits.wall_seconds)

    def alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """Kill the process, if need be, and wait for it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._to, self._from):
            with contextlib.suppress(OSError):
                pipe.close()

    def _exchange(self, outgoing: bytes, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        left = memoryview(outgoing)
        incoming = bytearray()
        while True:
            if len(incoming) >= HEADER.size:
                (size,) = HEADER.unpack_from(incoming)
                if size > self._limits.answer_bytes:
                    raise Died(f"its text is larger than {self._limits.answer_bytes:,} bytes")
                if len(incoming) >= HEADER.size + size:
                    return self._decoded(bytes(incoming[HEADER.size :]))
            ready = self._ready(deadline, writing=bool(left))
            if self._to.fileno() in ready and left:
                left = self._written(left)
            if self._from.fileno() in ready:
                chunk = os.read(self._from.fileno(), _PIPE_BYTES)
                if not chunk:
                    raise self._death()
                incoming += chunk

    def _ready(self, deadline: float, *, writing: bool) -> set[int]:
        """Descriptors that can go on."""
        poll = select.poll()
        poll.register(self._from.fileno(), select.POLLIN)
        if writing:
            poll.register(self._to.fileno(), select.POLLOUT)
        remaining = deadline - time.monotonic()
        ready = {descriptor for descriptor, _ in poll.poll(max(remaining, 0) * 1_000)}
        if not ready:
            raise Died(f"reading it took longer than {self._limits.wall_seconds:g} s")
        return ready

    def _written(self, left: memoryview) -> memoryview:
        try:
            return left[os.write(self._to.fileno(), left[:_PIPE_BYTES]) :]
        except BrokenPipeError:
            return left[:0]  # it died while we spoke: the end of its answers says so next

    def _decoded(self, payload: bytes) -> dict[str, Any]:
        try:
            return decode_json(payload)
        except (ValueError, RecursionError) as error:
            raise Died(msg("the reader's answer is not valid: {error}", error=error)) from error

    def _death(self) -> Died:
        """Why the process has ended."""
        code = self._process.wait(timeout=5)
        if code >= 0:
            return _Ended(f"the reader ended with code {code}")
        name = signal.Signals(-code).name
        if name == "SIGXCPU":
            return Died(f"reading it took more than {self._limits.cpu_seconds:g} s of processor time (SIGXCPU)")
        return _Ended(f"the reader was ended by {name}: a crash, or memory ran out")


def _environment() -> dict[str, str]:
    """What the child may know: where Python's modules are, and none of the service's secrets."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LANG": "C.UTF-8", "PATH": os.defpath}


# Reading files that may be hostile: size first, then the parser in a process of its own, with limits.
#
# Formats that we parse in plain Python (Markdown, text, CSV, JSON Lines) are read in this process while they
# are small; HTML, PDF, DOCX and XLSX meet native parsers and always go to the worker. A worker is kept warm
# for many documents, and replaced when it dies: one document fails with its reason, the others go on.


_PLAIN = frozenset({".md", ".markdown", ".txt", ".text", ".csv", ".tsv", ".jsonl", ".ndjson"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOutcome:
    """The documents of one file (at least one), how long it took, and whether a worker read it."""

    documents: tuple[Document, ...]
    seconds: float
    isolated: bool


class Sandbox:
    """Reads files one at a time with at most one warm worker; a context manager.

    Args:
        reader: ``module:function`` to read every file with, in the worker, whatever its suffix.
    """

    def __init__(self, limits: Limits | None = None, *, reader: str | None = None) -> None:
        self.limits = limits or Limits()
        self._reader = reader
        self._worker: Worker | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the worker; the sandbox may be used again."""
        with self._lock:
            self._drop()

    def read_file(self, path: Path, *, uri: str, name: str = "") -> ReadOutcome:
        """Read a file.

        Args:
            uri: The document's absolute URI, without a fragment.
            name: What a person calls it; the file's name by default.

        Raises:
            DocumentRejected: with the reason, naming the document.
            SourceError: the worker cannot be started at all.
        """
        name = name or path.name
        return self.read(_content(path, name, self.limits.max_bytes), uri=uri, name=name)

    def read(self, content: bytes, *, uri: str, name: str) -> ReadOutcome:
        """Read bytes; see `read_file`."""
        began = time.monotonic()
        isolated = False

        def one(content: bytes, uri: str, name: str) -> Sequence[Document]:
            nonlocal isolated
            self._check_size(content, name)
            reader = self._reader or READERS.get(suffix_of(name))
            if reader is None:
                raise DocumentRejected(
                    msg("files of the kind {name} are not read", name=repr(suffix_of(name) or name)), component=name
                )
            if suffix_of(name) in _PLAIN and len(content) <= self.limits.in_process_bytes and not self._reader:
                return read_guarded(content, uri=uri, name=name, reader=reader)
            isolated = True
            if needs_conversion(content, suffix_of(name)):
                content = converted(content, name=name, suffix=suffix_of(name), most=self.limits.max_bytes)
            return self._isolated(content, uri=uri, name=name, reader=reader)

        def opens(name: str) -> bool:
            return not self._reader and suffix_of(name) in CONTAINERS

        documents = Opening(one, self._unpacked, opens).documents(content, uri, name)
        return ReadOutcome(documents=documents, seconds=time.monotonic() - began, isolated=isolated or opens(name))

    def _unpacked(self, content: bytes, uri: str, name: str) -> Unpacked:
        self._check_size(content, name)
        answer = self._answered({"uri": uri, "name": name}, content, name)
        try:
            return decode_unpacked(answer)
        except (KeyError, TypeError, ValueError) as error:
            raise _not_valid(error, name) from error

    def _check_size(self, content: bytes, name: str) -> None:
        if len(content) > self.limits.max_bytes:
            raise _too_large(len(content), self.limits.max_bytes, name)

    def draw(self, content: bytes, *, name: str, page: int, width: int) -> bytes:
        """A page of a file as PNG; see `readers.pictures.draw_page`.

        Raises:
            DocumentRejected: with the reason, naming the file.
            SourceError: the worker cannot be started at all.
        """
        answer = self._answered({"name": name, "page": page, "width": width}, content, name)
        return base64.b64decode(answer["png"])

    def _isolated(self, content: bytes, *, uri: str, name: str, reader: str) -> tuple[Document, ...]:
        answer = self._answered({"uri": uri, "name": name, "reader": reader}, content, name)
        try:
            return decode_documents(answer["documents"])
        except (KeyError, TypeError, ValueError) as error:
            raise _not_valid(error, name) from error

    def _answered(self, asked: dict[str, Any], content: bytes, name: str) -> dict[str, Any]:
        with self._lock:
            try:
                answer = self._asked(encode_json(asked), content)
            except Died as death:
                raise DocumentRejected(str(death), component=name) from death
        if "rejected" in answer:
            raise DocumentRejected(str(answer["rejected"]), component=name, hint=str(answer.get("hint", "")))
        return answer

    def _asked(self, request: bytes, content: bytes) -> dict[str, Any]:
        """The worker's answer; a death of its own is blamed on the document only when nothing was read before."""
        while True:
            worker = self._warm()
            try:
                answer = worker.ask(request, content)
            except Died as death:
                self._drop()
                if not death.by_itself or worker.served == 1:
                    raise
            except BaseException:
                self._drop()  # an interrupted exchange leaves half an answer in the pipe
                raise
            else:
                if answer.get("retires"):
                    self._drop()
                return answer

    def _warm(self) -> Worker:
        if self._worker and (self._worker.served >= self.limits.documents_per_worker or not self._worker.alive()):
            self._drop()
        if self._worker is None:
            self._worker = Worker(self.limits)
        return self._worker

    def _drop(self) -> None:
        worker, self._worker = self._worker, None
        if worker:
            worker.end()


def read_file(path: Path, *, uri: str, limits: Limits | None = None) -> ReadOutcome:
    """Read one file with a sandbox of its own; for many files keep a `Sandbox`.

    Raises:
        DocumentRejected: with the reason, naming the document.
        SourceError: the worker cannot be started at all.
    """
    with Sandbox(limits) as sandbox:
        return sandbox.read_file(path, uri=uri)


def _not_valid(error: Exception, name: str) -> DocumentRejected:
    return DocumentRejected(msg("the reader's answer is not valid: {error}", error=error), component=name)


def _too_large(size: int, limit: int, name: str) -> DocumentRejected:
    return DocumentRejected(
        msg("it has {size} bytes; at most {limit} are read", size=f"{size:,}", limit=f"{limit:,}"), component=name
    )


def _content(path: Path, name: str, limit: int) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DocumentRejected("it is not a regular file", component=name)
        if status.st_size > limit:
            raise _too_large(status.st_size, limit, name)
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise DocumentRejected(
            msg("it cannot be opened: {strerror}", strerror=error.strerror), component=name
        ) from error
    if len(content) > limit:
        raise _too_large(len(content), limit, name)
    return content
