"""``/v1/documents/{document_id}/readers``: who may read a document; and ``/v1/readers``, how many have readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from wenyuan.contract.bodies import Strict
from wenyuan.core.errors import NotFound
from wenyuan.core.principals import MAX_NAMES
from wenyuan.server.etags import check_version, version_of
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.documents import document_number
from wenyuan.wire.search_requests import checked

if TYPE_CHECKING:
    from wenyuan.service.library import Library


class ReadersShape(Strict):
    """Who may read a document. All lists that stand for it count; denying beats allowing."""

    readers: Annotated[list[str], Field(max_length=MAX_NAMES)] | None = Field(
        None, description="`user:li`, `group:hr` or `everyone`; an empty list is nobody, null says no readers."
    )
    deny: Annotated[list[str], Field(max_length=MAX_NAMES)] = Field(default_factory=list, description="Who may not.")


_TEXT, _COUNT = {"type": "string"}, {"type": "integer", "minimum": 0}
_NAMES = {"type": "array", "items": _TEXT}
_LISTS: Mapping[str, Any] = {
    "type": "object",
    "required": ["document_id", "source_id", "uri", "enforced", "lists"],
    "properties": {
        "document_id": _COUNT, "source_id": _TEXT, "uri": _TEXT,
        "enforced": {"type": "boolean", "description": "Whether its source shows nothing without readers."},
        "lists": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["origin", "readers", "deny", "note"],
                "properties": {
                    "origin": {**_TEXT, "description": "`set`, `registry`, `document`, `sidecar/…` or `permissions/…`."},
                    "readers": {"type": ["array", "null"], "items": _TEXT}, "deny": _NAMES,
                    "note": {**_TEXT, "description": "Why nobody may, where it could not be read."},
                },
            },
        },
    },
}  # fmt: skip
_COUNTS: Mapping[str, Any] = {
    "type": "object",
    "required": ["sources"],
    "properties": {
        "sources": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["source_id", "readers", "unread", "unreadable", "unmatched"],
                "properties": {
                    "source_id": _TEXT, "readers": _COUNT, "unreadable": _COUNT, "unmatched": _NAMES,
                    "unread": {**_COUNT, "description": "Documents that nobody but administrators sees, for want of readers."},
                },
            },
        }
    },
}  # fmt: skip


class DocumentReaderRoutes:
    """Shows and sets who may read documents; refused to whom something is hidden from, and to agents."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library, self._handler = library, handler

    @route(
        "GET", "/v1/readers", "registry", storage_operation("How many documents of each source have readers", _COUNTS)
    )
    async def counts(self, request: Request) -> Response:
        if request.state.principal.agent_id is not None:
            raise missing("document")
        return await self._handler.pool.run(lambda: json_response({"sources": self._library.reader_counts()}))

    @route(
        "GET",
        "/v1/documents/{document_id}/readers",
        "registry",
        storage_operation("Who may read a document", _LISTS, versioned=True),
    )
    async def show(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._show(request))

    @route(
        "PUT",
        "/v1/documents/{document_id}/readers",
        "registry",
        storage_operation(
            "Say who may read a document; counts for the next question", _LISTS, body=ReadersShape, versioned=True
        ),
    )
    async def put(self, request: Request) -> Response:
        self._number(request)
        return await self._handler.work(request, lambda body: self._set(request, body))

    @route(
        "DELETE",
        "/v1/documents/{document_id}/readers",
        "registry",
        storage_operation("Take back what was said here", _LISTS, versioned=True),
    )
    async def remove(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._set(request, None))

    def _set(self, request: Request, body: object) -> Response:
        given = None if body is None and request.method == "DELETE" else checked(ReadersShape, body).model_dump()
        try:
            with self._library.catalog.writing():
                check_version(request, self._library.readers(self._number(request)))
                self._library.set_readers(self._number(request), given)
        except NotFound as error:
            raise missing("document") from error
        return self._show(request)

    def _show(self, request: Request) -> Response:
        try:
            shown = self._library.readers(self._number(request))
        except NotFound as error:
            raise missing("document") from error
        return json_response(shown, headers={"ETag": version_of(shown)})

    @staticmethod
    def _number(request: Request) -> int:
        if request.state.principal.agent_id is not None:
            raise missing("document")  # who else may read is not an agent's to know
        return document_number(request)
