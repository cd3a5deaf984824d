"""Reading files that may be hostile: size first, then the parser in a process of its own, with limits.

Formats that we parse in plain Python (Markdown, text, CSV, JSON Lines) are read in this process while they
are small; HTML, PDF, DOCX and XLSX meet native parsers and always go to the worker. A worker is kept warm
for many documents, and replaced when it dies: one document fails with its reason, the others go on.
"""

from __future__ import annotations

import stat
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from wenyuan.core.errors import DocumentRejected
from wenyuan.core.model import Document
from wenyuan.readers import READERS, read_guarded, suffix_of
from wenyuan.readers.confined import Died, Limits, Worker
from wenyuan.readers.exchange import decode_documents, encode_json

__all__ = ["Limits", "ReadOutcome", "Sandbox", "read_file"]

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
        reader = self._reader or READERS.get(suffix_of(name))
        if reader is None:
            raise DocumentRejected(f"files of the kind {suffix_of(name) or name!r} are not read", component=name)
        if len(content) > self.limits.max_bytes:
            raise _too_large(len(content), self.limits.max_bytes, name)
        plain = suffix_of(name) in _PLAIN and len(content) <= self.limits.in_process_bytes and not self._reader
        if plain:
            documents = read_guarded(content, uri=uri, name=name, reader=reader)
        else:
            documents = self._isolated(content, uri=uri, name=name, reader=reader)
        return ReadOutcome(documents=documents, seconds=time.monotonic() - began, isolated=not plain)

    def _isolated(self, content: bytes, *, uri: str, name: str, reader: str) -> tuple[Document, ...]:
        request = encode_json({"uri": uri, "name": name, "reader": reader})
        with self._lock:
            try:
                answer = self._asked(request, content)
            except Died as death:
                raise DocumentRejected(str(death), component=name) from death
        if "rejected" in answer:
            raise DocumentRejected(str(answer["rejected"]), component=name, hint=str(answer.get("hint", "")))
        try:
            return decode_documents(answer["documents"])
        except (KeyError, TypeError, ValueError) as error:
            raise DocumentRejected(f"the reader's answer is not valid: {error}", component=name) from error

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


def _too_large(size: int, limit: int, name: str) -> DocumentRejected:
    return DocumentRejected(f"it has {size:,} bytes; at most {limit:,} are read", component=name)


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
        raise DocumentRejected(f"it cannot be opened: {error.strerror}", component=name) from error
    if len(content) > limit:
        raise _too_large(len(content), limit, name)
    return content
