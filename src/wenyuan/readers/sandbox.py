"""Reads untrusted files in a child process with limits: the service's side."""

from __future__ import annotations

import base64
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from wenyuan.core.errors import DocumentRejected, NoDocument, msg
from wenyuan.core.fidelity import Fidelity
from wenyuan.core.model import Document
from wenyuan.readers.contained_files import Unpacked
from wenyuan.readers.containers import ContainerReader
from wenyuan.readers.frames import decode_documents, decode_unpacked, encode_json
from wenyuan.readers.legacy import converted, formulas_in, needs_conversion
from wenyuan.readers.page_workers import PageWorkers, Watch
from wenyuan.readers.process import Died, ReadingLimits, ReadingProcess
from wenyuan.readers.selection import CONTAINERS, choose_reader, read_guarded, suffix_of
from wenyuan.runtime.regular import IrregularFile, open_regular

# Reading files that may be hostile: size first, then the parser in a process of its own, with limits.
#
# Formats that we parse in plain Python (Markdown, text, CSV, JSON Lines) are read in this process while they
# are so small that no text of that size costs more than a moment; all else goes to the worker. A worker is kept warm
# for many documents, and replaced when it dies: one document fails with its reason, the others go on.


_PLAIN = frozenset({".md", ".markdown", ".txt", ".text", ".csv", ".tsv", ".jsonl", ".ndjson"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOutcome:
    """The documents of a file (at least one), the seconds it took, and whether a worker process read it."""

    documents: tuple[Document, ...]
    seconds: float
    isolated: bool


class Sandbox:
    """Reads files one at a time, with at most one idle worker process; a context manager.

    Args:
        reader: ``module:function`` to read every file with, in the worker, whatever its suffix.
        pages: Recognises pages by OCR; None where none is installed.
    """

    def __init__(
        self, limits: ReadingLimits | None = None, *, reader: str | None = None, pages: PageWorkers | None = None
    ) -> None:
        self.limits = limits or ReadingLimits()
        self._pages = pages
        self._reader = reader
        self._worker: ReadingProcess | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the worker; the sandbox can still be used afterwards."""
        with self._lock:
            self._drop()
        if self._pages is not None:
            self._pages.close()

    def read_file(self, path: Path, *, uri: str, name: str = "", watch: Watch | None = None) -> ReadOutcome:
        """Read a file.

        Args:
            uri: The document's absolute URI, without a fragment.
            name: What a person calls it; the file's name by default.
            watch: Callbacks for pages that need OCR, which has its own limits per page.

        Raises:
            DocumentRejected: with the reason, naming the document.
            SourceError: the worker cannot be started at all.
        """
        name = name or path.name
        return self.read(_content(path, name, self.limits.max_bytes), uri=uri, name=name, watch=watch)

    def read(self, content: bytes, *, uri: str, name: str, watch: Watch | None = None) -> ReadOutcome:
        """Read bytes; see `read_file`."""
        began = time.monotonic()
        isolated = False

        def one(content: bytes, uri: str, name: str) -> Sequence[Document]:
            nonlocal isolated
            self._check_size(content, name)
            reader, plugin = (self._reader, "") if self._reader else choose_reader(name)
            if (
                suffix_of(name) in _PLAIN
                and len(content) <= self.limits.in_process_bytes
                and not (self._reader or plugin)
            ):
                return read_guarded(content, uri=uri, name=name, reader=reader)
            isolated = True
            formulas = 0
            if needs_conversion(content, suffix_of(name)):
                formulas = formulas_in(content)
                content = converted(content, name=name, suffix=suffix_of(name), most=self.limits.max_bytes)
            asked = {"uri": uri, "name": name, "reader": reader, "plugin": plugin, "blocks": self.limits.blocks}
            documents = self._isolated(content, asked, watch or Watch())
            if plugin:
                return tuple(replace(document, read_by=plugin) for document in documents)
            return _with_lost_formulas(documents, formulas) if formulas else documents

        def opens(name: str) -> bool:
            return not self._reader and suffix_of(name) in CONTAINERS

        documents = ContainerReader(one, self._unpacked, opens).documents(content, uri, name)
        return ReadOutcome(documents=documents, seconds=time.monotonic() - began, isolated=isolated or opens(name))

    def _unpacked(self, content: bytes, uri: str, name: str) -> Unpacked:
        self._check_size(content, name)
        answer = self._answer({"uri": uri, "name": name}, content, name)
        try:
            return decode_unpacked(answer)
        except (KeyError, TypeError, ValueError) as error:
            raise _not_valid(error, name) from error

    def _check_size(self, content: bytes, name: str) -> None:
        if len(content) > self.limits.max_bytes:
            raise _too_large(len(content), self.limits.max_bytes, name)

    def draw(self, content: bytes, *, name: str, page: int, width: int) -> bytes:
        """Draw a page of a file as PNG; see `readers.ocr.drawing.draw_page`.

        Raises:
            DocumentRejected: with the reason, naming the file.
            SourceError: the worker cannot be started at all.
        """
        answer = self._answer({"name": name, "page": page, "width": width}, content, name)
        return base64.b64decode(answer["png"])

    def call(
        self,
        function: str,
        content: bytes,
        arguments: Mapping[str, Any] = {},
        *,
        name: str,
        seconds: float | None = None,
    ) -> Any:
        """Call a function in the worker; see `core.connectors.Parse`.

        Raises:
            DocumentRejected: with the reason, naming what was parsed.
            SourceError: the worker cannot be started at all.
        """
        asked = {"function": function, "arguments": dict(arguments), "name": name, "seconds": seconds}
        return self._answer(asked, content, name)["result"]

    def _isolated(self, content: bytes, asked: dict[str, Any], watch: Watch) -> tuple[Document, ...]:
        name, pages = str(asked["name"]), self._pages
        answer = self._answer(asked | {"recognised": None if pages is None else {}}, content, name)
        if "wanted" in answer and pages is not None:
            wanted = [int(page) for page in answer["wanted"]]
            found = pages.recognise(content, name=name, pages=wanted, watch=watch)
            answer = self._answer(
                asked | {"recognised": {str(at): told for at, told in found.items()}}, content, name
            )
        try:
            return decode_documents(answer["documents"])
        except (KeyError, TypeError, ValueError) as error:
            raise _not_valid(error, name) from error

    def _answer(self, asked: dict[str, Any], content: bytes, name: str) -> dict[str, Any]:
        with self._lock:
            try:
                answer = self._exchange(encode_json(asked), content, asked.get("seconds"))
            except Died as death:
                raise DocumentRejected(str(death), component=name) from death
        if "rejected" in answer:
            kind = NoDocument if answer.get("no_document") else DocumentRejected
            raise kind(str(answer["rejected"]), component=name, hint=str(answer.get("hint", "")))
        return answer

    def _exchange(self, request: bytes, content: bytes, seconds: float | None) -> dict[str, Any]:
        """The worker's answer. When a reused worker dies, the request is repeated with a fresh one before the
        document is blamed.
        """
        while True:
            worker = self._warm()
            try:
                answer = worker.ask(request, content, seconds=seconds)
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

    def _warm(self) -> ReadingProcess:
        if self._worker and (self._worker.served >= self.limits.documents_per_worker or not self._worker.alive()):
            self._drop()
        if self._worker is None:
            self._worker = ReadingProcess(self.limits)
        return self._worker

    def _drop(self) -> None:
        worker, self._worker = self._worker, None
        if worker:
            worker.end()


def read_file(path: Path, *, uri: str, limits: ReadingLimits | None = None) -> ReadOutcome:
    """Read one file with a temporary sandbox; for many files keep a `Sandbox`.

    Raises:
        DocumentRejected: with the reason, naming the document.
        SourceError: the worker cannot be started at all.
    """
    with Sandbox(limits) as sandbox:
        return sandbox.read_file(path, uri=uri)


def _with_lost_formulas(documents: Sequence[Document], count: int) -> tuple[Document, ...]:
    """The documents of a converted file; the first one warns of its formulas."""
    first, *others = documents
    told = msg("formulas in it are objects of their own ({count}), which conversion may leave out", count=count)
    fidelity = first.fidelity or Fidelity()
    return (replace(first, fidelity=replace(fidelity, warnings=(*fidelity.warnings, told))), *others)


def _not_valid(error: Exception, name: str) -> DocumentRejected:
    return DocumentRejected(msg("the reader's answer is not valid: {error}", error=error), component=name)


def _too_large(size: int, limit: int, name: str) -> DocumentRejected:
    return DocumentRejected(
        msg("it has {size} bytes; at most {limit} are read", size=f"{size:,}", limit=f"{limit:,}"), component=name
    )


def _content(path: Path, name: str, limit: int) -> bytes:
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            if (size := os.fstat(file.fileno()).st_size) > limit:
                raise _too_large(size, limit, name)
            content = file.read(limit + 1)
    except IrregularFile as error:
        raise DocumentRejected("it is not a regular file", component=name) from error
    except OSError as error:
        raise DocumentRejected(
            msg("it cannot be opened: {strerror}", strerror=error.strerror), component=name
        ) from error
    if len(content) > limit:
        raise _too_large(len(content), limit, name)
    return content
