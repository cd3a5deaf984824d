"""The HTTP door: a thin, strict layer over a `Service`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from wenyuan.core.errors import KnowledgeError
from wenyuan.server.access import RIGHT_OF, Handler, KeyRing, guarded
from wenyuan.server.handling import FAULT_HEADER, STATUS_HEADER, Desk, json_response, routes_of
from wenyuan.server.metrics import Metrics
from wenyuan.server.middleware import Shield, Traffic
from wenyuan.server.openapi import openapi_document
from wenyuan.server.problems import Pool, Problem
from wenyuan.server.routes.ask import Dify, Fragments, Knowledge, Mcp, Stores
from wenyuan.server.routes.audit import Audit
from wenyuan.server.routes.evaluations import Evaluations, Feedback
from wenyuan.server.routes.governance import KeyRoutes, Synonyms, Tasks, ToolPages
from wenyuan.server.routes.registry import Agents, Sources
from wenyuan.server.routes.rules import Rules, United
from wenyuan.server.settings import (
    Authenticate,
    FaultSwitch,
    KnowledgeService,
    ServerSettings,
    Service,
    open_on_loopback,
)

if TYPE_CHECKING:
    from wenyuan.service.library import Library

__all__ = ["FAULT_HEADER", "STATUS_HEADER", "create_app"]


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
    keys_changed = authenticate.forget if isinstance(authenticate, KeyRing) else lambda: None
    traffic = Traffic()
    desk = Desk(settings, fault, _library_id(service))
    handlers = {**dict(_handlers(service, desk, keys_changed)), **Metrics(service, traffic).handlers}
    app = Starlette(
        routes=_routes(handlers),
        middleware=[Middleware(Shield, authenticate=authenticate, settings=settings, traffic=traffic)],
        exception_handlers={HTTPException: _no_route},
    )
    app.router.redirect_slashes = False
    return app


def _library_id(service: Service) -> str:
    return str(service.catalog.library_id()) if isinstance(service, KnowledgeService) else ""


def _handlers(
    service: Service, desk: Desk, keys_changed: Callable[[], None]
) -> Iterator[tuple[tuple[str, str], Handler]]:
    yield from _Door(service, desk, governed=isinstance(service, KnowledgeService)).handlers.items()
    yield from Fragments(service, desk).handlers.items()
    if isinstance(service, KnowledgeService):
        yield from Knowledge(service, desk).handlers.items()
        library = cast("Library", service)
        yield from ToolPages().handlers.items()
        yield from Dify(library, desk).handlers.items()
        yield from Mcp(library, desk).handlers.items()
        yield from Stores(library, desk).handlers.items()
        yield from Sources(library, desk, time.time).handlers.items()
        yield from Agents(library, desk, keys_changed).handlers.items()
        yield from Tasks(library, desk).handlers.items()
        yield from Synonyms(library, desk).handlers.items()
        yield from Audit(library, desk).handlers.items()
        yield from Feedback(library, desk).handlers.items()
        yield from Evaluations(library, desk).handlers.items()
        yield from United(library, desk).handlers.items()
        yield from Rules(library, desk).handlers.items()
        yield from KeyRoutes(library.catalog, desk, keys_changed, time.time).handlers.items()


def _routes(handlers: Mapping[tuple[str, str], Handler]) -> list[Route]:
    """A route for each path; a handler whose right is not declared is a KeyError here, before anything is served."""
    # A pack is called as its author likes, and a name may have a slash in it.
    checked = {
        (method, path.replace("{pack}", "{pack:path}")): guarded(RIGHT_OF[method, path], handler)
        for (method, path), handler in handlers.items()
    }
    return routes_of(checked, _no_method)


async def _no_method(_request: Request, allow: Mapping[str, str]) -> Response:
    raise Problem(405, "method_not_allowed", "this path has no such method", headers=allow)


async def _no_route(_request: Request, error: Exception) -> Response:
    """The one that Starlette knows: there is no such path."""
    assert isinstance(error, HTTPException)
    raise Problem(error.status_code, "not_found", "there is nothing at this path")


class _Door:
    """Probes, the list of sources, and what describes the rest. Probes have threads of their own, so load cannot
    fail them.
    """

    def __init__(self, service: Service, desk: Desk, *, governed: bool) -> None:
        self._service = service
        self._desk = desk
        self._probes = Pool(2, 16)
        self._document = openapi_document(desk.settings, governed=governed)
        self.handlers: Mapping[tuple[str, str], Handler] = {
            ("GET", "/v1/sources"): self.sources,
            ("GET", "/livez"): self.livez,
            ("GET", "/readyz"): self.readyz,
            ("GET", "/openapi.json"): self.openapi,
        }

    async def sources(self, _request: Request) -> Response:
        return await self._desk.pool.run(lambda: json_response({"sources": list(self._service.list_sources())}))

    async def livez(self, _request: Request) -> Response:
        return json_response({"live": True})

    async def readyz(self, request: Request) -> Response:
        return await self._probes.run(partial(self._readiness, request.state.request_id))

    def _readiness(self, request_id: str) -> Response:
        try:
            state = self._service.readiness()
            ready, parts = state.ready, {name: _shown(part) for name, part in state.parts.items()}
        except Exception as error:
            _log.exception("readiness could not be told: request_id=%s", request_id)
            reason = str(error) if isinstance(error, KnowledgeError) else f"internal error (request {request_id})"
            ready, parts = False, {"service": {"state": "failed", "detail": reason}}
        return json_response({"ready": ready, "parts": parts}, 200 if ready else 503)

    async def openapi(self, _request: Request) -> Response:
        return json_response(self._document)


def _shown(part: Mapping[str, object]) -> dict[str, object]:
    """Whoever asks a probe need not know what to do on the server."""
    return {name: value for name, value in part.items() if name != "hint"}
