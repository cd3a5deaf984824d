"""Probes, and what describes the rest."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from wenyuan.core.errors import KnowledgeError
from wenyuan.server.handling import json_response
from wenyuan.server.openapi import content_of, read_operation
from wenyuan.server.pool import Pool
from wenyuan.server.route import route
from wenyuan.server.service_port import Service
from wenyuan.wire.contract import ReadinessShape

_log = logging.getLogger("wenyuan.server")
_LIVE = {"application/json": {"schema": {"type": "object", "properties": {"live": {"const": True}}}}}


class Probes:
    """Health and readiness probes. They have their own threads, so that load cannot make them fail.

    Args:
        document: The OpenAPI document of the server.
    """

    def __init__(self, service: Service, document: Mapping[str, Any]) -> None:
        self._service = service
        self._document = document
        self._pool = Pool(2, 16)
        self._asked: asyncio.Future[tuple[dict[str, Any], int]] | None = None

    @route("GET", "/livez", None, read_operation("livez", "Whether the process runs", _LIVE, 500))
    async def livez(self, _request: Request) -> Response:
        return json_response({"live": True})

    @route(
        "GET",
        "/readyz",
        None,
        read_operation(
            "readyz", "Whether the service can answer", ReadinessShape, 500, 503, also=content_of(ReadinessShape)
        ),
    )
    async def readyz(self, request: Request) -> Response:
        # Who asks while it is being found out waits for that: else probes that give up and ask again would pile up, and a server
        # that is slow for a moment would be told dead for good.
        if self._asked is None or self._asked.done():
            self._asked = asyncio.ensure_future(self._pool.run(partial(self._readiness, request.state.request_id)))
        return json_response(*await asyncio.shield(self._asked))

    @route("GET", "/openapi.json", None, None)
    async def openapi(self, _request: Request) -> Response:
        return json_response(self._document)

    def _readiness(self, request_id: str) -> tuple[dict[str, Any], int]:
        try:
            state = self._service.readiness()
            ready, parts = state.ready, {name: _public_state(part) for name, part in state.parts.items()}
        except Exception as error:
            known = isinstance(error, KnowledgeError)
            _log.error("readiness could not be told: request_id=%s: %s", request_id, error, exc_info=not known)
            reason = str(error) if known else f"internal error (request {request_id})"
            ready, parts = False, {"service": {"state": "failed", "detail": reason}}
        return {"ready": ready, "parts": parts}, 200 if ready else 503


def _public_state(part: Mapping[str, object]) -> dict[str, object]:
    """A part's state without its hints: a prober cannot act on the server."""
    return {name: value for name, value in part.items() if name != "hint"}
