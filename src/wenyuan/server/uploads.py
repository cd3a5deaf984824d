"""Receives files of a form (``multipart/form-data``, RFC 7578), streamed to a folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TypeVar

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.datastructures import Headers

from wenyuan.core.messages import msg
from wenyuan.server.problems import Problem
from wenyuan.service.uploads import Given

_Value = TypeVar("_Value")

MAX_FILES = 200
MAX_FILE = 50_000_000
"""Bytes of one file: no larger one is read, and so none is kept."""
MAX_FORM = 500_000_000
"""Bytes of all files of one request."""
PAUSE = 30.0
"""Seconds for which nothing may come."""


def boundary_of(headers: Headers) -> bytes:
    """The boundary between the parts of a form.

    Raises:
        Problem: 415, the body is no such form.
    """
    kind, options = parse_options_header(headers.get("content-type", ""))
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not boundary or headers.get("content-encoding", "identity") != "identity":
        raise Problem(415, "unsupported_media_type", "Content-Type must be multipart/form-data, with a boundary")
    return boundary


@asynccontextmanager
async def in_threads(held: AbstractContextManager[_Value]) -> AsyncIterator[_Value]:
    """A context manager that is entered and left in threads, so that the event loop waits for no disk."""
    value = await asyncio.to_thread(held.__enter__)
    try:
        yield value
    finally:  # also of a request that is cancelled
        await asyncio.shield(asyncio.to_thread(held.__exit__, None, None, None))


async def receive_files(chunks: AsyncIterator[bytes], boundary: bytes, folder: Path) -> list[Given]:
    """The files of a form in order; fields without a file name are skipped.

    Raises:
        Problem: 400, it is no such form, or not all of it; 413, too many files; 503, there is no room.
    """
    form = _Form(boundary, folder)
    try:
        async for chunk in chunks:
            await asyncio.to_thread(form.write, chunk)
        form.finish()
    finally:
        form.close()
    return form.files


class _Form:
    def __init__(self, boundary: bytes, folder: Path) -> None:
        self.files: list[Given] = []
        self._folder = folder
        self._open: IO[bytes] | None = None
        self._size = 0
        self._ended = False
        self._header, self._value, self._told = b"", b"", b""
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._begin,
                    "on_header_field": self._add_field,
                    "on_header_value": self._add_value,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._start_file,
                    "on_part_data": self._add_data,
                    "on_part_end": self.close,
                    "on_end": self._end,
                },
            )
        except FormParserError as error:
            raise _broken() from error

    def write(self, chunk: bytes) -> None:
        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise _broken() from error
        except OSError as error:
            raise Problem(
                503, "no_room", msg("the files cannot be kept: {strerror}", strerror=error.strerror)
            ) from error

    def finish(self) -> None:
        if not self._ended:
            raise _broken()

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _begin(self) -> None:
        self._header, self._value, self._told, self._size = b"", b"", b"", 0

    def _add_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._told = self._value
        self._header, self._value = b"", b""

    def _start_file(self) -> None:
        name = parse_options_header(self._told)[1].get(b"filename")
        if not name:  # a field, or a form in which nothing was chosen
            return
        if len(self.files) >= MAX_FILES:
            raise Problem(413, "too_many_files", msg("there are more than {most} files", most=MAX_FILES))
        path = self._folder / f"file-{len(self.files)}"
        self.files.append(Given(name=name.decode("utf-8", "replace"), path=path))
        self._open = path.open("xb")

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        if self._open is None:
            return
        self._size += end - start
        if self._size <= MAX_FILE:
            self._open.write(data[start:end])
            return
        self.close()  # the rest of it is passed over, and the other files go on
        last = self.files[-1]
        last.path.unlink()
        self.files[-1] = replace(last, reason=msg("has more than {most} bytes", most=f"{MAX_FILE:,}"))

    def _end(self) -> None:
        self._ended = True


def _broken() -> Problem:
    return Problem(400, "invalid_request", "the form cannot be read, or is not all there")
