"""Original files over HTTP: downloads, and pages as images."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from wenyuan.contract.bodies import QueryString
from wenyuan.core.errors import DocumentRejected, NotFound, OriginalUnavailable
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import file_given, storage_operation
from wenyuan.server.problems import Problem
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried
from wenyuan.service.file_addresses import AddressBook

if TYPE_CHECKING:
    from wenyuan.service.library import Library


_BYTES = "application/octet-stream"
_TYPES = {
    ".pdf": "application/pdf", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".tif": "image/tiff",
    ".tiff": "image/tiff", ".webp": "image/webp",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}  # fmt: skip
"""What a file is said to be; of every other it is only said that it is one, so that no browser shows or runs it."""
_MOST_PAGE_DIGITS = 18


class PageQueryShape(QueryString):
    """How large a picture is to be."""

    width: Annotated[int, Field(ge=100, le=2_400)] = Field(
        1_200, description="Pixels, about; fewer where the page would have more than 8 million."
    )


def _state() -> dict[str, Any]:
    members: dict[str, Any] = {
        "document_id": {"type": "integer"},
        "name": {"type": "string"},
        "pages": {"type": "boolean", "description": "Whether its pages can be drawn, for this key."},
        "download": {"type": "boolean", "description": "Whether it can be downloaded, with this key."},
        "reason": {"type": "string", "description": "Why not, where one of them is not."},
    }
    return {"type": "object", "required": list(members), "properties": members}


_PLACE = {
    "type": "object",
    "required": ["passage_id", "document_id", "source_id", "after"],
    "properties": {
        **{name: {"type": "integer"} for name in ("passage_id", "document_id", "after")}, "source_id": {"type": "string"},
    },
}  # fmt: skip


class OriginalRoutes:
    """``/v1/documents/{document_id}/original``, and its pages."""

    def __init__(self, library: Library, handler: RequestHandler, book: AddressBook) -> None:
        self._library, self._handler, self._book = library, handler, book

    @route(
        "GET",
        "/v1/sources/{source_id}/files/{path}",
        "search",
        file_given(
            "The file of an address that callers of other machines are given in the place of `file:///…`",
            {_BYTES, *_TYPES.values()},
        ),
    )
    async def file(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._original(request, self._at(request)))

    @route(
        "GET",
        "/v1/documents/{document_id}/original/state",
        "search",
        storage_operation("Whether the file that a document was read from can be had, and why not", _state()),
    )
    async def state(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._state(request))

    @route(
        "GET",
        "/v1/documents/{document_id}/original",
        "search",
        file_given("The file that a document was read from, to be kept as a file", {_BYTES, *_TYPES.values()}),
    )
    async def original(self, request: Request) -> Response:
        return await self._handler.pool.run(
            lambda: self._original(request, number_in(request, "document_id", "document"))
        )

    @route(
        "GET",
        "/v1/documents/{document_id}/pages/{page}",
        "search",
        file_given("A page of the file that a document was read from", {"image/png"}, query=PageQueryShape),
    )
    async def page(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._page(request))

    @route(
        "GET",
        "/v1/passages/{passage_id}",
        "search",
        storage_operation(
            "Which document a passage is of, and `after` which one its page of 50 passages begins", _PLACE
        ),
    )
    async def place(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._place(request))

    def _place(self, request: Request) -> Response:
        try:
            number = number_in(request, "passage_id", "passage")
            return json_response(self._library.place_of_passage(number, request.state.principal))
        except NotFound as error:
            raise missing("passage") from error

    def _state(self, request: Request) -> Response:
        number = number_in(request, "document_id", "document")
        try:
            found = self._library.original_state(number, request.state.principal)
        except NotFound as error:
            raise missing("document") from error
        return json_response({"document_id": number, **asdict(found)})

    def _at(self, request: Request) -> int:
        """The document of a path below a source; 404 where the caller may not see the source, as where there is none."""
        name, path = request.path_params["source_id"], request.path_params["path"]
        number: int | None = self._library.catalog.document_of_file(name, self._book().uris(name, path))
        if number is None:
            raise missing("document")
        return number

    def _original(self, request: Request, number: int) -> Response:
        try:
            found = self._library.original(number, request.state.principal)
        except NotFound as error:
            raise missing("document") from error
        except OriginalUnavailable as error:
            raise Problem(409, error.code, str(error)) from error
        return Response(found.content, media_type=_TYPES.get(PurePath(found.name).suffix.lower(), _BYTES), headers={
            "Content-Disposition": as_file(found.name), "Content-Security-Policy": "sandbox",
        })  # fmt: skip

    def _page(self, request: Request) -> Response:
        wanted = queried(request, PageQueryShape)
        number, page = number_in(request, "document_id", "document"), number_in(request, "page", "page")
        try:
            png = self._library.page_picture(number, page, request.state.principal, width=wanted.width)
        except NotFound as error:
            raise missing("document") from error
        except OriginalUnavailable as error:
            raise Problem(409, error.code, str(error)) from error
        except DocumentRejected as error:
            raise Problem(404, error.code, str(error)) from error
        return Response(png, media_type="image/png")


def as_file(name: str) -> str:
    """A Content-Disposition value that makes browsers download a file instead of displaying it (RFC 6266, RFC 8187)."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\%' else "_" for c in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='', errors='replace')}"


def number_in(request: Request, name: str, kind: str) -> int:
    """A number in a path; 404 for anything else."""
    written = request.path_params[name]
    if not (written.isascii() and written.isdecimal() and len(written) <= _MOST_PAGE_DIGITS):
        raise missing(kind)
    return int(written)
