"""Routes of the knowledge as files: ``/v1/tree``, what it lists, reads and looks through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.errors import NotFound
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import object_of, storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried
from wenyuan.wire.tree import GrepQueryShape, ListQueryShape, ReadQueryShape

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_TEXT, _COUNT = {"type": "string"}, {"type": "integer"}
_NEXT = {"type": ["string", "null"], "description": "For `after` of the page that follows."}
_TEXTS = {"type": "array", "items": _TEXT}
_ENTRY = {
    "type": "object",
    "required": ["kind", "path"],
    "properties": {
        "kind": {"enum": ["source", "folder", "document", "section"]},
        **dict.fromkeys(
            ("path", "title", "ref", "media_type", "language", "effective_from", "effective_until", "copyright"),
            _TEXT,
        ),
        "trust": _COUNT,
        "line": {**_COUNT, "description": "Where a section begins."},
        "level": {**_COUNT, "description": "How deep a section's heading is."},
    },
}
_PART = {
    "type": "object",
    "required": ["path", "ref", "uri", "title", "line", "text", "next_line"],
    "properties": {
        **dict.fromkeys(("path", "ref", "uri", "title", "text", "notice", "credit", "audit_id"), _TEXT),
        "line": _COUNT,
        "next_line": {"type": ["integer", "null"]},
    },
}
_MATCH = {
    "type": "object",
    "required": ["path", "ref", "line", "text"],
    "properties": {
        **dict.fromkeys(("path", "ref", "title", "text"), _TEXT),
        "line": _COUNT,
        **dict.fromkeys(("headings", "before", "after"), _TEXTS),
    },
}


class TreeRoutes:
    """``/v1/tree``."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "GET",
        "/v1/tree",
        "retrieve",
        storage_operation(
            "Sources, folders and documents in force at a path; of a document, its sections",
            object_of(path=_TEXT, entries={"type": "array", "items": _ENTRY}, next=_NEXT),
            query=ListQueryShape,
        ),
    )
    async def list(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._list(request))

    @route(
        "GET",
        "/v1/tree/text",
        "retrieve",
        storage_operation("Lines of a document, as far as its terms allow", _PART, query=ReadQueryShape),
    )
    async def read(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._read(request))

    @route(
        "GET",
        "/v1/tree/matches",
        "retrieve",
        storage_operation(
            "Lines that hold a text or match an expression, in all documents at or below a path",
            object_of(matches={"type": "array", "items": _MATCH}, documents=_COUNT, next=_NEXT),
            query=GrepQueryShape,
        ),
    )
    async def grep(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._grep(request))

    def _list(self, request: Request) -> Response:
        wanted = queried(request, ListQueryShape)
        with _told_alike():
            page = self._library.tree.list(
                wanted.path, request.state.principal, name=wanted.name, after=wanted.after, limit=wanted.limit
            )
        return json_response(page.described())

    def _read(self, request: Request) -> Response:
        wanted = queried(request, ReadQueryShape)
        with _told_alike():
            part = self._library.tree.read(
                wanted.path, request.state.principal, line=wanted.line, lines=wanted.lines, section=wanted.section
            )
        return json_response(part.described())

    def _grep(self, request: Request) -> Response:
        wanted = queried(request, GrepQueryShape)
        with _told_alike():
            page = self._library.tree.grep(
                wanted.lines, wanted.path, request.state.principal, after=wanted.after, limit=wanted.limit
            )
        return json_response(page.described())


@contextmanager
def _told_alike() -> Iterator[None]:
    """What is another's is told as what is absent: 404, with the same words."""
    try:
        yield
    except NotFound as error:
        raise missing("path, line or section") from error
