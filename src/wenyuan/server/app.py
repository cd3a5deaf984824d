"""The HTTP door: a thin, strict layer over a `Service`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from wenyuan.core.errors import InvalidRequest, KnowledgeError, NotPermitted
from wenyuan.core.model import RetrievalResponse
from wenyuan.server.body import Body, require_json
from wenyuan.server.openapi import openapi_document
from wenyuan.server.pool import Pool
from wenyuan.server.problem import Problem
from wenyuan.server.seams import Authenticate, FaultSwitch, ServerSettings, Service, open_on_loopback
from wenyuan.server.shield import Shield
from wenyuan.wire import shapes, strict_json

__all__ = ["FAULT_HEADER", "STATUS_HEADER", "create_app"]

STATUS_HEADER = "X-Retrieval-Status"
FAULT_HEADER = "X-Wenyuan-Fault"
_log = logging.getLogger("wenyuan.server")


def create_app(
    service: Service,
    *,
    settings: ServerSettings | None = None,
    authenticate: Authenticate = open_on_loopback,
    fault: FaultSwitch | None = None,
) -> Starlette:
    """The ASGI application that serves a service.

    Args:
        service: What answers; it is called from several threads.
        authenticate: Who is calling, see `Authenticate`.
        fault: Only for conformance tests: with it, a request whose header ``X-Wenyuan-Fault`` names a part is
            answered inside ``fault(name)``, so that a real failure can be asked for. Without it the
            header means nothing.
    """
    settings = settings or ServerSettings()
    door = _Door(service, settings, fault)
    post, get = ["POST"], ["GET"]
    app = Starlette(
        routes=[
            Route("/v1/retrieve_fragments", door.retrieve_fragments, methods=post),
            Route("/retrieve_fragments", door.retrieve_fragments, methods=post),
            Route("/v1/sources", door.sources, methods=get),
            Route("/livez", door.livez, methods=get),
            Route("/readyz", door.readyz, methods=get),
            Route("/openapi.json", door.openapi, methods=get),
        ],
        middleware=[Middleware(Shield, authenticate=authenticate, settings=settings)],
        exception_handlers={HTTPException: _no_route},
    )
    app.router.redirect_slashes = False
    return app


def _json(payload: Mapping[str, object], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(shapes.encode(payload), status, headers, media_type="application/json")


async def _no_route(_request: Request, error: Exception) -> Response:
    """Starlette knows two: no such path, and no such method on it."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        raise Problem(405, "method_not_allowed", "this path has no such method", headers=error.headers)
    raise Problem(error.status_code, "not_found", "there is nothing at this path")


class _Door:
    """The routes. What may block goes to a thread; probes have threads of their own, so load cannot fail them."""

    def __init__(self, service: Service, settings: ServerSettings, fault: FaultSwitch | None) -> None:
        self._service = service
        self._settings = settings
        self._fault = fault
        self._pool = Pool(settings.threads, settings.queue_limit)
        self._probes = Pool(2, 16)
        self._document = openapi_document(settings)

    async def retrieve_fragments(self, request: Request) -> Response:
        require_json(request.headers)
        reader: Body = request.state.body
        body = await reader.read()
        fault = self._fault_for(request.headers)
        return await self._pool.run(partial(self._retrieve, body, fault, request.state.request_id))

    def _fault_for(self, headers: Mapping[str, str]) -> AbstractContextManager[object]:
        name = headers.get(FAULT_HEADER.lower())
        return self._fault(name) if self._fault and name else nullcontext()

    def _retrieve(self, body: bytes, fault: AbstractContextManager[object], request_id: str) -> Response:
        request = shapes.request_from_wire(strict_json.loads(body))
        try:
            with fault:
                response = self._service.retrieve_fragments(request)
            payload = shapes.encode(shapes.response_to_wire(response))
        except (InvalidRequest, NotPermitted):
            raise
        except Exception as error:
            # The contract: whatever goes wrong after a valid request is an answer with status FAILED.
            _log.exception("retrieval failed unexpectedly: request_id=%s", request_id)
            reason = str(error) if isinstance(error, KnowledgeError) else "internal error"
            response = RetrievalResponse(status="FAILED", error_message=f"{reason} (request {request_id})")
            payload = shapes.encode(shapes.response_to_wire(response))
        status = 200 if response.status == "SUCCESS" else self._settings.failed_http_status
        return Response(payload, status, {STATUS_HEADER: response.status}, media_type="application/json")

    async def sources(self, _request: Request) -> Response:
        return await self._pool.run(lambda: _json({"sources": list(self._service.list_sources())}))

    async def livez(self, _request: Request) -> Response:
        return _json({"live": True})

    async def readyz(self, request: Request) -> Response:
        return await self._probes.run(partial(self._readiness, request.state.request_id))

    def _readiness(self, request_id: str) -> Response:
        try:
            state = self._service.readiness()
            ready, parts = state.ready, {name: dict(part) for name, part in state.parts.items()}
        except Exception as error:
            _log.exception("readiness could not be told: request_id=%s", request_id)
            reason = str(error) if isinstance(error, KnowledgeError) else f"internal error (request {request_id})"
            ready, parts = False, {"service": {"state": "failed", "detail": reason}}
        return _json({"ready": ready, "parts": parts}, 200 if ready else 503)

    async def openapi(self, _request: Request) -> Response:
        return _json(self._document)
