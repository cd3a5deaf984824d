"""Routes to upload, replace and delete documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.access import Principal
from wenyuan.core.errors import Fault, InvalidRequest, NotFound
from wenyuan.server.access import route
from wenyuan.server.handling import Body, RequestHandler, json_response, missing
from wenyuan.server.openapi import kept
from wenyuan.server.problems import Problem
from wenyuan.server.routes.originals import number_in
from wenyuan.server.routes.registry import IngestJobs, plain_report, source_of
from wenyuan.server.uploads import MAX_FORM, PAUSE, boundary_of, in_threads, receive_files
from wenyuan.service.uploads import Given, UploadReport

if TYPE_CHECKING:
    from wenyuan.service.ingest.report import Progress
    from wenyuan.service.library import Library

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


class Uploads:
    """``/v1/sources/{source_id}/documents``, and replacing or deleting a single document."""

    def __init__(self, library: Library, handler: RequestHandler, runs: IngestJobs) -> None:
        self._library = library
        self._handler = handler
        self._runs = runs

    @route(
        "POST",
        "/v1/sources/{source_id}/documents",
        "ingest",
        kept("Upload documents to a source without a path; answers when they are read", _REPORT, files=True),
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
        kept("Upload a new version of a document that was uploaded", _REPORT, files=True),
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
        kept("Delete the file of a document that was uploaded, and all documents that were read from it", _DELETED),
    )
    async def delete(self, request: Request) -> Response:
        number = number_in(request, "document_id", "document")
        return await self._handler.pool.run(lambda: self._deleted(request.state.principal, number))

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
        origin = self._library.catalog.origin(number)
        if origin is None:
            raise missing("document")
        self._check(principal, origin.source_id, "document")
        return str(origin.source_id)

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
