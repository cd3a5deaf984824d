"""Files that a scanner had set aside, over HTTP: listing them, and letting one in or deleting its copy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.errors import NotFound
from wenyuan.server.handling import RequestHandler, json_response, missing
from wenyuan.server.openapi import storage_operation
from wenyuan.server.route import route
from wenyuan.server.routes.registry import operator

if TYPE_CHECKING:
    from wenyuan.service.ingest.quarantine import Quarantined
    from wenyuan.service.library import Library

_WHOLE = re.compile("[0-9a-f]{64}")
_FILE: Mapping[str, Any] = {
    "type": "object",
    "required": ["sha256", "suffix", "size", "scanner", "reason", "at"],
    "properties": {
        "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "suffix": {"type": "string", "description": "Of its name."},
        "size": {"type": "integer", "description": "Bytes."},
        "scanner": {"type": "string", "description": "Which one had it set aside; empty where that cannot be read."},
        "reason": {"type": "string"},
        "at": {"type": "number", "description": "When, in seconds since the epoch."},
    },
}


class QuarantineRoutes:
    """``/v1/quarantine``. For operators only: an agent cannot let in what a scanner has kept out."""

    def __init__(self, library: Library, handler: RequestHandler) -> None:
        self._library = library
        self._handler = handler

    @route(
        "GET",
        "/v1/quarantine",
        "admin",
        storage_operation(
            "The files that a scanner had set aside, the newest first",
            {"type": "object", "required": ["files"], "properties": {"files": {"type": "array", "items": _FILE}}},
        ),
    )
    async def list(self, request: Request) -> Response:
        operator(request.state.principal)
        return await self._handler.pool.run(
            lambda: json_response({"files": [asdict(one) for one in self._library.quarantine]})
        )

    @route(
        "POST",
        "/v1/quarantine/{sha256}/release",
        "admin",
        storage_operation("Let a file in at the next refresh or upload, whatever the scanner says of it", _FILE),
    )
    async def release(self, request: Request) -> Response:
        return await self._decided(request, self._library.quarantine.release)

    @route(
        "POST",
        "/v1/quarantine/{sha256}/discard",
        "admin",
        storage_operation("Delete the copy of a file; the scanner judges the file anew when it comes again", _FILE),
    )
    async def discard(self, request: Request) -> Response:
        return await self._decided(request, self._library.quarantine.discard)

    async def _decided(self, request: Request, decide: Callable[[str], Quarantined]) -> Response:
        name = request.path_params["sha256"]
        # What is there is not an agent's to know. The first characters are enough for a person, who sees what they name.
        if request.state.principal.agent_id is not None or not _WHOLE.fullmatch(name):
            raise missing("file in quarantine")
        return await self._handler.pool.run(lambda: self._decide(name, decide))

    @staticmethod
    def _decide(name: str, decide: Callable[[str], Quarantined]) -> Response:
        try:
            return json_response(asdict(decide(name)))
        except NotFound as error:
            raise missing("file in quarantine") from error
