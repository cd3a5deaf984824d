"""Routes to upload, replace and delete documents."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import asdict, replace
from difflib import get_close_matches
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.declared_readers import KEYS
from wenyuan.core.errors import Fault, InvalidRequest, NotFound, listed, msg
from wenyuan.core.principals import AccessList, parse_access_list
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import storage_operation
from wenyuan.server.problems import Problem
from wenyuan.server.request_body import Body
from wenyuan.server.route import route
from wenyuan.server.routes.ingest_jobs import IngestJobs
from wenyuan.server.routes.originals import number_in
from wenyuan.server.routes.registry import plain_report, source_of
from wenyuan.service.uploads import Given, UploadReport
from wenyuan.wire.documents import MoveShape
from wenyuan.wire.search_requests import checked

if TYPE_CHECKING:
    from wenyuan.service.ingest.progress import Progress
    from wenyuan.service.library import Library


# Receives files of a form (``multipart/form-data``, RFC 7578), streamed to a folder.

_Value = TypeVar("_Value")

MAX_FILES = 200
MAX_FILE = 50_000_000
"""Bytes of one file: no larger one is read, and so none is kept."""
MAX_FORM = 500_000_000
"""Bytes of all files of one request."""
MAX_PARTS = 400
"""Parts of one form: its files, and fields that are passed over."""
MAX_FIELD = 64 * 1024
"""Bytes of a field that is passed over."""
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
    """The files of a form in order, with what its fields ``readers`` and ``deny`` say; other fields are skipped.

    Raises:
        InvalidRequest: they say no list of names, or a field is nearly called so.
        Problem: 400, it is no such form, or not all of it; 413, too many parts or files, or too large a field; 503,
            there is no room. No more is read then.
    """
    form = _Form(boundary, folder)
    try:
        async for chunk in chunks:
            await asyncio.to_thread(form.write, chunk)
        form.finish()
    finally:
        form.close()
    access = form.access()
    return form.files if access is None else [replace(one, access=access) for one in form.files]


class _Form:
    def __init__(self, boundary: bytes, folder: Path) -> None:
        self.files: list[Given] = []
        self._fields: list[tuple[str, bytes]] = []
        self._folder = folder
        self._open: IO[bytes] | None = None
        self._size = self._parts = 0
        self._ended = self._is_file = False
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
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise Problem(413, "too_many_parts", msg("the form has more than {most} parts", most=MAX_PARTS))
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
        told = parse_options_header(self._told)[1]
        name = told.get(b"filename")
        self._is_file = bool(name)
        if name is None:
            self._fields.append((told.get(b"name", b"").decode("utf-8", "replace"), b""))
        if not name:  # a field, or a form in which nothing was chosen
            return
        if len(self.files) >= MAX_FILES:
            raise Problem(413, "too_many_files", msg("there are more than {most} files", most=MAX_FILES))
        path = self._folder / f"file-{len(self.files)}"
        self.files.append(Given(name=name.decode("utf-8", "replace"), path=path))
        self._open = path.open("xb")

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        self._size += end - start
        if self._open is None:
            if not self._is_file and self._size > MAX_FIELD:
                reason = msg("a field of the form has more than {most} bytes", most=f"{MAX_FIELD:,}")
                raise Problem(413, "field_too_large", reason)
            if not self._is_file and self._fields:
                name, value = self._fields[-1]
                self._fields[-1] = name, value + data[start:end]
            return
        if self._size <= MAX_FILE:
            self._open.write(data[start:end])
            return
        self.close()  # the rest of it is passed over, and the other files go on
        last = self.files[-1]
        last.path.unlink()
        self.files[-1] = replace(last, reason=msg("has more than {most} bytes", most=f"{MAX_FILE:,}"))

    def _end(self) -> None:
        self._ended = True

    def access(self) -> AccessList | None:
        """Who may read the files, as the form says; None where it says nothing. An empty field says nothing."""
        lists: dict[str, list[str]] = {}
        for name, value in self._fields:
            plain = unicodedata.normalize("NFKC", name).casefold().strip()
            if plain not in KEYS and (near := get_close_matches(plain, KEYS, n=1, cutoff=0.75)):
                why = msg("is not known here; did you mean {known}?", known=near[0])
                raise InvalidRequest(listed([Fault(plain[:64], why)]), faults=(Fault(plain[:64], why),))
            names = re.split(r"[,，、;\n]", value.decode("utf-8", "replace")) if plain in KEYS else []
            if said := [one.strip() for one in names if one.strip()]:
                lists.setdefault(plain, []).extend(said)
        return parse_access_list(lists) if lists else None


def _broken() -> Problem:
    return Problem(400, "invalid_request", "the form cannot be read, or is not all there")


_TEXT, _COUNT = {"type": "string"}, {"type": "integer"}
_FILE = {
    "type": "object",
    "required": ["name", "state", "documents", "reason"],
    "properties": {
        "name": _TEXT,
        "state": {"enum": ["added", "changed", "unchanged", "failed"]},
        "documents": {"type": "array", "items": _COUNT},
        "reason": {**_TEXT, "description": "Why it failed; then it is not kept."},
    },
}
_REPORT: dict[str, Any] = {
    "type": "object",
    "required": ["source_id", "files", "report"],
    "properties": {
        "source_id": _TEXT,
        "files": {"type": "array", "items": _FILE},
        "report": {"type": ["object", "null"], "description": "As of a refresh; null where no file was kept."},
    },
}
_DELETED = {
    "type": "object", "required": ["source_id", "documents"], "properties": {"source_id": _TEXT, "documents": _COUNT},
}  # fmt: skip


_MOVED = {
    "type": "object", "required": ["source_id", "moved_from", "documents", "versions"],
    "properties": {
        "source_id": _TEXT, "moved_from": _TEXT, "documents": {"type": "array", "items": _COUNT}, "versions": _COUNT,
    },
}  # fmt: skip


class UploadRoutes:
    """``/v1/sources/{source_id}/documents``, and replacing or deleting a single document."""

    def __init__(self, library: Library, handler: RequestHandler, runs: IngestJobs) -> None:
        self._library = library
        self._handler = handler
        self._runs = runs

    @route(
        "POST",
        "/v1/sources/{source_id}/documents",
        "ingest",
        storage_operation(
            "Upload documents to a source without a path; answers when they are read", _REPORT, files=True
        ),
    )
    async def upload(self, request: Request) -> Response:
        source_id = request.path_params["source_id"]
        await self._handler.pool.run(lambda: self._check(request.state.principal, source_id, "source"))
        boundary = boundary_of(request.headers)
        return await self._received(
            request, boundary, lambda given: self._taken(source_id, self._library.upload, given)
        )

    @route(
        "PUT",
        "/v1/documents/{document_id}",
        "ingest",
        storage_operation("Upload a new version of a document that was uploaded", _REPORT, files=True),
    )
    async def replace(self, request: Request) -> Response:
        number = number_in(request, "document_id", "document")
        source_id = await self._handler.pool.run(lambda: self._source_of(request.state.principal, number))
        boundary = boundary_of(request.headers)
        return await self._received(request, boundary, lambda given: self._replaced(source_id, number, given))

    @route(
        "DELETE",
        "/v1/documents/{document_id}",
        "ingest",
        storage_operation(
            "Delete the file of a document that was uploaded, and all documents that were read from it", _DELETED
        ),
    )
    async def delete(self, request: Request) -> Response:
        number = number_in(request, "document_id", "document")
        return await self._handler.pool.run(lambda: self._deleted(request.state.principal, number))

    @route(
        "POST",
        "/v1/documents/{document_id}/restore",
        "ingest",
        storage_operation("Put an earlier version back; the present one is kept as a version", _REPORT),
    )
    async def restore(self, request: Request) -> Response:
        number = number_in(request, "document_id", "document")
        source_id = await self._handler.pool.run(lambda: self._source_of(request.state.principal, number))
        return await self._handler.pool.run(lambda: self._restored(source_id, number))

    @route(
        "POST",
        "/v1/documents/{document_id}/move",
        "ingest",
        storage_operation(
            "Move a document that was uploaded to another source of uploads, with its versions and what was said of it",
            _MOVED,
            body=MoveShape,
        ),
    )
    async def move(self, request: Request) -> Response:
        number = number_in(request, "document_id", "document")
        principal = request.state.principal
        await self._handler.pool.run(lambda: self._source_seen(principal, number))
        return await self._handler.work(request, lambda body: self._move(principal, number, body))

    def _source_seen(self, principal: Principal, number: int) -> str:
        """The source of a document, if the caller may see and change it."""
        source_id = self._library.catalog.source_of_document(number) or ""
        try:
            source_of(self._library, principal, source_id, to_change=True)
        except Problem as error:
            raise missing("document") from error
        return source_id

    def _move(self, principal: Principal, number: int, body: object) -> Response:
        to = checked(MoveShape, body).to
        try:
            source_of(self._library, principal, to, to_change=True)
        except Problem as error:
            raise missing("source") from error
        try:
            with self._runs.of(to) as run:
                moved = self._library.document_move.move(number, to, run.tell, actor=principal.actor)
                run.ended = {"status": "SUCCESS", **asdict(moved)}
        except NotFound as error:
            raise missing("document") from error
        return json_response(asdict(moved))

    def _restored(self, source_id: str, number: int) -> Response:
        try:
            return self._taken(source_id, lambda _, __, tell: self._library.version_restore.restore(number, tell), [])
        except NotFound as error:
            raise missing("document") from error

    async def _received(self, request: Request, boundary: bytes, take: Callable[[list[Given]], Response]) -> Response:
        body: Body = request.state.body
        async with in_threads(self._library.uploads.incoming()) as folder:
            given = await receive_files(body.chunks(limit=MAX_FORM, pause=PAUSE), boundary, folder)
            if not given:
                raise InvalidRequest("there is no file in the form", faults=(Fault("file", "is required"),))
            return await self._handler.pool.run(lambda: take(given))

    def _check(self, principal: Principal, source_id: str, kind: str) -> None:
        """Check before receiving a body that the source exists, is visible to the caller and takes uploads."""
        try:
            source_of(self._library, principal, source_id, to_change=True)
        except Problem as error:
            raise missing(kind) from error
        self._library.uploads.check_takes_uploads(source_id)

    def _source_of(self, principal: Principal, number: int) -> str:
        # No source is called "": what is not there is looked for as long as what is another's.
        source_id = self._library.catalog.source_of_document(number) or ""
        self._check(principal, source_id, "document")
        return source_id

    def _taken(
        self,
        source_id: str,
        take: Callable[[str, list[Given], Callable[[Progress], None]], UploadReport],
        given: list[Given],
    ) -> Response:
        with self._runs.of(source_id) as run:
            told = take(source_id, given, run.tell)
            report = None if told.report is None else plain_report(told.report)
            files = [asdict(one) for one in told.files]
            run.ended = {"status": "SUCCESS", "report": report, "files": files}
        return json_response({"source_id": source_id, "files": files, "report": report})

    def _replaced(self, source_id: str, number: int, given: list[Given]) -> Response:
        if len(given) > 1:
            raise InvalidRequest("a document is replaced by one file", faults=(Fault("file", "stands twice"),))
        try:
            return self._taken(
                source_id, lambda _, files, tell: self._library.replace_document(number, files[0], tell), given
            )
        except NotFound as error:
            raise missing("document") from error

    def _deleted(self, principal: Principal, number: int) -> Response:
        self._source_of(principal, number)
        try:
            source_id, documents = self._library.delete_document(number)
        except NotFound as error:
            raise missing("document") from error
        return json_response({"source_id": source_id, "documents": documents})
