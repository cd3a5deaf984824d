"""Backups over HTTP: making one, listing, fetching and deleting them. Administrators only: a backup holds all there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from wenyuan.contract.bodies import QueryString
from wenyuan.core.errors import NotFound
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import file_given, object_of, storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.audit import queried
from wenyuan.server.routes.originals import as_file
from wenyuan.server.routes.registry import operator
from wenyuan.service.operations.backups import PART

if TYPE_CHECKING:
    from wenyuan.service.library import Library

_TEXT, _COUNT = {"type": "string"}, {"type": "integer"}
_BACKUP = object_of(
    name=_TEXT, bytes=_COUNT, sha256={"type": "string", "pattern": "^[0-9a-f]{64}$"}, at={"type": "number"}
)
_STATE: dict[str, Any] = object_of(
    running={"type": "boolean"}, failure=_TEXT, backups={"type": "array", "items": _BACKUP}
)
_PATIENCE = 5.0
"""Seconds for which a request waits for a backup, which then goes on by itself."""
_FARTHEST = 1 << 50


class BackupPartShape(QueryString):
    """Which part of a backup's file."""

    offset: Annotated[int, Field(ge=0, le=_FARTHEST)] = Field(0, description="Bytes that are skipped.")
    length: Annotated[int, Field(ge=1, le=PART)] = Field(PART, description="Bytes at most; none behind the end.")


class BackupRoutes:
    """``/v1/backups``. For operators only: what is in them, an agent may not see."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library, self._handler = library, handler

    @route(
        "GET",
        "/v1/backups",
        "admin",
        storage_operation("The backups that can be fetched, newest first, and whether one is being made", _STATE),
    )
    async def list(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.pool.run(self._list)

    @route(
        "POST",
        "/v1/backups",
        "admin",
        storage_operation("Make a backup, which is checked; what takes long goes on by itself", _STATE),
    )
    async def begin(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.pool.run(self._begin)

    @route(
        "GET",
        "/v1/backups/{backup_id}",
        "admin",
        file_given(
            "A part of a backup's file, a tar: part after part until one is empty", {"application/x-tar"},
            query=BackupPartShape,
        ),
    )  # fmt: skip
    async def part(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._part(request))

    @route("DELETE", "/v1/backups/{backup_id}", "admin", storage_operation("Delete a backup", _STATE))
    async def discard(self, request: Request) -> Response:
        return await self._handler.pool.run(lambda: self._discard(request))

    def _list(self) -> Response:
        backups = self._library.backups
        state = backups.state
        made = [one.described() for one in backups.made()]
        return json_response({"running": state.running, "failure": state.failure, "backups": made})

    def _begin(self) -> Response:
        self._library.backups.begin(wait=_PATIENCE)
        return self._list()

    def _part(self, request: Request) -> Response:
        name = self._name(request)
        wanted = queried(request, BackupPartShape)
        try:
            content = self._library.backups.part(name, wanted.offset, wanted.length)
        except NotFound as error:
            raise missing("backup") from error
        headers = {"Content-Disposition": as_file(f"{name}.tar")}
        return Response(content, media_type="application/x-tar", headers=headers)

    def _discard(self, request: Request) -> Response:
        try:
            self._library.backups.discard(self._name(request))
        except NotFound as error:
            raise missing("backup") from error
        return self._list()

    @staticmethod
    def _name(request: Request) -> str:
        if request.state.principal.agent_id is not None:
            raise missing("backup")
        name: str = request.path_params["backup_id"]
        return name
